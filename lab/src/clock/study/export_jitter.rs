//! The placement error and the accumulated export error under each filter, against one-sided jitter.

use super::Filter;
use super::export::scenario;
use super::export_sweep::{PlacementSweep, claim};
use super::sweep::JITTERS_MS;
use crate::claims::Claim;
use crate::figure::Figure;
use crate::papers::Setup;
use crate::parallel::Cancelled;

/// The jitter at which the claims compare filters.
const COMPARED_MS: f64 = 20.0;

fn claims(sweep: &PlacementSweep) -> Vec<Claim> {
    let extra = |aee: f64| 100.0 * (aee / sweep.floor() - 1.0);
    let worst = extra(sweep.worst(Filter::Hull, |measured| measured.aee));
    let compared = |filter| extra(sweep.at(filter, COMPARED_MS, |measured| measured.aee));
    let placement = Filter::ALL.map(|filter| sweep.at(filter, COMPARED_MS, |measured| measured.placement));
    let [averaging, simpson, least, ours] = placement;
    vec![
        sweep.bound_claim("export-jitter"),
        claim(
            "export-jitter",
            2,
            "With the hull, the accumulated export error is within 1 % of that of synchronized clocks at every jitter.",
            format!(
                "at most {worst:.2} % more; averaging {:.0} % and Simpson's {:.0} % more at 20 ms of jitter",
                compared(Filter::Averaging),
                compared(Filter::Simpson)
            ),
            worst <= 1.0,
        ),
        claim(
            "export-jitter",
            3,
            "With 20 ms of jitter one way, averages misplace by more than the threshold of 0.09 u, the hull by less than a \
             tenth of it.",
            format!(
                "95th percentile: averaging {averaging:.3} u, Simpson's {simpson:.3} u, least round trip {least:.4} u, hull \
                 {ours:.4} u"
            ),
            averaging.min(simpson) > 0.09 && ours < 0.009,
        ),
    ]
}

/// Measures the figure.
pub(super) fn run_export_jitter(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let setup = &setup.with_few_seeds();
    let sweep = PlacementSweep::run(setup, &JITTERS_MS, |filter, jitter_ms, duration| {
        scenario(Some(filter), jitter_ms, duration)
    })?;
    Ok(vec![Figure {
        key: "clock/export-jitter".to_owned(),
        title: "A clock that follows the jitter misplaces entities even after their vectors have arrived"
            .to_owned(),
        caption: format!(
            "A tank of up to 25 u/s, threshold 0.09 u, policy base; owner 20 ms from the relay, receivers 20, 50 and \
             100 ms each way, exponential jitter on the receivers' way up only, so that DR vectors travel as under \
             synchronized clocks and only the session times differ; clocks -30 to 60 ppm off. The base delays are equal \
             both ways, as no filter can detect a constant difference. After arrival: the 95th percentile of the distance \
             between the path as its owner exports it and as a receiver places it, each by its own session time, while \
             the receiver has the newest vector; it is 0 under synchronized clocks. All the time: the accumulated export \
             error (AEE) per second, which includes the delay of the vectors. From 30 to 120 s; {}. Bands: one standard \
             deviation over the runs.",
            setup.seeds_in_words()
        ),
        plots: sweep.plots("mean jitter on the way up (ms)"),
        columns: 3,
        table: sweep.table("jitter (ms)"),
        claims: claims(&sweep),
    }])
}
