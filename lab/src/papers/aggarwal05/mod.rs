//! Aggarwal, Banavar, Mukherjee, Rangarajan (NetGames 2005): the scheduling algorithm, its theorem, and the budget
//! algorithms.

mod budget;
mod scheduling;
mod theorem;

use super::study::{FigureGroup, Paper, PaperKind, Work};
use super::view::ClaimSource;

const SOURCE: ClaimSource = ClaimSource { paper: "aggarwal05", citation: "Aggarwal et al. 2005" };

/// The paper.
pub(super) const PAPER: Paper = Paper {
    key: SOURCE.paper,
    title: "Fairness in dead-reckoning based distributed multi-player games",
    source: "S. Aggarwal, H. Banavar, S. Mukherjee, S. Rangarajan, NetGames 2005",
    kind: PaperKind::Paper,
    readings: READINGS,
    first_seed: 1,
    is_long: false,
    groups: &[
        FigureGroup {
            figures: &[
                ("fig4", "Mean and spread of error with and without scheduling"),
                ("scheduling-elsewhere", "The scheduling algorithm in other settings"),
            ],
            work: Work::Cells { cells: scheduling::cells, draw: scheduling::draw },
        },
        FigureGroup {
            figures: &[
                ("theorem4.1", "Accumulated error is equal at every scheduling instant"),
                ("theorem4.1-elsewhere", "The theorem in other settings"),
            ],
            work: Work::Own { jobs: theorem::jobs, run: theorem::run },
        },
        FigureGroup {
            figures: &[
                ("fig5", "Mean and spread of error, all algorithms, delays ±100 ms"),
                ("fig6", "Mean and spread of error, all algorithms, delays ±180 ms"),
                ("budget-elsewhere", "The budget algorithms in other settings"),
            ],
            work: Work::Cells { cells: budget::cells, draw: budget::draw },
        },
    ],
};

/// Where our reading differs, and why.
const READINGS: &[(&str, &str)] = &[
    (
        "\"The smallest\" error is sent to at once (4.4)",
        "We send to the largest at once: with the smallest, equation 1 would need negative delays.",
    ),
    (
        "The sign of the relative export error (4.1 against the theorem)",
        "Actual minus estimated, as in the theorem; the other sign drives errors apart.",
    ),
    (
        "Each vector has arrived before the next one is made",
        "The theorem needs this, but games do not provide it: at these delays several vectors are always in flight. netgames05 keeps the \
         assumption; netgames05-consistent counts vectors in flight to their estimated arrival.",
    ),
    (
        "The closed form of the integral (4.3)",
        "It is printed with 1/(2b) for b/2; we use a form that also holds where the printed one divides by zero.",
    ),
    (
        "\"The requirement that the error of the worst case players\" is not increased against the base case (6)",
        "This is a requirement on the budget algorithms, not a measurement, so it has no verdict. Base sends three times as much; \
         figures 5 and 6 compare the farthest player's error with that under base and under 1/3 base.",
    ),
    (
        "What happens if a vector is not sent to every receiver in time (4.6)",
        "The theorem does not cover this case, and the rules of 4.6 do not restore it: a receiver that was sent the vector has used up \
         its R although the others have not caught up with it. We keep the rules as printed and judge the triggers after a flush \
         separately.",
    ),
    (
        "One receiver is picked at each trigger (5.1)",
        "That is probabilistic-budget:pick-one; the thesis draws for each receiver independently. Both are run.",
    ),
];
