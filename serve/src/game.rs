//! The game of a relay's rooms.

use std::fmt;

use axum::Router;
use evenkeel_core::clock::ServerClock;
use evenkeel_core::{Seed, Wire};
use evenkeel_dr::{DrRelay, DrRoom, RelayCommand};
use evenkeel_game::{GameConfig, GameLogic, GameRoom, SyncRoom};

/// The name in recordings of a relay without a game.
pub const RELAY_RECORDING: &[u8] = b"relay";
/// The name in recordings of a relay with a game that gives no other.
pub const GAME_RECORDING: &[u8] = b"game";

/// The machine of a served room: a [`DrRoom`] with its own commands and events, which may order its players' actions
/// ([`SyncRoom`]). The relay's own commands reach it through `From`.
pub trait ServedRoom:
    DrRoom<ServerClock, Command: From<RelayCommand> + Wire + Send, Event: Send> + SyncRoom + Send + 'static
{
}

impl<R> ServedRoom for R where
    R: DrRoom<ServerClock, Command: From<RelayCommand> + Wire + Send, Event: Send>
        + SyncRoom
        + Send
        + 'static
{
}

/// Creates the machine of a room from its settings and a seed.
pub type MakeRoom<R> = Box<dyn Fn(&GameConfig, Seed) -> R + Send + Sync>;

/// Pages and an API of the game's own, served beside the relay's. Without any, the API has its own index page.
#[derive(Clone, Default)]
pub struct Pages(pub(crate) Option<Router>);

impl Pages {
    /// Serves these routes. Hidden because they are of a library that may change.
    #[doc(hidden)]
    #[must_use]
    pub const fn of(router: Router) -> Self {
        Self(Some(router))
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Pages(..)" } else { "Pages(none)" })
    }
}

/// The game of a relay's rooms: its own logic, in every room.
///
/// ```no_run
/// use evenkeel_core::{Malformed, PeerId};
/// use evenkeel_game::{GameLogic, GameOutbox};
/// use evenkeel_serve::{Game, RelayConfig, RelayServer};
///
/// struct Chat;
///
/// impl GameLogic for Chat {
///     fn message(&mut self, _: PeerId, message: &[u8], outbox: &mut GameOutbox) -> Result<(), Malformed> {
///         outbox.broadcast(message);
///         Ok(())
///     }
/// }
///
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// let relay = RelayServer::start_with(RelayConfig::default(), None, Game::new(|_seed| Chat)).await?;
/// # relay.stop().await;
/// # Ok(())
/// # }
/// ```
pub struct Game<R = DrRelay<ServerClock>> {
    /// The name in recordings, by which a replay creates the rooms.
    pub recording_name: &'static [u8],
    /// The seed that the rooms' seeds derive from ([`room_seed`]). Recordings contain it.
    pub seed: u64,
    /// Creates the machine of a room.
    pub make_room: MakeRoom<R>,
    /// Pages served beside the API.
    pub pages: Pages,
}

impl<G: GameLogic + Send + 'static> Game<GameRoom<G, ServerClock>> {
    /// A game whose logic this makes for each new room, from a seed that differs from room to room.
    #[must_use]
    pub fn new(make: impl Fn(Seed) -> G + Send + Sync + 'static) -> Self {
        let make_room =
            move |config: &GameConfig, seed| GameRoom::with_clock(config, ServerClock::default(), make(seed));
        Self {
            recording_name: GAME_RECORDING,
            seed: evenkeel_net::random(),
            make_room: Box::new(make_room),
            pages: Pages::default(),
        }
    }
}

impl Default for Game {
    /// No game: the relay carries motion and nothing else.
    fn default() -> Self {
        let make_room =
            Box::new(|config: &GameConfig, _| DrRelay::with_clock(&config.dr, ServerClock::default()));
        Self { recording_name: RELAY_RECORDING, seed: 0, make_room, pages: Pages::default() }
    }
}

/// Returns the game's seed for the room with this number.
#[must_use]
pub fn room_seed(seed: u64, room: u32) -> Seed {
    Seed::new(seed).child(u64::from(room))
}
