//! The study of our own policy, `even`: compared with the papers' policies and with the clairvoyant optimum, in the
//! settings games may need.
//!
//! The seeds are disjoint from those on which the policy was tuned.

mod budget;
mod case;
mod changes;
mod content;
mod dial;
mod length;
mod liars;
mod loss;
mod pareto;
mod players;
mod relay;
mod served;
mod settings;
mod tanks;
mod windows;

pub(crate) use case::EvenCase;

use crate::bounds::Bounds;
use crate::dr::RunFigures;
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio, product};
use crate::papers::setting::ExperimentSetting;
use crate::papers::view::{ClaimSource, Claims};
use crate::papers::{FigureGroup, Paper, PaperKind, Setup, Work, seeds_in_words};

/// The first seed of the study.
pub(crate) const FIRST_SEED: u64 = 201;
/// The seeds on which the policy was tuned.
pub(crate) const TUNED_ON: &str = "1 to 40";

const SOURCE: ClaimSource = ClaimSource { paper: "even", citation: "Evenkeel: our own policy" };

/// The study, listed beside the papers.
pub(crate) const STUDY: Paper = Paper {
    key: SOURCE.paper,
    title: "Our own policy, even, compared with all others and with the clairvoyant optimum",
    source: "Evenkeel's own study",
    kind: PaperKind::Study,
    readings: &[],
    first_seed: FIRST_SEED,
    is_long: true,
    groups: &[
        FigureGroup {
            figures: &[
                ("pareto", "Spread over mean: all policies, and the clairvoyant optimum"),
                ("pareto-real", "Spread over mean against the real path, with base at as many vectors"),
            ],
            work: Work::Cells { cells: pareto::cells, draw: pareto::draw },
        },
        FigureGroup {
            figures: &[("settings", "Spread, mean and vectors in each setting, with the bars to reach")],
            work: Work::Cells { cells: settings::cells, draw: settings::draw },
        },
        FigureGroup {
            figures: &[
                ("phi", "phi: how much of the spread is evened out"),
                ("kappa", "kappa: the cap on what any player may pay"),
            ],
            work: Work::Cells { cells: dial::cells, draw: dial::draw },
        },
        FigureGroup {
            figures: &[("budget", "Spread and mean over the budget")],
            work: Work::Cells { cells: budget::cells, draw: budget::draw },
        },
        FigureGroup {
            figures: &[("players", "Spread, mean and vectors over the number of players")],
            work: Work::Cells { cells: players::cells, draw: players::draw },
        },
        FigureGroup {
            figures: &[("loss", "Spread and mean over the share of lost packets")],
            work: Work::Cells { cells: loss::cells, draw: loss::draw },
        },
        FigureGroup {
            figures: &[
                ("step", "A player's delay steps up"),
                ("joins", "A player joins, and another one leaves"),
            ],
            work: Work::Cells { cells: changes::cells, draw: changes::draw },
        },
        FigureGroup {
            figures: &[("length", "The spread over twenty minutes")],
            work: Work::Cells { cells: length::cells, draw: length::draw },
        },
        FigureGroup {
            figures: &[("windows", "The spread of the error within windows of time")],
            work: Work::Cells { cells: windows::cells, draw: windows::draw },
        },
        FigureGroup {
            figures: &[("content", "The content of vectors: each kind of motion, and the best of them")],
            work: Work::Cells { cells: content::cells, draw: content::draw },
        },
        FigureGroup {
            figures: &[("relay", "The policy at a relay and at the owner")],
            work: Work::Cells { cells: relay::cells, draw: relay::draw },
        },
        FigureGroup {
            figures: &[("tanks", "All policies on recorded tanks")],
            work: Work::Cells { cells: tanks::cells, draw: tanks::draw },
        },
        FigureGroup {
            figures: &[
                ("stamps", "A liar that reports wrong arrival times"),
                ("holds", "A liar that also delays its acknowledgments"),
            ],
            work: Work::Cells { cells: liars::cells, draw: liars::draw },
        },
        FigureGroup {
            figures: &[
                ("rooms", "A liar that also delays its acknowledgments, in rooms: what the others bear"),
                ("unserved", "A player whom no policy can serve: what the others bear"),
                ("honest", "What the bound on that costs honest players"),
            ],
            work: Work::Cells { cells: served::cells, draw: served::draw },
        },
    ],
};

/// Returns the key of one of the study's figures.
fn key(figure: &str) -> String {
    format!("{}/{figure}", SOURCE.paper)
}

/// Starts the claims about one of the study's figures.
const fn claims(figure: &'static str) -> Claims {
    Claims::about(SOURCE, figure, "requirements")
}

/// Describes the seeds for a caption.
pub(crate) fn seeds(setup: &Setup<'_>) -> String {
    format!("{} (the policy was tuned on seeds {TUNED_ON})", seeds_in_words(FIRST_SEED, setup.runs))
}

/// Returns the cells of each of these contenders in each of these cases.
pub(crate) fn cells_for(cases: &[EvenCase], contenders: &[Contender]) -> Vec<Cell> {
    let settings: Vec<ExperimentSetting> = cases.iter().map(|case| ExperimentSetting::Even(*case)).collect();
    product(&settings, contenders)
}

/// Returns the runs of a contender in a case.
pub(crate) fn runs_of(cells: &Cells, case: EvenCase, contender: Contender) -> ContenderRuns<'_> {
    cells.of(ExperimentSetting::Even(case), contender)
}

/// Returns a contender's mean error relative to a bound.
fn mean_over_bound(cells: &Cells, case: EvenCase, contender: Contender, bound: Bound) -> Ratio {
    let bounds = cells.bounds(ExperimentSetting::Even(case)).map(bound);
    Ratio::of(
        &runs_of(cells, case, contender)
            .by_run(RunFigures::mean_aee)
            .into_iter()
            .zip(bounds)
            .collect::<Vec<_>>(),
    )
}

/// Returns a bound relative to a contender's mean error.
fn bound_over_mean(cells: &Cells, case: EvenCase, contender: Contender, bound: Bound) -> Ratio {
    let bounds = cells.bounds(ExperimentSetting::Even(case)).map(bound);
    Ratio::of(&bounds.zip(runs_of(cells, case, contender).by_run(RunFigures::mean_aee)).collect::<Vec<_>>())
}

/// Returns the least error that all receivers can have equally.
const fn equal(bounds: &Bounds) -> f64 {
    bounds.equal
}

/// Returns the least possible mean error.
const fn least_mean(bounds: &Bounds) -> f64 {
    bounds.least_mean
}

/// Returns the farthest receiver's error if it is sent every vector.
fn farthest_floor(bounds: &Bounds) -> f64 {
    bounds.floors.iter().copied().fold(0.0, f64::max)
}

/// Names of the bounds in figures.
const EQUAL: &str = "clairvoyant, equal errors";
const LEAST_MEAN: &str = "clairvoyant, least mean";
const FARTHEST: &str = "farthest player, sent every vector";

/// A bound on the error.
type Bound = fn(&Bounds) -> f64;

/// All bounds, by name.
const BOUNDS: [(&str, Bound); 3] = [(EQUAL, equal), (LEAST_MEAN, least_mean), (FARTHEST, farthest_floor)];

/// How bounds are computed, for captions.
const BOUNDS_WORDS: &str = "Bounds: the clairvoyant optimum with as many vectors as the budget allows, by dynamic programming at mean \
                            delays without jitter or loss: the least mean, and the least error that all players can have equally; and \
                            the farthest player's error if it is sent every vector.";

/// Formats a ratio such as "1.42 ± 0.03 %".
pub(crate) fn percent(ratio: Ratio) -> String {
    let decimals = if ratio.value < 0.1 { 2 } else { 1 };
    let percents = Ratio { value: 100.0 * ratio.value, error: 100.0 * ratio.error };
    format!("{} %", percents.in_words(decimals))
}
