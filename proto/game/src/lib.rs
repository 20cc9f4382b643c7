//! Several protocols in one room: what combines them, since none imports another.
//!
//! At the relay, a game implements [`GameLogic`]: who joined, what players say and do, a tick, and an outbox to answer with.
//! [`GameRoom`] is the machine of its room. At a player, [`GamePlayer`] is the machine. Both hold one machine per protocol and
//! tell messages apart by their first byte:
//!
//! | | at the relay | at a player |
//! | --- | --- | --- |
//! | dead reckoning: everybody's motion | [`DrRelay`](evenkeel_dr::DrRelay) | [`DrPeer`](evenkeel_dr::DrPeer) |
//! | Sync-MS: updates that everybody sees at once, actions in fair order | [`Sms`](evenkeel_sync_ms::Sms) | [`Smc`](evenkeel_sync_ms::Smc) |
//! | objects: fields, typed messages, areas of interest | [`ObjectRoom`](evenkeel_objects::ObjectRoom) | [`ObjectPeer`](evenkeel_objects::ObjectPeer) |
//! | messages of the game | [`GameLogic::message`] | [`PlayerEvent::Message`] |
//!
//! Sync-MS sends nothing in a room whose game uses neither actions nor updates.
//!
//! ```
//! use evenkeel_core::{Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId};
//! use evenkeel_dr::DrConfig;
//! use evenkeel_game::{GameLogic, GameOutbox, GameRoom};
//!
//! /// Tells everybody what a player says.
//! struct Chat;
//!
//! impl GameLogic for Chat {
//!     fn message(&mut self, from: PeerId, message: &[u8], outbox: &mut GameOutbox) -> Result<(), Malformed> {
//!         outbox.broadcast(message);
//!         Ok(())
//!     }
//! }
//!
//! let (ada, now) = (PeerId(1), LocalTime::from_nanos(0));
//! let mut room = GameRoom::new(&DrConfig::default().into(), Chat);
//! room.handle_peer(now, PeerChange::Joined { peer: ada, datagram_max: 1200 });
//! room.handle_message(now, ada, Channel::Reliable, b"\x47hello").expect("a game's message");
//! let mut bytes = Vec::new();
//! assert_eq!(room.poll_transmit(now, &mut bytes), Some((ada, Channel::Reliable)));
//! assert_eq!(bytes, b"\x47hello");
//! ```

mod command;
mod config;
mod follower;
mod logic;
mod motions;
mod outbox;
mod player;
mod room;

pub use command::{RoomCommand, RoomEvent};
pub use config::GameConfig;
pub use evenkeel_sync_ms::Action;
pub use logic::GameLogic;
pub use outbox::{GameOutbox, OUTGOING_BYTES_MAX, OUTGOING_MAX};
pub use player::{GamePlayer, PlayerCommand, PlayerEvent};
pub use room::{GameRoom, SyncRoom};
