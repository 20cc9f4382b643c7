//! Dead reckoning, simulated and over sockets: scenarios set up, the truth beside the ledger, runs and their figures.

mod clocks;
pub mod liar;
pub mod node;
pub mod run;
pub mod sockets;
pub mod truth;
mod world;

pub(crate) use world::movers;

pub use clocks::{ClockFigures, Sight};
pub use run::{ReceiverFigures, RunFigures, Sample, Sampling, exported, run, run_unless};
