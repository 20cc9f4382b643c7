//! The papers, figure by figure, re-run by real protocol machines.

mod aggarwal05;
mod banavar05;
pub mod study;

pub use study::{Group, Paper, Setup, UnknownKey, run_selected, select};

/// Every paper whose figures can be re-run, and the studies of our own that are made in the same way.
pub const PAPERS: &[Paper] = &[banavar05::PAPER, aggarwal05::PAPER, crate::clock::study::STUDY];
