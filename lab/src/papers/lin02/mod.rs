//! Seed 002: Sync-MS, the experiment of section 6.
//!
//! Ten players at 4 to 30 ms, an update every 40 ms, an action of each player about every 18 ms, 80 s. Everything is run
//! under two readings of the paper's delays, and every claim is judged under both.

mod general;
mod judged;
mod selective;
mod steps;
mod toss;

use super::study::quarter;
use super::view::{ClaimSource, Claims};
use super::{FigureGroup, Paper, PaperKind, Setup, Work, seeds_in_words};
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::cells::Ratio;
use crate::parallel::Cancelled;
use crate::sync_ms::{Grid, GridPlan, PathLaw, Service, ServiceRuns, SyncSetting, grid_jobs};

const SOURCE: ClaimSource = ClaimSource { paper: "lin02", citation: "Lin, Guo and Paul, ICNP 2002" };

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    key: SOURCE.paper,
    title: "Sync-MS: Synchronized Messaging Service for Real-Time Multi-Player Distributed Games",
    source: "Lin, Guo, Paul, ICNP 2002",
    kind: PaperKind::Paper,
    readings: &[
        (
            "Delays are exponential with a mean of 30 ms and a variance of 2",
            "No exponential distribution has these. We read a constant plus an exponential part, and, as an alternative, a gamma \
             distribution; every claim is judged under both, and \"differs\" if it holds under one of them only",
        ),
        ("Time between actions: extreme value", "The distribution of maxima"),
        (
            "b(i), the time between actions, is estimated like delays",
            "On the low side: mean minus N deviations. The printed mean plus N deviations leaves player 10 behind with 57 %",
        ),
        ("A percentile is tossed", "Once for each action, when it arrives"),
        (
            "Sync-out knows the delays of past updates",
            "The delay of an update comes back with the player's next action, so it counts for the second update after it",
        ),
        (
            "Exact delay information",
            "The delay of each message is known before it is sent; also the time of each next action",
        ),
        (
            "Results of whole runs",
            "The first 400 ms and the last 200 ms do not count: nothing is known yet, or nothing follows",
        ),
    ],
    first_seed: 1,
    is_long: false,
    groups: &[
        FigureGroup {
            figures: &[("table3", "Ahead and behind: the paper's example")],
            work: Work::Own { jobs: |_| 0, run: steps::run },
        },
        FigureGroup {
            figures: &[
                ("fig5a", "Actions behind, each combination of Sync-out and Sync-in"),
                ("fig5b", "Actions ahead, each combination of Sync-out and Sync-in"),
                ("fig6", "Response time, each combination of Sync-out and Sync-in"),
            ],
            work: Work::Own { jobs: |setup| jobs(&general::plan(), setup), run: general::run },
        },
        FigureGroup {
            figures: &[
                ("fig7a", "SelectWait and MaxWait: response time"),
                ("fig7b", "SelectWait and MaxWait: actions behind"),
            ],
            work: Work::Own { jobs: |setup| jobs(&selective::plan(), setup), run: selective::run },
        },
        FigureGroup {
            figures: &[("fig8a", "Toss vectors: response time"), ("fig8b", "Toss vectors: actions behind")],
            work: Work::Own { jobs: |setup| jobs(&toss::plan(), setup), run: toss::run },
        },
    ],
};

/// The paper's runs: a quarter of the usual twenty.
fn seeds(setup: &Setup<'_>) -> usize {
    quarter(setup.runs)
}

fn jobs(plan: &GridPlan, setup: &Setup<'_>) -> usize {
    grid_jobs(plan, seeds(setup))
}

/// These services in the paper's experiment, under both readings of its delays.
fn under_both(services: &[Service]) -> GridPlan {
    PathLaw::READINGS.map(|law| (SyncSetting::paper(law), services.to_vec())).to_vec()
}

fn run_grid(plan: &GridPlan, setup: &Setup<'_>) -> Result<Grid, Cancelled> {
    Grid::run(plan, setup, PAPER.first_seed, seeds(setup))
}

/// Starts the claims about a figure.
const fn claims(figure: &'static str, place: &'static str) -> Claims {
    Claims::about(SOURCE, figure, place)
}

/// A figure of the paper: a value of each player under some services.
struct PlayerFigure<'a> {
    name: &'static str,
    title: String,
    /// The label of the vertical axis.
    label: &'static str,
    services: &'a [Service],
    value: fn(&ServiceRuns<'_>, usize) -> Ratio,
    claims: Claims,
}

impl PlayerFigure<'_> {
    fn draw(self, grid: &Grid, setup: &Setup<'_>) -> Figure {
        let curve = |law: usize, service: &Service| {
            let runs = grid.of(law, *service);
            let point = |player: usize| {
                let Ratio { value, error } = (self.value)(&runs, player);
                CurvePoint { x: player as f64 + 1.0, y: value, spread: error }
            };
            Curve { name: service.name().to_owned(), points: (0..runs.players()).map(point).collect() }
        };
        let plot = |(index, law): (usize, PathLaw)| Plot {
            title: format!("{} delays", law.name()),
            x_label: "player".to_owned(),
            y_label: self.label.to_owned(),
            drawing: Drawing::Curves(self.services.iter().map(|service| curve(index, service)).collect()),
        };
        Figure {
            key: format!("{}/{}", SOURCE.paper, self.name),
            caption: format!(
                "Ten players, 4 to 30 ms away; an update every 40 ms; gaps between a player's actions of extreme-value distribution, mean \
                 18 ms, variance 1; 80 s; {}. Bands: one standard error.",
                seeds_in_words(PAPER.first_seed, seeds(setup))
            ),
            plots: PathLaw::READINGS.into_iter().enumerate().map(plot).collect(),
            columns: 2,
            table: self.table(grid),
            title: self.title,
            claims: self.claims.all(),
        }
    }

    fn table(&self, grid: &Grid) -> Table {
        let players = grid.of(0, self.services[0]).players();
        let mut head = vec!["delays".to_owned(), "combination".to_owned()];
        head.extend((1..=players).map(|player| format!("player {player}")));
        let row = |law: usize, service: Service| {
            let runs = grid.of(law, service);
            let mut row = vec![PathLaw::READINGS[law].name().to_owned(), service.name().to_owned()];
            row.extend((0..players).map(|player| (self.value)(&runs, player).in_words(1)));
            row
        };
        let laws = 0..PathLaw::READINGS.len();
        let rows = laws.flat_map(|law| self.services.iter().map(move |service| row(law, *service)));
        Table { head, rows: rows.collect() }
    }
}
