//! One connection, the same for listener and client.

use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use quinn::SendDatagramError;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use web_transport_quinn::{RecvStream, SendStream, Session, SessionError, WebTransportError};

use super::outbox::{Outbox, RELIABLE_BYTES_MAX};
use super::reason::{CloseCode, CloseReason, Closed};
use super::stream::{StreamError, read_message};

/// How long after the end of the reliable stream the reason may take to come.
const REASON_TIMEOUT: Duration = Duration::from_secs(2);

/// Why something could not be sent.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendError {
    /// It is longer than what reaches the other side.
    #[error("{bytes} bytes are too long: at most {bytes_max} reach the other side in one message")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        bytes_max: usize,
    },
    /// More waits for the other side than may; the connection is closed.
    #[error("the other side reads too slowly, the connection is closed")]
    TooSlow,
    /// The connection is closed.
    #[error("the connection is closed")]
    Closed,
}

/// One connection. Clones are the same one; when the last is gone it is closed.
#[derive(Clone)]
pub struct Connection(Arc<Inner>);

struct Inner {
    session: Session,
    runtime: Handle,
    datagram_max: usize,
    greeting: Vec<u8>,
    outbox: Arc<Outbox>,
    reader: Mutex<Option<RecvStream>>,
    ours: OnceLock<CloseReason>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Must be called on the runtime that drives the session.
    pub(super) fn new(
        session: Session,
        writer: SendStream,
        reader: RecvStream,
        greeting: Vec<u8>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let runtime = Handle::current();
        let outbox = Arc::new(Outbox::default());
        let writing = outbox.clone();
        runtime.spawn(async move { writing.write_to(writer).await });
        Self(Arc::new(Inner {
            datagram_max: session.max_datagram_size(),
            session,
            runtime,
            greeting,
            outbox,
            reader: Mutex::new(Some(reader)),
            ours: OnceLock::new(),
            _place: place,
        }))
    }

    /// The other side's address.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.0.session.remote_address()
    }

    /// QUIC's estimate of the round trip.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        self.0.session.rtt()
    }

    /// The longest datagram that reaches the other side, in bytes; it stays the same.
    #[must_use]
    pub fn datagram_max(&self) -> usize {
        self.0.datagram_max
    }

    /// What the relay said when it let us in; empty at the relay.
    #[must_use]
    pub fn greeting(&self) -> &[u8] {
        &self.0.greeting
    }

    /// Sends a datagram, from any thread, without waiting. If too many wait already, the oldest are dropped.
    ///
    /// # Errors
    /// [`SendError`] if it is too long or the connection is closed.
    pub fn send_datagram(&self, bytes: Bytes) -> Result<(), SendError> {
        let (bytes_max, len) = (self.0.datagram_max, bytes.len());
        let too_long = SendError::TooLong { bytes: len, bytes_max };
        if len > bytes_max {
            return Err(too_long);
        }
        self.0.session.send_datagram(bytes).map_err(|error| match error {
            SessionError::SendDatagramError(SendDatagramError::TooLarge) => too_long,
            _ => SendError::Closed,
        })
    }

    /// Sends a reliable message, from any thread, without waiting. If too many wait already the other side is a slow
    /// reader: the connection is closed with [`CloseCode::TooSlow`].
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

    /// The next datagram.
    ///
    /// # Errors
    /// [`Closed`] once the connection is.
    pub async fn read_datagram(&self) -> Result<Bytes, Closed> {
        loop {
            match self.0.session.read_datagram().await {
                Ok(bytes) => return Ok(bytes),
                // Not for this session; nobody's.
                Err(SessionError::WebTransportError(WebTransportError::UnknownSession)) => {}
                Err(error) => return Err(self.ended(&error)),
            }
        }
    }

    /// A datagram that has come already.
    #[must_use]
    pub fn try_read_datagram(&self) -> Option<Bytes> {
        let reading = pin!(self.0.session.read_datagram());
        match reading.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(bytes)) => Some(bytes),
            // None has come, or none will any more: who waits for the next one is told.
            _ => None,
        }
    }

    /// What reads the reliable messages; `None` from the second call on.
    #[must_use]
    pub fn take_reader(&self) -> Option<ReliableReader> {
        let stream = self.0.reader.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(ReliableReader { stream, connection: self.clone() })
    }

    /// Closes it, from any thread. What waits to be sent is forgotten; only the first reason counts.
    pub fn close(&self, reason: impl Into<CloseReason>) {
        let reason = reason.into();
        if self.0.ours.set(reason.clone()).is_err() {
            return;
        }
        self.0.outbox.clear();
        // The library writes the reason in a task, for which it looks for a runtime.
        let _runtime = self.0.runtime.enter();
        self.0.session.close(reason.code.number(), reason.words().as_bytes());
    }

    /// Sends what waits on the reliable stream, for so long at most, then closes it and waits until it is closed.
    pub async fn close_gently(&self, reason: impl Into<CloseReason>, drain_max: Duration) -> Closed {
        self.0.outbox.finish();
        let _ = tokio::time::timeout(drain_max, self.0.outbox.written()).await;
        self.close(reason);
        self.closed().await
    }

    /// Whether it is closed, or about to be.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.ours.get().is_some() || self.0.session.close_reason().is_some()
    }

    /// Comes back once it is closed.
    pub async fn closed(&self) -> Closed {
        let error = self.0.session.closed().await;
        self.ended(&error)
    }

    /// The same for clones of one connection, and no other's.
    pub(crate) fn key(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    fn ended(&self, error: &SessionError) -> Closed {
        match self.0.ours.get() {
            Some(reason) => Closed::ByUs(reason.clone()),
            None => Closed::of(&self.0.session).unwrap_or_else(|| Closed::Broken(error.to_string())),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.outbox.clear();
        if self.ours.get().is_none() {
            let _runtime = self.runtime.enter();
            self.session.close(CloseCode::Done.number(), CloseCode::Done.words().as_bytes());
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
    stream: RecvStream,
    connection: Connection,
}

impl ReliableReader {
    /// The next message. Not to be cancelled: half a message would be lost.
    ///
    /// # Errors
    /// [`Closed`] once the connection is; a message that is too long closes it.
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

    /// The stream is over. That is the first sign of a gentle end, whose reason is under way.
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
