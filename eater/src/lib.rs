//! The Eater game among peers without a server: what `evenkeel eater` runs.
//!
//! - [`EaterPeer`]: one peer: its machine on a crank, its connections to the others, and its page.
//! - [`demo`]: four peers on this machine, one of which cheats.
//! - [`soak`]: ten processes under emulated faults, one of which is killed and comes back.

mod api;
mod caught;
mod cheater;
mod config;
pub mod demo;
mod meters;
mod peer;
mod simulated;
pub mod soak;
mod summary;
mod watch;

pub use config::{EaterPeerConfig, Page, Player, exponential_faults};
pub use meters::Window;
pub use peer::{EaterPeer, StartError};
pub use simulated::simulate;
pub use summary::Summary;
