//! What vectors hold: damped motion in its closed form, and `auto`, which finds the kind that serves best, for each entity and
//! for each receiver.

#[path = "support/net.rs"]
mod net;

use evenkeel_core::{SessionTime, Span, Vec3};
use evenkeel_dr::fading::DAMPING;
use evenkeel_dr::vector::{MAGNITUDE_MAX, TURN_RATE_MAX};
use evenkeel_dr::{
    Content, DrConfig, DrEvent, DrVector, EntityId, MotionKind, MotionState, PolicyKind, Threshold,
    export_error,
};
use evenkeel_session::envelope::TIME_MAX;
use net::{Net, millis};
use proptest::prelude::*;

const START: SessionTime = SessionTime::from_nanos(3_000_000_000);
const TANK: EntityId = EntityId(7);

fn vec3(size: f64) -> impl Strategy<Value = Vec3> {
    let axis = || -size..size;
    (axis(), axis(), axis()).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

fn state() -> impl Strategy<Value = MotionState> {
    let rate = prop_oneof![-3.0..3.0f64, -1e-4..1e-4f64, Just(0.0), -TURN_RATE_MAX..TURN_RATE_MAX];
    (vec3(50.0), vec3(30.0), vec3(25.0), rate).prop_map(|(position, velocity, acceleration, turn_rate)| {
        MotionState { position, velocity, acceleration, turn_rate }
    })
}

fn damped(state: &MotionState) -> DrVector {
    DrVector::generate(START, state, MotionKind::Damped)
}

/// Position and velocity after so many seconds, by the law alone: the velocity turns, the acceleration turns along and
/// dies away. The classical method of Runge and Kutta.
fn driven(state: &MotionState, seconds: f64, steps: u32) -> (Vec3, Vec3) {
    let w = state.turn_rate;
    let turn = |v: Vec3| Vec3::xy(-v.y, v.x) * w;
    let law = |[_, v, a]: [Vec3; 3]| [v, turn(v) + a, turn(a) - a * (1.0 / DAMPING)];
    let add = |s: [Vec3; 3], d: [Vec3; 3], h: f64| [s[0] + d[0] * h, s[1] + d[1] * h, s[2] + d[2] * h];
    let h = seconds / f64::from(steps);
    let mut s = [Vec3::ZERO, state.velocity, state.acceleration];
    for _ in 0..steps {
        let k1 = law(s);
        let k2 = law(add(s, k1, 0.5 * h));
        let k3 = law(add(s, k2, 0.5 * h));
        let k4 = law(add(s, k3, h));
        for (k, weight) in [(k1, 1.0), (k2, 2.0), (k3, 2.0), (k4, 1.0)] {
            s = add(s, k, weight * h / 6.0);
        }
    }
    (state.position + s[0], s[1])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_closed_form_of_damped_motion_is_its_law_integrated(
        state in state(), nanos in prop_oneof![-300_000_000..3_000_000_000i64, 0..200_000i64],
    ) {
        let at = START + Span::from_nanos(nanos);
        let seconds = Span::from_nanos(nanos).as_secs_f64();
        let steps = (seconds.abs() * (10.0 + state.turn_rate.abs()) * 150.0) as u32 + 20;
        let (position, velocity) = driven(&state, seconds, steps);
        let vector = damped(&state);
        let off = vector.project(at).distance(position);
        prop_assert!(off < 1e-7 * (1.0 + seconds.abs()), "off by {off:e} after {seconds} s");
        let off = vector.velocity(at).distance(velocity);
        prop_assert!(off < 1e-6 * (1.0 + seconds.abs()), "velocity off by {off:e} after {seconds} s");
    }

    #[test]
    fn a_damped_path_that_is_cut_goes_on(
        state in state(), cut in 0..2_000_000_000i64, on in 0..2_000_000_000i64,
    ) {
        let vector = damped(&state);
        let there = START + Span::from_nanos(cut);
        let later = there + Span::from_nanos(on);
        let state = MotionState {
            position: vector.project(there),
            velocity: vector.velocity(there),
            acceleration: vector.fading(there),
            ..state
        };
        let again = DrVector::generate(there, &state, MotionKind::Damped);
        prop_assert!(again.project(later).distance(vector.project(later)) < 1e-10);
        prop_assert!(export_error(&vector, &again, there, later) < 1e-9);
    }

    #[test]
    fn without_acceleration_damped_is_circular(state in state(), nanos in -1_000_000_000..9_000_000_000i64) {
        let state = MotionState { acceleration: Vec3::ZERO, ..state };
        let circular = DrVector::generate(START, &state, MotionKind::Circular);
        let at = START + Span::from_nanos(nanos);
        prop_assert_eq!(damped(&state).project(at), circular.project(at));
        prop_assert_eq!(damped(&state).velocity(at), circular.velocity(at));
    }
}

#[test]
fn nothing_that_is_sane_leads_to_infinity() {
    let huge = Vec3::new(MAGNITUDE_MAX, -MAGNITUDE_MAX, MAGNITUDE_MAX);
    let other = MotionState { velocity: huge, ..MotionState::default() };
    for turn_rate in [0.0, 1e-300, -1e-9, TURN_RATE_MAX] {
        let vector = damped(&MotionState { position: huge, velocity: huge, acceleration: -huge, turn_rate });
        let linear = DrVector::generate(START, &other, MotionKind::Linear);
        for nanos in [-TIME_MAX, -1_000_000_000, -1, 0, 1, 1_000_000_000, TIME_MAX] {
            let at = SessionTime::from_nanos(nanos);
            assert!(vector.project(at).within(f64::MAX) && vector.velocity(at).within(f64::MAX), "{nanos}");
            let error = export_error(&vector, &linear, at, at + Span::from_secs(3_600));
            assert!(error.is_finite() && error >= 0.0, "{error} from {nanos} on");
        }
    }
}

/// A tank at constant speed whose turn rate is a function of time, every 20 ms.
fn drive(seconds: i64, turn_rate: impl Fn(f64) -> f64) -> Vec<MotionState> {
    const FINE: i64 = 20;
    let (mut position, mut heading, speed, h) = (Vec3::ZERO, 0.0, 20.0, 0.02 / FINE as f64);
    let mut states = Vec::new();
    for step in 0..seconds * 50 * FINE {
        let turn_rate = turn_rate(step as f64 * h);
        if step % FINE == 0 {
            let (sin, cos) = libm::sincos(heading);
            let velocity = Vec3::xy(speed * cos, speed * sin);
            states.push(MotionState { position, velocity, acceleration: Vec3::ZERO, turn_rate });
        }
        let (sin, cos) = libm::sincos(heading + 0.5 * turn_rate * h);
        position = position + Vec3::xy(cos, sin) * (speed * h);
        heading += turn_rate * h;
    }
    states
}

fn config(kind: Content) -> DrConfig {
    DrConfig {
        threshold: Threshold { distance: 0.09, time: Some(Span::from_secs(1)) },
        kind,
        policy: PolicyKind::BASE,
        ..DrConfig::default()
    }
}

/// The owner drives along these states, and receivers watch.
fn watched(kind: Content, delays: &[Span], states: &[MotionState]) -> Net {
    let mut net = Net::star(&config(kind), delays);
    for state in states {
        net.observe(TANK.0, *state);
        net.run_for(millis(20));
    }
    net
}

/// The kind of the last exported vector.
fn exported(net: &Net) -> MotionKind {
    net.peers[0].exported_vector(TANK).expect("it is exported").kind
}

/// The kind of the last vector that was sent to a receiver.
fn shown(net: &Net, receiver: usize) -> MotionKind {
    net.vectors_to(receiver).last().expect("it was sent something").1.vector.kind
}

#[test]
fn auto_turns_with_who_turns() {
    let net = watched(Content::Auto, &[millis(50), millis(400)], &drive(20, |_| 0.7));
    assert_eq!(exported(&net), MotionKind::Circular);
    assert_eq!((shown(&net, 1), shown(&net, 2)), (MotionKind::Circular, MotionKind::Circular));
}

#[test]
fn auto_goes_straight_with_who_wags_its_tail() {
    // Turns that last for a tenth of a second are over before anybody hears of them.
    let net = watched(Content::Auto, &[millis(200)], &drive(20, |t| 2.0 * libm::sin(30.0 * t)));
    assert_eq!(exported(&net), MotionKind::Linear);
}

#[test]
fn auto_finds_out_that_it_has_changed() {
    let states = drive(40, |t| if t < 20.0 { 0.7 } else { 2.0 * libm::sin(30.0 * t) });
    let net = watched(Content::Auto, &[millis(200)], &states[..50 * 19]);
    assert_eq!(exported(&net), MotionKind::Circular);
    let net = watched(Content::Auto, &[millis(200)], &states);
    assert_eq!(exported(&net), MotionKind::Linear);
}

#[test]
fn auto_speeds_up_with_who_speeds_up() {
    // Faster, slower, faster: three seconds each.
    let (mut position, mut speed, mut states) = (0.0, 0.0, Vec::new());
    for step in 0..1_500 {
        let thrust = if step / 150 % 2 == 0 { 8.0 } else { -8.0 };
        let (position_now, velocity) = (Vec3::xy(position, 0.0), Vec3::xy(speed, 0.0));
        let acceleration = Vec3::xy(thrust, 0.0);
        states.push(MotionState { position: position_now, velocity, acceleration, turn_rate: 0.0 });
        position += speed * 0.02 + 0.5 * thrust * 0.02 * 0.02;
        speed += thrust * 0.02;
    }
    let net = watched(Content::Auto, &[millis(200)], &states);
    assert!(matches!(exported(&net), MotionKind::Damped | MotionKind::Quadratic), "{:?}", exported(&net));
}

/// The mean distance between the real and the placed position of the second half, at each receiver.
fn mean_errors(kind: Content, delays: &[Span], states: &[MotionState]) -> Vec<f64> {
    let mut net = Net::star(&config(kind), delays);
    let mut sums = vec![0.0; delays.len()];
    for (step, state) in states.iter().enumerate() {
        net.observe(TANK.0, *state);
        if step >= states.len() / 2 {
            for (index, sum) in sums.iter_mut().enumerate() {
                let placed = net.peers[index + 1].position(net.now, evenkeel_core::PeerId(0), TANK);
                *sum += placed.expect("it is there").distance(state.position);
            }
        }
        net.run_for(millis(20));
    }
    sums.iter().map(|sum| sum / (states.len() / 2) as f64).collect()
}

#[test]
fn who_dodges_turns_for_those_nearby_and_goes_straight_for_those_far_away() {
    let dodging = drive(40, |t| 0.785 * libm::sin(std::f64::consts::TAU * t));
    let delays = [millis(50), millis(800)];
    let net = watched(Content::Auto, &delays, &dodging);
    assert_ne!(shown(&net, 1), MotionKind::Linear);
    assert_eq!(shown(&net, 2), MotionKind::Linear);
    let of = |kind: Content| mean_errors(kind, &delays, &dodging);
    let auto = of(Content::Auto);
    for kind in MotionKind::ALL {
        let fixed = of(kind.into());
        let both = |errors: &[f64]| errors[0] / auto[0] + errors[1] / auto[1];
        assert!(both(&fixed) > 2.15, "{kind:?}: {fixed:?}, auto: {auto:?}");
    }
}

#[test]
fn the_books_know_as_which_kind_a_vector_was_sent() {
    let dodging = drive(30, |t| 0.785 * libm::sin(std::f64::consts::TAU * t));
    let net = watched(Content::Auto, &[millis(50), millis(800)], &dodging);
    assert_ne!(shown(&net, 1), shown(&net, 2), "there is something to know");
    for receiver in [1, 2] {
        let ledger = net.peers[0].ledger().expect("the owner keeps the books");
        let peer = evenkeel_core::PeerId(receiver as u32);
        let (settled, until) =
            ledger.pair(TANK, peer).and_then(|pair| pair.settled()).expect("it is settled");
        assert!((settled - truth(&net, receiver, until)).abs() < 1e-6 * settled, "receiver {receiver}");
    }
}

/// The export error of a receiver up to a time, by what it was told and what was exported.
fn truth(net: &Net, receiver: usize, until: SessionTime) -> f64 {
    let (mut error, mut exported, mut placed, mut from) = (0.0, None, None, SessionTime::MIN);
    for (at, node, event) in &net.events {
        let at = SessionTime::from_nanos(at.as_nanos()).min(until);
        if let (Some(exported), Some(placed)) = (&exported, &placed) {
            error += export_error(exported, placed, from, at);
        }
        from = at;
        match event {
            DrEvent::Generated { vector, .. } if *node == 0 => exported = Some(*vector),
            DrEvent::Arrived { placed: Some(vector), .. } if *node == receiver => placed = Some(*vector),
            _ => {}
        }
    }
    match (exported, placed) {
        (Some(exported), Some(placed)) => error + export_error(&exported, &placed, from, until),
        _ => error,
    }
}
