//! Dead reckoning in the simulator: worlds from scenarios, the truth beside the ledger, runs and their figures.

mod clocks;
pub mod liar;
pub mod node;
pub mod run;
pub mod truth;
mod world;

pub use clocks::{ClockFigures, Sight};
pub use run::{ReceiverFigures, RunFigures, Sample, Sampling, run, run_unless};
