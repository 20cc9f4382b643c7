//! The session clock in the simulator: its error, that of common filters on the same exchanges, and the placement error
//! that either causes.

pub mod filters;
pub mod lab_clock;
pub mod node;
pub mod run;
pub(crate) mod study;

pub use filters::Filter;
pub use lab_clock::LabClock;
pub use run::{ClockSample, ClockSetting, run};
