//! The study of our own order of actions, by reactions: compared with the paper's and with a clairvoyant, on the paper's
//! network and on worse ones.
//!
//! The seeds are disjoint from those on which the modules' constants were chosen.

mod answers;
mod changes;
mod liar;
mod pareto;
mod sweep;
mod sweeps;

use super::{Grid, GridPlan, PathLaw, Service, ServiceRuns, SyncSetting, Wait, grid_jobs};
use crate::papers::view::{ClaimSource, Claims};
use crate::papers::{FigureGroup, Paper, PaperKind, Setup, Work, seeds_in_words};
use crate::parallel::Cancelled;

/// The first seed of the study, and those on which constants were chosen.
const FIRST_SEED: u64 = 201;
const TUNED_ON: &str = "1 to 10";

const SOURCE: ClaimSource = ClaimSource { paper: "sync-ms", citation: "Evenkeel: the order of reactions" };

/// The study, listed beside the papers.
pub(crate) const STUDY: Paper = Paper {
    key: SOURCE.paper,
    title: "Sync-MS by reactions, compared with the paper's orders and with a clairvoyant",
    source: "Evenkeel's own study",
    kind: PaperKind::Study,
    readings: &[],
    first_seed: FIRST_SEED,
    is_long: true,
    groups: &[
        FigureGroup {
            figures: &[("pareto", "Actions behind over added response time: all orders, and a clairvoyant")],
            work: Work::Own { jobs: |setup| jobs(&pareto::plan(), setup), run: pareto::run },
        },
        FigureGroup {
            figures: &[("loss", "Actions behind over the share of lost packets")],
            work: Work::Own { jobs: |setup| jobs(&sweeps::LOSS.plan(), setup), run: sweeps::run_loss },
        },
        FigureGroup {
            figures: &[("spikes", "Actions behind over the size of delay spikes")],
            work: Work::Own { jobs: |setup| jobs(&sweeps::SPIKES.plan(), setup), run: sweeps::run_spikes },
        },
        FigureGroup {
            figures: &[("clocks", "Actions behind over the error of clocks")],
            work: Work::Own { jobs: |setup| jobs(&sweeps::CLOCKS.plan(), setup), run: sweeps::run_clocks },
        },
        FigureGroup {
            figures: &[("skew", "Actions behind over the skew of clocks")],
            work: Work::Own { jobs: |setup| jobs(&sweeps::SKEW.plan(), setup), run: sweeps::run_skew },
        },
        FigureGroup {
            figures: &[("players", "Actions behind over the number of players")],
            work: Work::Own { jobs: |setup| jobs(&sweeps::PLAYERS.plan(), setup), run: sweeps::run_players },
        },
        FigureGroup {
            figures: &[("liar", "A player that claims to react faster")],
            work: Work::Own { jobs: |setup| jobs(&liar::plan(), setup), run: liar::run },
        },
        FigureGroup {
            figures: &[(
                "answers",
                "A player that claims to react faster, and delays its answers or forges promises",
            )],
            work: Work::Own { jobs: |setup| jobs(&answers::plan(), setup), run: answers::run },
        },
        FigureGroup {
            figures: &[("changes", "A player joins and leaves, rests, or is suspended")],
            work: Work::Own { jobs: |setup| jobs(&changes::plan(), setup), run: changes::run },
        },
    ],
};

const MAX: Service = Service::Both(Wait::Max);
const SELECT: Service = Service::Both(Wait::Select);

/// The setting of most figures, for captions.
const SETTING_WORDS: &str = "The paper's network: ten players, 4 to 30 ms away, an update every 40 ms, an action of each player about \
                             every 18 ms, 80 s";
/// What is measured, for captions.
const BEHIND_WORDS: &str = "Behind: the share of a player's actions that are served after one that is later in fair order, or never; \
                            the player that fares worst on average";

fn key(figure: &str) -> String {
    format!("{}/{figure}", SOURCE.paper)
}

const fn claims(figure: &'static str) -> Claims {
    Claims::about(SOURCE, figure, "requirements")
}

fn jobs(plan: &GridPlan, setup: &Setup<'_>) -> usize {
    grid_jobs(plan, setup.runs)
}

fn run_grid(plan: &GridPlan, setup: &Setup<'_>) -> Result<Grid, Cancelled> {
    Grid::run(plan, setup, FIRST_SEED, setup.runs)
}

/// Describes the seeds for a caption.
fn seeds(setup: &Setup<'_>) -> String {
    format!("{} (constants were chosen on seeds {TUNED_ON})", seeds_in_words(FIRST_SEED, setup.runs))
}

/// The worst player's share behind, on average and in the worst run, and the added response time, in words.
fn in_words(runs: &ServiceRuns<'_>) -> String {
    format!(
        "{} % on average, {:.3} % in the worst run, {} ms added",
        runs.worst_behind().in_words(4),
        runs.worst_run(),
        runs.added_response().in_words(2)
    )
}

/// The same as cells of a table.
fn cells(runs: &ServiceRuns<'_>) -> [String; 3] {
    [runs.worst_behind().in_words(3), format!("{:.3}", runs.worst_run()), runs.added_response().in_words(2)]
}

/// The heads of these cells.
fn heads() -> [String; 3] {
    ["worst player behind (%)", "in the worst run (%)", "added response (ms)"].map(str::to_owned)
}
