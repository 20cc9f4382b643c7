//! The papers, figure by figure, re-run by real protocol machines.

mod aggarwal05;
mod banavar05;
pub mod bars;
mod calibration;
mod cells;
mod contender;
mod elsewhere;
mod judged;
mod lying;
mod measured;
mod setting;
pub mod study;
pub mod summary;
mod view;

pub(crate) use study::Work;
pub use study::{Group, Paper, Results, Setup, UnknownKey, run_selected, select};
pub use summary::Summary;

/// Every paper whose figures can be re-run, and the studies of our own that are made in the same way.
pub const PAPERS: &[Paper] = &[banavar05::PAPER, aggarwal05::PAPER, crate::clock::study::STUDY, lying::STUDY];
