//! The Eater game: a maze, stones that grow again, and eaters who want most of them. The game of the NEO thesis (2006).
//!
//! Every 50 ms ([`STEP`]) each eater moves by 3 pixels ([`STEP_PIXELS`]). Whoever runs into a stone eats it; another one
//! appears elsewhere at once, so their number is constant. There is no server: each peer moves its own eater, tells the
//! others where it is ([`Whereabouts`], positional, may be lost), and claims the stones it eats ([`Claim`], a state change,
//! never lost). Between two updates the others are shown where [`Reckoning`] guesses.
//!
//! - [`Maze`], [`Walker`]: the ground and how one moves on it. [`path`]: A*.
//! - [`Stones`]: who ate what. Peers that have seen the same claims agree, in whatever order these came.
//! - [`Forager`]: a bot. A person's keys are the same wishes.
//! - [`Board`]: all of it as one peer sees it.
//! - [`EaterNode`]: a player on a NEO peer, or on one of NEO's ancestors.

mod board;
mod forager;
mod maze;
mod message;
mod node;
pub mod path;
mod reckoning;
mod stones;
mod walker;

pub use board::{Board, BoardEvent, EaterConfig, Foul, Rival};
pub use forager::Forager;
pub use maze::{Cell, Maze, Way};
pub use message::{CLAIMS_MAX, EaterMessage, Whereabouts};
pub use node::{EaterCommand, EaterEvent, EaterNode, EaterNodeConfig, EaterPlayer, MovePeer};
pub use reckoning::Reckoning;
pub use stones::{Applied, Claim, EaterId, GENERATIONS_MAX, SLOTS_MAX, StoneId, Stones, Word};
pub use walker::{Pixel, Walker};

use evenkeel_core::{SessionTime, Span};

/// The time between two steps of an eater.
pub const STEP: Span = Span::from_millis(50);
/// By how much an eater moves in a step.
pub const STEP_PIXELS: i32 = 3;
/// The width of a cell of the maze, in pixels. An eater crosses it in 8 steps.
pub const CELL_PIXELS: i32 = 24;

/// Returns the number of the step at this time of the session.
#[must_use]
pub fn step_at(time: SessionTime) -> u32 {
    u32::try_from(time.as_nanos().max(0) / STEP.as_nanos()).unwrap_or(u32::MAX)
}

/// Returns the time of the session at which a step begins.
#[must_use]
pub fn time_of(step: u32) -> SessionTime {
    SessionTime::from_nanos(i64::from(step).saturating_mul(STEP.as_nanos()))
}
