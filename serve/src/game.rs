//! The game of a relay's rooms.

use axum::Router;
use evenkeel_core::clock::ServerClock;
use evenkeel_core::{Seed, Wire};
use evenkeel_dr::{DrConfig, DrRelay, DrRoom, RelayCommand};

/// The name in recordings of a relay without a game.
pub const RELAY_RECORDING: &[u8] = b"relay";

/// The machine of a served room: a [`DrRoom`] with its own commands and events. The relay's own commands reach it through
/// `From`.
pub trait ServedRoom:
    DrRoom<ServerClock, Command: From<RelayCommand> + Wire + Send, Event: Send> + Send + 'static
{
}

impl<R> ServedRoom for R where
    R: DrRoom<ServerClock, Command: From<RelayCommand> + Wire + Send, Event: Send> + Send + 'static
{
}

/// Creates the machine of a room from its settings and a seed.
pub type MakeRoom<R> = Box<dyn Fn(&DrConfig, Seed) -> R + Send + Sync>;

/// The game of a relay's rooms.
pub struct Game<R = DrRelay<ServerClock>> {
    /// The name in recordings, by which a replay creates the rooms.
    pub recording_name: &'static [u8],
    /// The seed that the rooms' seeds derive from ([`room_seed`]). Recordings contain it.
    pub seed: u64,
    /// Creates the machine of a room.
    pub make_room: MakeRoom<R>,
    /// Pages served beside the API. Without any, the API has its own index page.
    pub pages: Router,
}

impl Default for Game {
    /// No game: the relay carries motion and nothing else.
    fn default() -> Self {
        let make_room = Box::new(|config: &DrConfig, _| DrRelay::with_clock(config, ServerClock::default()));
        Self { recording_name: RELAY_RECORDING, seed: 0, make_room, pages: Router::new() }
    }
}

/// Returns the game's seed for the room with this number.
#[must_use]
pub fn room_seed(seed: u64, room: u32) -> Seed {
    Seed::new(seed).child(u64::from(room))
}
