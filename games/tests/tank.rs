//! The tank stays within its limits and on its circle.

use core::f64::consts::PI;

use evenkeel_core::{Span, Vec3};
use evenkeel_games::{
    ACCELERATION_MAX, ANGULAR_ACCELERATION_MAX, Controls, SPEED_BACKWARDS_MAX, SPEED_MAX, STEP,
    TURN_RATE_MAX, Tank,
};
use proptest::prelude::*;

const FULL_AHEAD: Controls = Controls { speed: SPEED_MAX, turn_rate: 0.0 };

fn after(tank: &mut Tank, controls: Controls, steps: u32) {
    for _ in 0..steps {
        tank.step(controls, STEP);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn limits_hold_under_any_controls(inputs in prop::collection::vec((any::<f64>(), any::<f64>(), 1u32..300), 1..20)) {
        let dt = STEP.as_secs_f64();
        let mut tank = Tank::standing(Vec3::ZERO, 0.0);
        for (speed, turn_rate, steps) in inputs {
            for _ in 0..steps {
                let before = tank.clone();
                tank.step(Controls { speed, turn_rate }, STEP);
                prop_assert!(tank.speed() <= SPEED_MAX && tank.speed() >= -SPEED_BACKWARDS_MAX);
                prop_assert!(tank.turn_rate().abs() <= TURN_RATE_MAX);
                prop_assert!(tank.acceleration().abs() <= ACCELERATION_MAX);
                let angular = (tank.turn_rate() - before.turn_rate()).abs() / dt;
                prop_assert!(angular <= ANGULAR_ACCELERATION_MAX + 1e-9);
                prop_assert!(tank.heading().abs() <= PI + 1e-12);
                let moved = tank.state().position.distance(before.state().position);
                prop_assert!(moved <= SPEED_MAX * dt + 1e-9);
            }
        }
    }
}

#[test]
fn full_speed_takes_a_second_and_a_quarter_and_arrives_exactly() {
    let mut tank = Tank::standing(Vec3::ZERO, 0.0);
    after(&mut tank, FULL_AHEAD, 124);
    assert!(tank.speed() < SPEED_MAX);
    after(&mut tank, FULL_AHEAD, 2);
    assert_eq!(tank.speed(), SPEED_MAX);
    let x = tank.state().position.x;
    assert!((x - (0.5 * 20.0 * 1.25 * 1.25 + 25.0 * 0.01)).abs() < 1e-9, "{x}");
}

#[test]
fn a_constant_turn_stays_on_its_circle() {
    let mut tank = Tank::standing(Vec3::xy(100.0, -40.0), 1.0);
    let controls = Controls { speed: SPEED_MAX, turn_rate: TURN_RATE_MAX };
    after(&mut tank, controls, 200);
    let radius = SPEED_MAX / TURN_RATE_MAX;
    // The positions are corners of a polygon, whose circle is wider than the ideal one by 3 parts in a million.
    let half = 0.5 * TURN_RATE_MAX * STEP.as_secs_f64();
    let corner_radius = 0.5 * SPEED_MAX * STEP.as_secs_f64() / libm::sin(half);
    assert!((corner_radius - radius).abs() < 1e-4);
    let state = tank.state();
    let left = Vec3::xy(-state.velocity.y, state.velocity.x) * (1.0 / SPEED_MAX);
    let center = state.position + left * corner_radius;
    for step in 0..100_000 {
        tank.step(controls, STEP);
        let distance = tank.state().position.distance(center);
        assert!((distance - corner_radius).abs() < 1e-7, "step {step}: {distance}");
    }
}

#[test]
fn driving_backwards_reverses_the_velocity_but_not_the_turn() {
    let mut tank = Tank::standing(Vec3::ZERO, 0.0);
    let controls = Controls { speed: -SPEED_BACKWARDS_MAX, turn_rate: 0.5 };
    after(&mut tank, controls, 100);
    let (before, heading) = (tank.state(), tank.heading());
    assert_eq!(before.turn_rate, 0.5);
    let ahead = Vec3::xy(libm::cos(heading), libm::sin(heading));
    assert!((before.velocity.dot(ahead) + SPEED_BACKWARDS_MAX).abs() < 1e-12);
    tank.step(controls, STEP);
    let turned = before.velocity.cross(tank.state().velocity).z / before.velocity.length_squared();
    assert!((turned / STEP.as_secs_f64() - 0.5).abs() < 1e-4);
}

#[test]
fn acceleration_and_turn_rate_give_the_change_of_velocity() {
    for speed in [SPEED_MAX, -SPEED_BACKWARDS_MAX] {
        let mut tank = Tank::standing(Vec3::ZERO, 2.0);
        after(&mut tank, Controls { speed: 0.0, turn_rate: 0.6 }, 70);
        let controls = Controls { speed, turn_rate: 0.6 };
        after(&mut tank, controls, 30);
        let before = tank.state();
        assert!((before.acceleration.length() - ACCELERATION_MAX).abs() < 1e-9);
        tank.step(controls, STEP);
        let measured = (tank.state().velocity - before.velocity) * (1.0 / STEP.as_secs_f64());
        assert!(measured.distance(before.velocity_derivative()) < 0.2, "{measured:?} {before:?}");
    }
}

#[test]
fn a_stationary_tank_has_no_velocity_and_no_acceleration() {
    let mut tank = Tank::standing(Vec3::ZERO, 1.0);
    after(&mut tank, FULL_AHEAD, 200);
    after(&mut tank, Controls::default(), 200);
    let state = tank.state();
    assert_eq!((state.velocity, state.acceleration, state.turn_rate), (Vec3::ZERO, Vec3::ZERO, 0.0));
}

#[test]
fn empty_steps_and_nan_controls_change_nothing() {
    let mut tank = Tank::standing(Vec3::ZERO, 1.0);
    let before = tank.clone();
    tank.step(FULL_AHEAD, Span::ZERO);
    tank.step(FULL_AHEAD, Span::from_millis(-10));
    tank.step(Controls { speed: f64::NAN, turn_rate: f64::NAN }, STEP);
    assert_eq!(tank, before);
}
