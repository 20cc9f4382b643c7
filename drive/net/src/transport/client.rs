//! Connecting to a relay.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ConnectionError, Endpoint, EndpointConfig, TokioRuntime, TransportErrorCode};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use url::{Host, Url};
use web_transport_quinn::Session;

use super::connection::Connection;
use super::limits::Limits;
use super::reason::{CloseCode, CloseReason, Closed};
use super::request::TOKEN;
use super::stream::StreamError;
use super::trust::{ShownHash, Trust};
use super::{PREAMBLE, local_relay, socket, stream};
use crate::certificate::CertificateHash;

/// How long one address of a host is tried before the next is tried in parallel.
const HEAD_START: Duration = Duration::from_millis(250);
/// Addresses of a host that are tried.
const ADDRESSES_MAX: usize = 4;

/// Why a connection failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The URL is malformed or not https.
    #[error("{0}: write it like https://relay.example:4433/room")]
    InvalidUrl(String),
    /// The host name has no address.
    #[error("the name {host} has no address: is it spelled correctly, and is the network up?")]
    UnknownHost {
        /// The host name.
        host: String,
    },
    /// Nothing answered.
    #[error("nobody answers at {address}: is the relay running there, and does UDP get through?")]
    NoAnswer {
        /// The address.
        address: String,
    },
    /// No relay on this machine publishes its certificate's hash.
    #[error(
        "nobody answers at {url}, where a relay on this machine publishes the hash of its certificate: is it running? If its API is elsewhere, name the hash instead"
    )]
    NoPublishedHash {
        /// The URL of the hash.
        url: String,
    },
    /// The certificate is not one of the pinned ones.
    #[error(
        "the certificate does not match the pinned hash: the relay showed {seen}; ask the relay's operator for the current hash"
    )]
    OtherCertificate {
        /// The hash of the certificate.
        seen: CertificateHash,
    },
    /// The system does not trust the certificate.
    #[error("the relay's certificate is not trusted: {0}")]
    Untrusted(String),
    /// The relay refused.
    #[error("the relay refused: {0}")]
    Refused(CloseReason),
    /// The relay speaks another version.
    #[error("the relay speaks another version: update the older side")]
    OtherVersion,
    /// Any other failure.
    #[error("the connection could not be opened: {0}")]
    Broken(String),
}

/// Connects to a relay at `https://host:port/path`, with a token if it requires one. The limits' handshake timeout bounds
/// each attempt. Must be called on a tokio runtime.
///
/// # Errors
/// [`ConnectError`], worded for people.
pub async fn connect(
    url: &str,
    token: Option<&str>,
    trust: &Trust,
    limits: Limits,
) -> Result<Connection, ConnectError> {
    let mut url =
        Url::parse(url).map_err(|error| ConnectError::InvalidUrl(format!("not an address, {error}")))?;
    if url.scheme() != "https" {
        return Err(ConnectError::InvalidUrl("the address does not begin with https://".to_owned()));
    }
    if let Some(token) = token {
        url.query_pairs_mut().append_pair(TOKEN, token);
    }
    let trust = match trust {
        Trust::Local if local_relay::is_local(&url) => {
            match local_relay::fetch_hashes(&url).await?.as_slice() {
                [] => Trust::System,
                hashes => Trust::Pinned(hashes.to_vec()),
            }
        }
        trust => trust.clone(),
    };
    let addresses = resolve(&url, &limits).await?;
    let mut attempts = JoinSet::new();
    for (rank, address) in (0u32..).zip(addresses) {
        let attempt = Attempt { url: url.clone(), address, trust: trust.clone(), limits };
        attempts.spawn(async move {
            sleep(HEAD_START * rank).await;
            attempt.run().await
        });
    }
    let mut worst = None;
    while let Some(outcome) = attempts.join_next().await {
        match outcome {
            Ok(Ok(connection)) => return Ok(connection),
            // All addresses lead to the same relay, so its answer is final.
            Ok(Err(error @ (ConnectError::Refused(_) | ConnectError::OtherCertificate { .. }))) => {
                return Err(error);
            }
            Ok(Err(error)) => worst = Some(error),
            Err(error) => worst = Some(ConnectError::Broken(error.to_string())),
        }
    }
    Err(worst.unwrap_or_else(|| ConnectError::Broken("no address was tried".to_owned())))
}

async fn resolve(url: &Url, limits: &Limits) -> Result<Vec<SocketAddr>, ConnectError> {
    let port = url.port().unwrap_or(443);
    let host = match url.host() {
        Some(Host::Ipv4(address)) => return Ok(vec![(address, port).into()]),
        Some(Host::Ipv6(address)) => return Ok(vec![(address, port).into()]),
        Some(Host::Domain(host)) => host.to_owned(),
        None => return Err(ConnectError::InvalidUrl("the address has no host".to_owned())),
    };
    let found = timeout(limits.handshake_timeout, tokio::net::lookup_host((host.clone(), port))).await;
    let addresses: Vec<SocketAddr> = match found {
        Ok(Ok(addresses)) => addresses.take(ADDRESSES_MAX).collect(),
        _ => Vec::new(),
    };
    if addresses.is_empty() { Err(ConnectError::UnknownHost { host }) } else { Ok(addresses) }
}

/// An attempt at one address of the relay.
struct Attempt {
    url: Url,
    address: SocketAddr,
    trust: Trust,
    limits: Limits,
}

impl Attempt {
    async fn run(self) -> Result<Connection, ConnectError> {
        let no_answer = ConnectError::NoAnswer { address: self.address.to_string() };
        timeout(self.limits.handshake_timeout, self.try_address()).await.unwrap_or(Err(no_answer))
    }

    async fn try_address(&self) -> Result<Connection, ConnectError> {
        let broken = |error: &dyn ToString| ConnectError::Broken(error.to_string());
        let (tls, seen) = self.trust.config().map_err(|error| ConnectError::Untrusted(error.to_string()))?;
        let tls = QuicClientConfig::try_from(tls).map_err(|error| broken(&error))?;
        let mut config = quinn::ClientConfig::new(Arc::new(tls));
        config.transport_config(self.limits.transport());
        let endpoint = self.endpoint().map_err(|error| broken(&error))?;
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let connection = endpoint
            .connect_with(config, self.address, host)
            .map_err(|error| broken(&error))?
            .await
            .map_err(|error| self.failed(&error, &seen))?;
        let session = Session::connect(connection, self.url.clone()).await.map_err(|error| broken(&error))?;
        match open(&session).await {
            Ok((writer, reader, greeting)) => Ok(Connection::new(session, writer, reader, greeting, None)),
            Err(StreamError::Version) => {
                let mismatch = CloseCode::VersionMismatch;
                session.close(mismatch.number(), mismatch.message().as_bytes());
                Err(ConnectError::OtherVersion)
            }
            Err(error) => match Closed::of(&session) {
                Some(Closed::ByPeer(reason)) => Err(ConnectError::Refused(reason)),
                Some(closed) => Err(ConnectError::Broken(closed.to_string())),
                None => Err(ConnectError::Broken(error.to_string())),
            },
        }
    }

    fn endpoint(&self) -> io::Result<Endpoint> {
        let any: SocketAddr = match self.address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        Endpoint::new(EndpointConfig::default(), None, socket::bind(any)?, Arc::new(TokioRuntime))
    }

    fn failed(&self, error: &ConnectionError, seen: &ShownHash) -> ConnectError {
        if let Some(seen) = seen.get() {
            return ConnectError::OtherCertificate { seen: *seen };
        }
        match error {
            ConnectionError::TimedOut => ConnectError::NoAnswer { address: self.address.to_string() },
            // quinn refuses clients in this way while too many handshakes are in progress.
            ConnectionError::ConnectionClosed(close)
                if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
            {
                ConnectError::Refused(CloseCode::Full.into())
            }
            // TLS alerts in QUIC. A client itself raises those about certificates.
            ConnectionError::TransportError(error) if (0x100..0x200).contains(&u64::from(error.code)) => {
                ConnectError::Untrusted(error.reason.clone())
            }
            other => ConnectError::Broken(other.to_string()),
        }
    }
}

/// Opens the reliable stream and waits for the relay's greeting, which it sends only if it accepts.
async fn open(
    session: &Session,
) -> Result<(web_transport_quinn::SendStream, web_transport_quinn::RecvStream, Vec<u8>), StreamError> {
    let (mut writer, mut reader) = session.open_bi().await.map_err(io::Error::other)?;
    writer.write_all(&PREAMBLE).await.map_err(io::Error::other)?;
    let greeting = stream::read_greeting(&mut reader).await?;
    Ok((writer, reader, greeting))
}
