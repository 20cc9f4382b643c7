//! The error of placement and the accumulated export error under each filter, against one-sided jitter.

use evenkeel_core::Span;

use super::export::{SYNCHRONIZED, run_from, scenario};
use super::sweep::JITTERS_MS;
use super::{FILTERS, Filter, STUDY};
use crate::claims::{Claim, Verdict};
use crate::figure::{Curve, Drawing, Figure, Plot, Point, Table};
use crate::papers::Setup;
use crate::parallel::{self, Cancelled};
use crate::scenario::Scenario;
use crate::stats::{mean, p95, population_sd};

/// The window is full then.
const SETTLED: Span = Span::from_secs(30);
const DURATION: Span = Span::from_secs(120);
/// Both project the same vector, so all that rounding can do is in the last bits.
const ROUNDING: f64 = 1e-6;
/// The jitter at which filters are compared in words.
const COMPARED_MS: f64 = 20.0;

/// Single runs: each filter at each jitter, and clocks that agree, to which jitter means nothing; with a few seeds, because
/// each gives thousands of looks.
pub(super) fn jobs(setup: &Setup<'_>) -> usize {
    (FILTERS.len() * JITTERS_MS.len() + 1) * setup.with_few_seeds().runs
}

/// What one run gives.
#[derive(Clone, Copy, Default)]
struct Measured {
    /// The 95th percentile of the distance between exported and placed, once the newest vector has arrived.
    placement: f64,
    /// Accumulated export error per second, mean over the receivers.
    aee: f64,
    /// Samples in which the clocks' word could be checked, and in which it held.
    checked: usize,
    kept: usize,
    /// The largest share of its bound that a distance came to.
    share: f64,
}

fn measure(setup: &Setup<'_>, scenario: &Scenario, seed: u64) -> Option<Measured> {
    let run = run_from(scenario, SETTLED, seed, setup.progress)?;
    let seconds = (scenario.duration - scenario.warmup).as_secs_f64();
    let mut measured = Measured { aee: run.mean_aee() / seconds, ..Measured::default() };
    let mut distances = Vec::new();
    let sights = run.samples.iter().flat_map(|sample| &sample.sights);
    for (distance, distance_max) in sights.filter_map(|sight| sight.after_arrival()) {
        measured.checked += 1;
        measured.kept += usize::from(distance <= distance_max + ROUNDING);
        measured.share = measured.share.max(distance / (distance_max + ROUNDING));
        distances.push(distance);
    }
    measured.placement = p95(distances).unwrap_or(0.0);
    Some(measured)
}

/// Every filter at every jitter, by seed; and synchronized clocks by seed.
struct Sweep {
    filters: Vec<Vec<Vec<Measured>>>,
    synchronized: Vec<Measured>,
}

fn over(runs: &[Measured], figure: fn(&Measured) -> f64) -> (f64, f64) {
    let values: Vec<f64> = runs.iter().map(figure).collect();
    (mean(&values), population_sd(&values))
}

impl Sweep {
    fn run(setup: &Setup<'_>) -> Result<Self, Cancelled> {
        let cases = FILTERS.iter().flat_map(|filter| JITTERS_MS.map(|jitter_ms| (Some(*filter), jitter_ms)));
        let scenarios: Vec<Scenario> = cases
            .chain([(None, 0.0)])
            .map(|(filter, jitter_ms)| Scenario { warmup: SETTLED, ..scenario(filter, jitter_ms, DURATION) })
            .collect();
        let jobs: Vec<_> =
            scenarios.iter().flat_map(|scenario| setup.seeds().map(move |seed| (scenario, seed))).collect();
        let measured =
            parallel::map(&jobs, setup.progress, |(scenario, seed)| measure(setup, scenario, *seed))?;
        let mut cases: Vec<Vec<Measured>> = measured.chunks(setup.runs).map(<[Measured]>::to_vec).collect();
        let synchronized = cases.pop().unwrap_or_default();
        Ok(Self { filters: cases.chunks(JITTERS_MS.len()).map(<[_]>::to_vec).collect(), synchronized })
    }

    /// The mean of a figure over the runs of a filter at a jitter.
    fn at(&self, filter: Filter, jitter_ms: f64, figure: fn(&Measured) -> f64) -> f64 {
        let row = FILTERS.iter().position(|known| *known == filter).expect("a filter");
        let place = JITTERS_MS.iter().position(|known| *known == jitter_ms).expect("a jitter of the sweep");
        over(&self.filters[row][place], figure).0
    }

    fn curves(&self, figure: fn(&Measured) -> f64) -> Vec<Curve> {
        let curve = |name: &str, cases: &[&[Measured]]| {
            let point = |(x, runs): (&f64, &&[Measured])| {
                let (y, spread) = over(runs, figure);
                Point { x: *x, y, spread }
            };
            Curve { name: name.to_owned(), points: JITTERS_MS.iter().zip(cases).map(point).collect() }
        };
        let by_filter = FILTERS.iter().zip(&self.filters);
        let mut curves: Vec<Curve> = by_filter
            .map(|(filter, cases)| curve(filter.name(), &cases.iter().map(Vec::as_slice).collect::<Vec<_>>()))
            .collect();
        curves.push(curve(SYNCHRONIZED, &[self.synchronized.as_slice(); JITTERS_MS.len()]));
        curves
    }

    /// All filters, those that could not be told from zero, and what comes of it together with the vectors' delay.
    fn plots(&self) -> Vec<Plot> {
        let plot = |title: &str, y_label: &str, curves: &[Curve]| Plot {
            title: title.to_owned(),
            x_label: "mean jitter on the way up (ms)".to_owned(),
            y_label: y_label.to_owned(),
            drawing: Drawing::Curves(curves.to_vec()),
        };
        let placement = self.curves(|measured| measured.placement);
        vec![
            plot("after arrival", "placement error, p95 (u)", &placement),
            plot("after arrival, without averages", "placement error, p95 (u)", &placement[2..]),
            plot("all the time", "export error per second (u)", &self.curves(|measured| measured.aee)),
        ]
    }

    fn table(&self) -> Table {
        let head = [
            "jitter (ms)",
            "averaging, p95 (u)",
            "Simpson's, p95 (u)",
            "least, p95 (u)",
            "hull, p95 (u)",
            "averaging, AEE (u)",
            "hull, AEE (u)",
            "synchronized, AEE (u)",
        ];
        let row = |jitter_ms: &f64| {
            let placement = |filter: Filter| self.at(filter, *jitter_ms, |measured| measured.placement);
            let aee = |filter: Filter| self.at(filter, *jitter_ms, |measured| measured.aee);
            let synchronized = over(&self.synchronized, |measured| measured.aee).0;
            let errors = FILTERS.map(placement).into_iter();
            let sums = [aee(Filter::Averaging), aee(Filter::Hull), synchronized];
            let cells = errors.chain(sums).map(|error| format!("{error:.4}"));
            [format!("{jitter_ms}")].into_iter().chain(cells).collect()
        };
        let head = head.map(str::to_owned).to_vec();
        Table { head, rows: JITTERS_MS.iter().map(row).collect() }
    }

    fn claims(&self) -> Vec<Claim> {
        let hull = || self.filters[FILTERS.len() - 1].iter().flatten();
        let (kept, checked) =
            (hull().map(|run| run.kept).sum::<usize>(), hull().map(|run| run.checked).sum::<usize>());
        let share = hull().map(|run| run.share).fold(0.0, f64::max);
        let floor = over(&self.synchronized, |measured| measured.aee).0;
        let extra = |filter, jitter_ms| self.at(filter, jitter_ms, |measured| measured.aee) / floor - 1.0;
        let worst =
            JITTERS_MS.map(|jitter_ms| extra(Filter::Hull, jitter_ms)).into_iter().fold(0.0, f64::max);
        let placement = FILTERS.map(|filter| self.at(filter, COMPARED_MS, |measured| measured.placement));
        let [averaging, simpson, least, ours] = placement;
        let claim = |number: u32, statement: &str, measured: String, holds: bool| {
            let id = format!("clock/export-jitter/{number}");
            Claim::new(id, STUDY.source.to_owned(), statement, measured, Verdict::of(holds), Verdict::Holds)
        };
        vec![
            claim(
                1,
                "Once the newest vector has arrived, the hull places no farther from the exported path than speed x \
                 what the two clocks say they may be off, in every sample.",
                format!("{kept} of {checked} samples; at most {:.1} % of that bound", 100.0 * share),
                kept == checked && checked > 0,
            ),
            claim(
                2,
                "With the hull the accumulated export error is that of synchronized clocks, within 1 %, at every jitter.",
                format!(
                    "at most {:.2} % more; averaging {:.0} % and Simpson's {:.0} % more at 20 ms of jitter",
                    100.0 * worst,
                    100.0 * extra(Filter::Averaging, COMPARED_MS),
                    100.0 * extra(Filter::Simpson, COMPARED_MS)
                ),
                worst <= 0.01,
            ),
            claim(
                3,
                "With 20 ms of jitter on one way averages misplace by more than the threshold of 0.09 u; the hull by \
                 less than a tenth of it.",
                format!(
                    "95th percentile: averaging {averaging:.3} u, Simpson's {simpson:.3} u, least round trip \
                     {least:.4} u, hull {ours:.4} u"
                ),
                averaging.min(simpson) > 0.09 && ours < 0.009,
            ),
        ]
    }
}

/// The figure.
pub(super) fn run_export_jitter(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let setup = &setup.with_few_seeds();
    let sweep = Sweep::run(setup)?;
    Ok(vec![Figure {
        key: "clock/export-jitter".to_owned(),
        title: "A clock that follows the jitter misplaces what it has long received".to_owned(),
        caption: format!(
            "A tank of up to 25 u/s, threshold 0.09 u, policy base; owner 20 ms from the relay, receivers 20, 50 and \
             100 ms each way, exponential jitter on the receivers' way up only, so that DR vectors travel as under \
             synchronized clocks and only the session times differ; clocks -30 to 60 ppm off. Without jitter both \
             ways take as long: what they differ by for ever no filter can see. After arrival: the 95th \
             percentile of the distance between the path as its owner exports it and as a receiver places it, each by \
             its own session time, while the receiver has the newest vector; it is 0 under synchronized clocks. All the \
             time: the accumulated export error (AEE) per second, which holds the delay of the vectors too. From 30 to 120 s; {}. Bands: one standard deviation \
             over the runs.",
            setup.seeds_in_words()
        ),
        plots: sweep.plots(),
        columns: 3,
        table: sweep.table(),
        claims: sweep.claims(),
    }])
}
