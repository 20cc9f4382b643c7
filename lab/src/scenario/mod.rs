//! Scenarios: how entities move, how far away the receivers are, and which policies are compared.
//!
//! A scenario file is TOML. It is checked completely before anything runs; unknown keys are rejected with their line
//! number.

mod clock;
mod document;
mod error;
pub mod limits;
mod load;
mod model;
mod motion;
mod outcome;
mod parse;
mod receiver;
mod summary;

pub use error::ScenarioError;
pub use limits::ListError;
pub use load::load;
pub use model::{Absence, Motion, Receiver, Scenario, ScenarioClock, ScenarioTopology};
pub use outcome::{ClairvoyantOutcome, FloorOutcome, ReceiverOutcome, RunOutcome, ScenarioOutcome};
pub use parse::parse;
pub use summary::{ClairvoyantSummary, PolicySummary, ReceiverSummary, ScenarioSummary};
