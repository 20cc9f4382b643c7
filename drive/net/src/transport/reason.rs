//! Why a connection ended: a code for programs and a message for people.

use std::fmt;

use quinn::ConnectionError;
use web_transport_quinn::proto::error_from_http3;
use web_transport_quinn::{Session, SessionError, WebTransportError};

/// The longest message that WebTransport allows, in bytes.
const MESSAGE_BYTES_MAX: usize = 1_024;

macro_rules! close_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $message:literal;)*) => {
        /// Why a connection ended. The numbers are part of the protocol and never change.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum CloseCode {
            $($(#[$doc])* $name,)*
            /// A code unknown to this version.
            Other(u32),
        }

        impl CloseCode {
            /// Returns its number on the wire.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self {
                    $(Self::$name => $code,)*
                    Self::Other(number) => number,
                }
            }

            /// Returns the code with this number.
            #[must_use]
            pub const fn from_number(number: u32) -> Self {
                match number {
                    $($code => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// Returns the default message.
            #[must_use]
            pub const fn message(self) -> &'static str {
                match self {
                    $(Self::$name => $message,)*
                    Self::Other(_) => "closed for a reason unknown to this version",
                }
            }
        }
    };
}

close_codes! {
    /// No error.
    Done = 0, "the connection was closed";
    /// The player connected again.
    Replaced = 1, "replaced by a newer connection of the same player";
    /// It read too slowly.
    TooSlow = 2, "this connection is too slow: what was sent reliably piled up";
    /// The token is not valid.
    TokenRefused = 3, "the token was refused";
    /// The two sides speak different versions.
    VersionMismatch = 4, "the two sides speak different versions: update the older one";
    /// The relay is shutting down.
    ShuttingDown = 5, "the relay is shutting down";
    /// It sent far more than allowed.
    Flooding = 6, "too many messages came over this connection";
    /// A reliable message was longer than allowed.
    MessageTooLong = 7, "a message was longer than allowed";
    /// It violated the protocol.
    Protocol = 8, "the other side broke the protocol";
    /// The room or relay is full.
    Full = 9, "no place is left: try again later";
    /// There is no such room or path.
    NotFound = 10, "there is nothing at this address";
    /// An operator ended it.
    Removed = 11, "removed by the operator";
    /// The room was closed.
    RoomClosed = 12, "the room was closed";
    /// The other side failed.
    Internal = 13, "something went wrong on the other side";
}

/// A close code with a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CloseReason {
    /// The code, for programs.
    pub code: CloseCode,
    message: String,
}

impl CloseReason {
    /// Creates a reason with this message; an empty one is replaced by the code's own.
    #[must_use]
    pub fn new(code: CloseCode, message: impl Into<String>) -> Self {
        let mut message = message.into();
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        if message.is_empty() {
            message = code.message().to_owned();
        }
        Self { code, message }
    }

    /// Returns the message, for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<CloseCode> for CloseReason {
    fn from(code: CloseCode) -> Self {
        Self::new(code, "")
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// How a connection ended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Closed {
    /// The other side closed it.
    #[error("closed by the other side: {0}")]
    ByPeer(CloseReason),
    /// This side closed it.
    #[error("closed by this side: {0}")]
    ByUs(CloseReason),
    /// Nothing was received for too long.
    #[error("the other side fell silent")]
    Silent,
    /// Any other cause, as reported by QUIC.
    #[error("the connection broke: {0}")]
    Broken(String),
}

impl Closed {
    /// Returns the code, if one side gave one.
    #[must_use]
    pub const fn code(&self) -> Option<CloseCode> {
        match self {
            Self::ByPeer(reason) | Self::ByUs(reason) => Some(reason.code),
            Self::Silent | Self::Broken(_) => None,
        }
    }
}

impl Closed {
    /// Returns how the other side ended a session. The library drops QUIC's reason if none was sent over the session itself,
    /// so this falls back to the QUIC connection.
    pub(super) fn of(session: &Session) -> Option<Self> {
        if let Some(SessionError::WebTransportError(WebTransportError::Closed(number, message))) =
            session.close_reason()
        {
            return Some(Self::ByPeer(CloseReason::new(CloseCode::from_number(number), message)));
        }
        let connection: &quinn::Connection = session;
        Some(match connection.close_reason()? {
            ConnectionError::TimedOut => Self::Silent,
            // The library also closes the QUIC connection when the session's stream ends for any reason, and QUIC then
            // drops the reason. Only the fact that the other side closed it remains visible.
            ConnectionError::LocallyClosed if connection.stats().frame_rx.connection_close > 0 => {
                Self::ByPeer(CloseCode::Done.into())
            }
            ConnectionError::LocallyClosed => Self::Silent,
            ConnectionError::ApplicationClosed(close) => {
                let number = error_from_http3(close.error_code.into_inner()).unwrap_or(0);
                let message = String::from_utf8_lossy(&close.reason);
                Self::ByPeer(CloseReason::new(CloseCode::from_number(number), message))
            }
            other => Self::Broken(other.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_through_their_numbers() {
        for number in 0..100 {
            assert_eq!(CloseCode::from_number(number).number(), number);
        }
        assert_eq!(CloseCode::from_number(13), CloseCode::Internal);
        assert_eq!(CloseCode::from_number(14), CloseCode::Other(14));
    }

    #[test]
    fn messages_are_bounded_and_never_empty() {
        assert_eq!(CloseReason::from(CloseCode::Full).message(), CloseCode::Full.message());
        let long = CloseReason::new(CloseCode::Full, "ü".repeat(2_000));
        assert_eq!(long.message().len(), MESSAGE_BYTES_MAX);
    }
}
