//! Games for Evenkeel: deterministic motion, rules and bots, without I/O.
//!
//! The game is the one that the dead-reckoning papers measured, BZFlag with its tanks:
//! - A [`Mover`] yields the real path of a tank in steps of 10 ms ([`STEP`]): either a [`Tank`] steered by a
//!   seeded [`Driver`], or a recorded one from a [`Trace`].
//! - A [`Bot`] is a player that drives such a tank.
//! - The [`arena`] adds a field, shots, hits and a score, a referee for the relay, and bots that fight.
//!
//! The [`eater`] game of the NEO thesis, a maze with stones to eat, is played among peers.
//!
//! A path is a pure function of the seed (or the recording) and the step's number. No network and no policy
//! can change it, so all policies are measured on the same motion. Floating-point results are bit for bit the
//! same on every platform: they come from operations that IEEE 754 rounds correctly, and from libm for sine
//! and cosine.
//!
//! # Example
//!
//! ```
//! use evenkeel_core::Seed;
//! use evenkeel_games::{Driver, Mover, SPEED_MAX};
//!
//! let mut mover = Mover::tank(Driver::Random, Seed::new(7));
//! for step in 0..1_000 {
//!     let sample = mover.at(step).expect("a driven tank never dies");
//!     assert!(sample.state.velocity.length() <= SPEED_MAX + 1e-9);
//! }
//! ```

pub mod arena;
mod bot;
mod drivers;
pub mod eater;
mod motion;
mod mover;
mod tank;
mod trace;

pub use bot::{Bot, BotConfig};
pub use drivers::{ControlSchedule, Driver};
pub use motion::{MotionState, Sample};
pub use mover::{Mover, STEP};
pub use tank::{
    ACCELERATION_MAX, ANGULAR_ACCELERATION_MAX, Controls, LENGTH, SPEED_BACKWARDS_MAX, SPEED_MAX,
    TURN_RATE_MAX, Tank, TankLimits, WIDTH,
};
pub use trace::{
    BYTES_MAX, COORDINATE_MAX, Cursor, FieldProblem, GAP_MAX, ROWS_MAX, SPEED_SLOW, TIME_MAX,
    TRACE_TURN_RATE_MAX, TankTrace, Trace, TraceError,
};

/// Tanks recorded from a real game of BZFlag, as [`Trace::parse`] reads them.
pub const TANKS_CSV: &str = include_str!("../data/bzflag-tanks.csv");
