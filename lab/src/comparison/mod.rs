//! The comparison that a game should look at: `even` beside what the game would do without it with the same number of
//! messages, which is to export with a coarser threshold and send every vector to everybody.
//!
//! The error against the real path leads, because it is what players see. A coarser threshold moves the exported path
//! away from the real one, which the export error, the papers' measure, does not count.

mod dial;
mod players;
mod time;
mod when;

use crate::dr::RunFigures;
use crate::even::{EvenCase, FIRST_SEED};
use crate::papers::cells::{Cells, Contender, ContenderRuns, Ratio};
use crate::papers::setting::ExperimentSetting;
use crate::papers::view::{ClaimSource, Claims};
use crate::papers::{FigureGroup, Paper, PaperKind, Work};
use crate::scenario::Receiver;

const SOURCE: ClaimSource = ClaimSource { paper: "comparison", citation: "Evenkeel: the comparison" };

/// The study, listed beside the papers.
pub(crate) const STUDY: Paper = Paper {
    key: SOURCE.paper,
    title: "With even and without it, at as many messages",
    source: "Evenkeel's own study",
    kind: PaperKind::Study,
    readings: &[],
    first_seed: FIRST_SEED,
    is_long: false,
    groups: &[
        FigureGroup {
            figures: &[("players", "Each player's error: who gains, who pays, and with how many messages")],
            work: Work::Cells { cells: players::cells, draw: players::draw },
        },
        FigureGroup {
            figures: &[("time", "The spread between the players over time")],
            work: Work::Cells { cells: time::cells, draw: time::draw },
        },
        FigureGroup {
            figures: &[("phi", "phi: from little equality to all of it")],
            work: Work::Cells { cells: dial::cells, draw: dial::draw },
        },
        FigureGroup {
            figures: &[("when", "Where even helps, and where it does not")],
            work: Work::Cells { cells: when::cells, draw: when::draw },
        },
    ],
};

/// The papers' delays and today's.
const CASES: [EvenCase; 2] = [EvenCase::Papers(9), EvenCase::Broadband(9)];
/// Without us: base with a threshold coarse enough to send as many vectors as `even`.
const MATCHED: Contender = Contender::AS_MANY_AS_EVEN;

/// The setting of both cases, for captions.
const SETTING_WORDS: &str = "Delays ±100 ms uniform at 800/500/200 ms, gamma jitter of a tenth at 120/40/15 ms; random motion, \
                             threshold 0.09, heartbeat 1 s, 300 s; budget 1 DR vector per trigger, a third of what base sends";
/// What the baseline is, for captions.
const MATCHED_WORDS: &str = "base-matched (calibrated) is base with a threshold found by bisection, coarse enough that it sends as many \
                             vectors as even";

/// Returns the key of one of the study's figures.
fn key(figure: &str) -> String {
    format!("{}/{figure}", SOURCE.paper)
}

/// Starts the claims about one of the study's figures.
const fn claims(figure: &'static str) -> Claims {
    Claims::about(SOURCE, figure, "our questions")
}

/// Returns the length of a case's runs.
fn seconds(cells: &Cells, case: EvenCase) -> f64 {
    cells.scenario(ExperimentSetting::Even(case)).duration.as_secs_f64()
}

/// Returns the players of a case, such as "far, 800 ms".
fn players_of(cells: &Cells, case: EvenCase) -> Vec<String> {
    let name = |one: &Receiver| format!("{}, {:.0} ms", one.name, one.delay().as_millis_f64());
    cells.scenario(ExperimentSetting::Even(case)).receivers.iter().map(name).collect()
}

/// Returns how far from its real position each player sees the tank on average, in units.
fn units_off(runs: &ContenderRuns<'_>, seconds: f64) -> Vec<Ratio> {
    let off = |index: usize| Ratio::mean(&runs.by_run(|run| run.receivers[index].real_error / seconds));
    (0..runs.runs[0].receivers.len()).map(off).collect()
}

/// Returns a player's error against the real path relative to that under another contender.
fn player_ratio(runs: &ContenderRuns<'_>, to: &ContenderRuns<'_>, player: usize) -> Ratio {
    runs.ratio(to, |run: &RunFigures| run.receivers[player].real_error)
}

/// Formats a figure without its standard error where that rounds to zero.
fn short(ratio: Ratio, decimals: usize) -> String {
    let is_exact = ratio.error < 0.5 * 0.1_f64.powi(decimals as i32);
    Ratio { error: if is_exact { 0.0 } else { ratio.error }, ..ratio }.in_words(decimals)
}
