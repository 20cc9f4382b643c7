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
mod lin02;
mod lying;
pub(crate) mod setting;
mod simonsen06;
pub mod study;
pub mod summary;
pub(crate) mod view;

pub(crate) use study::Work;
pub use study::{
    FigureGroup, Paper, PaperKind, Results, Setup, UnknownKey, run_selected, seeds_in_words, select,
};
pub use summary::PapersSummary;

/// Every paper whose figures can be re-run, and our own studies, which work in the same way. The overview shows them in
/// this order.
pub const PAPERS: &[Paper] = &[
    banavar05::PAPER,
    aggarwal05::PAPER,
    lin02::PAPER,
    simonsen06::PAPER,
    crate::comparison::STUDY,
    crate::even::STUDY,
    crate::budgets::STUDY,
    crate::sync_ms::study::STUDY,
    crate::neo::study::STUDY,
    crate::clock::study::STUDY,
    lying::STUDY,
];

/// Returns whose claim this is, or whose figure, by its id or key.
///
/// # Panics
/// If no paper and no study has it.
#[must_use]
pub fn kind_of(id: &str) -> PaperKind {
    let key = id.split('/').next().unwrap_or(id);
    let paper = PAPERS.iter().find(|paper| paper.key == key);
    paper.unwrap_or_else(|| panic!("{id} belongs to no paper")).kind
}
