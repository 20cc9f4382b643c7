//! Aggarwal, Banavar, Mukherjee, Rangarajan (NetGames 2005): the scheduling algorithm and the theorem behind it.

mod scheduling;
mod theorem;

use super::study::{Group, Paper};

/// The paper.
pub(super) const PAPER: Paper = Paper {
    key: "aggarwal05",
    title: "Fairness in dead-reckoning based distributed multi-player games",
    source: "S. Aggarwal, H. Banavar, S. Mukherjee, S. Rangarajan, NetGames 2005",
    groups: &[
        Group {
            figures: &[("fig4", "Mean and spread of error, scheduled and sent at once")],
            runs_per_seed: 3,
            run: scheduling::run,
        },
        Group {
            figures: &[("theorem4.1", "Accumulated error is equal at every scheduling instant")],
            runs_per_seed: 1,
            run: theorem::run,
        },
    ],
};

const SOURCE: &str = "Aggarwal et al. 2005";
