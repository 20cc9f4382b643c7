//! What every Evenkeel protocol needs beside its own rules.
//!
//! A protocol is a sibling of the others (dead reckoning, Sync-MS, NEO, replicated objects) and imports none of them. What
//! they share lives here:
//!
//! - [`envelope`]: the header of every message, frames behind it, times relative to its stamp.
//! - [`outbox`]: what is ready to leave, per peer: frames share datagrams, at most one datagram per peer and tick.
//! - [`station`]: a session clock and an outbox that agree on the time; clock frames ride in the protocol's own datagrams.
//! - [`pending`]: peers and messages that wait until the session clock is fixed.
//! - [`id_map`]: dense maps from peers and other small numbers.
//! - [`game`]: messages of the game itself, which travel beside the protocol's.
//! - [`room`]: what a server asks of the machine of a room, whatever its protocol.
//!
//! ```
//! use evenkeel_core::{Key, LocalTime, PeerId, SessionTime, Span};
//! use evenkeel_session::Outbox;
//!
//! let (peer, now) = (PeerId(1), LocalTime::from_nanos(0));
//! let mut outbox = Outbox::new(0x11, Span::from_millis(20), Key::new(1, 2));
//! outbox.set_now(now, Some(SessionTime::from_nanos(0)));
//! outbox.join(peer, 1200);
//! outbox.datagram(peer, |_stamp, bytes| bytes.extend([0x80, 1]));
//! outbox.datagram(peer, |_stamp, bytes| bytes.extend([0x80, 2]));
//! // Both frames leave in one datagram.
//! assert_eq!(outbox.due(), Some((peer, true)));
//! let mut bytes = Vec::new();
//! outbox.take(peer, &mut bytes);
//! assert!(bytes.ends_with(&[0x80, 1, 0x80, 2]));
//! ```

pub mod envelope;
pub mod game;
pub mod id_map;
pub mod outbox;
pub mod pending;
pub mod room;
pub mod station;

pub use envelope::{FrameFormat, Header, Message};
pub use id_map::{IdMap, Numbered, PeerMap};
pub use outbox::{Outbox, Traffic};
pub use pending::Pending;
pub use room::Room;
pub use station::Station;
