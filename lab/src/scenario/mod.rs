//! A scenario: who moves how, who watches from how far, and which policies are compared.

mod model;
mod parse;

pub use model::{Absence, Motion, Receiver, Scenario, ScenarioTopology};
pub use parse::{ScenarioError, load};
