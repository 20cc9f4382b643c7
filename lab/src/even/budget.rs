//! The effect of the budget, from a sixth of base's vectors to all of them.

use super::{
    BOUNDS, BOUNDS_WORDS, Bound, EvenCase, cells_for, equal, key, mean_over_bound, percent, runs_of, seeds,
};
use crate::dr::RunFigures;
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns};
use crate::papers::setting::ExperimentSetting;
use crate::stats::{mean, population_sd};

/// Budgets in hundredths of a vector per trigger, each with the base case that sends as many to three players.
const BUDGETS: [(u16, Contender); 5] = [
    (50, Contender::Policy("base-1/6")),
    (75, Contender::Policy("base-1/4")),
    (100, Contender::THIRD),
    (150, Contender::Policy("base-1/2")),
    (300, Contender::BASE),
];
const CONTENDERS: [Contender; 2] = [Contender::EVEN, Contender::DETERMINISTIC_PA];
const BASE: &str = "1/m base";

pub(super) fn cells() -> Vec<Cell> {
    let all = BUDGETS.iter().flat_map(|(budget, base)| {
        cells_for(&[EvenCase::Budget(*budget)], &[CONTENDERS.as_slice(), &[*base]].concat())
    });
    all.collect()
}

fn point(budget: u16, values: &[f64]) -> CurvePoint {
    CurvePoint { x: f64::from(budget) / 100.0, y: mean(values), spread: population_sd(values) }
}

/// Returns the curves of a figure over the budget.
fn curves(cells: &Cells, figure: fn(&RunFigures) -> f64) -> Vec<Curve> {
    let curve = |name: String, who: &dyn Fn(Contender) -> Contender| Curve {
        name,
        points: BUDGETS
            .iter()
            .map(|(budget, base)| {
                point(*budget, &runs_of(cells, EvenCase::Budget(*budget), who(*base)).by_run(figure))
            })
            .collect(),
    };
    let mut curves: Vec<Curve> =
        CONTENDERS.iter().map(|contender| curve(contender.label(), &|_| *contender)).collect();
    curves.push(curve(BASE.to_owned(), &|base| base));
    curves
}

fn bound(cells: &Cells, name: &str, runs: usize, bound: Bound) -> Curve {
    let points = BUDGETS.iter().map(|(budget, _)| {
        let bounds = cells.bounds(ExperimentSetting::Even(EvenCase::Budget(*budget)));
        point(*budget, &bounds.map(bound).take(runs).collect::<Vec<_>>())
    });
    Curve { name: name.to_owned(), points: points.collect() }
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let mut means = curves(cells, RunFigures::mean_aee);
    means.extend(BOUNDS.map(|(name, figure)| bound(cells, name, setup.runs, figure)));
    let plot = |label: &str, curves| Plot {
        title: String::new(),
        x_label: "budget (DR vectors per trigger)".to_owned(),
        y_label: label.to_owned(),
        drawing: Drawing::Curves(curves),
    };
    let all = EvenCase::Budget(300);
    let [even, base] = [Contender::EVEN, Contender::BASE].map(|contender| runs_of(cells, all, contender));
    vec![Figure {
        key: key("budget"),
        title: format!(
            "Without a limit even equalizes errors with {} of base's vectors; with a sixth of them the mean is {:.2} times as high",
            percent(even.sent_ratio(&base)),
            runs_of(cells, EvenCase::Budget(50), Contender::EVEN).mean() / even.mean()
        ),
        caption: format!(
            "800 / 500 / 200 ms, each ±100 ms uniform; random motion, threshold 0.3, heartbeat 1 s, 300 s; {}. 1/m base sends every m-th \
             vector to every player, as many as the budget allows. Bands: one standard deviation over the seeds. {BOUNDS_WORDS}",
            seeds(setup)
        ),
        plots: vec![
            plot("mean accumulated error (units·s)", means),
            plot("spread of accumulated error (units·s)", curves(cells, RunFigures::std_aee)),
        ],
        columns: 2,
        table: table(cells),
        claims: Vec::new(),
    }]
}

fn table(cells: &Cells) -> Table {
    let head = [
        "budget",
        "even: spread / 1/m base",
        "mean / 1/m base",
        "sent / 1/m base",
        "mean / equal bound",
        "deterministic: spread / 1/m base",
        "mean / 1/m base",
    ];
    let row = |(budget, base): &(u16, Contender)| {
        let case = EvenCase::Budget(*budget);
        let base = runs_of(cells, case, *base);
        let [even, deterministic] =
            CONTENDERS.map(|contender: Contender| -> ContenderRuns<'_> { runs_of(cells, case, contender) });
        let ratios = [
            even.spread_ratio(&base),
            even.mean_ratio(&base),
            even.sent_ratio(&base),
            mean_over_bound(cells, case, Contender::EVEN, equal),
            deterministic.spread_ratio(&base),
            deterministic.mean_ratio(&base),
        ];
        [format!("{:.2}", f64::from(*budget) / 100.0)]
            .into_iter()
            .chain(ratios.map(|ratio| ratio.to_string()))
            .collect()
    };
    Table { head: head.map(str::to_owned).to_vec(), rows: BUDGETS.iter().map(row).collect() }
}
