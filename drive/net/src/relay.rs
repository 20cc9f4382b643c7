//! The relay that players use: rooms, each a [`DrRelay`], behind one listener.
//!
//! A player shows its token and is let into the token's room under the token's name. That name is its identity: whoever
//! comes again under it, from whatever address, is the same player and replaces its former connection.

mod config;
mod http;
mod metrics;
mod pages;
mod rooms;
mod server;

pub use config::{CertificateConfig, ConfigError, POLICY, PORT, PagesConfig, RelayConfig, RoomConfig};
pub use http::HttpError;
#[doc(hidden)]
pub use http::{asked, may_change, refuse};
pub use rooms::{PlayerReport, RoomReport};
pub use server::{RECORDED, RelayServer, StartError};

use axum::Router;
use evenkeel_core::Seed;
use evenkeel_core::clock::ServerClock;
use evenkeel_dr::{DrConfig, DrRelay, Room};

/// The machine of a room, whatever its game is.
pub type RoomMachine = Box<dyn Room<ServerClock> + Send>;

/// Makes the machine of a room, by its settings and a seed.
pub type MakeRoom = Box<dyn Fn(&DrConfig, Seed) -> RoomMachine + Send + Sync>;

/// What is played in a relay's rooms.
pub struct Game {
    /// What a recording says that it is of: whoever replays it makes the rooms by that.
    pub recorded: &'static [u8],
    /// What the rooms' seeds are made of ([`Game::room_seed`]). It is in the recording.
    pub seed: u64,
    /// Makes a room.
    pub make_room: MakeRoom,
    /// Pages beside the relay's API; its own first page if there are none.
    pub pages: Router,
}

impl Default for Game {
    /// None: the relay carries motion, and players agree on the rest by themselves.
    fn default() -> Self {
        let make_room = Box::new(|config: &DrConfig, _| -> RoomMachine {
            Box::new(DrRelay::with_clock(config, ServerClock::default()))
        });
        Self { recorded: RECORDED, seed: 0, make_room, pages: Router::new() }
    }
}

impl Game {
    /// The seed of the game in a room, by the room's number.
    #[must_use]
    pub fn room_seed(seed: u64, room: u32) -> Seed {
        Seed::new(seed).child(u64::from(room))
    }
}
