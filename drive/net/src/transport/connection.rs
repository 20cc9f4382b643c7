//! An open connection, for both listener and client.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use web_transport_quinn::{RecvStream, SendStream, Session};

use super::carrier::{CarriedBy, Carrier, CarrierReader, CarrierWriter};
use super::reason::{CloseCode, CloseReason, Closed};
use super::reliable_outbox::{RELIABLE_BYTES_MAX, ReliableOutbox};
use super::stream::{StreamError, read_message};

/// How long after the end of the reliable stream the close reason may still arrive.
const REASON_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a message could not be sent.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It is longer than the other side can receive.
    #[error("{bytes} bytes are too long for one message: at most {bytes_max} are possible")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest possible.
        bytes_max: usize,
    },
    /// Too much is queued for the other side; the connection is closed.
    #[error("the other side reads too slowly; the connection is closed")]
    TooSlow,
    /// The connection is closed.
    #[error("the connection is closed")]
    Closed,
}

/// A connection. Clones share it; it is closed when the last is dropped.
#[derive(Clone)]
pub struct Connection(Arc<ConnectionInner>);

struct ConnectionInner {
    session: CarriedBy,
    runtime: Handle,
    datagram_max: usize,
    greeting: Vec<u8>,
    outbox: Arc<ReliableOutbox>,
    reader: Mutex<Option<CarrierReader>>,
    close_reason: OnceLock<CloseReason>,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Must be called on the runtime that drives the session.
    pub(super) fn new(
        session: Session,
        writer: SendStream,
        reader: RecvStream,
        greeting: Vec<u8>,
        slot: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self::carried(CarriedBy::WebTransport(session), writer, Box::new(reader), greeting, slot)
    }

    /// A connection over another crate's encrypted one, with its reliable stream, on which nothing but messages will
    /// travel. The greeting is what the other side said before. Must be called on the tokio runtime that drives it.
    #[must_use]
    pub fn over(
        carrier: impl Carrier,
        writer: impl CarrierWriter,
        reader: CarrierReader,
        greeting: Vec<u8>,
    ) -> Self {
        Self::carried(CarriedBy::Carrier(Box::new(carrier)), writer, reader, greeting, None)
    }

    fn carried(
        session: CarriedBy,
        writer: impl CarrierWriter,
        reader: CarrierReader,
        greeting: Vec<u8>,
        slot: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let runtime = Handle::current();
        let outbox = Arc::new(ReliableOutbox::default());
        let writing = outbox.clone();
        runtime.spawn(async move { writing.write_to(writer).await });
        Self(Arc::new(ConnectionInner {
            datagram_max: session.datagram_max(),
            session,
            runtime,
            greeting,
            outbox,
            reader: Mutex::new(Some(reader)),
            close_reason: OnceLock::new(),
            _slot: slot,
        }))
    }

    /// Returns the other side's address.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.0.session.remote_address()
    }

    /// Returns QUIC's estimate of the round-trip time.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        self.0.session.round_trip()
    }

    /// Returns the bytes of all UDP datagrams sent and received: what the connection costs, beside what it carries.
    #[must_use]
    pub fn wire_bytes(&self) -> (u64, u64) {
        self.0.session.wire_bytes()
    }

    /// Returns the longest datagram that reaches the other side, in bytes. It never changes.
    #[must_use]
    pub fn datagram_max(&self) -> usize {
        self.0.datagram_max
    }

    /// Returns the relay's greeting; empty at the relay.
    #[must_use]
    pub fn greeting(&self) -> &[u8] {
        &self.0.greeting
    }

    /// Sends a datagram without waiting; callable from any thread. If too many are queued, the oldest are dropped.
    ///
    /// # Errors
    /// [`SendError`] if it is too long or the connection is closed.
    pub fn send_datagram(&self, bytes: Bytes) -> Result<(), SendError> {
        let (bytes_max, len) = (self.0.datagram_max, bytes.len());
        let too_long = SendError::TooLong { bytes: len, bytes_max };
        if len > bytes_max {
            return Err(too_long);
        }
        self.0.session.send_datagram(bytes, too_long)
    }

    /// Sends a reliable message without waiting; callable from any thread. If too many are queued, the other side reads too
    /// slowly and the connection is closed with [`CloseCode::TooSlow`].
    ///
    /// # Errors
    /// [`SendError`] if it is too long, the other side too slow, or the connection closed.
    pub fn send_reliable(&self, message: Vec<u8>) -> Result<(), SendError> {
        if message.len() > RELIABLE_BYTES_MAX {
            return Err(SendError::TooLong { bytes: message.len(), bytes_max: RELIABLE_BYTES_MAX });
        }
        if self.is_closed() {
            return Err(SendError::Closed);
        }
        self.0.outbox.push(message).map_err(|_| {
            self.close(CloseCode::TooSlow);
            SendError::TooSlow
        })
    }

    /// Waits for the next datagram.
    ///
    /// # Errors
    /// [`Closed`] once the connection is closed.
    pub async fn read_datagram(&self) -> Result<Bytes, Closed> {
        self.0.session.read_datagram().await.map_err(|closed| self.ended(closed))
    }

    /// Returns a datagram that has already arrived.
    #[must_use]
    pub fn try_read_datagram(&self) -> Option<Bytes> {
        self.0.session.try_read_datagram()
    }

    /// Returns the reader of reliable messages on the first call, then `None`.
    #[must_use]
    pub fn take_reader(&self) -> Option<ReliableReader> {
        let stream = self.0.reader.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(ReliableReader { stream, connection: self.clone() })
    }

    /// Closes the connection; callable from any thread. Queued messages are discarded, and only the first reason counts.
    pub fn close(&self, reason: impl Into<CloseReason>) {
        let reason = reason.into();
        if self.0.close_reason.set(reason.clone()).is_err() {
            return;
        }
        self.0.outbox.clear();
        // The library sends the reason in a task, so it needs a runtime.
        let _runtime = self.0.runtime.enter();
        self.0.session.close(&reason);
    }

    /// Sends queued reliable messages for at most `drain_max`, then closes the connection and waits for its end.
    pub async fn close_gently(&self, reason: impl Into<CloseReason>, drain_max: Duration) -> Closed {
        self.0.outbox.finish();
        let _ = tokio::time::timeout(drain_max, self.0.outbox.written()).await;
        self.close(reason);
        self.closed().await
    }

    /// Whether it is closed or closing.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.close_reason.get().is_some() || self.0.session.is_closed()
    }

    /// Waits until the connection is closed.
    pub async fn closed(&self) -> Closed {
        let closed = self.0.session.closed().await;
        self.ended(closed)
    }

    /// Identifies the connection among all open ones; equal for clones.
    pub(crate) fn key(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// What this side did counts for more than what the transport noticed.
    fn ended(&self, closed: Closed) -> Closed {
        self.0.close_reason.get().map_or(closed, |reason| Closed::ByUs(reason.clone()))
    }
}

impl Drop for ConnectionInner {
    fn drop(&mut self) {
        self.outbox.clear();
        if self.close_reason.get().is_none() {
            let _runtime = self.runtime.enter();
            self.session.close(&CloseCode::Done.into());
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({})", self.remote_address())
    }
}

/// Reads the reliable messages of a connection.
pub struct ReliableReader {
    stream: CarrierReader,
    connection: Connection,
}

impl ReliableReader {
    /// Waits for the next message. Not cancel-safe: half a message would be lost.
    ///
    /// # Errors
    /// [`Closed`] once the connection is closed; a message that is too long closes it.
    pub async fn next(&mut self) -> Result<Vec<u8>, Closed> {
        match read_message(&mut self.stream).await {
            Ok(message) => Ok(message),
            Err(error @ StreamError::TooLong { .. }) => {
                self.connection.close(CloseReason::new(CloseCode::MessageTooLong, error.to_string()));
                Err(self.connection.closed().await)
            }
            Err(_) => Err(self.end().await),
        }
    }

    /// Handles the end of the stream, which in a gentle close precedes the reason.
    async fn end(&self) -> Closed {
        if let Ok(closed) = tokio::time::timeout(REASON_TIMEOUT, self.connection.closed()).await {
            return closed;
        }
        self.connection.close(CloseReason::new(CloseCode::Protocol, "the reliable stream was closed"));
        self.connection.closed().await
    }
}

impl fmt::Debug for ReliableReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReliableReader({})", self.connection.remote_address())
    }
}
