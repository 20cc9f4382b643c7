//! Banavar's thesis (2005): accuracy in chapter 2, fairness in chapter 3.

mod accuracy;
mod deterministic;

use super::study::{Group, Paper};

/// The thesis.
pub(super) const PAPER: Paper = Paper {
    key: "banavar05",
    title: "Fairness and accuracy in dead-reckoning based distributed multi-player games",
    source: "H. Banavar, master's thesis, Florida State University, 2005",
    groups: &[
        Group {
            figures: &[("fig2.2", "Real against placed position, with local and with global clocks")],
            runs_per_seed: 6,
            run: accuracy::run,
        },
        Group {
            figures: &[
                ("fig3.19", "Spread of error over time, deterministic budget algorithm"),
                ("fig3.20", "Mean error over time, deterministic budget algorithm"),
                ("fig3.21", "Each player's error, deterministic budget algorithm"),
            ],
            runs_per_seed: 6,
            run: deterministic::run,
        },
    ],
};

const SOURCE: &str = "Banavar 2005";
