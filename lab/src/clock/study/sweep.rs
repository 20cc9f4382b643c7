//! Sweeps of each filter's clock error against one-sided jitter and against skew.

use evenkeel_core::Span;

use super::{FILTERS, Filter, SOURCE, setting};
use crate::claims::{Claim, Verdict};
use crate::clock::ClockSetting;
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::parallel::{self, Cancelled};
use crate::stats::{mean, p95, population_sd};

/// Mean jitters on the way up.
pub(super) const JITTERS_MS: [f64; 7] = [0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0];
/// Skews of the follower's clock.
pub(super) const SKEWS_PPM: [f64; 7] = [-150.0, -100.0, -50.0, 0.0, 50.0, 100.0, 150.0];

/// When the error begins to count: the window is full.
const SETTLED: Span = Span::from_secs(30);
const DURATION: Span = Span::from_secs(210);
const EVERY: Span = Span::from_millis(250);
/// The required accuracy of the hull: its error at the 95th percentile with 20 ms of jitter.
const BAR_MS: f64 = 0.2;

/// One curve per filter: the 95th percentile of the error at each setting.
struct EstimateSweep {
    xs: &'static [f64],
    curves: Vec<Curve>,
    /// Samples in which the hull's interval contained the truth, and all samples.
    inside: (usize, usize),
    /// The mean of the hull's error bound at each setting.
    error_max: Vec<f64>,
}

/// The results of one run: the 95th percentile of the error, samples with the truth inside, all samples, and the mean error
/// bound.
type EstimateRun = (f64, usize, usize, f64);

fn measure(filter: Filter, setting: &ClockSetting, seed: u64) -> EstimateRun {
    let (mut errors, mut bounds, mut inside) = (Vec::new(), Vec::new(), 0);
    filter.run(setting, seed, EVERY, DURATION, |sample| {
        if sample.at.as_nanos() < SETTLED.as_nanos() {
            return;
        }
        inside += usize::from(sample.is_certified());
        errors.extend(sample.estimate.map(|estimate| sample.error_ms(estimate)));
        bounds.extend(sample.error_max.map(Span::as_millis_f64));
    });
    (p95(errors).unwrap_or(f64::MAX), inside, bounds.len(), mean(&bounds))
}

impl EstimateSweep {
    fn run(
        setup: &Setup<'_>,
        xs: &'static [f64],
        setting_at: impl Fn(f64) -> ClockSetting,
    ) -> Result<Self, Cancelled> {
        let settings: Vec<ClockSetting> = xs.iter().map(|x| setting_at(*x)).collect();
        let jobs: Vec<_> = FILTERS
            .iter()
            .flat_map(|filter| settings.iter().map(move |setting| (*filter, setting)))
            .flat_map(|(filter, setting)| setup.seeds().map(move |seed| (filter, setting, seed)))
            .collect();
        let measured = parallel::map(&jobs, setup.progress, |(filter, setting, seed)| {
            Some(measure(*filter, setting, *seed))
        })?;
        let by_case: Vec<&[EstimateRun]> = measured.chunks(setup.runs).collect();
        let of = |runs: &[EstimateRun], figure: fn(&EstimateRun) -> f64| {
            runs.iter().map(figure).collect::<Vec<_>>()
        };
        let curve = |(filter, cases): (&Filter, &[&[EstimateRun]])| {
            let point = |(x, runs): (&f64, &&[EstimateRun])| {
                let p95 = of(runs, |measured| measured.0);
                CurvePoint { x: *x, y: mean(&p95), spread: population_sd(&p95) }
            };
            Curve { name: filter.name().to_owned(), points: xs.iter().zip(cases).map(point).collect() }
        };
        let curves = FILTERS.iter().zip(by_case.chunks(xs.len())).map(curve).collect();
        let hull = &by_case[by_case.len() - xs.len()..];
        let count = |figure: fn(&EstimateRun) -> usize| hull.iter().copied().flatten().map(figure).sum();
        let error_max = hull.iter().map(|runs| mean(&of(runs, |measured| measured.3))).collect();
        Ok(Self {
            xs,
            curves,
            inside: (count(|measured| measured.1), count(|measured| measured.2)),
            error_max,
        })
    }

    /// The error of a filter at a setting of the sweep.
    fn at(&self, filter: Filter, x: f64) -> f64 {
        let place = self.xs.iter().position(|known| *known == x).expect("a setting of the sweep");
        self.curves[FILTERS.iter().position(|known| *known == filter).expect("a filter")].points[place].y
    }

    fn worst(&self, filter: Filter) -> f64 {
        self.xs.iter().map(|x| self.at(filter, *x)).fold(0.0, f64::max)
    }

    /// Plots all filters, and separately the accurate ones.
    fn plots(&self, x_label: &str) -> Vec<Plot> {
        let plot = |title: &str, curves: &[Curve]| Plot {
            title: title.to_owned(),
            x_label: x_label.to_owned(),
            y_label: "95th percentile of the error (ms)".to_owned(),
            drawing: Drawing::Curves(curves.to_vec()),
        };
        vec![plot("all filters", &self.curves), plot("without averages", &self.curves[2..])]
    }

    fn table(&self, x_head: &str) -> Table {
        let mut head = vec![x_head.to_owned()];
        head.extend(FILTERS.iter().map(|filter| format!("{} (ms)", filter.name())));
        head.push("hull says at most (ms)".to_owned());
        let row = |(place, x): (usize, &f64)| {
            let mut row = vec![format!("{x}")];
            row.extend(self.curves.iter().map(|curve| format!("{:.3}", curve.points[place].y)));
            row.push(format!("{:.1}", self.error_max[place]));
            row
        };
        Table { head, rows: self.xs.iter().enumerate().map(row).collect() }
    }

    fn inside_claim(&self, figure: &str) -> Claim {
        let (inside, samples) = self.inside;
        Claim::new(
            format!("clock/{figure}/1"),
            SOURCE.to_owned(),
            "The true time is inside the certified interval in every sample.",
            format!("{inside} of {samples} samples"),
            Verdict::of(inside == samples && samples > 0),
            Verdict::Holds,
        )
    }
}

/// Measures the figure of the jitter.
pub(super) fn jitter(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let sweep = EstimateSweep::run(setup, &JITTERS_MS, |jitter_ms| setting(jitter_ms, 30.0))?;
    let [averaging, simpson, least, hull] = FILTERS.map(|filter| sweep.at(filter, 20.0));
    let claims = vec![
        sweep.inside_claim("jitter"),
        Claim::new(
            "clock/jitter/2".to_owned(),
            SOURCE.to_owned(),
            "With 20 ms of jitter one way, the two-sided hull is off by at most 0.2 ms at the 95th percentile.",
            format!("{hull:.3} ms, and at most {:.3} ms at any jitter", sweep.worst(Filter::Hull)),
            Verdict::of(hull <= BAR_MS),
            Verdict::Holds,
        ),
        Claim::new(
            "clock/jitter/3".to_owned(),
            SOURCE.to_owned(),
            "One-sided jitter biases averages: by 14 ms, and Simpson's by 10 ms; the least round trip is off by 0.9 ms.",
            format!("{averaging:.1} ms, {simpson:.1} ms and {least:.2} ms; read as: the same order and size"),
            Verdict::read(
                (13.5..14.5).contains(&averaging) && (9.5..10.5).contains(&simpson) && least < 1.0,
                averaging > simpson && simpson > 5.0 * least && least > 3.0 * hull,
            ),
            Verdict::Differs,
        ),
    ];
    Ok(vec![Figure {
        key: "clock/jitter".to_owned(),
        title: "Averages follow the jitter, the hull does not".to_owned(),
        caption: format!(
            "20 ms each way, exponential jitter on the way up only, 30 ppm of skew, 10 probes/s, window 30 s; error of \
             the estimate from 30 to 210 s; {}. Bands: one standard deviation over the runs.",
            setup.seeds_in_words()
        ),
        plots: sweep.plots("mean jitter on the way up (ms)"),
        columns: 2,
        table: sweep.table("jitter (ms)"),
        claims,
    }])
}

/// Measures the figure of the skew.
pub(super) fn skew(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let sweep = EstimateSweep::run(setup, &SKEWS_PPM, |skew_ppm| setting(20.0, skew_ppm))?;
    let (hull, least) = (sweep.worst(Filter::Hull), sweep.worst(Filter::LeastRoundTrip));
    let claims = vec![
        sweep.inside_claim("skew"),
        Claim::new(
            "clock/skew/2".to_owned(),
            SOURCE.to_owned(),
            "The hull fits the skew, so skew costs it nothing: 0.2 ms holds at every skew.",
            format!("at most {hull:.3} ms; least round trip {least:.1} ms"),
            Verdict::of(hull <= BAR_MS),
            Verdict::Holds,
        ),
    ];
    Ok(vec![Figure {
        key: "clock/skew".to_owned(),
        title: "The hull estimates the skew; the least round trip goes stale".to_owned(),
        caption: format!(
            "20 ms each way, exponential jitter of 20 ms on the way up only, 10 probes/s, window 30 s; error of the \
             estimate from 30 to 210 s; {}. Bands: one standard deviation over the runs.",
            setup.seeds_in_words()
        ),
        plots: sweep.plots("skew (ppm)"),
        columns: 2,
        table: sweep.table("skew (ppm)"),
        claims,
    }])
}
