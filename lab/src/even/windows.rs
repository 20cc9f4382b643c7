//! Fairness within windows of time, not only at the end.

use super::{EvenCase, cells_for, key, percent, runs_of, seeds};
use crate::dr::RunFigures;
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio};
use crate::stats::{mean, population_sd};

/// Window lengths in seconds; runs are sampled once a second.
const WINDOWS: [usize; 7] = [2, 5, 10, 20, 60, 120, 300];
const CASES: [EvenCase; 2] = [EvenCase::Papers(9), EvenCase::Papers(100)];
const CONTENDERS: [Contender; 5] = [
    Contender::EVEN,
    Contender::CONSISTENT,
    Contender::DETERMINISTIC_PA,
    Contender::PROBABILISTIC_PI,
    Contender::BASE,
];

pub(super) fn cells() -> Vec<Cell> {
    cells_for(&CASES, &[CONTENDERS.as_slice(), &[Contender::THIRD]].concat())
}

/// Returns the growth of each player's error in the window that ends at each sample, for every sample with a full
/// window.
pub(super) fn growths(run: &RunFigures, looks: usize) -> impl Iterator<Item = (f64, Vec<f64>)> {
    run.samples.iter().zip(run.samples.iter().skip(looks)).map(|(before, now)| {
        (now.at, now.aee.iter().zip(&before.aee).map(|(now, before)| now - before).collect())
    })
}

/// Returns the spread within a window, averaged over all windows of a run.
fn spread_within(run: &RunFigures, seconds: usize) -> f64 {
    mean(&growths(run, seconds).map(|(_, grown)| population_sd(&grown)).collect::<Vec<_>>())
}

fn ratio(cells: &Cells, case: EvenCase, contender: Contender, seconds: usize) -> Ratio {
    let third = runs_of(cells, case, Contender::THIRD);
    runs_of(cells, case, contender).ratio(&third, |run| spread_within(run, seconds))
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let plot = |case: EvenCase| {
        let curve = |contender: &Contender| Curve {
            name: contender.label(),
            points: WINDOWS
                .iter()
                .map(|seconds| {
                    let Ratio { value, error } = ratio(cells, case, *contender, *seconds);
                    CurvePoint { x: *seconds as f64, y: value, spread: error }
                })
                .collect(),
        };
        Plot {
            title: case.label(),
            x_label: "window (s)".to_owned(),
            y_label: "spread within it / 1/3 base".to_owned(),
            drawing: Drawing::Curves(CONTENDERS.iter().map(curve).collect()),
        }
    };
    let mut rows = Vec::new();
    for case in CASES {
        for contender in CONTENDERS {
            let ratios = WINDOWS.iter().map(|seconds| ratio(cells, case, contender, *seconds).to_string());
            rows.push([case.label(), contender.label()].into_iter().chain(ratios).collect());
        }
    }
    let head = WINDOWS.iter().map(|seconds| format!("{seconds} s"));
    let head = ["setting", "policy"].map(str::to_owned).into_iter().chain(head).collect();
    let even = |seconds| percent(ratio(cells, CASES[0], Contender::EVEN, seconds));
    vec![Figure {
        key: key("windows"),
        title: format!(
            "Within any 10 s even leaves {} of 1/3 base's spread, within any minute {}, over the whole run {}",
            even(10),
            even(60),
            even(300)
        ),
        caption: format!(
            "The spread between the players of the growth of their errors within a window of time, averaged over all windows of the run. \
             800 / 500 / 200 ms, each ±100 ms uniform; random motion, heartbeat 1 s, 300 s, budget 1 per trigger; {}. Bands: one \
             standard error.",
            seeds(setup)
        ),
        plots: CASES.iter().map(|case| plot(*case)).collect(),
        columns: 2,
        table: Table { head, rows },
        claims: Vec::new(),
    }]
}
