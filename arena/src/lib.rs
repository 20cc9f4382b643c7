//! The arena on this machine: a relay with a referee, bots behind emulated links, and the page.
//!
//! It is built from the parts of a deployment: the bots connect over real sockets and with tokens, as players do. Only
//! their network delay is emulated, and can be changed while they play.
//!
//! - [`Arena`]: the host. [`PolicyChoice`] is the page's switch between policies.
//! - [`errors`]: every player's accumulated error, comparable between players.
//! - [`fleet`]: bots in the rooms of any relay, for `evenkeel bot` and the soaks.

mod api;
mod assets;
mod choice;
mod delay;
mod dialling;
pub mod errors;
pub mod fleet;
mod host;
mod live;
mod state;

pub use choice::PolicyChoice;
pub use delay::DELAY_MAX;
pub use host::{Arena, ArenaConfig, ArenaError, RECORDED, make_room};
