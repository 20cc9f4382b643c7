//! The relay that players use: rooms, each a [`DrRelay`], behind one listener.
//!
//! A player shows its token and is let into the token's room under the token's name. That name is its identity: whoever
//! comes again under it, from whatever address, is the same player and replaces its former connection.

mod config;
mod http;
mod metrics;
mod rooms;
mod server;

pub use config::{CertificateConfig, ConfigError, PORT, RelayConfig, RoomConfig};
pub use http::HttpError;
#[doc(hidden)]
pub use http::may_change;
pub use rooms::{PlayerReport, RoomReport};
pub use server::{RECORDED, RelayServer, StartError};

use std::sync::Arc;

use evenkeel_core::Seed;
use evenkeel_core::clock::ServerClock;
use evenkeel_dr::{DrConfig, DrRelay, Room};

/// The machine of a room, whatever its game is.
pub type RoomMachine = Box<dyn Room<ServerClock> + Send>;

/// Makes the machine of a room, by its settings and a seed.
pub type MakeRoom = Arc<dyn Fn(&DrConfig, Seed) -> RoomMachine + Send + Sync>;

/// A room without a game of its own.
#[must_use]
pub fn plain_room(config: &DrConfig, _seed: Seed) -> RoomMachine {
    Box::new(DrRelay::with_clock(config, ServerClock::default()))
}
