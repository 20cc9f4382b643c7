//! A peer's socket: it connects to other peers by their keys, and accepts those that know the session.
//!
//! Whoever connects opens the reliable stream and says first: the preamble, then the session and the application's hello. The
//! other side answers with its greeting, or closes the connection with a reason. Both are laid out like a relay's greeting.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_net::transport::{CloseCode, CloseReason, Closed, Connection, stream};
use iroh::endpoint::{Incoming, RecvStream, SendStream, VarInt};
use iroh::{Endpoint, EndpointAddr, TransportAddr};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::time::timeout;

use crate::address::PeerAddress;
use crate::carrier::{IrohCarrier, IrohWriter, closed};
use crate::identity::{Identity, PeerKey};
use crate::network::{Network, NetworkError, Relay};
use crate::ticket::SessionId;

const ALPN: &[u8] = b"evenkeel/p2p/1";
/// How long a connection may take to open, also through a relay.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long this machine's addresses may take to be found.
const ADDRESSES_TIMEOUT: Duration = Duration::from_secs(3);
const ADDRESSES_POLL: Duration = Duration::from_millis(20);
const RELAY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a refused peer may take to read the reason.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);
/// Callers in their handshake at once; others are refused.
const CALLERS_MAX: usize = 64;
/// Bytes of a session in front of a hello.
const SESSION_BYTES: usize = 16;

/// Why a peer could not be reached.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nothing answered.
    #[error("the peer {0} does not answer: is it still running, and can its address be reached from here?")]
    NoAnswer(PeerKey),
    /// It refused.
    #[error("the peer refused: {0}")]
    Refused(CloseReason),
    /// Any other failure.
    #[error("the connection failed: {0}")]
    Broken(String),
}

/// A peer's socket. Clones share it.
#[derive(Clone)]
pub struct PeerNode {
    endpoint: Endpoint,
    callers: Arc<Mutex<mpsc::Receiver<Caller>>>,
}

impl PeerNode {
    /// Opens the socket and begins to accept. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`NetworkError`] says what to do.
    pub async fn bind(identity: &Identity, network: &Network) -> Result<Self, NetworkError> {
        let builder = network.builder()?.secret_key(identity.0.clone()).alpns(vec![ALPN.to_vec()]);
        let endpoint = builder.bind().await.map_err(|error| NetworkError::Bind(error.to_string()))?;
        if let Relay::Own(name) = &network.relay {
            let online = timeout(RELAY_TIMEOUT, endpoint.online()).await;
            if online.is_err() {
                endpoint.close().await;
                return Err(NetworkError::NoRelay(name.clone()));
            }
        } else if network.relay == Relay::Public && timeout(RELAY_TIMEOUT, endpoint.online()).await.is_err() {
            tracing::warn!("no public relay answers: only peers that can be reached directly will connect");
        }
        // The machine's addresses are found in the background.
        let found = async {
            while endpoint.addr().is_empty() && network.bind.is_empty() {
                tokio::time::sleep(ADDRESSES_POLL).await;
            }
        };
        let _ = timeout(ADDRESSES_TIMEOUT, found).await;
        let (sender, callers) = mpsc::channel(CALLERS_MAX);
        tokio::spawn(accept_all(endpoint.clone(), sender));
        Ok(Self { endpoint, callers: Arc::new(Mutex::new(callers)) })
    }

    /// Returns this peer's key.
    #[must_use]
    pub fn key(&self) -> PeerKey {
        PeerKey(self.endpoint.id())
    }

    /// Returns where this peer can be reached, as far as it knows.
    #[must_use]
    pub fn address(&self) -> PeerAddress {
        let known = self.endpoint.addr();
        let bound =
            self.endpoint.bound_sockets().into_iter().filter(|address| !address.ip().is_unspecified());
        let addresses = known.addrs.into_iter().chain(bound.map(TransportAddr::Ip));
        PeerAddress(EndpointAddr::from_parts(known.id, addresses))
    }

    /// Connects to a peer.
    ///
    /// # Errors
    /// [`ConnectError`], worded for people.
    pub async fn connect(
        &self,
        address: &PeerAddress,
        session: SessionId,
        hello: &[u8],
    ) -> Result<Connection, ConnectError> {
        let attempt = timeout(OPEN_TIMEOUT, self.attempt(address, session, hello)).await;
        attempt.unwrap_or(Err(ConnectError::NoAnswer(address.key())))
    }

    async fn attempt(
        &self,
        address: &PeerAddress,
        session: SessionId,
        hello: &[u8],
    ) -> Result<Connection, ConnectError> {
        let connection = self.endpoint.connect(address.0.clone(), ALPN).await.map_err(|error| {
            tracing::debug!(%error, "a connection failed");
            ConnectError::NoAnswer(address.key())
        })?;
        let opening = async {
            let (mut writer, mut reader) = connection.open_bi().await.map_err(|error| error.to_string())?;
            let hello = stream::emit_greeting(&[&session.0, hello].concat());
            writer.write_all(&hello).await.map_err(|error| error.to_string())?;
            let greeting = stream::read_greeting(&mut reader).await.map_err(|error| error.to_string())?;
            Ok::<_, String>((writer, reader, greeting))
        };
        match opening.await {
            Ok((writer, reader, greeting)) => {
                Ok(Connection::over(IrohCarrier(connection), IrohWriter(writer), Box::new(reader), greeting))
            }
            Err(error) => match connection.close_reason().map(|error| closed(&error)) {
                Some(Closed::ByPeer(reason)) => Err(ConnectError::Refused(reason)),
                _ => Err(ConnectError::Broken(error)),
            },
        }
    }

    /// Waits for the next peer that wants to connect; `None` once the socket is closed.
    pub async fn accept(&self) -> Option<Caller> {
        self.callers.lock().await.recv().await
    }

    /// Closes the socket and all connections, after what was sent has arrived.
    pub async fn close(&self) {
        self.endpoint.close().await;
    }
}

impl fmt::Debug for PeerNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerNode({})", self.key())
    }
}

/// A peer that wants to connect; its key is authentic.
pub struct Caller {
    connection: iroh::endpoint::Connection,
    writer: SendStream,
    reader: RecvStream,
    hello: Vec<u8>,
}

impl Caller {
    /// Returns its key.
    #[must_use]
    pub fn key(&self) -> PeerKey {
        PeerKey(self.connection.remote_id())
    }

    /// Returns the session that it wants to join.
    #[must_use]
    pub fn session(&self) -> SessionId {
        SessionId(self.hello.first_chunk().copied().unwrap_or_default())
    }

    /// Returns what else it said.
    #[must_use]
    pub fn hello(&self) -> &[u8] {
        &self.hello[SESSION_BYTES..]
    }

    /// Accepts it.
    ///
    /// # Errors
    /// [`Closed`] if it is gone.
    pub async fn accept(mut self, greeting: &[u8]) -> Result<Connection, Closed> {
        if self.writer.write_all(&stream::emit_greeting(greeting)).await.is_err() {
            return Err(closed(&self.connection.closed().await));
        }
        let (writer, reader) = (IrohWriter(self.writer), Box::new(self.reader));
        Ok(Connection::over(IrohCarrier(self.connection), writer, reader, Vec::new()))
    }

    /// Refuses it and briefly waits until it has read the reason.
    pub async fn refuse(self, reason: impl Into<CloseReason>) {
        let reason = reason.into();
        self.connection.close(VarInt::from_u32(reason.code.number()), reason.message().as_bytes());
        let _ = timeout(REFUSAL_TIMEOUT, self.connection.closed()).await;
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caller({})", self.key())
    }
}

async fn accept_all(endpoint: Endpoint, callers: mpsc::Sender<Caller>) {
    let slots = Arc::new(Semaphore::new(CALLERS_MAX));
    while let Some(incoming) = endpoint.accept().await {
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            incoming.refuse();
            continue;
        };
        let callers = callers.clone();
        tokio::spawn(async move {
            match timeout(OPEN_TIMEOUT, shake_hands(incoming)).await {
                Ok(Ok(caller)) => drop(callers.send(caller).await),
                Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
                Err(_) => tracing::debug!("a handshake took too long"),
            }
            drop(slot);
        });
    }
}

async fn shake_hands(incoming: Incoming) -> Result<Caller, String> {
    let connection = incoming.await.map_err(|error| error.to_string())?;
    let (writer, mut reader) = connection.accept_bi().await.map_err(|error| error.to_string())?;
    let hello = stream::read_greeting(&mut reader).await.map_err(|error| error.to_string())?;
    if hello.len() < SESSION_BYTES {
        let reason = CloseReason::from(CloseCode::Protocol);
        connection.close(VarInt::from_u32(reason.code.number()), reason.message().as_bytes());
        return Err("the hello is too short".to_owned());
    }
    Ok(Caller { connection, writer, reader, hello })
}
