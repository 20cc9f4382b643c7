//! Delay laws: each has its documented mean and spread.

use evenkeel_core::{Seed, Span};
use evenkeel_link::{DelayLaw, DelayStep, Fate, Jitter, Link, LinkFaultError, LinkFaults, TrueTime};
use proptest::prelude::*;

const PACKETS: i64 = 40_000;

fn ms(millis: f64) -> Span {
    Span::from_millis_f64(millis)
}

fn delay(link: &mut Link, now: TrueTime) -> Span {
    match link.fate(now, 100) {
        Fate::Once(arrival) => arrival - now,
        other => panic!("one arrival expected, not {other:?}"),
    }
}

/// Returns the delays, in milliseconds, of packets that are sent every millisecond.
fn sample(base: f64, jitter: Jitter) -> Vec<f64> {
    let faults = LinkFaults { delay: DelayLaw { base: ms(base), jitter }, ..LinkFaults::default() };
    let mut link = Link::new(faults, Seed::new(42));
    (0..PACKETS).map(|i| delay(&mut link, TrueTime::from_nanos(i * 1_000_000)).as_millis_f64()).collect()
}

fn mean_sd(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

fn assert_law(base: f64, jitter: Jitter, mean: f64, sd: f64) -> Vec<f64> {
    let sample = sample(base, jitter.clone());
    let (mean_is, sd_is) = mean_sd(&sample);
    let stated = DelayLaw { base: ms(base), jitter: jitter.clone() }.mean().as_millis_f64();
    assert!((stated - mean).abs() < 1e-5, "{jitter:?}: documents a mean of {stated} instead of {mean}");
    // Five standard errors of the mean; heavy tails determine the spread to a few percent only.
    let error = 5.0 * sd / (PACKETS as f64).sqrt() + 1e-6;
    assert!((mean_is - mean).abs() <= error, "{jitter:?}: mean {mean_is} instead of {mean}");
    assert!((sd_is - sd).abs() <= 0.05 * sd + 1e-6, "{jitter:?}: sd {sd_is} instead of {sd}");
    sample
}

#[test]
fn constant_delays_equal_the_base() {
    assert!(sample(30.0, Jitter::Constant).iter().all(|delay| *delay == 30.0));
}

#[test]
fn uniform_delays_stay_within_their_width() {
    let sample = assert_law(50.0, Jitter::Uniform { half_width: ms(20.0) }, 50.0, 20.0 / 3f64.sqrt());
    assert!(sample.iter().all(|delay| (30.0..=70.0).contains(delay)));
    assert!(sample.iter().any(|delay| *delay < 30.1) && sample.iter().any(|delay| *delay > 69.9));
}

#[test]
fn uniform_delays_include_both_ends() {
    let narrow = sample(1.0, Jitter::Uniform { half_width: Span::from_nanos(1) });
    let nanos: std::collections::BTreeSet<i64> = narrow.iter().map(|ms| (ms * 1e6).round() as i64).collect();
    assert!(nanos.into_iter().eq(999_999..=1_000_001));
}

#[test]
fn normal_delays_have_their_mean_and_spread() {
    assert_law(100.0, Jitter::Normal { sd: ms(10.0) }, 100.0, 10.0);
}

#[test]
fn exponential_delays_add_to_the_base() {
    let sample = assert_law(20.0, Jitter::Exponential { mean: ms(15.0) }, 35.0, 15.0);
    assert!(sample.iter().all(|delay| *delay >= 20.0));
}

#[test]
fn log_normal_delays_add_to_the_base_with_their_median() {
    let sigma = 0.5;
    let variance_factor = libm::exp(sigma * sigma);
    let mean = 10.0 * variance_factor.sqrt();
    let sd = mean * (variance_factor - 1.0).sqrt();
    let mut sample = assert_law(20.0, Jitter::LogNormal { median: ms(10.0), sigma }, 20.0 + mean, sd);
    sample.sort_by(f64::total_cmp);
    assert!((sample[sample.len() / 2] - 30.0).abs() < 0.2);
}

#[test]
fn gamma_delays_have_the_base_as_their_mean() {
    assert_law(80.0, Jitter::Gamma { sd: ms(20.0) }, 80.0, 20.0);
    // A spread larger than the mean, so the shape is below one.
    assert_law(80.0, Jitter::Gamma { sd: ms(120.0) }, 80.0, 120.0);
    assert!(sample(80.0, Jitter::Gamma { sd: Span::ZERO }).iter().all(|delay| *delay == 80.0));
    assert!(sample(0.0, Jitter::Gamma { sd: ms(20.0) }).iter().all(|delay| *delay == 0.0));
}

#[test]
fn no_packet_arrives_before_it_was_sent() {
    let sample = sample(5.0, Jitter::Normal { sd: ms(10.0) });
    assert!(sample.iter().all(|delay| *delay >= 0.0));
    let at_once = sample.iter().filter(|delay| **delay == 0.0).count();
    assert!((10_000..15_000).contains(&at_once), "31 % are drawn negative: {at_once}");
}

#[test]
fn a_trace_holds_each_row_until_the_next_and_repeats_after_its_last() {
    let rows =
        [(0, 10), (20, 30), (50, 99)].map(|(at, delay)| (Span::from_millis(at), Span::from_millis(delay)));
    let law = |rows: &[(Span, Span)]| DelayLaw { base: ms(1.0), jitter: Jitter::Trace(rows.to_vec()) };
    let times = [0, 19, 20, 49, 50, 69, 70, 1_020];
    let delays = |rows| {
        let mut link = Link::new(LinkFaults { delay: law(rows), ..LinkFaults::default() }, Seed::new(1));
        times.map(|at| delay(&mut link, TrueTime::default() + Span::from_millis(at)).as_millis_f64())
    };
    assert_eq!(delays(&rows), [11.0, 11.0, 31.0, 31.0, 11.0, 11.0, 31.0, 31.0]);
    assert_eq!(delays(&rows[1..]), [100.0, 100.0, 31.0, 31.0, 100.0, 100.0, 31.0, 31.0]);
    assert_eq!(delays(&rows[..1]), [11.0; 8]);
}

#[test]
fn a_step_replaces_the_base_delay_from_its_time_on() {
    let step = |at, delay| DelayStep {
        at: TrueTime::default() + Span::from_millis(at),
        delay: Span::from_millis(delay),
    };
    let faults = LinkFaults {
        steps: vec![step(100, 300), step(200, 0)],
        ..LinkFaults::constant(Span::from_millis(80))
    };
    let mut link = Link::new(faults, Seed::new(1));
    let mut delay_at = |at| delay(&mut link, TrueTime::default() + Span::from_millis(at)).as_millis_f64();
    assert_eq!([99, 100, 199, 200, 10_000].map(&mut delay_at), [80.0, 300.0, 300.0, 0.0, 0.0]);
}

#[test]
fn invalid_options_are_rejected_by_name() {
    let validate = |base, jitter| DelayLaw { base, jitter }.validate();
    let short = Span::from_nanos(-1);
    let cases = [
        (validate(short, Jitter::Constant), "delay"),
        (validate(Span::ZERO, Jitter::Uniform { half_width: short }), "jitter.half_width"),
        (validate(Span::ZERO, Jitter::Normal { sd: short }), "jitter.sd"),
        (validate(Span::ZERO, Jitter::Gamma { sd: short }), "jitter.sd"),
        (validate(Span::ZERO, Jitter::Exponential { mean: short }), "jitter.mean"),
        (validate(Span::ZERO, Jitter::LogNormal { median: short, sigma: 1.0 }), "jitter.median"),
        (validate(Span::ZERO, Jitter::LogNormal { median: Span::ZERO, sigma: f64::NAN }), "jitter.sigma"),
        (validate(Span::ZERO, Jitter::Trace(vec![])), "jitter.trace"),
        (validate(Span::ZERO, Jitter::Trace(vec![(Span::ZERO, short)])), "jitter.trace"),
        (validate(Span::ZERO, Jitter::Trace(vec![(Span::ZERO, Span::ZERO); 2])), "jitter.trace"),
    ];
    for (verdict, field) in cases {
        let error: LinkFaultError = verdict.expect_err(field);
        assert!(error.to_string().starts_with(field), "{error}");
    }
}

proptest! {
    #[test]
    fn every_valid_law_gives_a_delay_at_any_time(
        base in 0..i64::MAX, width in 0..i64::MAX, kind in 0..6, sigma in 0.0..50.0f64, now: i64, seed: u64,
    ) {
        let span = Span::from_nanos(width);
        let jitter = match kind {
            0 => Jitter::Uniform { half_width: span },
            1 => Jitter::Normal { sd: span },
            2 => Jitter::LogNormal { median: span, sigma },
            3 => Jitter::Exponential { mean: span },
            4 => Jitter::Gamma { sd: span },
            _ => Jitter::Trace(vec![(span, span)]),
        };
        let faults =
            LinkFaults { delay: DelayLaw { base: Span::from_nanos(base), jitter }, ..LinkFaults::default() };
        prop_assert_eq!(faults.validate(), Ok(()));
        let now = TrueTime::from_nanos(now);
        let fate = Link::new(faults, Seed::new(seed)).fate(now, 1);
        prop_assert!(matches!(fate, Fate::Once(arrival) if arrival >= now), "{:?}", fate);
    }
}

#[test]
fn the_mean_of_a_trace_weights_each_row_by_how_long_it_holds() {
    let rows = vec![(ms(10.0), ms(5.0)), (ms(20.0), ms(1.0)), (ms(40.0), ms(3.0))];
    let (is, _) = mean_sd(&sample(7.0, Jitter::Trace(rows.clone())));
    let stated = DelayLaw { base: ms(7.0), jitter: Jitter::Trace(rows) }.mean().as_millis_f64();
    assert!((stated - (7.0 + (50.0 + 20.0 + 30.0) / 40.0)).abs() < 1e-9, "{stated}");
    assert!((stated - is).abs() < 1e-9, "{stated} {is}");
}
