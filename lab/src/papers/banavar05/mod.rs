//! Banavar's thesis (2005): accuracy in chapter 2, fairness in chapter 3.

mod accuracy;
mod deterministic;
mod probabilistic;
mod scheduling;
mod threshold;

use super::study::{FigureGroup, Paper, PaperKind, Work};
use super::view::ClaimSource;

const SOURCE: ClaimSource = ClaimSource { paper: "banavar05", citation: "Banavar 2005" };

/// The thesis.
pub(super) const PAPER: Paper = Paper {
    key: SOURCE.paper,
    title: "Fairness and accuracy in dead-reckoning based distributed multi-player games",
    source: "H. Banavar, master's thesis, Florida State University, 2005",
    kind: PaperKind::Paper,
    readings: READINGS,
    first_seed: 1,
    is_long: false,
    groups: &[
        FigureGroup {
            figures: &[
                ("fig2.2", "Real and placed position with local and with global clocks"),
                ("fig2.2-elsewhere", "Local and global clocks in other settings"),
            ],
            work: Work::Own { jobs: accuracy::jobs, run: accuracy::run },
        },
        FigureGroup {
            figures: &[
                ("fig3.2", "Spread over time, scheduling #1, fixed delays"),
                ("fig3.3", "Spread over time, scheduling #1, delays ±100 ms"),
                ("fig3.4", "Spread over time, scheduling #1, delays ±180 ms"),
                ("fig3.5", "Mean over time, scheduling #1, fixed delays"),
                ("fig3.6", "Mean over time, scheduling #1, delays ±100 ms"),
                ("fig3.7", "Mean over time, scheduling #1, delays ±180 ms"),
                ("fig3.8", "Each player's error, scheduling #1, fixed delays"),
                ("fig3.9", "Each player's error, scheduling #1, delays ±100 ms"),
                ("fig3.10", "Each player's error, scheduling #1, delays ±180 ms"),
                ("scheduling-1-elsewhere", "Scheduling #1 in other settings"),
            ],
            work: Work::Cells { cells: scheduling::first_cells, draw: scheduling::draw_first },
        },
        FigureGroup {
            figures: &[
                ("fig3.11", "Spread over time, scheduling #2"),
                ("fig3.12", "Mean over time, scheduling #2"),
                ("fig3.13", "Each player's error, scheduling #2"),
                ("scheduling-2-elsewhere", "Scheduling #2 in other settings"),
            ],
            work: Work::Cells { cells: scheduling::second_cells, draw: scheduling::draw_second },
        },
        FigureGroup {
            figures: &[
                ("fig3.15", "Spread over time, probabilistic budget algorithm"),
                ("fig3.16", "Mean over time, probabilistic budget algorithm"),
                ("fig3.17", "Each player's error, probabilistic budget algorithm"),
                ("fig3.18", "Each player's error, 1/3 probabilistic and 1/3 base"),
                ("probabilistic-elsewhere", "The probabilistic budget algorithm in other settings"),
            ],
            work: Work::Cells { cells: probabilistic::cells, draw: probabilistic::draw },
        },
        FigureGroup {
            figures: &[("threshold", "Spread and mean over the threshold, at equal numbers of vectors")],
            work: Work::Cells { cells: threshold::cells, draw: threshold::draw },
        },
        FigureGroup {
            figures: &[
                ("fig3.19", "Spread over time, deterministic budget algorithm"),
                ("fig3.20", "Mean over time, deterministic budget algorithm"),
                ("fig3.21", "Each player's error, deterministic budget algorithm"),
                ("deterministic-elsewhere", "The deterministic budget algorithm in other settings"),
            ],
            work: Work::Cells { cells: deterministic::fixed_cells, draw: deterministic::draw_fixed },
        },
        FigureGroup {
            figures: &[
                ("fig3.22", "Spread over time, budget algorithms, delays ±100 ms"),
                ("fig3.23", "Spread over time, budget algorithms, delays ±180 ms"),
                ("fig3.24", "Mean over time, budget algorithms, delays ±100 ms"),
                ("fig3.25", "Mean over time, budget algorithms, delays ±180 ms"),
                ("fig3.26", "Each player's error, budget algorithms, delays ±100 ms"),
                ("fig3.27", "Each player's error, budget algorithms, delays ±180 ms"),
            ],
            work: Work::Cells { cells: deterministic::variable_cells, draw: deterministic::draw_variable },
        },
    ],
};

/// Where our reading differs, and why.
const READINGS: &[(&str, &str)] = &[
    (
        "The integral of the distance (equation 3.3)",
        "It is printed with a and b exchanged and with factors as divisors inside the logarithm; the code in appendix B has no result \
         for collinear paths. We use a form that holds everywhere, and integrate arcs as arcs, not as chords.",
    ),
    (
        "Scheduling #1 estimates with zero delay, or with the delay estimate",
        "The text has both. scheduling-1 is the first and scheduling-1-estimate the second. Neither counts the error up to the arrival \
         of the vector about to be sent; netgames05-consistent does.",
    ),
    (
        "A receiver without any reports yet",
        "Its error is not zero but unknown: the budget algorithms assume the average, and scheduling sends to it at once.",
    ),
    (
        "The deterministic schedule with a frequency near zero",
        "As printed it can starve a receiver forever: after an error of zero at one trigger it is never sent to again. In our form no \
         receiver waits more than four times as long as with equal shares.",
    ),
    (
        "1/3 base as the baseline",
        "It skips two of three vectors that the threshold calls for. Base with a coarser threshold sends as many and is the fair \
         baseline; both are shown.",
    ),
    (
        "The hit rate (2.3.1)",
        "In the thesis players report it; here it is computed. A shot is aimed at where the tank is seen and arrives at once; it hits if \
         the tank's centre is within half its width of that point.",
    ),
    (
        "Motion",
        "In the thesis tanks are driven by hand; here by seeded drivers, and by tanks recorded in the same game. Ratios depend on it.",
    ),
];
