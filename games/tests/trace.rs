//! Recorded tanks: curves, lives and repetitions.

use core::f64::consts::PI;

use evenkeel_core::{Span, Vec3};
use evenkeel_games::{Mover, STEP, TankTrace, Trace};
use proptest::prelude::*;

const HEADER: &str = "t_s,tank,status,x,y,z,vx,vy,vz,turn_rate_rad_s";
const REAL: &str = include_str!("../data/bzflag-tanks.csv");

/// Returns tank 0 of a recording with these rows: time, status, x, vx.
fn tank(rows: &[(f64, u32, f64, f64)]) -> TankTrace {
    let lines = rows.iter().map(|(t, status, x, vx)| format!("{t},0,{status},{x},0,0,{vx},0,0,0\n"));
    let csv = format!("{HEADER}\n{}", lines.collect::<String>());
    Trace::parse(&csv).expect("well-formed").tank(0).expect("it lives")
}

/// Returns the numbers of a tank's lives, sampled every 10 ms.
fn lives(tank: &TankTrace, seconds: f64) -> Vec<u64> {
    let mut mover = Mover::trace(tank.cursor());
    let steps = (seconds / STEP.as_secs_f64()).round() as u64;
    let mut lives: Vec<u64> = (0..steps).filter_map(|step| Some(mover.at(step)?.life)).collect();
    lives.dedup();
    lives
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_curve_passes_through_its_rows_with_their_velocities(
        rows in prop::collection::vec((0.01f64..1.9, -400.0f64..400.0, -25.0f64..25.0, -25.0f64..25.0), 2..20)
    ) {
        let mut at = Span::ZERO;
        let (mut csv, mut expected) = (format!("{HEADER}\n"), Vec::new());
        for (pause, x, vx, vy) in rows {
            let (position, velocity) = (Vec3::new(x, -0.5 * x, 1.0), Vec3::new(vx, vy, 0.25));
            csv += &format!("{},7,1,{x},{},1,{vx},{vy},0.25,0\n", at.as_secs_f64(), -0.5 * x);
            expected.push((at.as_secs_f64(), position, velocity));
            at += Span::from_secs_f64(pause);
        }
        // A row of another tank, so that the recording does not repeat at the last row of this one.
        csv += &format!("{},8,0,0,0,0,0,0,0,0\n", at.as_secs_f64());
        let tank = Trace::parse(&csv).expect("well-formed").tank(7).expect("it lives");
        for (seconds, position, velocity) in expected {
            let state = tank.sample(seconds).expect("alive at its rows").state;
            prop_assert_eq!(state.position, position);
            prop_assert_eq!(state.velocity, velocity);
        }
    }

    #[test]
    fn a_cursor_agrees_with_a_search(times in prop::collection::vec(0.0f64..500.0, 1..50), number in 0u32..4) {
        let tank = Trace::parse(REAL).expect("well-formed").tank(number).expect("recorded");
        let mut cursor = tank.cursor();
        for seconds in times {
            prop_assert_eq!(cursor.sample(seconds), tank.sample(seconds));
        }
    }
}

#[test]
fn velocity_and_acceleration_are_derivatives_of_the_path() {
    let tank = Trace::parse(REAL).expect("well-formed").tank(1).expect("recorded");
    let h = 1e-4;
    let (mut compared, mut smooth) = (0, 0);
    for step in 0..15_000 {
        let at = 0.01 * f64::from(step) + 0.005;
        let around = [tank.sample(at - h), tank.sample(at), tank.sample(at + h)];
        let [Some(before), Some(now), Some(after)] = around else { continue };
        if now.state.velocity.length() < 1.0 || now.state.turn_rate.abs() > PI {
            continue;
        }
        let velocity = (after.state.position - before.state.position) * (0.5 / h);
        let derivative = (after.state.velocity - before.state.velocity) * (0.5 / h);
        compared += 1;
        // The second derivative jumps at a row.
        if derivative.distance(now.state.velocity_derivative()) < 1e-3 {
            smooth += 1;
        }
        assert!(velocity.distance(now.state.velocity) < 0.1, "at {at}");
        let sideways = now.state.acceleration.cross(now.state.velocity).z;
        assert!(sideways.abs() < 1e-6, "at {at}: the acceleration is not parallel to the velocity");
    }
    assert!(compared > 10_000 && smooth * 100 > compared * 98, "{smooth} of {compared}");
}

#[test]
fn a_circle_is_recognized_by_its_turn_rate() {
    let (radius, rate) = (30.0, 0.75);
    let row = |i: i32| {
        let t = 0.25 * f64::from(i);
        let (sin, cos) = libm::sincos(rate * t);
        let speed = radius * rate;
        format!("{t},0,1,{},{},0,{},{},0,0\n", radius * cos, radius * sin, -speed * sin, speed * cos)
    };
    let csv = format!("{HEADER}\n{}", (0..40).map(row).collect::<String>());
    let tank = Trace::parse(&csv).expect("well-formed").tank(0).expect("it lives");
    for step in 0..900 {
        let state = tank.sample(0.01 * f64::from(step)).expect("alive").state;
        assert!((state.turn_rate - rate).abs() < 0.01, "{}", state.turn_rate);
        assert!(state.acceleration.length() < 0.1);
    }
}

#[test]
fn the_turn_rate_is_zero_at_low_speed_and_limited_otherwise() {
    let slow = tank(&[(0.0, 1, 0.0, 0.2), (1.0, 1, 0.2, 0.2), (1.5, 0, 0.0, 0.0)]);
    assert_eq!(slow.sample(0.5).expect("alive").state.turn_rate, 0.0);
    // The tank is 5 units to the side 1 ms later: the rows contradict each other.
    let csv = format!("{HEADER}\n0,0,1,0,0,0,20,0,0,0\n0.001,0,1,0,5,0,20,0,0,0\n");
    let torn = Trace::parse(&csv).expect("well-formed").tank(0).expect("it lives");
    assert_eq!(torn.sample(0.0).expect("alive").state.turn_rate, 4.0 * PI);
}

#[test]
fn a_death_splits_lives() {
    let rows = [(0.0, 1, 0.0, 1.0), (1.0, 1, 1.0, 1.0), (1.5, 68, 1.2, 0.0), (1.6, 0, 0.0, 0.0)];
    let tank = tank(&[&rows[..], &[(2.0, 65, 50.0, 1.0), (3.0, 1, 51.0, 1.0)]].concat());
    assert_eq!(tank.lives(), 2);
    assert_eq!(tank.sample(1.0).map(|sample| sample.life), Some(0));
    assert_eq!(tank.sample(1.000_001), None);
    assert_eq!(tank.sample(1.999_999), None);
    assert_eq!(tank.sample(2.0).map(|sample| sample.life), Some(1));
    assert_eq!(tank.sample(2.5).expect("alive").state.position.x, 50.5);
}

#[test]
fn a_gap_of_more_than_two_seconds_splits_lives() {
    let row = |t| (t, 1, 0.0, 0.0);
    assert_eq!(tank(&[row(0.0), row(1.0), row(3.0), row(4.0)]).lives(), 1);
    let split = tank(&[row(0.0), row(1.0), row(3.001), row(4.0)]);
    assert_eq!(split.lives(), 2);
    assert_eq!(split.sample(2.0), None);
}

#[test]
fn a_life_of_one_row_is_dropped() {
    let tank = tank(&[
        (0.0, 1, 0.0, 0.0),
        (5.0, 1, 0.0, 0.0),
        (6.0, 1, 0.0, 0.0),
        (6.5, 0, 0.0, 0.0),
        (7.0, 1, 0.0, 0.0),
        (7.5, 0, 0.0, 0.0),
        (8.0, 1, 0.0, 0.0),
        (9.0, 1, 0.0, 0.0),
        (12.0, 1, 0.0, 0.0),
    ]);
    assert_eq!((tank.lives(), tank.length()), (2, Span::from_secs(12)));
    assert_eq!(lives(&tank, 12.0), [0, 1]);
    assert_eq!([0.0, 7.0, 11.9].map(|t| tank.sample(t)), [None; 3]);
}

#[test]
fn the_later_of_two_rows_at_one_time_counts() {
    let tank = tank(&[(0.0, 1, 0.0, 0.0), (1.0, 1, 5.0, 0.0), (1.0, 1, 7.0, 1.0), (2.0, 1, 9.0, 0.0)]);
    let state = tank.sample(1.0).expect("alive").state;
    assert_eq!((state.position.x, state.velocity.x), (7.0, 1.0));
    assert!((tank.sample(0.999_999).expect("alive").state.position.x - 7.0).abs() < 1e-4);
}

#[test]
fn a_repetition_has_new_lives_on_the_same_path() {
    let tank = tank(&[
        (0.0, 1, 0.0, 1.0),
        (1.0, 1, 1.0, 1.0),
        (1.5, 0, 0.0, 0.0),
        (2.0, 1, 5.0, 0.0),
        (3.0, 1, 6.0, 0.0),
    ]);
    assert_eq!(lives(&tank, 9.0), [0, 1, 2, 3, 4, 5]);
    let (first, third) = (tank.sample(2.25).expect("alive"), tank.sample(8.25).expect("alive"));
    assert_eq!(first.state, third.state);
    assert_eq!((first.life, third.life), (1, 5));
    assert_eq!(tank.sample(3.0).map(|sample| (sample.life, sample.state.position.x)), Some((2, 0.0)));
    assert_eq!(tank.sample(-0.1), None);
}

#[test]
fn the_real_file_has_four_tanks_that_die_a_few_times() {
    let trace = Trace::parse(REAL).expect("well-formed");
    assert_eq!(trace.tanks(), [0, 1, 2, 3]);
    assert!(trace.tank(4).is_none());
    let tanks: Vec<TankTrace> = trace.tanks().iter().filter_map(|number| trace.tank(*number)).collect();
    assert_eq!(tanks.iter().map(TankTrace::lives).collect::<Vec<_>>(), [3, 5, 3, 5]);
    for tank in &tanks {
        assert_eq!(tank.length(), Span::from_secs_f64(164.7209));
        let twice: Vec<u64> = (0..2 * tank.lives()).collect();
        assert_eq!(lives(tank, 2.0 * 164.7), twice);
    }
}

#[test]
fn a_real_tank_moves_like_a_tank_most_of_the_time() {
    let trace = Trace::parse(REAL).expect("well-formed");
    for number in trace.tanks() {
        let mut mover = Mover::trace(trace.tank(*number).expect("listed").cursor());
        let states: Vec<_> =
            (0..16_472).filter_map(|step| mover.at(step)).map(|sample| sample.state).collect();
        assert!(states.len() > 13_000, "tank {number} is alive for {} steps", states.len());
        // Rows a few milliseconds apart contradict each other by about a unit, so the curve is fast in between.
        let fast = states.iter().filter(|state| state.velocity.length() > 26.0).count();
        assert!(fast * 10 < states.len(), "tank {number} is too fast in {fast} of {} steps", states.len());
        assert!(states.iter().all(|state| state.velocity.length() < 100.0));
    }
}
