//! The placement error and the accumulated export error under each filter, against the skew of the clocks.

use evenkeel_core::Span;

use super::Filter;
use super::export::scenario;
use super::export_sweep::{PlacementSweep, claim};
use super::sweep::SKEWS_PPM;
use crate::claims::Claim;
use crate::figure::Figure;
use crate::papers::Setup;
use crate::parallel::Cancelled;
use crate::scenario::Scenario;

/// Jitter on the receivers' way up, as in the clock's own sweep. Without any, every filter would do.
const JITTER_MS: f64 = 20.0;

/// The receivers' clocks run as much too fast as the owner's runs too slow, so that their filters' errors do not cancel out.
fn skewed(filter: Filter, skew_ppm: f64, duration: Span) -> Scenario {
    let mut scenario = scenario(Some(filter), JITTER_MS, duration);
    scenario.owner_clock.skew_ppm = -skew_ppm;
    for receiver in &mut scenario.receivers {
        receiver.clock.skew_ppm = skew_ppm;
    }
    scenario
}

fn claims(sweep: &PlacementSweep) -> Vec<Claim> {
    let [slowest, fastest] = [SKEWS_PPM[0], SKEWS_PPM[SKEWS_PPM.len() - 1]];
    let extra = |filter| 100.0 * (sweep.worst(filter, |measured| measured.aee) / sweep.floor() - 1.0);
    let worst = extra(Filter::Hull);
    let ours = sweep.worst(Filter::Hull, |measured| measured.placement);
    let least = |skew_ppm| sweep.at(Filter::LeastRoundTrip, skew_ppm, |measured| measured.placement);
    let stale = least(slowest).min(least(fastest));
    vec![
        sweep.bound_claim("export-skew"),
        claim(
            "export-skew",
            2,
            "With the hull, the accumulated export error is within 1 % of that of synchronized clocks at every skew.",
            format!(
                "at most {worst:.2} % more; least round trip at most {:.0} %, averaging {:.0} % more",
                extra(Filter::LeastRoundTrip),
                extra(Filter::Averaging)
            ),
            worst <= 1.0,
        ),
        claim(
            "export-skew",
            3,
            "The hull estimates the skew, so it misplaces by less than a tenth of the threshold of 0.09 u at every skew; the \
             least round trip goes stale, and misplaces by more than the threshold at 150 ppm.",
            format!(
                "95th percentile: hull at most {ours:.4} u; least round trip {:.4} u without skew, {stale:.3} u or more at \
                 150 ppm either way",
                least(0.0)
            ),
            ours < 0.009 && stale > 0.09,
        ),
    ]
}

/// Measures the figure.
pub(super) fn run_export_skew(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let setup = &setup.with_few_seeds();
    let sweep = PlacementSweep::run(setup, &SKEWS_PPM, skewed)?;
    Ok(vec![Figure {
        key: "clock/export-skew".to_owned(),
        title: "A skew that is estimated misplaces nothing".to_owned(),
        caption: format!(
            "The receivers' clocks run too fast by the skew, the owner's as much too slow; otherwise as in \
             clock/export-jitter, with 20 ms of jitter on the receivers' way up. After arrival: the 95th percentile of the \
             distance between exported and placed path, each by its own session time, while the receiver has the newest \
             vector; it is 0 under synchronized clocks. All the time: the accumulated export error (AEE) per second, which \
             includes the delay of the vectors. From 30 to 120 s; {}. Bands: one standard deviation over the runs.",
            setup.seeds_in_words()
        ),
        plots: sweep.plots("skew (ppm)"),
        columns: 3,
        table: sweep.table("skew (ppm)"),
        claims: claims(&sweep),
    }])
}
