//! Clocks: what they show, and timers that fire exactly when the clock shows their time.

use evenkeel_core::{LocalTime, Span};
use evenkeel_link::{ClockFaults, ClockStep, LinkFaultError, NodeClock, TrueTime};
use proptest::prelude::*;

fn at(nanos: i64) -> TrueTime {
    TrueTime::from_nanos(nanos)
}

fn shows(nanos: i64) -> LocalTime {
    LocalTime::from_nanos(nanos)
}

fn stepped(steps: &[(i64, i64)]) -> NodeClock {
    let steps =
        steps.iter().map(|&(at, by)| ClockStep { at: TrueTime::from_nanos(at), by: Span::from_nanos(by) });
    NodeClock::new(&ClockFaults { steps: steps.collect(), ..ClockFaults::default() })
}

#[test]
fn a_perfect_clock_shows_the_true_time_from_the_first_to_the_last_nanosecond() {
    let clock = NodeClock::default();
    for nanos in [i64::MIN, -1, 0, 1, 1_000_000_007, i64::MAX] {
        assert_eq!(clock.local(at(nanos)), shows(nanos));
        assert_eq!(clock.true_time(shows(nanos)), at(nanos));
    }
}

#[test]
fn skew_is_exact_over_a_day() {
    let clock = NodeClock::new(&ClockFaults { skew_ppm: -12.345, ..ClockFaults::default() });
    let day = 86_400_000_000_000;
    assert_eq!(clock.local(at(day)), shows(day - 86_400 * 12_345));
}

#[test]
fn a_forward_step_reaches_all_the_readings_it_skips() {
    let clock = stepped(&[(100, 50)]);
    assert_eq!([99, 100, 101].map(|t| clock.local(at(t)).as_nanos()), [99, 150, 151]);
    assert_eq!(
        [99, 100, 149, 150, 151].map(|l| clock.true_time(shows(l)).as_nanos()),
        [99, 100, 100, 100, 101]
    );
}

#[test]
fn a_backward_step_holds_the_clock_until_it_has_caught_up() {
    let clock = stepped(&[(100, -30)]);
    assert_eq!([99, 100, 128, 129, 130].map(|t| clock.local(at(t)).as_nanos()), [99, 99, 99, 99, 100]);
    assert_eq!([99, 100].map(|l| clock.true_time(shows(l)).as_nanos()), [99, 130]);
}

#[test]
fn invalid_options_are_rejected_by_name() {
    let faults = |skew_ppm| ClockFaults { skew_ppm, ..ClockFaults::default() };
    assert!(faults(500_000.0).validate().is_ok());
    for skew in [f64::NAN, f64::INFINITY, 500_001.0, -1e9] {
        let error = faults(skew).validate().unwrap_err();
        assert!(matches!(error, LinkFaultError::Number { field: "skew_ppm", .. }), "{error}");
    }
    let step = ClockStep { at: at(5), by: Span::ZERO };
    let twice = ClockFaults { steps: vec![step, step], ..ClockFaults::default() };
    assert_eq!(twice.validate(), Err(LinkFaultError::Order { field: "steps", index: 1 }));
}

const RANGE: std::ops::Range<i64> = -3_000_000_000..10_000_000_000;

fn any_faults() -> impl Strategy<Value = ClockFaults> {
    let steps = prop::collection::btree_map(RANGE, -2_000_000_000i64..2_000_000_000, 0..5);
    let skew = prop_oneof![Just(0.0), -500_000.0..500_000.0, -100.0..100.0];
    (RANGE, skew, steps).prop_map(|(offset, skew_ppm, steps)| ClockFaults {
        offset: Span::from_nanos(offset),
        skew_ppm,
        steps: steps.into_iter().map(|(t, by)| ClockStep { at: at(t), by: Span::from_nanos(by) }).collect(),
    })
}

proptest! {
    #[test]
    fn a_timer_fires_neither_a_nanosecond_early_nor_late(faults in any_faults(), reading in RANGE) {
        let clock = NodeClock::new(&faults);
        let due = clock.true_time(shows(reading));
        prop_assert!(clock.local(due) >= shows(reading));
        prop_assert!(clock.local(due - Span::from_nanos(1)) < shows(reading));
    }

    #[test]
    fn a_clock_never_runs_backwards(faults in any_faults(), a in RANGE, b in RANGE, near in 0i64..3) {
        let clock = NodeClock::new(&faults);
        prop_assert!(clock.local(at(a.min(b))) <= clock.local(at(a.max(b))));
        prop_assert!(clock.local(at(a)) <= clock.local(at(a + near)));
        for step in &faults.steps {
            prop_assert!(clock.local(step.at - Span::from_nanos(1)) <= clock.local(step.at));
        }
    }

    #[test]
    fn a_clock_without_steps_matches_the_formula_in_wide_integers(
        offset in RANGE, ppb in -500_000_000i64..=500_000_000, t in -(1i64 << 60)..(1i64 << 60),
    ) {
        let mut faults = ClockFaults { offset: Span::from_nanos(offset), ..ClockFaults::default() };
        faults.skew_ppm = ppb as f64 / 1e3;
        let drift = (i128::from(t) * i128::from(ppb)).div_euclid(1_000_000_000);
        let expected = i128::from(t) + drift + i128::from(offset);
        prop_assert_eq!(i128::from(NodeClock::new(&faults).local(at(t)).as_nanos()), expected);
    }
}
