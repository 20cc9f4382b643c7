//! Tanks recorded in a real game: four entities of one sender, under every policy.

use super::pareto::OTHERS;
use super::{EQUAL, EvenCase, bound_over_mean, cells_for, equal, key, percent, runs_of, seeds};
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio};

const CASES: [EvenCase; 2] = [EvenCase::Tanks(9), EvenCase::Tanks(100)];

fn all() -> impl Iterator<Item = Contender> {
    [Contender::EVEN].into_iter().chain(OTHERS)
}

pub(super) fn cells() -> Vec<Cell> {
    cells_for(&CASES, &all().collect::<Vec<_>>())
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let third = |case| runs_of(cells, case, Contender::THIRD);
    let plot = |case: EvenCase| {
        let marks = |name: &str, ratio: fn(&ContenderRuns<'_>, &ContenderRuns<'_>) -> Ratio| Bars {
            name: name.to_owned(),
            heights: all().map(|one| ratio(&runs_of(cells, case, one), &third(case)).value).collect(),
        };
        Plot {
            title: case.label(),
            x_label: "relative to 1/3 base".to_owned(),
            y_label: String::new(),
            drawing: Drawing::Dots {
                rows: all().map(|one| one.label()).collect(),
                groups: vec![
                    marks("spread", |one, to| one.spread_ratio(to)),
                    marks("mean", |one, to| one.mean_ratio(to)),
                    marks("vectors sent", |one, to| one.sent_ratio(to)),
                ],
                mark: Some(1.0),
            },
        }
    };
    let mut rows = Vec::new();
    for case in CASES {
        for contender in all() {
            let one = runs_of(cells, case, contender);
            let to = third(case);
            let ratios = [one.spread_ratio(&to), one.mean_ratio(&to), one.sent_ratio(&to)];
            rows.push(
                [case.label(), one.name].into_iter().chain(ratios.map(|ratio| ratio.to_string())).collect(),
            );
        }
        let bound = bound_over_mean(cells, case, Contender::THIRD, equal).to_string();
        rows.push([case.label().as_str(), EQUAL, "0", &bound, ""].map(str::to_owned).to_vec());
    }
    let head = ["setting", "policy", "spread / 1/3 base", "mean / 1/3 base", "sent / 1/3 base"];
    let even = CASES.map(|case| runs_of(cells, case, Contender::EVEN));
    let [fine, coarse] = [0, 1].map(|index| {
        let to = third(CASES[index]);
        format!(
            "{} of the spread at {:.2} times the mean",
            percent(even[index].spread_ratio(&to)),
            even[index].mean_ratio(&to).value
        )
    });
    vec![Figure {
        key: key("tanks"),
        title: format!(
            "On recorded tanks even leaves {fine} of 1/3 base with threshold 0.09, {coarse} with threshold 1"
        ),
        caption: format!(
            "Four tanks of one sender, recorded in a real game; their motion is the same for all seeds, but the delays differ. A \
             player's error is the sum over the tanks. 800 / 500 / 200 ms, each ±100 ms uniform; heartbeat 1 s, 300 s, budget 1 per \
             trigger; {}.",
            seeds(setup)
        ),
        plots: CASES.iter().map(|case| plot(*case)).collect(),
        columns: 2,
        table: Table { head: head.map(str::to_owned).to_vec(), rows },
        claims: Vec::new(),
    }]
}
