//! The papers' figures, re-run by real protocol machines.

mod aggarwal05;
mod banavar05;
pub mod bars;
mod calibration;
pub(crate) mod cells;
mod contender;
mod contender_runs;
mod elsewhere;
pub(crate) mod judgement;
pub(crate) mod liar_study;
mod lying;
pub(crate) mod setting;
pub mod study;
pub mod summary;
pub(crate) mod view;

pub(crate) use study::Work;
pub use study::{FigureGroup, Paper, Results, Setup, UnknownKey, run_selected, seeds_in_words, select};
pub use summary::PapersSummary;

/// Every paper whose figures can be re-run, and our own studies, which work in the same way.
pub const PAPERS: &[Paper] =
    &[banavar05::PAPER, aggarwal05::PAPER, crate::even::STUDY, crate::clock::study::STUDY, lying::STUDY];
