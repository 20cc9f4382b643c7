//! Runs of a scenario, simulated or over sockets, with the true errors beside those of the ledger.

mod clocks;
pub mod liar;
pub mod node;
pub mod run;
pub mod sockets;
pub mod truth;
mod world;

pub(crate) use world::movers;

pub use clocks::{ClockFigures, PlacementSample};
pub use run::{ReceiverFigures, RunFigures, RunSample, Sampling, exported, run, run_unless};
