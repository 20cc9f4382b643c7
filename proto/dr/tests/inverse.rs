//! The inverse of the export error: the earliest time at which the integral reaches a value.
//!
//! The integral limits how precisely the time is determined: one rounding of the integral I, ulp(I), moves it by
//! ulp(I) / distance. So a time is right if its relative error is below 1e-9 or amounts to a few such roundings.

use evenkeel_core::Vec3;
use evenkeel_dr::Divergence;
use evenkeel_dr::motion::linear;
use proptest::prelude::*;

/// Roundings of the closed form: its relative error is below 1e-14.
const LINEAR_ROUNDING: f64 = 1e-14;
/// The error of the quadrature is below 1e-9, and far lower between two evaluations in the same panel.
const CURVED_ROUNDING: f64 = 2e-9;

fn magnitude(orders: core::ops::Range<f64>) -> impl Strategy<Value = f64> {
    orders.prop_map(|order| libm::pow(10.0, order))
}

fn vector(orders: core::ops::Range<f64>) -> impl Strategy<Value = Vec3> {
    let component = -1.0..1.0f64;
    prop_oneof![
        8 => (component.clone(), component.clone(), component.clone(), magnitude(orders.clone()))
            .prop_map(|(x, y, z, size)| Vec3::new(x, y, z) * size),
        4 => (component.clone(), component, magnitude(orders)).prop_map(|(x, y, size)| Vec3::xy(x, y) * size),
        1 => Just(Vec3::ZERO),
    ]
}

fn straight(position: Vec3, velocity: Vec3) -> Divergence {
    Divergence { position, velocity, ..Divergence::default() }
}

fn curved() -> impl Strategy<Value = Divergence> {
    let rate = || prop_oneof![Just(0.0), -0.8..0.8f64, -3.0..3.0f64];
    let accelerations = [vector(-1.0..1.3), vector(-1.0..1.3), vector(-1.0..1.3)];
    (vector(-3.0..1.0), vector(-2.0..1.5), vector(0.0..1.5), accelerations, rate(), rate()).prop_map(
        |(position, velocity, second_velocity, [acceleration, fading, second_fading], first, second)| {
            Divergence {
                position,
                velocity,
                second_velocity,
                acceleration,
                fading,
                second_fading,
                turn_rates: [first, second],
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_inverse_recovers_the_time(
        p in vector(-6.0..3.0), v in vector(-6.0..3.0), t in magnitude(-6.0..1.0), beyond in 1.0..4.0f64,
    ) {
        let error = linear::integral(p, v, t);
        prop_assume!(error > 0.0);
        let found = linear::inverse(p, v, error, t * beyond);
        let found = found.expect("reached in time");
        let slope = (p + v * t).length();
        let allowed = 1e-9 * t + LINEAR_ROUNDING * error / slope;
        // Where the paths meet, the slope vanishes. There the value must be right.
        let reached = linear::integral(p, v, found);
        let exact = (reached - error).abs() <= LINEAR_ROUNDING * error;
        prop_assert!((found - t).abs() <= allowed || exact, "{found:e} for {t:e}, allowed {allowed:e}");
    }

    #[test]
    fn the_inverse_reaches_the_error_and_not_before(
        p in vector(-6.0..3.0), v in vector(-6.0..3.0), h in magnitude(-6.0..1.0), part in 0.0..1.0f64,
    ) {
        let error = linear::integral(p, v, h) * part;
        let found = linear::inverse(p, v, error, h).expect("a part is reached before the whole");
        prop_assert!((0.0..=h).contains(&found));
        let reached = linear::integral(p, v, found);
        prop_assert!((reached - error).abs() <= LINEAR_ROUNDING * error, "{reached:e} is not {error:e}");
        let earlier = linear::integral(p, v, found * (1.0 - 1e-9));
        prop_assert!(earlier <= error, "{earlier:e} is reached before {error:e}");
    }

    #[test]
    fn the_inverse_is_none_beyond_its_horizon(
        p in vector(-3.0..3.0), v in vector(-3.0..3.0), h in magnitude(-3.0..1.0), more in 1e-12..10.0f64,
    ) {
        let error = linear::integral(p, v, h);
        prop_assert_eq!(linear::inverse(p, v, error * (1.0 + more) + 1e-300, h), None);
        prop_assert_eq!(straight(p, v).reaches(error * (1.0 + more) + 1e-300, h), None);
    }

    #[test]
    fn two_linear_paths_reach_an_error_as_the_closed_form_says(
        p in vector(-3.0..3.0), v in vector(-3.0..3.0), h in magnitude(-3.0..1.0), part in 0.0..1.5f64,
    ) {
        let error = linear::integral(p, v, h) * part;
        prop_assert_eq!(straight(p, v).reaches(error, h), linear::inverse(p, v, error, h));
    }

    #[test]
    fn bent_paths_reach_an_error_when_their_integral_does(
        divergence in curved(), h in magnitude(-4.0..0.5), part in 0.0..0.999f64,
    ) {
        let error = divergence.integral(h) * part;
        let found = divergence.reaches(error, h).expect("a part is reached before the whole");
        prop_assert!((0.0..=h).contains(&found));
        let reached = divergence.integral(found);
        prop_assert!((reached - error).abs() <= CURVED_ROUNDING * error, "{reached:e} is not {error:e}");
    }

    #[test]
    fn bent_paths_recover_the_time_of_an_error(
        divergence in curved(), h in magnitude(-3.0..0.5), part in 0.01..1.0f64,
    ) {
        let t = h * part;
        let error = divergence.integral(t);
        prop_assume!(error > 0.0); // Identical paths have no such time.
        let found = divergence.reaches(error, h).or_else(|| (part > 0.999).then_some(t)).expect("t is before h");
        // Where the paths nearly meet, rounding the error moves the time a lot.
        let near_miss = if divergence.distance(t) * t < 0.1 * error { CURVED_ROUNDING * error / divergence.distance(t) } else { 0.0 };
        let allowed = 1e-9 * t + near_miss;
        prop_assert!((found - t).abs() <= allowed, "{found:e} is not {t:e}");
    }

    #[test]
    fn bent_paths_are_none_beyond_their_horizon(
        divergence in curved(), h in magnitude(-4.0..0.5), more in 1e-6..10.0f64,
    ) {
        let error = divergence.integral(h);
        prop_assert_eq!(divergence.reaches(error * (1.0 + more) + 1e-300, h), None);
    }
}

#[test]
fn an_error_of_zero_is_reached_at_once() {
    let v = Vec3::xy(1.0, 2.0);
    assert_eq!(linear::inverse(Vec3::ZERO, v, 0.0, 1.0), Some(0.0));
    assert_eq!(linear::inverse(Vec3::ZERO, v, -1.0, 1.0), Some(0.0));
    let bent = Divergence { turn_rates: [0.5, 0.0], ..straight(Vec3::ZERO, v) };
    assert_eq!(bent.reaches(0.0, 1.0), Some(0.0));
    assert_eq!(bent.reaches(-1.0, 1.0), Some(0.0));
}

#[test]
fn identical_paths_never_reach_an_error() {
    assert_eq!(linear::inverse(Vec3::ZERO, Vec3::ZERO, 1e-12, 1e9), None);
    assert_eq!(straight(Vec3::ZERO, Vec3::ZERO).reaches(1e-12, 1e3), None);
}

#[test]
fn the_inverse_finds_the_time_at_which_paths_meet() {
    // |1 - t| up to the meeting at t = 1 is 1/2.
    let (p, v) = (Vec3::xy(1.0, 0.0), Vec3::xy(-1.0, 0.0));
    let found = linear::inverse(p, v, 0.5, 3.0).expect("reached when they meet");
    // There the integral is flat: half a rounding of 1/2 moves the time by its square root.
    assert!((found - 1.0).abs() < 3e-8, "{found}");
}
