//! Pages for browsers, over HTTPS and beside the API.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evenkeel_serve::{CertificateConfig, PagesConfig};
use evenkeel_serve::{RelayConfig, RelayServer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const PAGE: &str = "<!doctype html><title>a game</title>";

/// A temporary folder, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("evenkeel-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("www/client")).expect("a folder");
        std::fs::write(path.join("www/index.html"), PAGE).expect("a file");
        std::fs::write(path.join("www/client/index.js"), "export {};").expect("a file");
        std::fs::write(path.join("secret"), "secret").expect("a file");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn config(folder: &Path) -> RelayConfig {
    RelayConfig {
        listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
        http: vec![(Ipv4Addr::LOCALHOST, 0).into()],
        token_key: folder.join("evenkeel.key"),
        keep_certificate: Some(folder.join("own.pem")),
        ..RelayConfig::default()
    }
}

/// Returns the response to a GET request.
async fn get(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    // TLS may report that the end was not announced, which does not matter here.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn get_https(address: SocketAddr, trusted: &Path, path: &str) -> String {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusted).expect("a certificate")).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.expect("connected");
    let name = ServerName::try_from("localhost").expect("a name");
    get(TlsConnector::from(Arc::new(tls)).connect(name, stream).await.expect("a trusted relay"), path).await
}

#[tokio::test]
async fn https_serves_pages_but_not_the_api() {
    let folder = Folder::new("pages");
    // The certificate that one relay signs serves the next as one from files.
    RelayServer::start(config(&folder.0), None).await.expect("the relay starts").stop().await;
    let own = folder.0.join("own.pem");
    let server = RelayServer::start(
        RelayConfig {
            certificate: Some(CertificateConfig { chain: own.clone(), key: own.clone() }),
            pages: Some(PagesConfig {
                folder: folder.0.join("www"),
                https: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            }),
            ..config(&folder.0)
        },
        None,
    )
    .await
    .expect("the relay starts");
    let https = server.https_addresses()[0];
    let page = get_https(https, &own, "/").await;
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with(PAGE), "{page}");
    let script = get_https(https, &own, "/client/index.js").await;
    assert!(script.contains("content-type: text/javascript"), "{script}");
    for path in ["/secret", "/../secret", "/%2e%2e/secret", "/api/rooms", "/metrics"] {
        let answer = get_https(https, &own, path).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    // The pages are also served beside the API.
    let http = server.http_addresses()[0];
    let plain = async |path| get(TcpStream::connect(http).await.expect("connected"), path).await;
    assert!(plain("/").await.ends_with(PAGE));
    assert!(plain("/api/rooms").await.contains("\"rooms\":[]"));
    // A client without TLS gets no page and does no harm.
    assert!(!get(TcpStream::connect(https).await.expect("connected"), "/").await.contains(PAGE));
    server.stop().await;
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let folder = Folder::new("no-pages");
    let pages = Some(PagesConfig { folder: folder.0.join("nowhere"), https: Vec::new() });
    let refused = RelayServer::start(RelayConfig { pages, ..config(&folder.0) }, None).await;
    let message = refused.expect_err("a missing folder").to_string();
    assert!(message.contains("pages.folder") && message.contains("nowhere"), "{message}");
}
