//! Our own policy, `even`, measured: beside the papers' policies, beside what could be had by knowing the future, and
//! wherever a game may take it.
//!
//! The seeds are none of those on which the policy was tuned.

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
mod settings;
mod tanks;
mod windows;

pub(crate) use case::EvenCase;

use crate::bounds::Bounds;
use crate::dr::RunFigures;
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio, product};
use crate::papers::setting::ExperimentSetting;
use crate::papers::view::{ClaimSource, Claims};
use crate::papers::{FigureGroup, Paper, Setup, Work, seeds_in_words};

/// The first seed of the study.
pub(crate) const FIRST_SEED: u64 = 201;
/// Those on which the policy was tuned.
pub(crate) const TUNED_ON: &str = "1 to 40";

const SOURCE: ClaimSource = ClaimSource { paper: "even", citation: "Evenkeel: our own policy" };

/// The study, listed beside the papers.
pub(crate) const STUDY: Paper = Paper {
    key: SOURCE.paper,
    title: "Our own policy, even, against everything else and against the possible",
    source: "Evenkeel's own study",
    readings: &[],
    first_seed: FIRST_SEED,
    is_long: true,
    groups: &[
        FigureGroup {
            figures: &[
                ("pareto", "Spread against mean: all policies, and what could be had by knowing the future"),
                ("pareto-real", "The same against the real path, with base at as many vectors"),
            ],
            work: Work::Cells { cells: pareto::cells, draw: pareto::draw },
        },
        FigureGroup {
            figures: &[(
                "settings",
                "Spread, mean and vectors in each setting, against the bars that it must reach",
            )],
            work: Work::Cells { cells: settings::cells, draw: settings::draw },
        },
        FigureGroup {
            figures: &[
                ("phi", "The dial: how much of the spread is evened out"),
                ("kappa", "The cap: what anybody may have to pay"),
            ],
            work: Work::Cells { cells: dial::cells, draw: dial::draw },
        },
        FigureGroup {
            figures: &[("budget", "Spread and mean against the budget")],
            work: Work::Cells { cells: budget::cells, draw: budget::draw },
        },
        FigureGroup {
            figures: &[("players", "Spread, mean and vectors against the number of players")],
            work: Work::Cells { cells: players::cells, draw: players::draw },
        },
        FigureGroup {
            figures: &[("loss", "Spread and mean against the share of packets that are lost")],
            work: Work::Cells { cells: loss::cells, draw: loss::draw },
        },
        FigureGroup {
            figures: &[
                ("step", "A player's delay steps up"),
                ("joins", "A player comes, and another one leaves"),
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
            figures: &[("content", "What vectors say: kinds of motion, and the best of them")],
            work: Work::Cells { cells: content::cells, draw: content::draw },
        },
        FigureGroup {
            figures: &[("relay", "A relay that decides, against the owner itself")],
            work: Work::Cells { cells: relay::cells, draw: relay::draw },
        },
        FigureGroup {
            figures: &[("tanks", "All policies on recorded tanks")],
            work: Work::Cells { cells: tanks::cells, draw: tanks::draw },
        },
        FigureGroup {
            figures: &[
                ("stamps", "A liar that states wrong times of arrival"),
                ("holds", "A liar that holds its acknowledgments back as well"),
            ],
            work: Work::Cells { cells: liars::cells, draw: liars::draw },
        },
    ],
};

/// The key of one of its figures.
fn key(figure: &str) -> String {
    format!("{}/{figure}", SOURCE.paper)
}

/// The claims about one of its figures.
const fn claims(figure: &'static str) -> Claims {
    Claims::about(SOURCE, figure, "what it must show")
}

/// Which seeds, in a caption.
fn seeds(setup: &Setup<'_>) -> String {
    format!("{} (the policy was tuned on {TUNED_ON})", seeds_in_words(FIRST_SEED, setup.runs))
}

/// What must be run for each of these in each of these cases.
fn cells_for(cases: &[EvenCase], contenders: &[Contender]) -> Vec<Cell> {
    let settings: Vec<ExperimentSetting> = cases.iter().map(|case| ExperimentSetting::Even(*case)).collect();
    product(&settings, contenders)
}

/// A contender in a case.
fn runs_of(cells: &Cells, case: EvenCase, contender: Contender) -> ContenderRuns<'_> {
    cells.of(ExperimentSetting::Even(case), contender)
}

/// The mean error of somebody, relative to what could be had by knowing the future.
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

/// What could be had by knowing the future, relative to the mean error of somebody.
fn bound_over_mean(cells: &Cells, case: EvenCase, contender: Contender, bound: Bound) -> Ratio {
    let bounds = cells.bounds(ExperimentSetting::Even(case)).map(bound);
    Ratio::of(&bounds.zip(runs_of(cells, case, contender).by_run(RunFigures::mean_aee)).collect::<Vec<_>>())
}

/// The least error that all can have alike.
const fn equal(bounds: &Bounds) -> f64 {
    bounds.equal
}

/// The least that the mean error can be.
const fn least_mean(bounds: &Bounds) -> f64 {
    bounds.least_mean
}

/// The error of the farthest if it is sent every vector.
fn farthest_floor(bounds: &Bounds) -> f64 {
    bounds.floors.iter().copied().fold(0.0, f64::max)
}

/// What the clairvoyant's marks are called.
const EQUAL: &str = "knowing the future, equal";
const LEAST_MEAN: &str = "knowing the future, least mean";
const FARTHEST: &str = "sent everything, the farthest";

/// A figure of what could be had by knowing the future.
type Bound = fn(&Bounds) -> f64;

/// All of them, by name.
const BOUNDS: [(&str, Bound); 3] = [(EQUAL, equal), (LEAST_MEAN, least_mean), (FARTHEST, farthest_floor)];

/// How bounds are computed, for captions.
const BOUNDS_WORDS: &str = "Bounds: what could be had by knowing the future with as many vectors as the budget allows, by dynamic \
     programming at mean delays without jitter or loss: the least mean, and the least error that everybody can have alike; and what \
     the farthest player has if it is sent every vector.";

/// "1.42 ± 0.03 %"
fn percent(ratio: Ratio) -> String {
    let decimals = if ratio.value < 0.1 { 2 } else { 1 };
    let percents = Ratio { value: 100.0 * ratio.value, error: 100.0 * ratio.error };
    format!("{} %", percents.in_words(decimals))
}
