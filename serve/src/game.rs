//! What is played in a relay's rooms.

use axum::Router;
use evenkeel_core::clock::ServerClock;
use evenkeel_core::{Seed, Wire};
use evenkeel_dr::{DrConfig, DrRelay, DrRoom, RelayCommand};

/// The name of a recording of a relay without a game.
pub const RECORDED: &[u8] = b"relay";

/// The machine of a served room: a [`DrRoom`] with commands and events of its own. The relay's operator commands reach it
/// through `From`.
pub trait ServedRoom:
    DrRoom<ServerClock, Command: From<RelayCommand> + Wire + Send, Event: Send> + Send + 'static
{
}

impl<R> ServedRoom for R where
    R: DrRoom<ServerClock, Command: From<RelayCommand> + Wire + Send, Event: Send> + Send + 'static
{
}

/// Makes the machine of a room from its settings and a seed.
pub type MakeRoom<R> = Box<dyn Fn(&DrConfig, Seed) -> R + Send + Sync>;

/// What is played in a relay's rooms.
pub struct Game<R = DrRelay<ServerClock>> {
    /// The name that recordings carry; a replay makes the rooms by it.
    pub recorded: &'static [u8],
    /// The source of the rooms' seeds ([`room_seed`]). Recordings carry it.
    pub seed: u64,
    /// Makes a room.
    pub make_room: MakeRoom<R>,
    /// Pages served beside the API. Without any, the API has an index page of its own.
    pub pages: Router,
}

impl Default for Game {
    /// No game: the relay carries motion and nothing else.
    fn default() -> Self {
        let make_room = Box::new(|config: &DrConfig, _| DrRelay::with_clock(config, ServerClock::default()));
        Self { recorded: RECORDED, seed: 0, make_room, pages: Router::new() }
    }
}

/// The seed of the game in the room with this number.
#[must_use]
pub fn room_seed(seed: u64, room: u32) -> Seed {
    Seed::new(seed).child(u64::from(room))
}
