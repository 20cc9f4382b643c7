//! The placement error over time after a receiver's clock is set forward by a quarter of a second.

use evenkeel_core::Span;
use evenkeel_link::{ClockStep, TrueTime};

use super::export::{run_from, scenario};
use super::{FILTERS, Filter, STUDY};
use crate::claims::{Claim, Verdict};
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::parallel::{self, Cancelled};
use crate::scenario::Scenario;
use crate::stats::mean;

const STEP: Span = Span::from_millis(250);
const STEP_AT: Span = Span::from_secs(40);
const DURATION: Span = Span::from_secs(80);
/// The time drawn before the step.
const BEFORE: Span = Span::from_secs(2);
/// Between two samples.
const EVERY_S: f64 = 0.1;
/// A placement error above this counts as wrong: the threshold, by which exported and real path differ anyway.
const WRONG_MIN: f64 = 0.09;
/// Every n-th sample of the whole run is drawn, but all shortly after the step.
const DRAWN_EVERY: usize = 10;
/// The right plot's range of time since the step.
const NEAR_S: (f64, f64) = (-0.5, 3.0);

/// One run, at the receiver whose clock is stepped.
struct PlacementStepRun {
    /// The placement error at each sample; `None` while nothing is placed or the newest vector is in flight.
    errors: Vec<Option<f64>>,
    /// After the step: when the placement was wrong for the last time, and how long it was wrong or absent.
    recovery_s: f64,
    wrong_s: f64,
    absent_s: f64,
}

fn follow(setup: &Setup<'_>, scenario: &Scenario, seed: u64) -> Option<PlacementStepRun> {
    let run = run_from(scenario, STEP_AT - BEFORE, seed, setup.progress)?;
    let mut course = PlacementStepRun { errors: Vec::new(), recovery_s: 0.0, wrong_s: 0.0, absent_s: 0.0 };
    for sample in &run.samples {
        let placement = sample.placements[0];
        let error = placement.after_arrival().map(|(distance, _)| distance);
        course.errors.push(error);
        let since = sample.at - STEP_AT.as_secs_f64();
        if since < 0.0 {
            continue;
        }
        if placement.distance.is_none() {
            course.absent_s += EVERY_S;
        }
        if error.is_some_and(|error| error > WRONG_MIN) {
            course.wrong_s += EVERY_S;
            course.recovery_s = since + EVERY_S;
        }
    }
    Some(course)
}

/// Measures the figure.
pub(super) fn run_export_step(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let scenarios = FILTERS.map(|filter| {
        let mut scenario = scenario(Some(filter), 2.0, DURATION);
        let at = TrueTime::default() + STEP_AT;
        scenario.receivers[0].clock.steps = vec![ClockStep { at, by: STEP }];
        scenario
    });
    let jobs: Vec<_> =
        scenarios.iter().flat_map(|scenario| setup.seeds().map(move |seed| (scenario, seed))).collect();
    let courses = parallel::map(&jobs, setup.progress, |(scenario, seed)| follow(setup, scenario, *seed))?;
    let by_filter: Vec<&[PlacementStepRun]> = courses.chunks(setup.runs).collect();
    Ok(vec![Figure {
        key: "clock/export-step".to_owned(),
        title: "After a step, the hull shows nothing for a moment instead of something wrong for seconds"
            .to_owned(),
        caption: format!(
            "The receiver at 20 ms has its clock set forward by 250 ms; otherwise as in clock/export-jitter, with 2 ms \
             of jitter. Distance between exported and placed path, each by its own session time, once the newest vector \
             has arrived; mean over the runs that show something; {}. Right: shortly after the step. Wrong: more than the \
             threshold of 0.09 u.",
            setup.seeds_in_words()
        ),
        plots: vec![
            plot("the whole run", &by_filter, DRAWN_EVERY, (f64::MIN, f64::MAX)),
            plot("shortly after the step", &by_filter, 1, NEAR_S),
        ],
        columns: 2,
        table: table(&by_filter),
        claims: vec![claim(&by_filter)],
    }])
}

fn plot(title: &str, by_filter: &[&[PlacementStepRun]], drawn: usize, within: (f64, f64)) -> Plot {
    let curves = FILTERS
        .iter()
        .zip(by_filter)
        .map(|(filter, runs)| curve(filter.name(), runs, drawn, within))
        .collect();
    Plot {
        title: title.to_owned(),
        x_label: "time since the step (s)".to_owned(),
        y_label: "error of placement (u)".to_owned(),
        drawing: Drawing::Curves(curves),
    }
}

fn curve(name: &str, runs: &[PlacementStepRun], drawn: usize, within: (f64, f64)) -> Curve {
    let samples = runs.iter().map(|run| run.errors.len()).min().unwrap_or(0);
    let point = |sample: usize| {
        let errors: Vec<f64> = runs.iter().filter_map(|run| run.errors[sample]).collect();
        let x = EVERY_S * sample as f64 - BEFORE.as_secs_f64();
        // No spread: it reflects the entities' speeds, not the clock.
        (!errors.is_empty()).then(|| CurvePoint { x, y: mean(&errors), spread: 0.0 })
    };
    let points = (0..samples)
        .step_by(drawn)
        .filter_map(point)
        .filter(|point| within.0 <= point.x && point.x <= within.1);
    Curve { name: name.to_owned(), points: points.collect() }
}

fn over(runs: &[PlacementStepRun], figure: impl Fn(&PlacementStepRun) -> f64) -> f64 {
    mean(&runs.iter().map(figure).collect::<Vec<_>>())
}

fn table(by_filter: &[&[PlacementStepRun]]) -> Table {
    let row = |(filter, runs): (&Filter, &&[PlacementStepRun])| {
        vec![
            filter.name().to_owned(),
            format!("{:.1}", over(runs, |run| run.recovery_s)),
            format!("{:.1}", over(runs, |run| run.wrong_s)),
            format!("{:.1}", over(runs, |run| run.absent_s)),
        ]
    };
    let head = ["filter", "placed right after (s)", "placed wrongly for (s)", "not placed for (s)"];
    Table { head: head.map(str::to_owned).to_vec(), rows: FILTERS.iter().zip(by_filter).map(row).collect() }
}

fn claim(by_filter: &[&[PlacementStepRun]]) -> Claim {
    let hull = by_filter[FILTERS.len() - 1];
    let most = |figure: fn(&PlacementStepRun) -> f64| hull.iter().map(figure).fold(0.0, f64::max);
    let (recovery, absent) = (most(|run| run.recovery_s), most(|run| run.absent_s));
    let least = by_filter[2].iter().map(|run| run.recovery_s).fold(0.0, f64::max);
    Claim::new(
        "clock/export-step/1".to_owned(),
        STUDY.source.to_owned(),
        "After a step of a receiver's clock, the hull places nothing wrongly for longer than half a second, and places \
         entities again within two seconds.",
        format!(
            "wrong until {recovery:.1} s after the step and not placed for {absent:.1} s, at most; least round trip: \
             wrong until {least:.1} s after it"
        ),
        Verdict::of(recovery <= 0.5 && absent <= 2.0),
        Verdict::Holds,
    )
}
