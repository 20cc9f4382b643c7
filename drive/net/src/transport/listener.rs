//! The listener that clients connect to.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, Incoming, TokioRuntime, VarInt};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::handshakes::{Handshake, HandshakeLimiter};
use super::limits::Limits;
use super::reason::{CloseCode, CloseReason};
use super::request::Request;
use super::socket;
use crate::certificate::Certificate;

/// Attempts to find a port that is free on all addresses.
const PORT_ATTEMPTS_MAX: usize = 16;

/// Why a listener could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// No address was given.
    #[error("no address to listen on: name at least one, like [::1]:4433")]
    NoAddress,
    /// Another program uses the port.
    #[error(
        "{address} is taken: another program listens on that UDP port; stop it, or choose another port (0: any free one)"
    )]
    Taken {
        /// The address.
        address: SocketAddr,
    },
    /// The address does not belong to this machine.
    #[error(
        "{address} is not an address of this machine: use one that `ip address` shows, or 0.0.0.0 or [::]"
    )]
    NotHere {
        /// The address.
        address: SocketAddr,
    },
    /// Any other failure.
    #[error("cannot listen on {address}: {source}")]
    Io {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The certificate cannot be used with QUIC.
    #[error("the certificate cannot be used: {0}")]
    Certificate(String),
}

/// A listener on one or more addresses. Dropping it stops accepting; open connections stay.
#[derive(Debug)]
pub struct Listener {
    handle: ListenerHandle,
    requests: mpsc::Receiver<Request>,
}

/// Controls a listener from elsewhere.
#[derive(Clone, Debug)]
pub struct ListenerHandle {
    endpoints: Arc<[Endpoint]>,
    limits: Limits,
}

impl Listener {
    /// Binds all addresses or none. Addresses with port 0 share the same free port. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`BindError`] names the failing address and what to do.
    pub fn bind(
        addresses: &[SocketAddr],
        certificate: &Certificate,
        limits: Limits,
    ) -> Result<Self, BindError> {
        let config = server_config(certificate, &limits)?;
        let mut endpoints = Vec::new();
        for (socket, address) in bind_all(addresses)?.into_iter().zip(addresses) {
            let runtime = Arc::new(TokioRuntime);
            let endpoint = Endpoint::new(EndpointConfig::default(), Some(config.clone()), socket, runtime)
                .map_err(|source| BindError::Io { address: *address, source })?;
            endpoints.push(endpoint);
        }
        let (sender, requests) = mpsc::channel(limits.handshakes_max.max(1));
        let acceptor = Acceptor {
            limits,
            handshakes: HandshakeLimiter::new(limits),
            connection_slots: Arc::new(Semaphore::new(limits.connections_max)),
            requests: sender,
        };
        for endpoint in &endpoints {
            tokio::spawn(acceptor.clone().watch(endpoint.clone()));
        }
        Ok(Self { handle: ListenerHandle { endpoints: endpoints.into(), limits }, requests })
    }

    /// Waits for the next client; `None` once the listener is closed. Answer each request in its own task, so that others
    /// need not wait.
    pub async fn accept(&mut self) -> Option<Request> {
        self.requests.recv().await
    }

    /// Returns a handle to control it from elsewhere.
    #[must_use]
    pub fn handle(&self) -> ListenerHandle {
        self.handle.clone()
    }

    /// Returns the addresses with their ports, in the order given.
    #[must_use]
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.handle.local_addresses()
    }
}

impl ListenerHandle {
    /// Returns the addresses with their ports, in the order given.
    #[must_use]
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.endpoints.iter().filter_map(|endpoint| endpoint.local_addr().ok()).collect()
    }

    /// Serves another certificate to new clients.
    ///
    /// # Errors
    /// [`BindError::Certificate`] if it cannot be used; the former one stays.
    pub fn serve(&self, certificate: &Certificate) -> Result<(), BindError> {
        let config = server_config(certificate, &self.limits)?;
        for endpoint in self.endpoints.iter() {
            endpoint.set_server_config(Some(config.clone()));
        }
        Ok(())
    }

    /// Stops accepting clients.
    pub fn stop_accepting(&self) {
        for endpoint in self.endpoints.iter() {
            endpoint.set_server_config(None);
        }
    }

    /// Closes the listener and its connections and frees the ports. [`Listener::accept`] then returns `None`.
    pub fn close(&self) {
        let reason = CloseReason::from(CloseCode::ShuttingDown);
        let number = web_transport_quinn::proto::error_to_http3(reason.code.number());
        let code = VarInt::from_u64(number).unwrap_or_default();
        for endpoint in self.endpoints.iter() {
            endpoint.close(code, reason.message().as_bytes());
        }
    }

    /// Waits until all connections are closed and their last packets sent.
    pub async fn wait_idle(&self) {
        for endpoint in self.endpoints.iter() {
            endpoint.wait_idle().await;
        }
    }
}

fn bind_all(addresses: &[SocketAddr]) -> Result<Vec<UdpSocket>, BindError> {
    if addresses.is_empty() {
        return Err(BindError::NoAddress);
    }
    let mut attempt = 1;
    loop {
        match try_bind_all(addresses) {
            // The shared free port may be taken on one of the addresses.
            Err((BindError::Taken { .. }, true)) if attempt < PORT_ATTEMPTS_MAX => attempt += 1,
            Err((error, _)) => return Err(error),
            Ok(sockets) => return Ok(sockets),
        }
    }
}

/// Binds all addresses to ports. On failure, also returns whether another free port may help.
fn try_bind_all(addresses: &[SocketAddr]) -> Result<Vec<UdpSocket>, (BindError, bool)> {
    let (mut sockets, mut common) = (Vec::new(), None);
    for &address in addresses {
        let (mut wanted, is_open) = (address, address.port() == 0);
        wanted.set_port(if is_open { common.unwrap_or(0) } else { address.port() });
        let failed = |source| (bind_error(wanted, source), is_open && common.is_some());
        let socket = socket::bind(wanted).map_err(failed)?;
        if is_open {
            common = Some(socket.local_addr().map_err(failed)?.port());
        }
        sockets.push(socket);
    }
    Ok(sockets)
}

pub(super) fn bind_error(address: SocketAddr, source: io::Error) -> BindError {
    match source.kind() {
        io::ErrorKind::AddrInUse => BindError::Taken { address },
        io::ErrorKind::AddrNotAvailable => BindError::NotHere { address },
        _ => BindError::Io { address, source },
    }
}

#[derive(Debug)]
struct FixedCertificate(Arc<CertifiedKey>);

impl ResolvesServerCert for FixedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn server_config(certificate: &Certificate, limits: &Limits) -> Result<quinn::ServerConfig, BindError> {
    let unusable = |error: rustls::Error| BindError::Certificate(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unusable)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(FixedCertificate(certificate.certified())));
    tls.alpn_protocols = vec![web_transport_quinn::ALPN.as_bytes().to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(|error| BindError::Certificate(error.to_string()))?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(limits.transport()).max_incoming(limits.handshakes_max);
    Ok(config)
}

/// Takes clients through their handshake.
#[derive(Clone)]
struct Acceptor {
    limits: Limits,
    handshakes: HandshakeLimiter,
    connection_slots: Arc<Semaphore>,
    requests: mpsc::Sender<Request>,
}

impl Acceptor {
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
        let handshaking = async {
            let connection = incoming.await.map_err(|error| error.to_string())?;
            web_transport_quinn::Request::accept(connection).await.map_err(|error| error.to_string())
        };
        let inner = match timeout(self.limits.handshake_timeout, handshaking).await {
            Ok(Ok(inner)) => inner,
            Ok(Err(error)) => return tracing::debug!(%address, %error, "a handshake failed"),
            Err(_) => return tracing::debug!(%address, "a handshake took too long"),
        };
        let slot = self.connection_slots.clone().try_acquire_owned().ok();
        let is_full = slot.is_none();
        let request = Request { inner, timeout: self.limits.handshake_timeout, _handshake: handshake, slot };
        if is_full {
            return request.refuse(CloseCode::Full).await;
        }
        let _ = self.requests.send(request).await;
    }
}
