//! A relay on this machine: its certificate is its own, and it publishes the hash over plain HTTP on loopback, where
//! nobody can come between.

use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::{Host, Url};

use super::client::ConnectError;
use crate::certificate::CertificateHash;

const ASK_MAX: Duration = Duration::from_secs(2);
const PATH: &str = "/api/certificate";
const ANSWER_BYTES_MAX: u64 = 64 * 1_024;

#[derive(Deserialize)]
struct Answer {
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

/// The hashes that the relay at this URL publishes on loopback.
pub(super) async fn ask(url: &Url) -> Result<Vec<CertificateHash>, ConnectError> {
    let address = format!("{}:{}", url.host_str().unwrap_or_default(), url.port().unwrap_or(443));
    let nobody = || ConnectError::NobodyTells { url: format!("http://{address}{PATH}") };
    let answer = timeout(ASK_MAX, get(&address, PATH)).await.map_err(|_| nobody())?;
    let answer = answer.map_err(|_| nobody())?;
    published(&answer)
        .ok_or_else(|| ConnectError::Broken(format!("what answers at http://{address} is not a relay")))
}

/// The hashes in an answer over HTTP; `None` if it is no relay's.
#[must_use]
pub fn published(answer: &str) -> Option<Vec<CertificateHash>> {
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let Answer { sha256 } = serde_json::from_str(body).ok()?;
    Some(sha256.iter().filter_map(|hash| CertificateHash::parse(hash).ok()).collect())
}

/// The smallest HTTP client: one request, and what comes until the other side closes.
async fn get(address: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer).await?;
    Ok(answer)
}
