//! Theorem 4.1: with exact delays and feedback in time, the accumulated errors of all receivers are equal at every
//! scheduling instant.
//!
//! The assumptions are met by fixed delays and by triggers that are four seconds apart, so that each DR vector has
//! arrived and been acknowledged before the next one is made.

use evenkeel_core::Span;
use evenkeel_dr::{PolicyKind, Threshold};

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::dr::{RunFigures, Sampling};
use crate::figure::{Curve, Drawing, Figure, Plot, Point, Table};
use crate::papers::study::Setup;
use crate::parallel::Cancelled;
use crate::scenario::Scenario;
use crate::stats::{mean, population_sd};

const APART: Span = Span::from_secs(4);
/// Holding times are whole nanoseconds and distances up to a hundred units, so sums agree to about 1e-7 units·s.
const ROUNDING: f64 = 1e-8;

/// Runs the theorem.
pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let scenario = Scenario {
        threshold: Threshold { distance: 1e6, time: Some(APART) },
        ..Scenario::papers(Span::ZERO, 1.0)
    };
    // Just before each trigger, when everything has arrived; the first trigger after the introduction is at 4 s.
    let sampling = Sampling { from: APART + APART, until: scenario.duration, every: APART };
    let results = setup.run(&[(&scenario, PolicyKind::Netgames05)], Some(sampling))?;
    let runs = &results[0];
    let worst = runs.iter().flat_map(|run| &run.samples).map(|s| relative_spread(&s.aee)).fold(0.0, f64::max);
    let triggers = runs.iter().map(|run| run.samples.len()).sum::<usize>();
    Ok(vec![Figure {
        key: "aggarwal05/theorem4.1".to_owned(),
        title: "Under the theorem's assumptions everybody's error is the same after every vector".to_owned(),
        caption: format!(
            "800 / 500 / 200 ms without variation, random motion, a DR vector every 4 s, {}; seed 1 is drawn.",
            setup.seeds_in_words()
        ),
        plots: vec![plot(&scenario, &runs[0])],
        columns: 1,
        table: Table {
            head: ["triggers", "worst spread / mean"].map(str::to_owned).to_vec(),
            rows: vec![vec![triggers.to_string(), format!("{worst:.1e}")]],
        },
        claims: vec![Claim {
            id: "aggarwal05/theorem4.1/1".to_owned(),
            source: format!("{}, 4.2", SOURCE.words),
            statement:
                "When a vector's schedule is computed, the accumulated errors of all receivers are equal."
                    .to_owned(),
            measured: format!("spread at most {worst:.1e} of the mean over {triggers} triggers"),
            verdict: Verdict::of(worst <= ROUNDING && triggers > 0),
            expected: Verdict::Holds,
        }],
    }])
}

fn relative_spread(errors: &[f64]) -> f64 {
    let mean = mean(errors);
    if mean > 0.0 { population_sd(errors) / mean } else { 0.0 }
}

fn plot(scenario: &Scenario, run: &RunFigures) -> Plot {
    let curve = |index: usize| Curve {
        name: scenario.receivers[index].name.clone(),
        points: run.samples.iter().map(|s| Point { x: s.at, y: s.aee[index], spread: 0.0 }).collect(),
    };
    Plot {
        title: String::new(),
        x_label: "time (s)".to_owned(),
        y_label: "accumulated error (units·s)".to_owned(),
        drawing: Drawing::Curves((0..scenario.receivers.len()).map(curve).collect()),
    }
}
