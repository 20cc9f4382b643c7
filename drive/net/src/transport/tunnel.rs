//! Tunnels: plain QUIC between two programs that share a key.
//!
//! Both sides derive the same Ed25519 key pair from the shared secret. In the TLS handshake each shows its public key
//! (RFC 7250), signs with the private one, and accepts nothing but that key from the other side. So whoever does not have
//! the secret can neither connect nor listen, and what travels is encrypted.
//!
//! A client opens one stream and says *hello*: some bytes of the application, laid out like a relay's greeting. The server
//! accepts with a greeting, or refuses with a [`CloseReason`](super::CloseReason). Then the tunnel is either a
//! [`Connection`](super::Connection), for datagrams and reliable messages, or a [`TunnelStream`], for bytes in order.
//!
//! A restarted server that binds the same port knows by the key that packets of its former connections are not for it, and
//! resets them at once, so that clients need not wait until a connection times out.
//!
//! ```
//! use evenkeel_net::transport::tunnel::{SharedKey, TunnelDialer, TunnelListener};
//! use evenkeel_net::transport::Limits;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (key, limits) = (SharedKey::generate(), Limits::default());
//! let mut listener = TunnelListener::bind("127.0.0.1:0".parse()?, &key, limits)?;
//! let address = listener.local_address();
//! let server = async {
//!     let request = listener.accept().await.expect("a client");
//!     assert_eq!(request.hello(), b"I am Ada");
//!     request.accept(b"hello, Ada").await.expect("connected")
//! };
//! let dialer = TunnelDialer::new(&key, limits);
//! let client = async { dialer.connect(address, b"I am Ada").await.expect("connected") };
//! let (_server, client) = tokio::join!(server, client);
//! assert_eq!(client.greeting(), b"hello, Ada");
//!
//! let stranger = TunnelDialer::new(&SharedKey::generate(), limits);
//! assert!(stranger.connect(address, b"I am Ada, too").await.is_err());
//! # Ok(())
//! # }
//! ```

mod dialer;
mod key;
mod listener;
mod tls;
mod window;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::TransportConfig;
use tokio::sync::OwnedSemaphorePermit;
use web_transport_quinn::{RecvStream, SendStream, Session};

use super::limits::Limits;
use super::reason::CloseCode;

pub use dialer::{TunnelDialer, TunnelError};
pub use key::SharedKey;
pub use listener::{TunnelHandle, TunnelListener, TunnelRequest};

/// Several of the longest UDP datagrams, cut into parts. When it is full the oldest is dropped.
const DATAGRAM_BUFFER: usize = 512 * 1024;
/// What a forwarded TCP connection may have in flight.
const STREAM_WINDOW: u32 = 1024 * 1024;

fn transport(limits: &Limits) -> Arc<TransportConfig> {
    let mut config = limits.transport_config();
    config
        .datagram_send_buffer_size(DATAGRAM_BUFFER)
        .datagram_receive_buffer_size(Some(2 * DATAGRAM_BUFFER))
        .stream_receive_window(STREAM_WINDOW.into())
        .send_window(STREAM_WINDOW.into())
        .congestion_controller_factory(Arc::new(window::WindowFloor));
    Arc::new(config)
}

/// A tunnel for bytes in order, both ways. Dropping it closes it.
pub struct TunnelStream {
    /// What is written here, the other side reads.
    pub writer: SendStream,
    /// What the other side writes.
    pub reader: RecvStream,
    session: Session,
    _slot: Option<OwnedSemaphorePermit>,
}

impl TunnelStream {
    /// Returns the other side's address.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.session.remote_address()
    }

    /// Waits until the other side has read everything up to the end that has been written, or is gone.
    pub async fn finished(&mut self) {
        let _ = self.writer.stopped().await;
    }
}

impl Drop for TunnelStream {
    fn drop(&mut self) {
        self.session.close(CloseCode::Done.number(), CloseCode::Done.message().as_bytes());
    }
}

impl fmt::Debug for TunnelStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TunnelStream({})", self.remote_address())
    }
}
