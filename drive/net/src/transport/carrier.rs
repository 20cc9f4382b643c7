//! What carries a connection: a session of this crate, or an encrypted connection of another one.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use quinn::SendDatagramError;
use tokio::io::AsyncRead;
use web_transport_quinn::{SendStream, Session, SessionError, WebTransportError};

use super::connection::SendError;
use super::reason::{CloseReason, Closed};

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A reader of the reliable stream's bytes.
pub type CarrierReader = Box<dyn AsyncRead + Send + Sync + Unpin>;

/// An encrypted connection of another crate, which [`Connection::over`](super::Connection::over) turns into a connection
/// that a crank can attach.
pub trait Carrier: Send + Sync + 'static {
    /// Returns the other side's address; an unspecified one if packets go through somebody else.
    fn remote_address(&self) -> SocketAddr;

    /// Returns the estimated round-trip time.
    fn round_trip(&self) -> Duration;

    /// Returns the bytes of all UDP datagrams sent and received, of this connection.
    fn wire_bytes(&self) -> (u64, u64);

    /// Returns the longest datagram that reaches the other side, in bytes. Must not change.
    fn datagram_max(&self) -> usize;

    /// Sends a datagram without waiting; callable from any thread. If too many are queued, the oldest are dropped.
    ///
    /// # Errors
    /// [`SendError`] if it is too long or the connection is closed.
    fn send_datagram(&self, bytes: Bytes) -> Result<(), SendError>;

    /// Waits for the next datagram; `None` once the connection is closed. Must be cancel-safe.
    fn read_datagram(&self) -> BoxFuture<'_, Option<Bytes>>;

    /// Closes the connection; callable from any thread.
    fn close(&self, reason: &CloseReason);

    /// Returns how the connection ended; `None` while it is open.
    fn ended(&self) -> Option<Closed>;

    /// Waits until the connection is closed.
    fn closed(&self) -> BoxFuture<'_, Closed>;
}

/// The writing side of the reliable stream of a [`Carrier`].
pub trait CarrierWriter: Send + 'static {
    /// Writes all of these bytes. Returns false if the stream has ended.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, bool>;

    /// Ends the stream and waits until the other side has received everything, or is gone.
    fn finish(&mut self) -> BoxFuture<'_, ()>;
}

/// The connection below a [`Connection`](super::Connection). A session of this crate is not behind a pointer, as relays
/// receive a great many datagrams.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per connection, behind the connection's own pointer"
)]
pub(super) enum CarriedBy {
    WebTransport(Session),
    Carrier(Box<dyn Carrier>),
}

impl CarriedBy {
    pub(super) fn remote_address(&self) -> SocketAddr {
        match self {
            Self::WebTransport(session) => session.remote_address(),
            Self::Carrier(carrier) => carrier.remote_address(),
        }
    }

    pub(super) fn round_trip(&self) -> Duration {
        match self {
            Self::WebTransport(session) => session.rtt(),
            Self::Carrier(carrier) => carrier.round_trip(),
        }
    }

    pub(super) fn wire_bytes(&self) -> (u64, u64) {
        match self {
            Self::WebTransport(session) => {
                let connection: &quinn::Connection = session;
                let stats = connection.stats();
                (stats.udp_tx.bytes, stats.udp_rx.bytes)
            }
            Self::Carrier(carrier) => carrier.wire_bytes(),
        }
    }

    pub(super) fn datagram_max(&self) -> usize {
        match self {
            Self::WebTransport(session) => session.max_datagram_size(),
            Self::Carrier(carrier) => carrier.datagram_max(),
        }
    }

    pub(super) fn send_datagram(&self, bytes: Bytes, too_long: SendError) -> Result<(), SendError> {
        match self {
            Self::WebTransport(session) => session.send_datagram(bytes).map_err(|error| match error {
                SessionError::SendDatagramError(SendDatagramError::TooLarge) => too_long,
                _ => SendError::Closed,
            }),
            Self::Carrier(carrier) => carrier.send_datagram(bytes),
        }
    }

    /// Waits for the next datagram.
    pub(super) async fn read_datagram(&self) -> Result<Bytes, Closed> {
        match self {
            Self::WebTransport(session) => loop {
                match session.read_datagram().await {
                    Ok(bytes) => return Ok(bytes),
                    // A datagram of an unknown session is ignored.
                    Err(SessionError::WebTransportError(WebTransportError::UnknownSession)) => {}
                    Err(error) => return Err(ended(session, &error)),
                }
            },
            Self::Carrier(carrier) => match carrier.read_datagram().await {
                Some(bytes) => Ok(bytes),
                None => Err(carrier.closed().await),
            },
        }
    }

    /// Returns a datagram that has already arrived.
    pub(super) fn try_read_datagram(&self) -> Option<Bytes> {
        let mut context = Context::from_waker(Waker::noop());
        match self {
            Self::WebTransport(session) => match pin!(session.read_datagram()).poll(&mut context) {
                Poll::Ready(Ok(bytes)) => Some(bytes),
                // Nothing has arrived, or the connection is closed, which the next `read_datagram` reports.
                _ => None,
            },
            Self::Carrier(carrier) => match carrier.read_datagram().as_mut().poll(&mut context) {
                Poll::Ready(datagram) => datagram,
                Poll::Pending => None,
            },
        }
    }

    pub(super) fn close(&self, reason: &CloseReason) {
        match self {
            Self::WebTransport(session) => session.close(reason.code.number(), reason.message().as_bytes()),
            Self::Carrier(carrier) => carrier.close(reason),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::WebTransport(session) => session.close_reason().is_some(),
            Self::Carrier(carrier) => carrier.ended().is_some(),
        }
    }

    pub(super) async fn closed(&self) -> Closed {
        match self {
            Self::WebTransport(session) => ended(session, &session.closed().await),
            Self::Carrier(carrier) => carrier.closed().await,
        }
    }
}

fn ended(session: &Session, error: &SessionError) -> Closed {
    Closed::of(session).unwrap_or_else(|| Closed::Broken(error.to_string()))
}

impl CarrierWriter for SendStream {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, bool> {
        Box::pin(async move { self.write_all(bytes).await.is_ok() })
    }

    fn finish(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if SendStream::finish(self).is_ok() {
                let _ = self.stopped().await;
            }
        })
    }
}
