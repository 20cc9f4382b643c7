//! Pages for browsers: a folder's files, served beside the API and over HTTPS with the certificate that players see.
//!
//! Browsers allow WebTransport only for pages that came over HTTPS or from the same machine. The API and the metrics are not
//! served here, only on the addresses in `http`.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_rustls::TlsAcceptor;
use tower_http::services::ServeDir;

use evenkeel_http::{BUFFER_BYTES, limit_time, serve_all};
use evenkeel_net::certificate::Certificate;

/// Serves a folder's files; a path that names a folder gets its `index.html`. Hidden files, what is not a file, and what lies
/// outside the folder are not served, whatever leads there.
pub(crate) fn router(folder: &Path) -> Router {
    let files = ServeDir::new(folder).with_buf_chunk_size(BUFFER_BYTES);
    let root: Arc<Path> = folder.into();
    Router::new().fallback_service(files).layer(from_fn_with_state(root, check_path))
}

/// Answers requests for what is not served with 404.
async fn check_path(State(root): State<Arc<Path>>, request: Request, next: Next) -> Response {
    let path = decode(request.uri().path()).filter(|path| is_visible(path));
    let is_served = match path {
        // All access to files may block.
        Some(path) => spawn_blocking(move || is_served(&root, &path)).await.unwrap_or(false),
        None => false,
    };
    if is_served { next.run(request).await } else { StatusCode::NOT_FOUND.into_response() }
}

/// The path below the folder that a request names.
fn decode(path: &str) -> Option<PathBuf> {
    let bytes = path.trim_start_matches('/').as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|digit| char::from(*digit).to_digit(16));
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let (byte, len) = match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => ((16 * high + low) as u8, 3),
            _ => (byte, 1),
        };
        decoded.push(byte);
        at += len;
    }
    String::from_utf8(decoded).ok().map(PathBuf::from)
}

/// Whether a relative path leads down only, past nothing hidden.
fn is_visible(path: &Path) -> bool {
    let is_visible = |part: Component<'_>| match part {
        Component::Normal(name) => !name.as_encoded_bytes().starts_with(b"."),
        _ => false,
    };
    path.components().all(is_visible)
}

/// Whether a path below the folder names a file, or a folder with a page, that is really there.
fn is_served(folder: &Path, path: &Path) -> bool {
    let Ok(root) = folder.canonicalize() else { return false };
    let found = |path: &Path| {
        let real = root.join(path).canonicalize().ok()?;
        is_visible(real.strip_prefix(&root).ok()?).then(|| real.metadata().ok())?
    };
    match found(path) {
        Some(it) if it.is_dir() => found(&path.join("index.html")).is_some_and(|page| page.is_file()),
        Some(it) => it.is_file(),
        None => false,
    }
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
    let pages = pages.clone().layer(from_fn(limit_time));
    Ok(serve_all(sockets, &pages, Some(&TlsAcceptor::from(Arc::new(tls)))))
}
