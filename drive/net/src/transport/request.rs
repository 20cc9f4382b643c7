//! A client that requests a connection.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use web_transport_quinn::{RecvStream, SendStream, Session};

use super::connection::Connection;
use super::handshakes::Handshake;
use super::reason::{CloseCode, CloseReason, Closed};
use super::stream::{self, StreamError};

/// How long a refused client may take to read the reason.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);
/// The query parameter that holds the token.
pub(super) const TOKEN: &str = "token";

/// Why an accepted client did not connect.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// It closed the connection first.
    #[error("the client ended the connection before it was open: {0}")]
    Gone(Closed),
    /// It took too long.
    #[error("the client did not open its reliable stream in time")]
    TimedOut,
    /// It speaks another version.
    #[error("the client speaks another version of the reliable stream")]
    Version,
}

/// A client that requests a connection: check its path and token, then accept or refuse.
pub struct Request {
    pub(super) inner: web_transport_quinn::Request,
    pub(super) timeout: Duration,
    /// Counts as a handshake in progress until it is answered.
    pub(super) _handshake: Handshake,
    pub(super) slot: Option<OwnedSemaphorePermit>,
}

impl Request {
    /// Returns the path of its URL.
    #[must_use]
    pub fn path(&self) -> &str {
        self.inner.url.path()
    }

    /// Returns a parameter of its URL's query.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<String> {
        self.inner.url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// Returns its token. Do not log it.
    #[must_use]
    pub fn token(&self) -> Option<String> {
        self.query(TOKEN)
    }

    /// Returns its address.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.inner.conn().remote_address()
    }

    /// Accepts the client and waits until its reliable stream is open. The greeting is the first it reads there.
    ///
    /// # Errors
    /// [`AcceptError`] if it goes away or does not get that far.
    pub async fn accept(mut self, greeting: &[u8]) -> Result<Connection, AcceptError> {
        let (slot, limit) = (self.slot.take(), self.timeout);
        let session = timeout(limit, self.inner.ok())
            .await
            .map_err(|_| AcceptError::TimedOut)?
            .map_err(|error| AcceptError::Gone(Closed::Broken(error.to_string())))?;
        let opened = timeout(limit, open(&session, greeting)).await;
        match opened {
            Ok(Ok((writer, reader))) => Ok(Connection::new(session, writer, reader, Vec::new(), slot)),
            Ok(Err(error)) => {
                if error == AcceptError::Version {
                    close_and_wait(&session, &CloseCode::VersionMismatch.into()).await;
                }
                Err(error)
            }
            Err(_) => {
                let reason =
                    CloseReason::new(CloseCode::Protocol, "the reliable stream was not opened in time");
                close_and_wait(&session, &reason).await;
                Err(AcceptError::TimedOut)
            }
        }
    }

    /// Refuses the client and briefly waits until it has read the reason.
    pub async fn refuse(self, reason: impl Into<CloseReason>) {
        let reason = reason.into();
        if let Ok(Ok(session)) = timeout(REFUSAL_TIMEOUT, self.inner.ok()).await {
            close_and_wait(&session, &reason).await;
        }
    }
}

/// Accepts the client's stream and exchanges versions.
async fn open(session: &Session, greeting: &[u8]) -> Result<(SendStream, RecvStream), AcceptError> {
    let gone = |message: String| AcceptError::Gone(Closed::of(session).unwrap_or(Closed::Broken(message)));
    let (mut writer, mut reader) = session.accept_bi().await.map_err(|error| gone(error.to_string()))?;
    stream::read_preamble(&mut reader).await.map_err(|error| match error {
        StreamError::Version => AcceptError::Version,
        error => gone(error.to_string()),
    })?;
    writer.write_all(&stream::emit_greeting(greeting)).await.map_err(|error| gone(error.to_string()))?;
    Ok((writer, reader))
}

async fn close_and_wait(session: &Session, reason: &CloseReason) {
    session.close(reason.code.number(), reason.message().as_bytes());
    let _ = timeout(REFUSAL_TIMEOUT, session.closed()).await;
}

impl fmt::Debug for Request {
    /// Omits the query, which holds the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} from {})", self.path(), self.remote_address())
    }
}
