//! Times and spans: exact in nanoseconds, saturating at both ends.

use evenkeel_core::{DelayEstimate, LocalTime, SessionTime, Span};
use proptest::prelude::*;

const SPAN_MIN: Span = Span::from_nanos(i64::MIN);

#[test]
fn arithmetic_saturates_at_both_ends() {
    let second = Span::from_secs(1);
    assert_eq!(SessionTime::MAX + second, SessionTime::MAX);
    assert_eq!(SessionTime::MIN - second, SessionTime::MIN);
    assert_eq!(LocalTime::MAX - LocalTime::MIN, Span::MAX);
    assert_eq!(LocalTime::MIN - LocalTime::MAX, SPAN_MIN);
    assert_eq!(Span::MAX + second, Span::MAX);
    assert_eq!(SPAN_MIN - second, SPAN_MIN);
    assert_eq!(-SPAN_MIN, Span::MAX);
    assert_eq!(SPAN_MIN.abs(), Span::MAX);
    assert_eq!(Span::MAX.times(-2), SPAN_MIN);
    assert_eq!(Span::from_secs(i64::MAX), Span::MAX);
    assert_eq!(Span::from_millis(i64::MIN), SPAN_MIN);
    let mut time = LocalTime::MAX;
    time += second;
    assert_eq!(time, LocalTime::MAX);
}

#[test]
fn seconds_out_of_range_saturate_and_nan_is_zero() {
    assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
    assert_eq!(Span::from_secs_f64(f64::INFINITY), Span::MAX);
    assert_eq!(Span::from_secs_f64(-1e300), SPAN_MIN);
    assert_eq!(Span::from_millis_f64(f64::NAN), Span::ZERO);
    assert_eq!(Span::from_secs_f64(0.5e-9), Span::from_nanos(1));
    assert_eq!(Span::from_secs_f64(0.25), Span::from_millis(250));
    assert_eq!(Span::from_millis_f64(0.25), Span::from_nanos(250_000));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arithmetic_matches_clamped_128_bit_arithmetic(a: i64, b: i64, factor in -1000i64..1000) {
        let clamp = |wide: i128| wide.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        let (time, span) = (SessionTime::from_nanos(a), Span::from_nanos(b));
        prop_assert_eq!((time + span).as_nanos(), clamp(wide_a + wide_b));
        prop_assert_eq!((time - span).as_nanos(), clamp(wide_a - wide_b));
        prop_assert_eq!((time - SessionTime::from_nanos(b)).as_nanos(), clamp(wide_a - wide_b));
        prop_assert_eq!((Span::from_nanos(a) + span).as_nanos(), clamp(wide_a + wide_b));
        prop_assert_eq!((Span::from_nanos(a) - span).as_nanos(), clamp(wide_a - wide_b));
        prop_assert_eq!(span.times(factor).as_nanos(), clamp(wide_b * i128::from(factor)));
        prop_assert_eq!((-span).as_nanos(), clamp(-wide_b));
    }

    #[test]
    fn spans_up_to_a_day_round_trip_through_seconds(nanos in -86_400_000_000_000i64..86_400_000_000_000) {
        let span = Span::from_nanos(nanos);
        prop_assert_eq!(Span::from_secs_f64(span.as_secs_f64()), span);
        prop_assert_eq!(Span::from_millis_f64(span.as_millis_f64()), span);
    }

    #[test]
    fn a_delay_estimate_stays_within_its_samples(delays in proptest::collection::vec(0..10_000_000_000i64, 1..50)) {
        let mut estimate = DelayEstimate::default();
        delays.iter().for_each(|delay| estimate.sample(Span::from_nanos(*delay)));
        let (least, most) = (delays.iter().min().copied(), delays.iter().max().copied());
        let mean = Some(estimate.mean().as_nanos());
        prop_assert!(least <= mean && mean <= most);
        prop_assert!(estimate.deviation() >= Span::ZERO);
        prop_assert_eq!(estimate.samples(), delays.len() as u64);
    }
}

#[test]
fn a_delay_estimate_starts_at_the_first_sample_and_moves_by_an_eighth() {
    let mut estimate = DelayEstimate::default();
    assert_eq!((estimate.mean(), estimate.samples()), (Span::ZERO, 0));
    estimate.sample(Span::from_millis(80));
    assert_eq!((estimate.mean(), estimate.deviation()), (Span::from_millis(80), Span::ZERO));
    estimate.sample(Span::from_millis(160));
    assert_eq!((estimate.mean(), estimate.deviation()), (Span::from_millis(90), Span::from_millis(20)));
}
