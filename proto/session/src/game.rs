//! Messages of the game itself: chat, scores, shots, whatever the protocol does not carry.
//!
//! They begin with the byte [`GAME`], where messages of a protocol name their format, so both share a connection. They need
//! no session time, and nothing acknowledges them: on the reliable channel they arrive in order, in a datagram they may be
//! lost.
//!
//! ```
//! use evenkeel_session::game::{emit_message, parse_message};
//!
//! let mut bytes = Vec::new();
//! emit_message(b"hello", &mut bytes);
//! assert_eq!(bytes, b"\x47hello");
//! assert_eq!(parse_message(&bytes), Some(&b"hello"[..]));
//! ```

use evenkeel_core::Channel;

use crate::envelope::GAME;

/// The longest message of a game on the reliable channel, without the first byte.
pub const GAME_MESSAGE_MAX: usize = 64 * 1024 - 1;
/// The longest message of a game in a datagram, without the first byte: every connection carries datagrams of this size.
pub const GAME_DATAGRAM_MAX: usize = 1_000;

/// Whether a message of a game fits the channel.
#[must_use]
pub const fn fits(channel: Channel, len: usize) -> bool {
    match channel {
        Channel::Datagram => len <= GAME_DATAGRAM_MAX,
        Channel::Reliable => len <= GAME_MESSAGE_MAX,
    }
}

/// Replaces the contents of `bytes` with a message of a game.
pub fn emit_message(message: &[u8], bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.push(GAME);
    bytes.extend_from_slice(message);
}

/// Returns a message of a game without its first byte; `None` if it is a protocol's.
#[inline]
#[must_use]
pub fn parse_message(bytes: &[u8]) -> Option<&[u8]> {
    bytes.split_first().filter(|(first, _)| **first == GAME).map(|(_, message)| message)
}
