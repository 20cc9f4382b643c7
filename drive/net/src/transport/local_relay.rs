//! Finds the certificate of a relay on this machine: the relay publishes its hash over plain HTTP on loopback, where no_answer
//! can intercept it.

use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::{Host, Url};

use super::client::ConnectError;
use crate::certificate::CertificateHash;

const FETCH_TIMEOUT: Duration = Duration::from_secs(2);
const PATH: &str = "/api/certificate";
const ANSWER_BYTES_MAX: u64 = 64 * 1_024;

#[derive(Deserialize)]
struct CertificateAnswer {
    sha256: Vec<String>,
}

/// Whether a URL leads to this machine.
pub(super) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Fetches the hashes that the relay at this URL publishes on loopback.
pub(super) async fn fetch_hashes(url: &Url) -> Result<Vec<CertificateHash>, ConnectError> {
    let address = format!("{}:{}", url.host_str().unwrap_or_default(), url.port().unwrap_or(443));
    let no_answer = || ConnectError::NoPublishedHash { url: format!("http://{address}{PATH}") };
    let answer = timeout(FETCH_TIMEOUT, get(&address, PATH)).await.map_err(|_| no_answer())?;
    let answer = answer.map_err(|_| no_answer())?;
    parse_published_hashes(&answer)
        .ok_or_else(|| ConnectError::Broken(format!("the server at http://{address} is not a relay")))
}

/// Parses the hashes in an HTTP response; `None` if it is not a relay's.
#[must_use]
pub fn parse_published_hashes(answer: &str) -> Option<Vec<CertificateHash>> {
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let CertificateAnswer { sha256 } = serde_json::from_str(body).ok()?;
    Some(sha256.iter().filter_map(|hash| CertificateHash::parse(hash).ok()).collect())
}

/// A minimal HTTP client: sends one request and returns everything until the other side closes.
async fn get(address: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer).await?;
    Ok(answer)
}
