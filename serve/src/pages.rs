//! Pages for browsers: the files of a folder, over HTTPS with the certificate that players see, and beside the API.
//!
//! A browser lets a page use WebTransport only if the page itself came safely: over HTTPS, or from this machine. The API
//! and the metrics are not among the pages: they stay where `http` says.

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

/// Connections that are answered at once; more wait.
const CONNECTIONS_MAX: usize = 1_024;
/// How long a handshake may take, and then each request until it is read.
const READ_MAX: Duration = Duration::from_secs(10);
/// How long a connection may last: one that takes its pages too slowly is cut off.
const CONNECTION_MAX: Duration = Duration::from_secs(120);
/// How long to wait if the system has no connection to give.
const PAUSE: Duration = Duration::from_millis(100);

/// The files of a folder; `index.html` where a path names a folder.
pub(crate) fn router(folder: &Path) -> Router {
    Router::new().fallback_service(ServeDir::new(folder))
}

/// The certificate that pages are served with; it can be exchanged.
#[derive(Debug)]
pub(crate) struct Shown(Mutex<Arc<CertifiedKey>>);

impl Shown {
    pub(crate) fn new(certificate: &Certificate) -> Arc<Self> {
        Arc::new(Self(Mutex::new(certificate.certified())))
    }

    /// Shows another one from now on.
    pub(crate) fn set(&self, certificate: &Certificate) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = certificate.certified();
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// Serves pages on these sockets.
pub(crate) fn serve(
    sockets: Vec<TcpListener>,
    shown: Arc<Shown>,
    pages: &Router,
) -> Result<Vec<JoinHandle<()>>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(shown);
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let listen = |socket| tokio::spawn(listen(socket, acceptor.clone(), pages.clone(), places.clone()));
    Ok(sockets.into_iter().map(listen).collect())
}

async fn listen(socket: TcpListener, acceptor: TlsAcceptor, pages: Router, places: Arc<Semaphore>) {
    while let Ok(place) = places.clone().acquire_owned().await {
        match socket.accept().await {
            Ok((stream, from)) => {
                tokio::spawn(answer(stream, from, acceptor.clone(), pages.clone(), place));
            }
            Err(error) => {
                tracing::warn!("no page could be served: {error}");
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
    _place: OwnedSemaphorePermit,
) {
    let Ok(Ok(stream)) = timeout(READ_MAX, acceptor.accept(stream)).await else {
        tracing::debug!("{from} made no handshake");
        return;
    };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(READ_MAX);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(pages));
    if !matches!(timeout(CONNECTION_MAX, connection).await, Ok(Ok(()))) {
        tracing::debug!("{from} was cut off");
    }
}
