//! The export error between linear paths is within 1e-14 of an independent quadrature in 32 digits, for all input
//! that games have and for the input on which the papers' code fails.

#[path = "support/dd.rs"]
mod dd;
#[path = "support/quadrature.rs"]
mod quadrature;

use dd::Dd;
use evenkeel_core::Vec3;
use evenkeel_dr::motion::linear;
use proptest::prelude::*;
use quadrature::Rule;

const TOLERANCE: f64 = 1e-14;
/// The relative error that monotonicity may have: a few roundings.
const ROUNDINGS: f64 = 8.0 * f64::EPSILON;

fn coordinates(v: Vec3) -> [Dd; 3] {
    [v.x, v.y, v.z].map(Dd::from)
}

fn dot(a: [Dd; 3], b: [Dd; 3]) -> Dd {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The integral of |p + v t| over [0, h], split where the paths come closest.
fn reference(rule: &Rule, p: Vec3, v: Vec3, h: f64) -> f64 {
    let (p, v, h) = (coordinates(p), coordinates(v), Dd::from(h));
    let distance = |t: Dd| {
        let at = [0, 1, 2].map(|i| p[i] + v[i] * t);
        dot(at, at).sqrt()
    };
    let speed = dot(v, v);
    let closest = if speed.to_f64() > 0.0 { -dot(p, v) / speed } else { Dd::ZERO };
    let inside = closest.to_f64() > 0.0 && (h - closest).to_f64() > 0.0;
    let kinks = if inside { vec![closest] } else { Vec::new() };
    rule.integrate(distance, h, &kinks).to_f64()
}

fn check(rule: &Rule, p: Vec3, v: Vec3, h: f64) -> Result<(), TestCaseError> {
    let (ours, truth) = (linear::integral(p, v, h), reference(rule, p, v, h));
    let error = (ours - truth).abs();
    prop_assert!(error <= TOLERANCE * truth, "p {p:?} v {v:?} h {h:e}: got {ours:e}, expected {truth:e}");
    Ok(())
}

/// A positive number, log-uniform between powers of ten.
fn magnitude(orders: core::ops::Range<f64>) -> impl Strategy<Value = f64> {
    orders.prop_map(|order| libm::pow(10.0, order))
}

/// A direction in the plane or in space.
fn direction() -> impl Strategy<Value = Vec3> {
    let component = -1.0..1.0f64;
    (component.clone(), component.clone(), component, any::<bool>()).prop_filter_map(
        "a direction has a length",
        |(x, y, z, plane)| {
            let v = Vec3::new(x, y, if plane { 0.0 } else { z });
            (v.length() > 0.1).then(|| v * (1.0 / v.length()))
        },
    )
}

fn vector(orders: core::ops::Range<f64>) -> impl Strategy<Value = Vec3> {
    prop_oneof![
        9 => (direction(), magnitude(orders)).prop_map(|(direction, size)| direction * size),
        1 => Just(Vec3::ZERO),
    ]
}

fn positions() -> impl Strategy<Value = Vec3> {
    vector(-12.0..6.0)
}

fn velocities() -> impl Strategy<Value = Vec3> {
    vector(-12.0..4.0)
}

fn intervals() -> impl Strategy<Value = f64> {
    magnitude(-9.0..2.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_integral_agrees_with_quadrature_for_every_size_of_input(
        p in positions(), v in velocities(), h in intervals(),
    ) {
        check(&Rule::new(), p, v, h)?;
    }

    #[test]
    fn the_integral_agrees_with_quadrature_where_all_inputs_are_similar(
        p in vector(-1.0..1.0), v in vector(-1.0..1.0), h in magnitude(-1.0..1.0),
    ) {
        check(&Rule::new(), p, v, h)?;
    }

    #[test]
    fn the_integral_agrees_with_quadrature_on_collinear_paths_that_cross(
        p in positions(), crossing in 0.0..1.5f64, h in intervals(),
    ) {
        check(&Rule::new(), p, p * (-1.0 / (crossing * h + 1e-12)), h)?;
    }

    #[test]
    fn the_integral_agrees_with_quadrature_on_paths_that_nearly_meet(
        v in velocities(), miss in positions(), crossing in -0.2..1.2f64, h in intervals(),
        small in magnitude(-15.0..0.0),
    ) {
        let aside = v.cross(miss) * (1.0 / (miss.length() + 1e-300));
        check(&Rule::new(), v * (-crossing * h) + aside * (small * h), v, h)?;
    }

    #[test]
    fn the_integral_is_never_nan_and_never_negative(
        p in vector(-300.0..9.0), v in vector(-300.0..9.0), h in magnitude(-9.0..9.0),
    ) {
        prop_assert!(linear::integral(p, v, h) >= 0.0);
        prop_assert_eq!(linear::integral(p, v, -h), 0.0);
    }

    #[test]
    fn the_integral_does_not_decrease(
        p in positions(), v in velocities(), h in intervals(), part in 0.0..1.0f64,
    ) {
        let (shorter, longer) = (linear::integral(p, v, h * part), linear::integral(p, v, h));
        prop_assert!(shorter <= longer * (1.0 + ROUNDINGS), "{shorter:e} {longer:e}");
    }

    #[test]
    fn the_integral_does_not_decrease_from_one_floating_point_time_to_the_next(
        p in vector(-3.0..3.0), v in vector(-3.0..3.0), h in magnitude(-3.0..1.0),
    ) {
        let (before, after) = (linear::integral(p, v, h), linear::integral(p, v, h.next_up()));
        prop_assert!(before <= after * (1.0 + ROUNDINGS), "{before:e} {after:e}");
    }

    #[test]
    fn the_integral_is_the_sum_of_its_parts(
        p in vector(-3.0..3.0), v in vector(-3.0..3.0), h in magnitude(-3.0..1.0), part in 0.0..1.0f64,
    ) {
        let middle = h * part;
        let parts = linear::integral(p, v, middle) + linear::integral(p + v * middle, v, h - middle);
        let whole = linear::integral(p, v, h);
        // Rounding moves the start of the second part.
        let moved = f64::EPSILON * (p.length() + v.length() * h) * h;
        prop_assert!((parts - whole).abs() <= TOLERANCE * whole + 4.0 * moved);
    }
}

#[test]
fn the_integral_agrees_with_quadrature_at_the_corners() {
    let rule = Rule::new();
    let (east, north) = (Vec3::xy(1.0, 0.0), Vec3::xy(0.0, 1.0));
    let up = Vec3::new(0.3, -0.4, 1.2);
    for h in [1e-9, 1e-3, 1.0, 3.0, 100.0] {
        for size in [1e-12, 1e-6, 1.0, 25.0] {
            for (p, v) in [
                (Vec3::ZERO, east * size),
                (Vec3::ZERO, up * size),
                (up * size, Vec3::ZERO),
                (east * size, east * size),
                (east * size, -east * (size / h)),
                (east * size, -east * (2.0 * size / h)),
                (up * size, -up * (4.0 * size / h)),
                (north * size, east),
                (north, east * size),
            ] {
                check(&rule, p, v, h).expect("agrees");
            }
        }
    }
}

#[test]
fn identical_paths_have_no_error() {
    assert_eq!(linear::integral(Vec3::ZERO, Vec3::ZERO, 1.0), 0.0);
}
