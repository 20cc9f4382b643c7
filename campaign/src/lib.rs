//! Campaigns: seeded games of every machine under random faults, and what must hold after each.
//!
//! A [`Game`] is a function of a few numbers. It drives the machines that serve players, in the simulator, through loss,
//! bursts, duplication, reordering, partitions, steps of delays and clocks, pauses, crashes, rejoins, liars and tiny limits,
//! then lets everybody come back, and checks each [`Invariant`]. A failing game is [shrunk](shrink()) to the shortest one and
//! printed as a test.
//!
//! ```
//! use evenkeel_campaign::{Game, Machine};
//!
//! let game = Game::of_seed(7, Some(Machine::SyncMs));
//! let played = game.play().expect("every invariant holds");
//! assert!(played.calls > 0);
//! ```

mod actor;
mod clock;
mod dr;
mod fault;
mod game;
mod memory;
mod neo;
mod objects;
pub mod run;
mod shrink;
mod stage;
mod sync_ms;

pub use fault::{Fault, Faults};
pub use game::{Game, Invariant, Machine, Played, Violation};
pub use shrink::shrink;
