//! Runs of twenty minutes: whether the spread grows with time.

use evenkeel_dr::policy::even::EvenSettings;

use super::{EvenCase, cells_for, key, runs_of, seeds};
use crate::claims::Verdict;
use crate::figure::{Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio};
use crate::papers::judgement::Test;
use crate::papers::study::curve_over_time;
use crate::stats::population_sd;

/// Evens out the whole spread. The default leaves a small part of 1/3 base's.
const PHI_ONE: Contender = Contender::Policy("even:phi=1");
const CONTENDERS: [Contender; 4] = [PHI_ONE, Contender::EVEN, Contender::DETERMINISTIC_PA, Contender::THIRD];
/// Samples shown in the table; samples are ten seconds apart.
const LOOKS: [usize; 5] = [6, 12, 30, 60, 120];
/// A bounded spread grows by less than this factor from two to twenty minutes.
const GROWTH_MAX: f64 = 1.5;

pub(super) fn cells() -> Vec<Cell> {
    cells_for(&[EvenCase::Long], &CONTENDERS)
}

fn spreads(one: &ContenderRuns<'_>, look: usize) -> Vec<f64> {
    one.by_run(|run| run.samples.get(look).map_or(0.0, |sample| population_sd(&sample.aee)))
}

/// Returns the spread at a sample, relative to that of a contender at another sample.
fn ratio(one: &ContenderRuns<'_>, look: usize, to: &ContenderRuns<'_>, at: usize) -> Ratio {
    Ratio::of(&spreads(one, look).into_iter().zip(spreads(to, at)).collect::<Vec<_>>())
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let all = CONTENDERS.map(|contender| runs_of(cells, EvenCase::Long, contender));
    let plot = |title: &str, shown: &[ContenderRuns<'_>]| Plot {
        title: title.to_owned(),
        x_label: "time (s)".to_owned(),
        y_label: "spread of accumulated error (units·s)".to_owned(),
        drawing: Drawing::Curves(
            shown.iter().map(|one| curve_over_time(&one.name, one.runs, population_sd)).collect(),
        ),
    };
    let third = &all[3];
    let row = |one: &ContenderRuns<'_>| {
        let mut row = vec![one.name.clone()];
        row.extend(LOOKS.map(|look| format!("{:.1}", crate::stats::mean(&spreads(one, look)))));
        row.push(ratio(one, 120, third, 120).to_string());
        row.push(ratio(one, 120, one, 12).to_string());
        row
    };
    let head = [
        "policy",
        "1 min (units·s)",
        "2 min",
        "5 min",
        "10 min",
        "20 min",
        "20 min / 1/3 base",
        "20 min / 2 min",
    ];
    let growths = [&all[0], third].map(|one| ratio(one, 120, one, 12));
    vec![Figure {
        key: key("length"),
        title: format!(
            "After twenty minutes the spread under even:phi=1 is {:.1} times what it was after two; under 1/3 base it is {:.1} times",
            growths[0].value, growths[1].value
        ),
        caption: format!(
            "800 / 500 / 200 ms, each ±100 ms uniform; random motion, threshold 0.09, heartbeat 1 s, budget 1 per trigger; {}. By \
             default (phi = {}) a small part of 1/3 base's spread remains, and grows with it. Bands: one standard deviation over the seeds.",
            seeds(setup),
            EvenSettings::PHI
        ),
        plots: vec![plot("all", &all), plot("even", &all[..2])],
        columns: 2,
        table: Table { head: head.map(str::to_owned).to_vec(), rows: all.iter().map(row).collect() },
        claims: super::claims("length")
            .add(
                "If all of the spread is evened out, it does not grow with time.",
                format!(
                    "after 20 minutes {} times that after 2 (does not grow: at most 1.5 times); 1/3 base: {} times",
                    growths[0], growths[1]
                ),
                Test::below(growths[0], GROWTH_MAX),
                Verdict::Holds,
            )
            .all(),
    }]
}
