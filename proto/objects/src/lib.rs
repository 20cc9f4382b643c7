//! Replicated objects: the state of a game beside its motion.
//!
//! An object has an owner, which is a player or the server, and fields of the game's own types. Fields travel as most recent
//! state: only those that changed, in datagrams, acknowledged per set of fields; a value that is no longer the newest is never
//! sent again, and who comes later gets everything. Where an object is comes from dead reckoning, under the same number.
//!
//! - [`schema!`]: a game declares its objects and messages; both sides compare them at connect.
//! - [`ObjectPeer`]: a player's machine. [`ObjectRoom`]: the server's.
//! - [`Delivery`]: five guarantees for messages, to the server, one player, the room, or those in scope.
//! - [`room::scope`]: areas of interest. What is out of scope costs nothing, and nobody learns that it exists.
//! - [`room::quota`]: what a player may do, and what was refused.
//! - [`orientation`]: orientation in space, as a field.
//!
//! ```
//! use evenkeel_core::{Endpoint, LocalTime, PeerChange, PeerId, Seed, Span};
//! use evenkeel_objects::{
//!     LOCAL_MIN, Object, ObjectCommand, ObjectId, ObjectPeer, ObjectPeerConfig, ObjectRoom, ObjectRoomConfig,
//! };
//!
//! evenkeel_objects::schema! {
//!     /// What travels in the game.
//!     pub static GAME = "skirmish";
//!     objects {
//!         /// A ship.
//!         Ship: still { owner name: String, server health: u8 }
//!     }
//!     messages {}
//! }
//!
//! let (relay, ada) = (PeerId(0), PeerId(1));
//! let mut room = ObjectRoom::new(&ObjectRoomConfig { schema: &GAME, ..ObjectRoomConfig::default() });
//! let config = ObjectPeerConfig { relay, schema: &GAME, tick: Span::from_millis(20), seed: Seed::new(1) };
//! let mut player = ObjectPeer::new(&config);
//! let mut now = LocalTime::from_nanos(0);
//! room.handle_peer(now, PeerChange::Joined { peer: ada, datagram_max: 1200 });
//! player.handle_peer(now, PeerChange::Joined { peer: relay, datagram_max: 1200 });
//!
//! let ship = ObjectId::of(ada, LOCAL_MIN + 7);
//! let values = Ship { name: "Ada".into(), health: 0 }.values();
//! player.handle_command(now, ObjectCommand::Create { object: ship, kind: Ship::KIND, values });
//! let mut bytes = Vec::new();
//! for tick in 0..20 {
//!     now += Span::from_millis(20);
//!     while let Some((_, channel)) = player.poll_transmit(now, &mut bytes) {
//!         room.handle_message(now, ada, channel, &bytes)?;
//!     }
//!     if tick == 10 {
//!         // A rule of the server's game.
//!         room.update(ship, |ship: &mut Ship| ship.health = 100);
//!     }
//!     while let Some((_, channel)) = room.poll_transmit(now, &mut bytes) {
//!         player.handle_message(now, relay, channel, &bytes)?;
//!     }
//!     player.handle_timeout(now);
//!     room.handle_timeout(now);
//! }
//! let (id, _, _, values) = player.objects().next().expect("its ship");
//! assert_eq!((id, Ship::from_values(values)?), (ship, Ship { name: "Ada".into(), health: 100 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod command;
pub mod delivery;
pub mod field;
mod link;
mod macros;
pub mod message;
pub mod object;
pub mod orientation;
mod peer;
pub mod room;
pub mod schema;
mod table;

pub use command::{ObjectCommand, ObjectEvent, ObjectRoomEvent};
pub use delivery::{Call, Delivery, Target};
#[doc(hidden)]
pub use evenkeel_core::{Malformed, Reader};
pub use field::Field;
pub use message::{Denied, Gone};
pub use object::{FieldSet, LOCAL_MAX, LOCAL_MIN, ObjectId, Owner, Value};
pub use orientation::{Orientation, Spin};
pub use peer::{ObjectPeer, ObjectPeerConfig};
pub use room::quota::{Quotas, Refusals};
pub use room::scope::{Area, Interest, ObjectView};
pub use room::{ObjectRoom, ObjectRoomCommand, ObjectRoomConfig};
pub use schema::{FieldKind, GameMessage, MessageKind, Object, ObjectKind, ObjectMotion, Schema, Writer};
