//! Drivers follow their distributions, and movers depend on their seeds alone.

use evenkeel_core::{Seed, Span};
use evenkeel_games::{
    ACCELERATION_MAX, ControlSchedule, Controls, Driver, Mover, SPEED_BACKWARDS_MAX, SPEED_MAX, STEP, Sample,
    TURN_RATE_MAX,
};
use proptest::prelude::*;

const DRIVERS: [Driver; 3] = [Driver::Random, Driver::Linear, Driver::Circular];

/// Returns many settings of one driver, each with how long it held.
fn settings(driver: Driver, seed: u64, count: usize) -> Vec<(Controls, f64)> {
    let mut schedule = ControlSchedule::new(driver, Seed::new(seed));
    let mut at = Span::ZERO;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let controls = schedule.at(at);
        all.push((controls, (schedule.next_at() - at).as_secs_f64()));
        at = schedule.next_at();
    }
    all
}

fn share(settings: &[(Controls, f64)], which: impl Fn(Controls) -> bool) -> f64 {
    settings.iter().filter(|(controls, _)| which(*controls)).count() as f64 / settings.len() as f64
}

fn near(measured: f64, expected: f64) {
    // Four standard deviations of a share of 100,000 are below 0.007.
    assert!((measured - expected).abs() < 0.007, "{measured} instead of {expected}");
}

#[test]
fn every_driver_draws_speeds_in_the_documented_shares() {
    for driver in DRIVERS {
        let all = settings(driver, 1, 100_000);
        near(share(&all, |controls| controls.speed == SPEED_MAX), 0.55);
        near(share(&all, |controls| controls.speed == 0.0), 0.15);
        near(share(&all, |controls| (5.0..25.0).contains(&controls.speed)), 0.15);
        near(share(&all, |controls| (5.0..15.0).contains(&controls.speed)), 0.075);
        near(share(&all, |controls| controls.speed == -SPEED_BACKWARDS_MAX), 0.15);
    }
}

#[test]
fn the_random_driver_turns_in_the_documented_shares() {
    let all = settings(Driver::Random, 2, 100_000);
    near(share(&all, |controls| controls.turn_rate == 0.0), 0.4);
    near(share(&all, |controls| controls.turn_rate == TURN_RATE_MAX), 0.2);
    near(share(&all, |controls| controls.turn_rate == -TURN_RATE_MAX), 0.2);
    near(share(&all, |controls| controls.turn_rate != 0.0 && controls.turn_rate.abs() < TURN_RATE_MAX), 0.2);
}

#[test]
fn the_linear_driver_never_turns_and_the_circular_one_always_to_one_side() {
    assert_eq!(share(&settings(Driver::Linear, 3, 1_000), |controls| controls.turn_rate == 0.0), 1.0);
    let left = |seed| {
        share(&settings(Driver::Circular, seed, 1_000), |controls| controls.turn_rate == TURN_RATE_MAX)
    };
    let sides: Vec<f64> = (0..200).map(left).collect();
    assert!(sides.iter().all(|side| *side == 0.0 || *side == 1.0));
    let lefts = sides.iter().sum::<f64>();
    assert!((70.0..130.0).contains(&lefts), "{lefts} of 200 turn left");
}

#[test]
fn pauses_have_their_minimum_and_their_mean() {
    for (driver, least, mean) in
        [(Driver::Random, 0.3, 1.5), (Driver::Linear, 2.0, 8.0), (Driver::Circular, 2.0, 8.0)]
    {
        let all = settings(driver, 4, 100_000);
        assert!(all.iter().all(|(_, pause)| *pause >= least));
        let measured = all.iter().map(|(_, pause)| pause).sum::<f64>() / all.len() as f64;
        assert!((measured / mean - 1.0).abs() < 0.015, "{driver:?}: {measured}");
        // An exponential passes its own mean with probability 1/e.
        near(all.iter().filter(|(_, pause)| *pause > mean).count() as f64 / all.len() as f64, 0.3679);
    }
}

fn bits(sample: Option<Sample>) -> [u64; 10] {
    let state = sample.expect("a driven tank never dies").state;
    let (p, v, a) = (state.position, state.velocity, state.acceleration);
    [p.x, p.y, p.z, v.x, v.y, v.z, a.x, a.y, a.z, state.turn_rate].map(f64::to_bits)
}

fn driver() -> impl Strategy<Value = Driver> {
    prop::sample::select(DRIVERS.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_driver_exceeds_a_limit(driver in driver(), seed: u64) {
        let mut mover = Mover::tank(driver, Seed::new(seed));
        for step in 0..5_000 {
            let sample = mover.at(step).expect("a driven tank never dies");
            prop_assert_eq!(sample.life, 0);
            prop_assert!(sample.state.velocity.length() <= SPEED_MAX + 1e-9);
            prop_assert!(sample.state.acceleration.length() <= ACCELERATION_MAX + 1e-9);
            prop_assert!(sample.state.turn_rate.abs() <= TURN_RATE_MAX);
        }
    }

    #[test]
    fn the_path_does_not_depend_on_the_order_of_the_steps(
        driver in driver(), seed: u64, steps in prop::collection::vec(0u64..3_000, 1..8)
    ) {
        let mut once = Mover::tank(driver, Seed::new(seed));
        let path: Vec<_> = (0..3_000).map(|step| bits(once.at(step))).collect();
        let mut again = Mover::tank(driver, Seed::new(seed));
        for step in steps {
            prop_assert_eq!(bits(again.at(step)), path[step as usize]);
        }
    }
}

#[test]
fn different_seeds_give_different_paths() {
    let end = |seed| bits(Mover::tank(Driver::Random, Seed::new(seed)).at(1_000));
    assert_ne!(end(1), end(2));
}

#[test]
fn the_path_of_a_seed_never_changes() {
    // A change of this digest invalidates every measurement on driven tanks.
    let mut digest = 0u64;
    for driver in DRIVERS {
        let mut mover = Mover::tank(driver, Seed::new(1));
        for step in 0..6_000 {
            for word in bits(mover.at(step)) {
                digest = (digest ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
            }
        }
    }
    assert_eq!(STEP, Span::from_millis(10));
    assert_eq!(format!("{digest:016x}"), "a8f17d77209cddd2");
}
