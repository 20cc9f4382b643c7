//! The side of a tunnel that listens.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::{Endpoint, EndpointConfig, Incoming, TokioRuntime, VarInt};
use quinn_proto::HashedConnectionIdGenerator;
use ring::hmac;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;
use web_transport_quinn::{RecvStream, SendStream, Session};

use super::key::SharedKey;
use super::{TunnelStream, tls, transport};
use crate::transport::connection::Connection;
use crate::transport::handshakes::{Handshake, HandshakeLimiter};
use crate::transport::limits::Limits;
use crate::transport::listener::{BindError, bind_error};
use crate::transport::reason::{CloseCode, CloseReason, Closed};
use crate::transport::request::AcceptError;
use crate::transport::{socket, stream};

/// How long a refused client may take to read the reason.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Listens for clients with the same key. Dropping it stops accepting; open tunnels stay.
#[derive(Debug)]
pub struct TunnelListener {
    handle: TunnelHandle,
    requests: mpsc::Receiver<TunnelRequest>,
}

/// Controls a listener from elsewhere.
#[derive(Clone, Debug)]
pub struct TunnelHandle(Endpoint);

impl TunnelListener {
    /// Binds an address. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`BindError`] says what to do.
    pub fn bind(address: SocketAddr, key: &SharedKey, limits: Limits) -> Result<Self, BindError> {
        let tls = tls::server(key).map_err(|error| BindError::Certificate(error.to_string()))?;
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(transport(&limits)).max_incoming(limits.handshakes_max);
        let socket = socket::bind(address).map_err(|source| bind_error(address, source))?;
        let endpoint = Endpoint::new(endpoint_config(key), Some(config), socket, Arc::new(TokioRuntime))
            .map_err(|source| BindError::Io { address, source })?;
        let (sender, requests) = mpsc::channel(limits.handshakes_max.max(1));
        let acceptor = TunnelAcceptor {
            limits,
            handshakes: HandshakeLimiter::new(limits),
            slots: Arc::new(Semaphore::new(limits.connections_max)),
            requests: sender,
        };
        tokio::spawn(acceptor.watch(endpoint.clone()));
        Ok(Self { handle: TunnelHandle(endpoint), requests })
    }

    /// Waits for the next client; `None` once the listener is closed. Answer each request in its own task.
    pub async fn accept(&mut self) -> Option<TunnelRequest> {
        self.requests.recv().await
    }

    /// Returns the address with its port.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.handle.0.local_addr().unwrap_or_else(|_| (Ipv4Addr::UNSPECIFIED, 0).into())
    }

    /// Returns a handle to control it from elsewhere.
    #[must_use]
    pub fn handle(&self) -> TunnelHandle {
        self.handle.clone()
    }
}

impl TunnelHandle {
    /// Closes the listener and all its tunnels, and frees the port. [`TunnelListener::accept`] then returns `None`.
    pub fn close(&self) {
        let reason = CloseReason::from(CloseCode::ShuttingDown);
        self.0.close(VarInt::from_u32(reason.code.number()), reason.message().as_bytes());
    }

    /// Waits until all tunnels are closed and their last packets sent, but not for long.
    pub async fn wait_idle(&self) {
        let _ = timeout(REFUSAL_TIMEOUT, self.0.wait_idle()).await;
    }
}

/// Derives what a restarted server needs to reset its former connections.
fn endpoint_config(key: &SharedKey) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(key.derive("stateless reset")));
    let tag = hmac::sign(&key.derive("connection ids"), b"");
    let seed = tag.as_ref().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(seed)));
    config
}

/// A client with the same key that requests a tunnel.
pub struct TunnelRequest {
    session: Session,
    writer: SendStream,
    reader: RecvStream,
    hello: Vec<u8>,
    slot: Option<OwnedSemaphorePermit>,
    _handshake: Handshake,
}

impl TunnelRequest {
    /// Returns what the client said first.
    #[must_use]
    pub fn hello(&self) -> &[u8] {
        &self.hello
    }

    /// Returns the client's address.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.session.remote_address()
    }

    /// Accepts the client, for datagrams and reliable messages.
    ///
    /// # Errors
    /// [`AcceptError`] if it is gone.
    pub async fn accept(mut self, greeting: &[u8]) -> Result<Connection, AcceptError> {
        self.greet(greeting).await?;
        Ok(Connection::new(self.session, self.writer, self.reader, Vec::new(), self.slot))
    }

    /// Accepts the client, for bytes in order.
    ///
    /// # Errors
    /// [`AcceptError`] if it is gone.
    pub async fn accept_stream(mut self, greeting: &[u8]) -> Result<TunnelStream, AcceptError> {
        self.greet(greeting).await?;
        let Self { session, writer, reader, slot, .. } = self;
        Ok(TunnelStream { writer, reader, session, _slot: slot })
    }

    async fn greet(&mut self, greeting: &[u8]) -> Result<(), AcceptError> {
        self.writer.write_all(&stream::emit_greeting(greeting)).await.map_err(|error| {
            AcceptError::Gone(Closed::of(&self.session).unwrap_or(Closed::Broken(error.to_string())))
        })
    }

    /// Refuses the client and briefly waits until it has read the reason.
    pub async fn refuse(self, reason: impl Into<CloseReason>) {
        refuse(&self.session, &reason.into()).await;
    }
}

impl fmt::Debug for TunnelRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TunnelRequest(from {})", self.remote_address())
    }
}

async fn refuse(session: &Session, reason: &CloseReason) {
    session.close(reason.code.number(), reason.message().as_bytes());
    let _ = timeout(REFUSAL_TIMEOUT, session.closed()).await;
}

/// Takes clients through their handshake.
#[derive(Clone)]
struct TunnelAcceptor {
    limits: Limits,
    handshakes: HandshakeLimiter,
    slots: Arc<Semaphore>,
    requests: mpsc::Sender<TunnelRequest>,
}

impl TunnelAcceptor {
    async fn watch(self, endpoint: Endpoint) {
        loop {
            let incoming = tokio::select! {
                incoming = endpoint.accept() => incoming,
                () = self.requests.closed() => None,
            };
            let Some(incoming) = incoming else { return endpoint.set_server_config(None) };
            let address = incoming.remote_address().ip();
            if self.handshakes.is_busy(address) && incoming.may_retry() {
                let _ = incoming.retry();
                continue;
            }
            match self.handshakes.begin(address) {
                Some(handshake) => drop(tokio::spawn(self.clone().admit(incoming, handshake))),
                None => incoming.refuse(),
            }
        }
    }

    async fn admit(self, incoming: Incoming, handshake: Handshake) {
        let address = incoming.remote_address();
        let slot = self.slots.clone().try_acquire_owned().ok();
        let opening = async {
            let session = Session::raw(incoming.await.map_err(|error| error.to_string())?);
            let (writer, mut reader) = session.accept_bi().await.map_err(|error| error.to_string())?;
            let hello = stream::read_greeting(&mut reader).await.map_err(|error| error.to_string())?;
            Ok::<_, String>((session, writer, reader, hello))
        };
        match timeout(self.limits.handshake_timeout, opening).await {
            Ok(Ok((session, ..))) if slot.is_none() => refuse(&session, &CloseCode::Full.into()).await,
            Ok(Ok((session, writer, reader, hello))) => {
                let request = TunnelRequest { session, writer, reader, hello, slot, _handshake: handshake };
                let _ = self.requests.send(request).await;
            }
            Ok(Err(error)) => tracing::debug!(%address, %error, "a handshake failed"),
            Err(_) => tracing::debug!(%address, "a handshake took too long"),
        }
    }
}
