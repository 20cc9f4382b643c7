//! What is played: deterministic motion without I/O.
//!
//! So far this is BZFlag's tank, the game that the dead-reckoning papers measured. A [`Mover`] yields its real path in
//! steps of 10 ms ([`STEP`]): either a [`Tank`] steered by a seeded [`Driver`], or a recorded one from a [`Trace`].
//! The path is a pure function of the seed (or the recording) and the step's number. Nothing that a network or a
//! policy does can change it, so every policy is measured on the same motion. A [`Bot`] is a player that drives one.
//!
//! Floating-point results are the same on every machine: only operations that IEEE 754 rounds correctly are used, and
//! libm for the sine and cosine.
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
mod motion;
mod mover;
mod tank;
mod trace;

pub use bot::{Bot, BotConfig};
pub use drivers::{Driver, Wishes};
pub use motion::{MotionState, Sample};
pub use mover::{Mover, STEP};
pub use tank::{
    ACCELERATION_MAX, ANGULAR_ACCELERATION_MAX, LENGTH, SPEED_BACKWARDS_MAX, SPEED_MAX, TURN_RATE_MAX, Tank,
    WIDTH, Wish,
};
pub use trace::{
    BYTES_MAX, COORDINATE_MAX, Cursor, FieldProblem, GAP_MAX, ROWS_MAX, SPEED_SLOW, TIME_MAX,
    TRACE_TURN_RATE_MAX, TankTrace, Trace, TraceError,
};
