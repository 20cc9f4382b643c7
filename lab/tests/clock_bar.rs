//! The session clock's required accuracy: an error of at most 0.2 ms at the 95th percentile, with 20 ms of jitter one way.

use evenkeel_core::clock::{Hull, OffsetEstimator};
use evenkeel_core::{SessionTime, Span};
use evenkeel_lab::clock::filters::{Averaging, LeastRoundTrip, Simpson};
use evenkeel_lab::clock::{ClockSample, ClockSetting, run};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults};

/// A round trip of 40 ms, jitter of 20 ms (mean) on the way up, 30 ppm of skew.
fn setting() -> ClockSetting {
    let base = Span::from_millis(20);
    let jitter = Jitter::Exponential { mean: Span::from_millis(20) };
    let up = LinkFaults { delay: DelayLaw { base, jitter }, ..LinkFaults::default() };
    let follower = ClockFaults { skew_ppm: 30.0, offset: Span::from_secs(-5), ..ClockFaults::default() };
    ClockSetting { up, down: LinkFaults::constant(base), follower, ..ClockSetting::default() }
}

/// The 95th percentile of the error in milliseconds once the window is full, and whether the true time was always in the
/// interval.
fn p95<E: OffsetEstimator + 'static>(figure: fn(&ClockSample) -> Option<SessionTime>) -> (f64, bool) {
    let (mut errors, mut is_certified) = (Vec::new(), true);
    for seed in 1..=10 {
        run::<E>(&setting(), seed, Span::from_millis(100), Span::from_secs(120), |sample| {
            is_certified &= sample.is_certified();
            if sample.at.as_nanos() > 30_000_000_000 {
                errors.push(sample.error_ms(figure(&sample).expect("the clock is synchronized")));
            }
        });
    }
    errors.sort_by(f64::total_cmp);
    (errors[errors.len() * 95 / 100], is_certified)
}

#[test]
fn hull_is_accurate_enough_and_averages_are_not() {
    let averaging = p95::<Averaging>(|sample| sample.estimate).0;
    let simpson = p95::<Simpson>(|sample| sample.estimate).0;
    let least = p95::<LeastRoundTrip>(|sample| sample.estimate).0;
    assert!(averaging > 10.0 && simpson > 5.0 && least > 0.5, "{averaging} {simpson} {least}");
    let (estimate, is_certified) = p95::<Hull>(|sample| sample.estimate);
    let (shown, _) = p95::<Hull>(|sample| sample.shown);
    assert!(estimate <= 0.2 && shown <= 0.2, "{estimate} {shown}");
    assert!(is_certified);
}
