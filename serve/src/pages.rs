//! Pages for browsers: a folder's files, served beside the API and over HTTPS with the certificate that players see.
//!
//! Browsers allow WebTransport only for pages that came over HTTPS or from the same machine. The API and the metrics are not
//! served here, only on the addresses in `http`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower_http::services::ServeDir;

use evenkeel_net::certificate::Certificate;

/// Connections served at a time; more wait.
const CONNECTIONS_MAX: usize = 1_024;
/// The time limit of a handshake, and of reading each request.
const READ_MAX: Duration = Duration::from_secs(10);
/// The time limit of a connection, which cuts off slow readers.
const CONNECTION_MAX: Duration = Duration::from_secs(120);
/// How long to wait after a failed `accept`.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves a folder's files; a path that names a folder gets its `index.html`.
pub(crate) fn router(folder: &Path) -> Router {
    Router::new().fallback_service(ServeDir::new(folder))
}

/// The certificate of the pages, which can be replaced while serving.
#[derive(Debug)]
pub(crate) struct PagesCertificate(Mutex<Arc<CertifiedKey>>);

impl PagesCertificate {
    pub(crate) fn new(certificate: &Certificate) -> Arc<Self> {
        Arc::new(Self(Mutex::new(certificate.certified())))
    }

    /// Replaces the certificate for new connections.
    pub(crate) fn set(&self, certificate: &Certificate) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = certificate.certified();
    }
}

impl ResolvesServerCert for PagesCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// Serves pages on these sockets.
pub(crate) fn serve(
    sockets: Vec<TcpListener>,
    certificate: Arc<PagesCertificate>,
    pages: &Router,
) -> Result<Vec<JoinHandle<()>>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let listen = |socket| tokio::spawn(listen(socket, acceptor.clone(), pages.clone(), slots.clone()));
    Ok(sockets.into_iter().map(listen).collect())
}

async fn listen(socket: TcpListener, acceptor: TlsAcceptor, pages: Router, slots: Arc<Semaphore>) {
    while let Ok(slot) = slots.clone().acquire_owned().await {
        match socket.accept().await {
            Ok((stream, from)) => {
                tokio::spawn(answer(stream, from, acceptor.clone(), pages.clone(), slot));
            }
            Err(error) => {
                tracing::warn!("a page connection could not be accepted: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn answer(
    stream: TcpStream,
    from: SocketAddr,
    acceptor: TlsAcceptor,
    pages: Router,
    _slot: OwnedSemaphorePermit,
) {
    let Ok(Ok(stream)) = timeout(READ_MAX, acceptor.accept(stream)).await else {
        tracing::debug!("{from}: the TLS handshake failed");
        return;
    };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(READ_MAX);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(pages));
    if !matches!(timeout(CONNECTION_MAX, connection).await, Ok(Ok(()))) {
        tracing::debug!("{from}: the connection failed or took too long");
    }
}
