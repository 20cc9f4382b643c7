//! The side of a tunnel that connects.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use quinn::{ConnectionError, Endpoint, EndpointConfig, TokioRuntime, TransportErrorCode};
use tokio::time::timeout;
use web_transport_quinn::{RecvStream, SendStream, Session};

use super::key::SharedKey;
use super::{TunnelStream, tls, transport};
use crate::transport::connection::Connection;
use crate::transport::limits::Limits;
use crate::transport::reason::{CloseReason, Closed};
use crate::transport::stream::StreamError;
use crate::transport::{socket, stream};

/// Why a tunnel could not be opened.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TunnelError {
    /// Nothing answered.
    #[error("nobody answers at {address}: is the server side running there, and does UDP get through?")]
    NoAnswer {
        /// The address.
        address: SocketAddr,
    },
    /// The other side has another key.
    #[error("{address} has another key: give both sides the same key file")]
    OtherKey {
        /// The address.
        address: SocketAddr,
    },
    /// The other side speaks another version.
    #[error("the other side speaks another version: update the older one")]
    OtherVersion,
    /// The other side refused.
    #[error("the server side refused: {0}")]
    Refused(CloseReason),
    /// Any other failure.
    #[error("the tunnel could not be opened: {0}")]
    Broken(String),
}

/// Opens tunnels to servers with the same key. All share one UDP socket per address family.
#[derive(Debug)]
pub struct TunnelDialer {
    key: SharedKey,
    limits: Limits,
    endpoints: Mutex<[Option<Endpoint>; 2]>,
}

impl TunnelDialer {
    /// A dialer with this key. The limits' handshake timeout bounds each attempt.
    #[must_use]
    pub fn new(key: &SharedKey, limits: Limits) -> Self {
        Self { key: key.clone(), limits, endpoints: Mutex::default() }
    }

    /// Connects, for datagrams and reliable messages. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`TunnelError`], worded for people.
    pub async fn connect(&self, address: SocketAddr, hello: &[u8]) -> Result<Connection, TunnelError> {
        let (session, writer, reader, greeting) = self.open(address, hello).await?;
        Ok(Connection::new(session, writer, reader, greeting, None))
    }

    /// Connects, for bytes in order. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`TunnelError`], worded for people.
    pub async fn connect_stream(
        &self,
        address: SocketAddr,
        hello: &[u8],
    ) -> Result<TunnelStream, TunnelError> {
        let (session, writer, reader, _) = self.open(address, hello).await?;
        Ok(TunnelStream { writer, reader, session, _slot: None })
    }

    async fn open(
        &self,
        address: SocketAddr,
        hello: &[u8],
    ) -> Result<(Session, SendStream, RecvStream, Vec<u8>), TunnelError> {
        let attempt = timeout(self.limits.handshake_timeout, self.attempt(address, hello)).await;
        attempt.unwrap_or(Err(TunnelError::NoAnswer { address }))
    }

    async fn attempt(
        &self,
        address: SocketAddr,
        hello: &[u8],
    ) -> Result<(Session, SendStream, RecvStream, Vec<u8>), TunnelError> {
        let broken = |error: &dyn ToString| TunnelError::Broken(error.to_string());
        let tls = tls::client(&self.key).map_err(|error| broken(&error))?;
        let mut config = quinn::ClientConfig::new(Arc::new(tls));
        config.transport_config(transport(&self.limits));
        let endpoint = self.endpoint(address).map_err(|error| broken(&error))?;
        let connection = endpoint
            .connect_with(config, address, tls::SERVER_NAME)
            .map_err(|error| broken(&error))?
            .await
            .map_err(|error| failed(address, &error))?;
        let session = Session::raw(connection.clone());
        match say_hello(&session, hello).await {
            Ok((writer, reader, greeting)) => Ok((session, writer, reader, greeting)),
            Err(StreamError::Version) => Err(TunnelError::OtherVersion),
            Err(error) => match (Closed::of(&session), connection.close_reason()) {
                (Some(Closed::ByPeer(reason)), _) => Err(TunnelError::Refused(reason)),
                // The server checks the client's key only after the client has finished its part of the handshake.
                (_, Some(error)) => Err(failed(address, &error)),
                _ => Err(broken(&error)),
            },
        }
    }

    /// The endpoint for this family of addresses, bound at the first call.
    fn endpoint(&self, address: SocketAddr) -> io::Result<Endpoint> {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = &mut endpoints[usize::from(address.is_ipv6())];
        if let Some(endpoint) = slot {
            return Ok(endpoint.clone());
        }
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), None, socket::bind(any)?, runtime)?;
        Ok(slot.insert(endpoint).clone())
    }
}

async fn say_hello(
    session: &Session,
    hello: &[u8],
) -> Result<(SendStream, RecvStream, Vec<u8>), StreamError> {
    let (mut writer, mut reader) = session.open_bi().await.map_err(io::Error::other)?;
    writer.write_all(&stream::emit_greeting(hello)).await.map_err(io::Error::other)?;
    let greeting = stream::read_greeting(&mut reader).await?;
    Ok((writer, reader, greeting))
}

fn failed(address: SocketAddr, error: &ConnectionError) -> TunnelError {
    let is_alert = |code: TransportErrorCode| (0x100..0x200).contains(&u64::from(code));
    match error {
        ConnectionError::TimedOut => TunnelError::NoAnswer { address },
        ConnectionError::TransportError(error) if is_alert(error.code) => TunnelError::OtherKey { address },
        ConnectionError::ConnectionClosed(close) if is_alert(close.error_code) => {
            TunnelError::OtherKey { address }
        }
        other => TunnelError::Broken(other.to_string()),
    }
}
