//! Dead reckoning, simulated and over sockets: scenarios set up, the truth beside the ledger, runs and their figures.

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
