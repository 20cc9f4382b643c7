//! The spread between the players over time, with `even` and without it.

use super::{CASES, MATCHED, MATCHED_WORDS, SETTING_WORDS, key};
use crate::even::{EvenCase, cells_for, runs_of, seeds};
use crate::figure::{Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender};
use crate::papers::study::curve_of_samples;
use crate::stats::{mean, population_sd};

const CONTENDERS: [Contender; 3] = [MATCHED, Contender::DETERMINISTIC_PA, Contender::EVEN];
/// Samples shown in the table; samples are one second apart.
const LOOKS: [usize; 4] = [30, 60, 120, 300];

pub(super) fn cells() -> Vec<Cell> {
    cells_for(&CASES, &CONTENDERS)
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let spread_at = |case, contender, look: usize| {
        let runs = runs_of(cells, case, contender);
        mean(
            &runs.by_run(|run| run.samples.get(look).map_or(0.0, |sample| population_sd(&sample.real_error))),
        )
    };
    let plot = |case| Plot {
        title: EvenCase::label(case),
        x_label: "time (s)".to_owned(),
        y_label: "spread of accumulated error (units·s)".to_owned(),
        drawing: Drawing::Curves(
            CONTENDERS
                .iter()
                .map(|one| {
                    let runs = runs_of(cells, case, *one);
                    curve_of_samples(&runs.name, runs.runs, |sample| population_sd(&sample.real_error))
                })
                .collect(),
        ),
    };
    let rows = CASES.iter().flat_map(|case| {
        CONTENDERS.iter().map(move |one| {
            let looks = LOOKS.map(|look| format!("{:.1}", spread_at(*case, *one, look)));
            [case.delays().to_owned(), one.label()].into_iter().chain(looks).collect()
        })
    });
    let head = LOOKS.map(|look| format!("{look} s (units·s)"));
    let head = ["delays", "policy"].map(str::to_owned).into_iter().chain(head).collect();
    let [even, matched] =
        [Contender::EVEN, MATCHED].map(|one| CASES.map(|case| spread_at(case, one, LOOKS[3])));
    vec![Figure {
        key: key("time"),
        title: format!(
            "Without even the players drift {:.0} and {:.0} units·s apart in five minutes; with it they stay {:.0} and {:.1} apart",
            matched[0], matched[1], even[0], even[1]
        ),
        caption: format!(
            "The standard deviation over the players of their accumulated errors against the real path. {SETTING_WORDS}; {}. \
             {MATCHED_WORDS}. Bands: one standard deviation over the seeds.",
            seeds(setup)
        ),
        plots: CASES.iter().map(|case| plot(*case)).collect(),
        columns: 2,
        table: Table { head, rows: rows.collect() },
        claims: Vec::new(),
    }]
}
