//! The session clock in the simulator: what it is off by, what others would be off by with the same exchanges, and what
//! either costs where entities are placed by it.

pub mod filters;
pub mod lab_clock;
pub mod node;
pub mod run;
pub(crate) mod study;

pub use filters::Filter;
pub use lab_clock::LabClock;
pub use run::{ClockSample, ClockSetting, run};
