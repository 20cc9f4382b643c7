//! What an owner knows of its entity's motion at one instant, and which of its lives that is.

pub use evenkeel_dr::MotionState;

/// The motion of an entity that is alive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Which of its lives this is; grows from life to life and is never used twice. Between two lives the position
    /// jumps, so a receiver must not join them.
    pub life: u64,
    /// How it moves.
    pub state: MotionState,
}
