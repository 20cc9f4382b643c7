//! The motion of an entity at one instant, as its owner knows it.

pub use evenkeel_dr::MotionState;

/// The motion of an entity that is alive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// The number of its life, which grows from life to life. The position jumps between two lives, so a
    /// receiver must not join them.
    pub life: u64,
    /// How it moves.
    pub state: MotionState,
}
