//! Why a connection ended, with a code for programs and words for people.

use std::fmt;

use quinn::ConnectionError;
use web_transport_quinn::proto::error_from_http3;
use web_transport_quinn::{Session, SessionError, WebTransportError};

/// The longest words that are sent along, in bytes: what WebTransport allows.
const WORDS_BYTES_MAX: usize = 1_024;

macro_rules! close_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $words:literal;)*) => {
        /// Why a connection ended. The numbers are part of the protocol and stay.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum CloseCode {
            $($(#[$doc])* $name,)*
            /// One that this version does not know.
            Other(u32),
        }

        impl CloseCode {
            /// Its number on the wire.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self {
                    $(Self::$name => $code,)*
                    Self::Other(number) => number,
                }
            }

            /// The code with this number.
            #[must_use]
            pub const fn from_number(number: u32) -> Self {
                match number {
                    $($code => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// What it says to people, if nothing more is known.
            #[must_use]
            pub const fn words(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)*
                    Self::Other(_) => "closed for a reason that this version does not know",
                }
            }
        }
    };
}

close_codes! {
    /// Nothing is wrong.
    Done = 0, "the connection was closed";
    /// The same player connected again.
    Replaced = 1, "replaced by a newer connection of the same player";
    /// It does not read as fast as is written to it.
    TooSlow = 2, "this connection is too slow: what was sent reliably piled up";
    /// The token is not good.
    TokenRefused = 3, "the token was refused";
    /// The two sides speak different versions.
    VersionMismatch = 4, "the two sides speak different versions: update the older one";
    /// The other side ends.
    ShuttingDown = 5, "the relay is shutting down";
    /// It sends far more than is allowed.
    Flooding = 6, "too many messages came over this connection";
    /// A reliable message is longer than allowed.
    MessageTooLong = 7, "a message was longer than allowed";
    /// It did something that the protocol does not know.
    Protocol = 8, "the other side broke the protocol";
    /// There is no place left.
    Full = 9, "no place is left: try again later";
    /// There is no such room or path.
    NotFound = 10, "there is nothing at this address";
    /// An operator ended it.
    Removed = 11, "removed by the operator";
    /// The room is closed.
    RoomClosed = 12, "the room was closed";
    /// Something broke on the other side.
    Internal = 13, "something went wrong on the other side";
}

/// A code, and words that say more if there is more to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CloseReason {
    /// For programs.
    pub code: CloseCode,
    words: String,
}

impl CloseReason {
    /// A reason in these words; empty ones are those of the code.
    #[must_use]
    pub fn new(code: CloseCode, words: impl Into<String>) -> Self {
        let mut words = words.into();
        words.truncate(words.floor_char_boundary(WORDS_BYTES_MAX));
        if words.is_empty() {
            words = code.words().to_owned();
        }
        Self { code, words }
    }

    /// For people.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }
}

impl From<CloseCode> for CloseReason {
    fn from(code: CloseCode) -> Self {
        Self::new(code, "")
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// How a connection ended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Closed {
    /// The other side said why.
    #[error("closed by the other side: {0}")]
    ByPeer(CloseReason),
    /// This side did it.
    #[error("closed by this side: {0}")]
    ByUs(CloseReason),
    /// Nothing was heard for too long.
    #[error("the other side fell silent")]
    Silent,
    /// Something else, as QUIC says it.
    #[error("the connection broke: {0}")]
    Broken(String),
}

impl Closed {
    /// The code, if one side gave one.
    #[must_use]
    pub const fn code(&self) -> Option<CloseCode> {
        match self {
            Self::ByPeer(reason) | Self::ByUs(reason) => Some(reason.code),
            Self::Silent | Self::Broken(_) => None,
        }
    }
}

impl Closed {
    /// How the other side ended a session. The library forgets what QUIC said if no words came over the session itself,
    /// so the QUIC connection is asked then.
    pub(super) fn of(session: &Session) -> Option<Self> {
        if let Some(SessionError::WebTransportError(WebTransportError::Closed(number, words))) =
            session.close_reason()
        {
            return Some(Self::ByPeer(CloseReason::new(CloseCode::from_number(number), words)));
        }
        let connection: &quinn::Connection = session;
        Some(match connection.close_reason()? {
            ConnectionError::TimedOut => Self::Silent,
            // The library closes the QUIC connection too when the session's stream ends, for whatever cause, and QUIC
            // then forgets that cause. Only that the other side closed it can still be seen.
            ConnectionError::LocallyClosed if connection.stats().frame_rx.connection_close > 0 => {
                Self::ByPeer(CloseCode::Done.into())
            }
            ConnectionError::LocallyClosed => Self::Silent,
            ConnectionError::ApplicationClosed(close) => {
                let number = error_from_http3(close.error_code.into_inner()).unwrap_or(0);
                let words = String::from_utf8_lossy(&close.reason);
                Self::ByPeer(CloseReason::new(CloseCode::from_number(number), words))
            }
            other => Self::Broken(other.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codes_are_the_same_both_ways() {
        for number in 0..100 {
            assert_eq!(CloseCode::from_number(number).number(), number);
        }
        assert_eq!(CloseCode::from_number(13), CloseCode::Internal);
        assert_eq!(CloseCode::from_number(14), CloseCode::Other(14));
    }

    #[test]
    fn words_are_bounded_and_never_missing() {
        assert_eq!(CloseReason::from(CloseCode::Full).words(), CloseCode::Full.words());
        let long = CloseReason::new(CloseCode::Full, "ü".repeat(2_000));
        assert_eq!(long.words().len(), WORDS_BYTES_MAX);
    }
}
