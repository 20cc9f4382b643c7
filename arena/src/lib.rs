//! The arena on this machine: a relay with a referee, bots behind emulated links, and the page.
//!
//! It is built from the parts of a deployment: the bots connect over real sockets and with tokens, as players do. Only
//! their network delay is emulated, and can be changed while they play.
//!
//! - [`Arena`]: the host. [`PolicyChoice`] is the page's switch between policies.
//! - [`errors`]: every player's accumulated error, comparable between players.
//! - [`fleet`]: bots in the rooms of any relay, for `evenkeel bot` and the soaks.
//!
//! ```
//! use evenkeel_arena::{Arena, ArenaConfig, PolicyChoice};
//! use evenkeel_core::Span;
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! // Two bots, 80 and 5 ms away. Port 0 is any free one.
//! let delays = vec![Span::from_millis(80), Span::from_millis(5)];
//! let config = ArenaConfig { bots: 2, delays, choice: PolicyChoice::Even, port: 0, seed: 1, record: None };
//! let arena = Arena::start(config).await.unwrap();
//! println!("open http://{}", arena.page_addresses()[0]);
//! arena.stop().await;
//! # });
//! ```

mod api;
mod assets;
mod choice;
mod delay;
mod dialling;
mod duels;
pub mod errors;
pub mod fleet;
mod host;
mod live;
mod sight;
mod state;

pub use choice::{PolicyChoice, budget};
pub use delay::DELAY_MAX;
pub use host::{ARENA_RECORDING, Arena, ArenaConfig, ArenaError, ArenaServer, RoomMachine, make_room};
