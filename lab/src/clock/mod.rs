//! The session clock in the simulator: what it is off by, and what others would be off by with the same exchanges.

pub mod filters;
pub mod node;
pub mod run;
pub(crate) mod study;

pub use run::{Look, Setting, run};
