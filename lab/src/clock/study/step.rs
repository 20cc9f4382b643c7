//! The clock error over time after the follower's clock is set forward by a quarter of a second without notice.

use evenkeel_core::{ClockEvent, Span};
use evenkeel_link::{ClockStep, TrueTime};

use super::{FILTERS, Filter, SOURCE, setting};
use crate::claims::{Claim, Verdict};
use crate::clock::ClockSetting;
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::parallel::{self, Cancelled};
use crate::stats::{mean, population_sd};

const STEP: Span = Span::from_millis(250);
const STEP_AT: Span = Span::from_secs(40);
const DURATION: Span = Span::from_secs(80);
const EVERY: Span = Span::from_millis(100);
/// The time drawn before the step.
const BEFORE: Span = Span::from_secs(2);
/// An error up to this counts as recovered: the clock slews it.
const RECOVERED_MS: f64 = 5.0;
/// Every n-th sample is drawn.
const DRAWN_EVERY: usize = 5;

/// One run, from shortly before the step on.
struct EstimateStepRun {
    /// The estimate's error at each sample, in milliseconds.
    errors: Vec<f64>,
    /// How long the shown time was wrong by more than [`RECOVERED_MS`], and how long none was shown.
    wrong: Span,
    absent: Span,
    /// Whether the clock reported that it lost the time.
    is_reported: bool,
}

fn follow(filter: Filter, setting: &ClockSetting, seed: u64) -> EstimateStepRun {
    let mut course =
        EstimateStepRun { errors: Vec::new(), wrong: Span::ZERO, absent: Span::ZERO, is_reported: false };
    filter.run(setting, seed, EVERY, DURATION, |sample| {
        let since = (sample.at - TrueTime::default()) - STEP_AT;
        if since < -BEFORE {
            return;
        }
        course.errors.push(sample.estimate.map_or(0.0, |estimate| sample.error_ms(estimate)));
        if since < Span::ZERO {
            return;
        }
        match sample.shown {
            Some(shown) if sample.error_ms(shown) > RECOVERED_MS => course.wrong += EVERY,
            Some(_) => {}
            None => course.absent += EVERY,
        }
        course.is_reported |= sample.events.iter().any(|(_, event)| matches!(event, ClockEvent::Lost));
    });
    course
}

impl EstimateStepRun {
    /// How long after the step the estimate was wrong for the last time, in seconds.
    fn recovery(&self) -> f64 {
        let off = self.errors.iter().rposition(|error| *error > RECOVERED_MS);
        let samples = off.map_or(0, |last| last + 1);
        (EVERY.times(samples as i64) - BEFORE).as_secs_f64().max(0.0)
    }
}

/// Measures the figure.
pub(super) fn run_step(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let mut setting = setting(2.0, 30.0);
    setting.follower.steps = vec![ClockStep { at: TrueTime::default() + STEP_AT, by: STEP }];
    let jobs: Vec<_> =
        FILTERS.iter().flat_map(|filter| setup.seeds().map(move |seed| (*filter, seed))).collect();
    let courses =
        parallel::map(&jobs, setup.progress, |(filter, seed)| Some(follow(*filter, &setting, *seed)))?;
    let by_filter: Vec<&[EstimateStepRun]> = courses.chunks(setup.runs).collect();
    let curves: Vec<Curve> =
        FILTERS.iter().zip(&by_filter).map(|(filter, runs)| curve(filter.name(), runs)).collect();
    Ok(vec![Figure {
        key: "clock/step".to_owned(),
        title: "The hull detects a step of the clock and starts again".to_owned(),
        caption: format!(
            "The follower's clock jumps forward by 250 ms; 20 ms each way, exponential jitter of 2 ms on the way up \
             only, 30 ppm of skew, 10 probes/s, window 30 s; {}. Recovered: the estimate is off by 5 ms at most.",
            setup.seeds_in_words()
        ),
        plots: vec![Plot {
            title: String::new(),
            x_label: "time since the step (s)".to_owned(),
            y_label: "error of the estimate (ms)".to_owned(),
            drawing: Drawing::Curves(curves),
        }],
        columns: 1,
        table: table(&by_filter),
        claims: vec![claim(by_filter[FILTERS.len() - 1])],
    }])
}

fn curve(name: &str, runs: &[EstimateStepRun]) -> Curve {
    let samples = runs.iter().map(|run| run.errors.len()).min().unwrap_or(0);
    let point = |sample: usize| {
        let errors: Vec<f64> = runs.iter().map(|run| run.errors[sample]).collect();
        let x = (EVERY.times(sample as i64) - BEFORE).as_secs_f64();
        CurvePoint { x, y: mean(&errors), spread: population_sd(&errors) }
    };
    Curve { name: name.to_owned(), points: (0..samples).step_by(DRAWN_EVERY).map(point).collect() }
}

fn over(runs: &[EstimateStepRun], figure: impl Fn(&EstimateStepRun) -> f64) -> f64 {
    mean(&runs.iter().map(figure).collect::<Vec<_>>())
}

fn table(by_filter: &[&[EstimateStepRun]]) -> Table {
    let row = |(filter, runs): (&Filter, &&[EstimateStepRun])| {
        vec![
            filter.name().to_owned(),
            format!("{:.1}", over(runs, EstimateStepRun::recovery)),
            format!("{:.1}", over(runs, |run| run.wrong.as_secs_f64())),
            format!("{:.1}", over(runs, |run| run.absent.as_secs_f64())),
        ]
    };
    let head = ["filter", "estimate recovered after (s)", "shown time wrong for (s)", "absent for (s)"];
    Table { head: head.map(str::to_owned).to_vec(), rows: FILTERS.iter().zip(by_filter).map(row).collect() }
}

fn claim(hull: &[EstimateStepRun]) -> Claim {
    let recovered = hull.iter().map(EstimateStepRun::recovery).fold(0.0, f64::max);
    let is_reported = hull.iter().all(|run| run.is_reported);
    Claim::new(
        "clock/step/1".to_owned(),
        SOURCE.to_owned(),
        "After a step, the clock shows no time until it is synchronized again, and reports that; it never slews for minutes.",
        format!("reported in every run: {is_reported}; recovered after {recovered:.1} s at most"),
        Verdict::of(is_reported && recovered <= 2.0),
        Verdict::Holds,
    )
}
