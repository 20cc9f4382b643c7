//! Sweeps of the placement error and the accumulated export error under each filter.

use evenkeel_core::Span;

use super::export::{SYNCHRONIZED, run_from, scenario};
use super::{FILTERS, Filter, STUDY};
use crate::claims::{Claim, Verdict};
use crate::figure::{Curve, CurvePoint, Drawing, Plot, Table};
use crate::papers::Setup;
use crate::parallel::{self, Cancelled};
use crate::scenario::Scenario;
use crate::stats::{mean, p95, population_sd};

/// When the filters' window is full.
const SETTLED: Span = Span::from_secs(30);
const DURATION: Span = Span::from_secs(120);
/// Owner and receiver project the same vector, so only floating-point errors remain.
const ROUNDING: f64 = 1e-6;

/// The number of runs: each filter at each setting, and synchronized clocks. A few seeds suffice, as each run has thousands
/// of samples.
pub(super) fn jobs(setup: &Setup<'_>, xs: &[f64]) -> usize {
    (FILTERS.len() * xs.len() + 1) * setup.with_few_seeds().runs
}

/// The results of one run.
#[derive(Clone, Copy, Default)]
pub(super) struct PlacementRun {
    /// The 95th percentile of the distance between exported and placed, once the newest vector has arrived.
    pub(super) placement: f64,
    /// Accumulated export error per second, mean over the receivers.
    pub(super) aee: f64,
    /// Samples in which the clocks' error bounds could be checked, and in which they held.
    checked: usize,
    kept: usize,
    /// The largest ratio of a distance to its bound.
    share: f64,
}

fn measure(setup: &Setup<'_>, scenario: &Scenario, seed: u64) -> Option<PlacementRun> {
    let run = run_from(scenario, SETTLED, seed, setup.progress)?;
    let seconds = (scenario.duration - scenario.warmup).as_secs_f64();
    let mut measured = PlacementRun { aee: run.mean_aee() / seconds, ..PlacementRun::default() };
    let mut distances = Vec::new();
    let placements = run.samples.iter().flat_map(|sample| &sample.placements);
    for (distance, distance_max) in placements.filter_map(|placement| placement.after_arrival()) {
        measured.checked += 1;
        measured.kept += usize::from(distance <= distance_max + ROUNDING);
        measured.share = measured.share.max(distance / (distance_max + ROUNDING));
        distances.push(distance);
    }
    measured.placement = p95(distances).unwrap_or(0.0);
    Some(measured)
}

/// The runs of every filter at every setting, and those of synchronized clocks.
pub(super) struct PlacementSweep {
    xs: &'static [f64],
    filters: Vec<Vec<Vec<PlacementRun>>>,
    synchronized: Vec<PlacementRun>,
}

fn over(runs: &[PlacementRun], figure: fn(&PlacementRun) -> f64) -> (f64, f64) {
    let values: Vec<f64> = runs.iter().map(figure).collect();
    (mean(&values), population_sd(&values))
}

impl PlacementSweep {
    pub(super) fn run(
        setup: &Setup<'_>,
        xs: &'static [f64],
        scenario_at: impl Fn(Filter, f64, Span) -> Scenario,
    ) -> Result<Self, Cancelled> {
        let scenario_at = &scenario_at;
        let scenarios: Vec<Scenario> = FILTERS
            .iter()
            .flat_map(|filter| xs.iter().map(move |x| scenario_at(*filter, *x, DURATION)))
            .chain([scenario(None, 0.0, DURATION)])
            .map(|scenario| Scenario { warmup: SETTLED, ..scenario })
            .collect();
        let jobs: Vec<_> =
            scenarios.iter().flat_map(|scenario| setup.seeds().map(move |seed| (scenario, seed))).collect();
        let measured =
            parallel::map(&jobs, setup.progress, |(scenario, seed)| measure(setup, scenario, *seed))?;
        let mut cases: Vec<Vec<PlacementRun>> =
            measured.chunks(setup.runs).map(<[PlacementRun]>::to_vec).collect();
        let synchronized = cases.pop().unwrap_or_default();
        Ok(Self { xs, filters: cases.chunks(xs.len()).map(<[_]>::to_vec).collect(), synchronized })
    }

    /// The mean of a figure over the runs of a filter at a setting of the sweep.
    pub(super) fn at(&self, filter: Filter, x: f64, figure: fn(&PlacementRun) -> f64) -> f64 {
        let row = FILTERS.iter().position(|known| *known == filter).expect("a filter");
        let place = self.xs.iter().position(|known| *known == x).expect("a setting of the sweep");
        over(&self.filters[row][place], figure).0
    }

    /// The largest mean of a figure at any setting.
    pub(super) fn worst(&self, filter: Filter, figure: fn(&PlacementRun) -> f64) -> f64 {
        self.xs.iter().map(|x| self.at(filter, *x, figure)).fold(0.0, f64::max)
    }

    /// The accumulated export error under synchronized clocks.
    pub(super) fn floor(&self) -> f64 {
        over(&self.synchronized, |measured| measured.aee).0
    }

    fn curves(&self, figure: fn(&PlacementRun) -> f64) -> Vec<Curve> {
        let curve = |name: &str, cases: &[&[PlacementRun]]| {
            let point = |(x, runs): (&f64, &&[PlacementRun])| {
                let (y, spread) = over(runs, figure);
                CurvePoint { x: *x, y, spread }
            };
            Curve { name: name.to_owned(), points: self.xs.iter().zip(cases).map(point).collect() }
        };
        let by_filter = FILTERS.iter().zip(&self.filters);
        let mut curves: Vec<Curve> = by_filter
            .map(|(filter, cases)| curve(filter.name(), &cases.iter().map(Vec::as_slice).collect::<Vec<_>>()))
            .collect();
        curves.push(curve(SYNCHRONIZED, &vec![self.synchronized.as_slice(); self.xs.len()]));
        curves
    }

    /// Plots the placement error of all filters, that of the accurate ones, and the accumulated export error.
    pub(super) fn plots(&self, x_label: &str) -> Vec<Plot> {
        let plot = |title: &str, y_label: &str, curves: &[Curve]| Plot {
            title: title.to_owned(),
            x_label: x_label.to_owned(),
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

    pub(super) fn table(&self, x_head: &str) -> Table {
        let head = [
            x_head,
            "averaging, p95 (u)",
            "Simpson's, p95 (u)",
            "least, p95 (u)",
            "hull, p95 (u)",
            "averaging, AEE (u)",
            "hull, AEE (u)",
            "synchronized, AEE (u)",
        ];
        let row = |x: &f64| {
            let placement = |filter: Filter| self.at(filter, *x, |measured| measured.placement);
            let aee = |filter: Filter| self.at(filter, *x, |measured| measured.aee);
            let errors = FILTERS.map(placement).into_iter();
            let sums = [aee(Filter::Averaging), aee(Filter::Hull), self.floor()];
            let cells = errors.chain(sums).map(|error| format!("{error:.4}"));
            [format!("{x}")].into_iter().chain(cells).collect()
        };
        let head = head.map(str::to_owned).to_vec();
        Table { head, rows: self.xs.iter().map(row).collect() }
    }

    /// The claim of every sweep: the clocks' error bounds hold.
    pub(super) fn bound_claim(&self, figure: &str) -> Claim {
        let hull = || self.filters[FILTERS.len() - 1].iter().flatten();
        let (kept, checked) =
            (hull().map(|run| run.kept).sum::<usize>(), hull().map(|run| run.checked).sum::<usize>());
        let share = hull().map(|run| run.share).fold(0.0, f64::max);
        claim(
            figure,
            1,
            "Once the newest vector has arrived, the hull's placement is off by at most the speed times the error bounds of \
             the two clocks, in every sample.",
            format!("{kept} of {checked} samples; at most {:.1} % of that bound", 100.0 * share),
            kept == checked && checked > 0,
        )
    }
}

/// A claim that is expected to hold.
pub(super) fn claim(figure: &str, number: u32, statement: &str, measured: String, holds: bool) -> Claim {
    let id = format!("clock/{figure}/{number}");
    Claim::new(id, STUDY.source.to_owned(), statement, measured, Verdict::of(holds), Verdict::Holds)
}
