//! What a player's calls can fail with.

use evenkeel_dr::relay::OWNER_ENTITIES_MAX;
use evenkeel_dr::relay::limits::LOCAL_MAX;
use evenkeel_net::record::RecordingError;
use evenkeel_net::transport::ConnectError;

/// Why a player could not connect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The relay could not be reached, or refused.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The recording could not start.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The system refused to start a thread.
    #[error("the player's threads could not be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// Why an entity was not reported. All others of the same call were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntityError {
    /// Its number is too large: it would be another entity's.
    #[error("there is no entity {0}: number your entities from 0 to {LOCAL_MAX}")]
    Number(u32),
    /// Its motion is not a number, or too large.
    #[error(
        "the motion of entity {0} is not finite or beyond a billion units (100 rad/s): check your physics"
    )]
    Motion(u32),
    /// The player has too many entities.
    #[error("entity {0} is one too many: a player has at most {OWNER_ENTITIES_MAX} at a time")]
    TooMany(u32),
}

/// Why a message of the game was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// There is no connection at the moment.
    #[error("not connected to the relay: send the message again once `status` is connected")]
    NotConnected,
    /// The message is too long.
    #[error("a message of {len} bytes is too long: at most {len_max} fit")]
    TooLong {
        /// Its length.
        len: usize,
        /// The longest that fits.
        len_max: usize,
    },
    /// Too many calls are waiting.
    #[error("too many calls are waiting: send less at a time")]
    Busy,
}
