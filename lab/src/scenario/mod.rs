//! A scenario: who moves how, who watches from how far, and which policies are compared.

mod clock;
mod delay_trace;
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
