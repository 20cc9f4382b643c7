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

/// A folder that goes when it is dropped.
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

/// What is answered to a request for a path.
async fn get(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it is sent");
    let mut answer = Vec::new();
    // Whether the end is announced is not the question.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn get_safely(address: SocketAddr, trusted: &Path, path: &str) -> String {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusted).expect("a certificate")).expect("it can be trusted");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("versions that there are")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.expect("somebody listens");
    let name = ServerName::try_from("localhost").expect("a name");
    get(TlsConnector::from(Arc::new(tls)).connect(name, stream).await.expect("it is the relay"), path).await
}

#[tokio::test]
async fn pages_come_over_https_and_the_api_does_not() {
    let folder = Folder::new("pages");
    // A relay makes a certificate; the next one takes it for a real one.
    RelayServer::start(config(&folder.0), None).await.expect("it starts").stop().await;
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
    .expect("it starts");
    let https = server.https_addresses()[0];
    let page = get_safely(https, &own, "/").await;
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with(PAGE), "{page}");
    let script = get_safely(https, &own, "/client/index.js").await;
    assert!(script.contains("content-type: text/javascript"), "{script}");
    for path in ["/secret", "/../secret", "/%2e%2e/secret", "/api/rooms", "/metrics"] {
        let answer = get_safely(https, &own, path).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    // Beside the API the pages are there too.
    let http = server.http_addresses()[0];
    let plain = async |path| get(TcpStream::connect(http).await.expect("somebody listens"), path).await;
    assert!(plain("/").await.ends_with(PAGE));
    assert!(plain("/api/rooms").await.contains("\"rooms\":[]"));
    // Whoever does not know what TLS is gets no answer, and is no trouble.
    assert!(!get(TcpStream::connect(https).await.expect("somebody listens"), "/").await.contains(PAGE));
    server.stop().await;
}

#[tokio::test]
async fn a_folder_that_is_missing_is_named() {
    let folder = Folder::new("no-pages");
    let pages = Some(PagesConfig { folder: folder.0.join("nowhere"), https: Vec::new() });
    let refused = RelayServer::start(RelayConfig { pages, ..config(&folder.0) }, None).await;
    let words = refused.expect_err("it can't start").to_string();
    assert!(words.contains("pages.folder") && words.contains("nowhere"), "{words}");
}
