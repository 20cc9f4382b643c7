//! The export error between paths of any kind, against an independent quadrature in 32 digits and against the thesis'
//! chord.

#[path = "support/dd.rs"]
mod dd;
#[path = "support/quadrature.rs"]
mod quadrature;

use dd::Dd;
use evenkeel_core::{SessionTime, Span, Vec3};
use evenkeel_dr::motion::fading::DAMPING;
use evenkeel_dr::motion::linear;
use evenkeel_dr::motion::vector::TURN_RATE_MAX;
use evenkeel_dr::{Divergence, DrVector, MotionKind, MotionState, export_error};
use proptest::prelude::*;
use quadrature::Rule;

const TOLERANCE: f64 = 1e-9;

/// The displacement of a unit velocity along x in `t` while it turns at `rate`, by its power series.
fn displacement(rate: f64, t: Dd) -> [Dd; 2] {
    let angle = Dd::from(rate) * t;
    let (mut term, mut sum) = (t, [Dd::ZERO; 2]);
    for n in 0..60 {
        let signed = if n % 4 < 2 { term } else { -term };
        sum[n % 2] = sum[n % 2] + signed;
        term = term * angle / Dd::from(n as f64 + 2.0);
    }
    sum
}

/// The displacement that a unit acceleration along x adds in `t` while it turns at `rate` and decays, by its power
/// series: its n-th derivative is τ times the difference of (iw)^n and (iw - 1/τ)^n.
fn faded(rate: f64, t: Dd) -> [Dd; 2] {
    let (turn, fall) = (Dd::from(rate) * t, -t / Dd::from(DAMPING));
    // Powers of both, divided by (n + 1)!.
    let (mut kept, mut lost) = ([t, Dd::ZERO], [t, Dd::ZERO]);
    let mut sum = [Dd::ZERO; 2];
    for n in 0..80 {
        sum = [sum[0] + kept[0] - lost[0], sum[1] + kept[1] - lost[1]];
        // Stop when the remaining terms vanish: these tests spend most of their time here.
        if lost.iter().all(|term| term.to_f64().abs() < 1e-34 * t.to_f64()) {
            break;
        }
        let factor = Dd::from(n as f64 + 2.0);
        kept = [-kept[1] * turn / factor, kept[0] * turn / factor];
        lost = [(lost[0] * fall - lost[1] * turn) / factor, (lost[1] * fall + lost[0] * turn) / factor];
    }
    sum.map(|axis| axis * Dd::from(DAMPING))
}

/// The distance after `t`: the difference of both displacements, with digits to spare.
fn distance(divergence: &Divergence, t: Dd) -> Dd {
    let Divergence { position: p, velocity: v, second_velocity: u, acceleration: a, turn_rates, .. } =
        *divergence;
    let (f, g) = (divergence.fading, divergence.second_fading);
    let [first, second] = turn_rates.map(|rate| displacement(rate, t));
    let faded = |rate: f64, of: Vec3| if of == Vec3::ZERO { [Dd::ZERO; 2] } else { faded(rate, t) };
    let (first_faded, second_faded) = (faded(turn_rates[0], f + g), faded(turn_rates[1], g));
    let square = t * t * Dd::from(0.5);
    let (vx, vy) = (Dd::from(v.x) + Dd::from(u.x), Dd::from(v.y) + Dd::from(u.y));
    let (ux, uy) = (Dd::from(u.x), Dd::from(u.y));
    let turned = |[along, aside]: [Dd; 2], x: Dd, y: Dd| [x * along - y * aside, x * aside + y * along];
    let ([x1, y1], [x2, y2]) = (turned(first, vx, vy), turned(second, ux, uy));
    let (fx, fy) = (Dd::from(f.x) + Dd::from(g.x), Dd::from(f.y) + Dd::from(g.y));
    let ([fx1, fy1], [fx2, fy2]) =
        (turned(first_faded, fx, fy), turned(second_faded, Dd::from(g.x), Dd::from(g.y)));
    let x = Dd::from(p.x) + x1 - x2 + fx1 - fx2 + Dd::from(a.x) * square;
    let y = Dd::from(p.y) + y1 - y2 + fy1 - fy2 + Dd::from(a.y) * square;
    let z = Dd::from(p.z) + Dd::from(v.z) * t + Dd::from(a.z) * square + Dd::from(f.z) * faded(0.0, f)[0];
    (x * x + y * y + z * z).sqrt()
}

/// The local minima of the distance in (0, h).
fn closest(divergence: &Divergence, h: f64) -> Vec<Dd> {
    const SAMPLES: usize = 60;
    let at = |i: usize| h * i as f64 / SAMPLES as f64;
    let far = |t: f64| distance(divergence, Dd::from(t));
    let samples: Vec<f64> = (0..=SAMPLES).map(|i| far(at(i)).to_f64()).collect();
    let mut minima = Vec::new();
    for i in 1..SAMPLES {
        if samples[i] > samples[i - 1] || samples[i] >= samples[i + 1] {
            continue;
        }
        let (mut low, mut high) = (at(i - 1), at(i + 1));
        for _ in 0..80 {
            let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if (far(left) - far(right)).to_f64() <= 0.0 {
                high = right;
            } else {
                low = left;
            }
        }
        minima.push(Dd::from(low));
    }
    minima
}

fn check(rule: &Rule, divergence: &Divergence, h: f64) -> Result<(), TestCaseError> {
    let kinks = closest(divergence, h);
    let truth = rule.integrate(|t| distance(divergence, t), Dd::from(h), &kinks).to_f64();
    let ours = divergence.integral(h);
    // Paths that fork are apart by less than numbers can tell for the first microsecond.
    prop_assert!(
        (ours - truth).abs() <= TOLERANCE * truth + 1e-28,
        "{divergence:?} over {h:e}: got {ours:e}, expected {truth:e}, off by {:e}",
        (ours - truth) / truth
    );
    Ok(())
}

fn magnitude(orders: core::ops::Range<f64>) -> impl Strategy<Value = f64> {
    orders.prop_map(|order| libm::pow(10.0, order))
}

fn vector(size: f64) -> impl Strategy<Value = Vec3> {
    let component = || -size..size;
    let space = (component(), component(), component()).prop_map(|(x, y, z)| Vec3::new(x, y, z));
    prop_oneof![space, (component(), component()).prop_map(|(x, y)| Vec3::xy(x, y))]
}

fn turn_rate() -> impl Strategy<Value = f64> {
    prop_oneof![-0.8..0.8f64, -3.0..3.0f64, magnitude(-12.0..-2.0), Just(core::f64::consts::FRAC_PI_4)]
}

fn state() -> impl Strategy<Value = MotionState> {
    (vector(20.0), vector(25.0), vector(20.0), turn_rate()).prop_map(
        |(position, velocity, acceleration, turn_rate)| MotionState {
            position,
            velocity,
            acceleration,
            turn_rate,
        },
    )
}

fn kind() -> impl Strategy<Value = MotionKind> {
    proptest::sample::select(&MotionKind::ALL[..])
}

fn path() -> impl Strategy<Value = DrVector> {
    (state(), kind(), 0..2_000_000_000i64)
        .prop_map(|(state, kind, at)| DrVector::generate(SessionTime::from_nanos(at), &state, kind))
}

fn interval() -> impl Strategy<Value = f64> {
    prop_oneof![magnitude(-9.0..0.4771), 0.01..3.0f64]
}

const START: SessionTime = SessionTime::from_nanos(2_000_000_000);

/// Two circular paths through the origin with the same velocity and different turn rates.
fn fork(velocity: Vec3, rates: [f64; 2]) -> Divergence {
    let arc = |turn_rate| MotionState { velocity, turn_rate, ..MotionState::default() };
    let [first, second] = rates.map(|rate| DrVector::generate(START, &arc(rate), MotionKind::Circular));
    Divergence::between(&first, &second, START)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn paths_of_any_two_kinds_agree_with_quadrature(first in path(), second in path(), h in interval()) {
        check(&Rule::new(), &Divergence::between(&first, &second, START), h)?;
    }

    #[test]
    fn paths_that_start_together_agree_with_quadrature(first in path(), second in path(), h in interval()) {
        let position = Vec3::ZERO;
        check(&Rule::new(), &Divergence { position, ..Divergence::between(&first, &second, START) }, h)?;
    }

    #[test]
    fn paths_that_nearly_meet_agree_with_quadrature(
        first in path(), second in path(), h in interval(), part in 0.01..0.99f64,
        miss in vector(1.0), size in prop_oneof![magnitude(-12.0..-3.0), Just(0.0)],
    ) {
        let mut divergence = Divergence { position: Vec3::ZERO, ..Divergence::between(&first, &second, START) };
        divergence.position = miss * size - divergence.at(part * h);
        check(&Rule::new(), &divergence, h)?;
    }

    #[test]
    fn arcs_that_fork_agree_with_quadrature(
        velocity in vector(25.0), rate in turn_rate(), case in 0..4, h in interval(),
    ) {
        let other = [-rate, 0.0, rate + 0.01, 0.5 * rate][case as usize];
        prop_assume!(velocity.x.abs() + velocity.y.abs() > 1e-3);
        check(&Rule::new(), &fork(velocity, [rate, other]), h)?;
    }

    #[test]
    fn damped_paths_that_fork_agree_with_quadrature(
        start in state(), thrust in vector(20.0), rate in turn_rate(), same_rate: bool, h in interval(),
    ) {
        prop_assume!(thrust.length() > 1e-3);
        let other = MotionState {
            acceleration: start.acceleration + thrust,
            turn_rate: if same_rate { start.turn_rate } else { rate },
            ..start
        };
        let [first, second] = [start, other].map(|s| DrVector::generate(START, &s, MotionKind::Damped));
        check(&Rule::new(), &Divergence::between(&first, &second, START), h)?;
    }

    #[test]
    fn paths_with_the_largest_sane_turn_rate_agree_with_quadrature(
        first in state(), second in state(), spin in -1.0..1.0f64, h in magnitude(-4.0..-1.0),
    ) {
        let first = MotionState { turn_rate: spin * TURN_RATE_MAX, ..first };
        let [first, second] = [first, second].map(|s| DrVector::generate(START, &s, MotionKind::Circular));
        let position = Vec3::ZERO;
        check(&Rule::new(), &Divergence { position, ..Divergence::between(&first, &second, START) }, h)?;
        check(&Rule::new(), &Divergence::between(&first, &second, START), h)?;
    }

    #[test]
    fn arcs_with_the_same_turn_rate_agree_with_quadrature(
        first in state(), second in state(), h in interval(),
    ) {
        let second = MotionState { turn_rate: first.turn_rate, ..second };
        let [first, second] = [first, second].map(|s| DrVector::generate(START, &s, MotionKind::Circular));
        check(&Rule::new(), &Divergence::between(&first, &second, START), h)?;
    }

    #[test]
    fn the_divergence_is_the_difference_of_the_projections(
        first in path(), second in path(), nanos in 0..3_000_000_000i64,
    ) {
        let later = START + Span::from_nanos(nanos);
        let divergence = Divergence::between(&first, &second, START);
        let expected = first.project(later) - second.project(later);
        let found = divergence.at(Span::from_nanos(nanos).as_secs_f64());
        prop_assert!(found.distance(expected) < 1e-11, "{found:?} {expected:?}");
    }
}

#[test]
fn a_near_miss_of_parabolas_agrees_with_quadrature() {
    let divergence = Divergence {
        position: Vec3::new(-0.8965213692637194, -0.3435137009249291, -0.3972661762324969),
        velocity: Vec3::new(35.255459625404015, 13.395884448713417, 15.621635387000413),
        acceleration: Vec3::new(17.828375358763, 15.75148782272191, 7.899723400471387),
        ..Divergence::default()
    };
    check(&Rule::new(), &divergence, 2.7526088533364183e-2).expect("agrees");
}

#[test]
fn a_vector_has_no_error_against_itself() {
    let state = MotionState {
        position: Vec3::new(3.0, -7.0, 1.0),
        velocity: Vec3::new(11.0, 5.0, -1.0),
        acceleration: Vec3::xy(2.0, 1.0),
        turn_rate: 0.7,
    };
    for kind in MotionKind::ALL {
        let vector = DrVector::generate(START, &state, kind);
        assert_eq!(export_error(&vector, &vector, START, START + Span::from_secs(2)), 0.0, "{kind:?}");
    }
}

/// The thesis' appendix B: the closed form of `calcError`, for a difference of positions and of chord velocities.
fn printed_closed_form(p: Vec3, v: Vec3, t: f64) -> f64 {
    let a = v.x * v.x + v.y * v.y;
    let b = 2.0 * p.x * v.x + 2.0 * p.y * v.y;
    let c = p.x * p.x + p.y * p.y;
    if a == 0.0 {
        return c.sqrt() * t;
    }
    let antiderivative = |t: f64| {
        let root = (a * t * t + b * t + c).sqrt();
        let log = libm::log((0.5 * b + a * t) / a.sqrt() + root);
        0.25 * ((2.0 * a * t + b) * root / a) + 0.5 * log * c / a.sqrt()
            - 0.125 * log * b * b * libm::pow(a, -1.5)
    };
    antiderivative(t) - antiderivative(0.0)
}

#[test]
fn the_chord_of_the_thesis_overstates_a_fresh_divergence_by_half() {
    let divergence = fork(Vec3::xy(25.0, 0.0), [core::f64::consts::FRAC_PI_4, 0.0]);
    for h in [1e-1, 1e-2, 1e-3, 1e-4] {
        let arc = divergence.integral(h);
        // To first order the distance is speed x turn rate x t^2 / 2.
        let expected = 25.0 * core::f64::consts::FRAC_PI_4 * h * h * h / 6.0;
        assert!((arc / expected - 1.0).abs() < h, "{h}: {arc} is not {expected}");
        let chord = linear::integral(Vec3::ZERO, divergence.at(h) * (1.0 / h), h);
        assert!((chord / arc - 1.5).abs() < h, "{h}: the chord gives {chord}, the arc {arc}");
    }
}

#[test]
fn the_closed_form_of_the_thesis_is_nan_where_paths_are_collinear_or_meet() {
    let (p, v) = (Vec3::xy(3.0, -1.0), Vec3::xy(2.0, 5.0));
    let (printed, ours) = (printed_closed_form(p, v, 0.8), linear::integral(p, v, 0.8));
    assert!((printed / ours - 1.0).abs() < 1e-12, "{printed} {ours}");

    let (here, towards) = (Vec3::xy(1.0, 0.0), Vec3::xy(-1.0, 0.0));
    assert!(printed_closed_form(Vec3::ZERO, here, 1.0).is_nan());
    assert!(printed_closed_form(here, towards, 0.5).is_nan());
    assert!(printed_closed_form(here, towards, 2.0).is_nan());
    assert_eq!(linear::integral(Vec3::ZERO, here, 1.0), 0.5);
    assert_eq!(linear::integral(here, towards, 0.5), 0.375);
    assert_eq!(linear::integral(here, towards, 2.0), 1.0);
}
