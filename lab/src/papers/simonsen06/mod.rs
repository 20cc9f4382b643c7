//! Seed 004: NEO and the Eater game, the thesis of 2006.
//!
//! Its lab experiments have emulated exponential delays; those over the Internet are run with the delays that it reports.
//! All combinations of table 1 are run once per network, and every figure is a view of these runs.

mod chart;
mod delays;
mod grid;
mod internet;
mod lan;
mod scale;
mod tables;
mod trace;

use super::study::quarter;
use super::view::{ClaimSource, Claims};
use super::{FigureGroup, Paper, PaperKind, Setup, Work, seeds_in_words};
use crate::figure::Figure;
use crate::parallel::Cancelled;
use chart::{Series, plot, table};
use grid::{Network, ThesisGrid, plan};

const SOURCE: ClaimSource = ClaimSource { paper: "simonsen06", citation: "Simonsen, BYU 2006" };

/// "About", "around": within this share.
const ABOUT: f64 = 0.25;

/// The thesis.
pub(crate) const PAPER: Paper = Paper {
    key: SOURCE.paper,
    title: "Design and Measurement of a Real-Time Peer-to-Peer Game",
    source: "Simonsen, Brigham Young University, 2006",
    kind: PaperKind::Paper,
    readings: &[
        (
            "Delays are exponential around averages of NLANR, from 14 ms at the server to 45 ms",
            "Exponential delays whose means are table 7's latencies: 34, 42 and 44 ms between 2, 3 and 4 clients. A server adds 14 ms on \
             one of the two ways, which gives table 7's latencies of client-server",
        ),
        ("Loss is that of NLANR", "1 %: the thesis gives no number"),
        (
            "The Internet",
            "Exponential delays with the means that figure 23 reports: 50 to 58 ms for 2 to 4 clients, 66 ms for 5",
        ),
        (
            "An update that no third client voted for is accepted with 4 clients or less",
            "As printed: half of all votes, the sender's and the receiver's own included",
        ),
        (
            "Processing takes 3 to 4.5 ms",
            "Nothing: a simulated computer is infinitely fast, and today's needs microseconds",
        ),
        (
            "Location error, in pixels",
            "Between where an eater is and where another client shows it, ten times a second, all pairs",
        ),
        ("A server decides who ate a stone", "State changes among peers; see docs/papers/simonsen06.md"),
    ],
    first_seed: 1,
    is_long: true,
    groups: &[
        FigureGroup {
            figures: &[
                ("table7", "Latency, waiting and playout delay, NEO and client-server"),
                ("table8", "Bandwidth over the number of clients"),
                ("fig9", "Location error over the time between updates"),
                ("fig10", "Unused updates over the time between updates"),
                ("fig11", "Latency over the time between updates"),
                ("fig12", "Bandwidth over the time between updates"),
                ("fig13", "Playout and waiting delay over the depth, rounds of 1,000 ms"),
                ("fig14", "Location error and unused updates over the depth, rounds of 1,000 ms"),
                ("fig15", "Location error over the number of clients, NEO and client-server"),
                ("fig16", "Playout delay over the number of clients, NEO and client-server"),
                ("fig17", "Waiting delay over the number of clients, NEO and client-server"),
                ("fig18", "Processing: votes to count over the number of clients"),
                ("fig19", "Playout delay over the number of clients"),
                ("fig20", "Unused updates over the number of clients, rounds of 100 ms"),
                ("fig21", "Location error over the number of clients, rounds of 100 ms"),
            ],
            work: Work::Own { jobs: |setup| jobs(Network::Lab, setup), run: run_lab },
        },
        FigureGroup {
            figures: &[
                ("fig22", "Internet: unused updates over the time between updates"),
                ("fig23", "Internet: latency over the time between updates"),
                ("fig24", "Internet: location error over the time between updates"),
                ("fig25", "Internet: playout delay over the round length"),
                ("fig26", "Internet: playout delay over the depth, rounds of 1,000 ms"),
                ("fig27", "Internet: delays over the round length, 5 clients"),
                ("fig28", "Internet: waiting and playout delay over the depth, 4 clients"),
                ("fig29", "Internet: location error and unused updates over the depth"),
                ("fig30", "Internet: bandwidth over the time between updates"),
                ("fig31", "Internet: waiting delay over the round length"),
                ("fig32", "Internet: waiting delay over the depth, rounds of 1,000 ms"),
                ("fig33", "Internet: playout delay over the number of clients"),
                ("fig34", "Internet: unused updates over the number of clients"),
                ("fig35", "Internet: location error over the number of clients"),
            ],
            work: Work::Own { jobs: |setup| jobs(Network::Internet, setup), run: run_internet },
        },
        FigureGroup {
            figures: &[
                ("table2", "The trace of single updates (tables 2 to 4)"),
                ("table9", "The size of an update"),
            ],
            work: Work::Own { jobs: |_| 1, run: trace::run },
        },
    ],
};

/// The thesis' runs: a quarter of the usual twenty.
fn seeds(setup: &Setup<'_>) -> usize {
    quarter(setup.runs)
}

fn jobs(network: Network, setup: &Setup<'_>) -> usize {
    plan(network).len() * seeds(setup)
}

const fn claims(figure: &'static str, place: &'static str) -> Claims {
    Claims::about(SOURCE, figure, place)
}

fn run_lab(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let grid = ThesisGrid::run(Network::Lab, setup)?;
    let figures = [tables::all(&grid, setup), lan::all(&grid, setup), scale::all(&grid, setup)];
    Ok(figures.into_iter().flatten().collect())
}

fn run_internet(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let grid = ThesisGrid::run(Network::Internet, setup)?;
    Ok(internet::all(&grid, setup))
}

/// A figure of the thesis.
struct Chart<'a> {
    name: &'static str,
    title: String,
    /// Title, horizontal axis and curves of each frame.
    frames: Vec<(&'a str, &'a str, Vec<Series>)>,
    claims: Claims,
}

impl Chart<'_> {
    fn draw(self, grid: &ThesisGrid, setup: &Setup<'_>) -> Figure {
        Figure {
            key: format!("{}/{}", SOURCE.paper, self.name),
            title: self.title,
            caption: format!(
                "Eater with bots, 45 s of which the first 5 do not count; exponential delays, 1 % loss; {}. Bands: the deviation between \
                 combinations of round length and depth with the same time between updates.",
                seeds_in_words(PAPER.first_seed, seeds(setup))
            ),
            columns: self.frames.len().min(2),
            table: table(grid, &self.frames),
            plots: self
                .frames
                .iter()
                .map(|(title, x_label, series)| plot(grid, title, x_label, series))
                .collect(),
            claims: self.claims.all(),
        }
    }
}

/// The horizontal axes.
const ARRIVAL: &str = "time between updates (ms)";
const DEPTH: &str = "depth";
const ROUND: &str = "round length (ms)";
const CLIENTS: &str = "clients";
