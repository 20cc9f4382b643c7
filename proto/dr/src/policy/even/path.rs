//! The expected path of an entity: its current motion continued, while turn rate and acceleration decay.
//!
//! No turn lasts forever, and its length is unknown. A path whose turn rate and acceleration decay lies between going straight
//! and turning on, and is closer to the actual one than either.

use evenkeel_core::{SessionTime, Span, Vec3};

use crate::ledger::Kinematics;
use crate::motion::vector::{DrVector, MotionKind};

/// Time constant of the turn rate, in seconds.
const TURN_KEPT: f64 = 3.0;
/// Time constant of the acceleration, in seconds: vehicles soon reach their top speed.
const SPEED_KEPT: f64 = 1.5;
/// Time constant of the change of the turn rate, in seconds.
const BEND_KEPT: f64 = 0.8;
/// Seconds over which the change of the turn rate is averaged.
const BEND_SMOOTH: f64 = 0.12;
/// Seconds between two points of a path.
const STEP: f64 = 0.025;
/// The most points of a path (4 s); beyond, it goes straight on.
const POINTS_MAX: usize = 160;

/// The rate at which an entity's turn rate changes, the earliest sign of a new manoeuvre.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bend {
    seen: Option<(SessionTime, f64)>,
    /// Radians per second, per second.
    pub(super) change: f64,
}

impl Bend {
    pub(super) fn observe(&mut self, at: SessionTime, turn_rate: f64) {
        let Some((before, turned)) = self.seen.replace((at, turn_rate)) else { return };
        let seconds = (at - before).as_secs_f64();
        if seconds > 0.0 {
            let change = (turn_rate - turned) / seconds;
            self.change += (change - self.change) * (seconds / BEND_SMOOTH).min(1.0);
        }
    }
}

/// The factor of a decay over a step, and over half of one.
#[derive(Clone, Copy, Debug)]
struct Decay {
    step: f64,
    half: f64,
}

impl Decay {
    /// A decay with this time constant, in seconds.
    fn new(seconds: f64) -> Self {
        let step = libm::exp(-STEP / seconds);
        Self { step, half: step.sqrt() }
    }
}

/// The expected future of one entity.
#[derive(Clone, Debug)]
pub(super) struct Path {
    turn: Decay,
    speed: Decay,
    bend: Decay,
    start: SessionTime,
    points: Vec<Vec3>,
    velocity: Vec3,
}

impl Default for Path {
    fn default() -> Self {
        let (turn, speed, bend) = (Decay::new(TURN_KEPT), Decay::new(SPEED_KEPT), Decay::new(BEND_KEPT));
        let (start, points, velocity) = (SessionTime::default(), Vec::new(), Vec3::ZERO);
        Self { turn, speed, bend, start, points, velocity }
    }
}

impl Path {
    /// Predicts the path of an entity from an observation up to a time. Its turn rate initially changes by `bend` per second.
    pub(super) fn follow(&mut self, seen: &Kinematics, bend: f64, until: SessionTime) {
        let (mut position, mut velocity) = (seen.state.position, seen.state.velocity);
        // Each step uses the values at its midpoint.
        let mut turn = seen.state.turn_rate * self.turn.half;
        let mut acceleration = seen.state.acceleration * self.speed.half;
        let mut bend = bend * self.bend.half * STEP;
        self.start = seen.at;
        self.points.clear();
        self.points.push(position);
        let count = ((until - seen.at).as_secs_f64() / STEP).ceil().max(1.0) as usize;
        for _ in 0..count.min(POINTS_MAX) {
            turn += 0.5 * bend;
            let (sin, cos) = small_sincos(turn * STEP);
            let next = (velocity + acceleration * STEP).turned(cos, sin);
            position = position + (velocity + next) * (0.5 * STEP);
            self.points.push(position);
            acceleration = acceleration.turned(cos, sin) * self.speed.step;
            turn = (turn + 0.5 * bend) * self.turn.step;
            bend *= self.bend.step;
            velocity = next;
        }
        self.velocity = velocity;
    }

    /// The expected position at a time.
    pub(super) fn at(&self, at: SessionTime) -> Vec3 {
        self.after((at - self.start).as_secs_f64())
    }

    /// Seconds from the observation to a time.
    pub(super) fn age(&self, at: SessionTime) -> f64 {
        (at - self.start).as_secs_f64()
    }

    /// The expected position this many seconds after the observation.
    #[inline]
    pub(super) fn after(&self, seconds: f64) -> Vec3 {
        let steps = seconds.max(0.0) / STEP;
        let index = (steps as usize).min(self.points.len() - 1);
        let (here, part) = (self.points[index], steps - index as f64);
        match self.points.get(index + 1) {
            Some(next) => here + (*next - here) * part,
            None => here + self.velocity * (part * STEP),
        }
    }

    /// Seconds until it is farther than `distance` from a vector's path, at most `most`.
    pub(super) fn leaves(&self, vector: &DrVector, distance: f64, now: SessionTime, most: f64) -> f64 {
        let (age, straight) = (self.age(now), vector.kind == MotionKind::Linear);
        let (position, velocity) = (vector.project(now), vector.state.velocity);
        let off = |seconds: f64| {
            let there = if straight {
                position + velocity * seconds
            } else {
                vector.project(now + Span::from_secs_f64(seconds))
            };
            self.after(age + seconds).distance(there)
        };
        let (mut seconds, mut before) = (0.0, off(0.0));
        while before <= distance && seconds < most {
            let next = off(seconds + STEP);
            if next > distance {
                return (seconds + STEP * (distance - before) / (next - before)).min(most);
            }
            (seconds, before) = (seconds + STEP, next);
        }
        seconds.min(most)
    }
}

/// Sine and cosine, fast for small angles.
fn small_sincos(angle: f64) -> (f64, f64) {
    if angle.abs() > 0.1 {
        return libm::sincos(angle);
    }
    let x = angle * angle;
    (angle * (1.0 - x * (1.0 / 6.0 - x / 120.0)), 1.0 - x * (0.5 - x * (1.0 / 24.0 - x / 720.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::vector::MotionState;

    const START: SessionTime = SessionTime::from_nanos(5_000_000_000);

    fn driving(turn_rate: f64) -> Kinematics {
        let state = MotionState { velocity: Vec3::xy(20.0, 0.0), turn_rate, ..MotionState::default() };
        Kinematics { at: START, state }
    }

    fn followed(seen: &Kinematics, bend: f64) -> Path {
        let mut path = Path::default();
        path.follow(seen, bend, START + Span::from_secs(1));
        path
    }

    #[test]
    fn a_straight_path_stays_on_its_vector() {
        let seen = driving(0.0);
        let path = followed(&seen, 0.0);
        let vector = DrVector::generate(START, &seen.state, MotionKind::Linear);
        for millis in [0, 7, 500, 1_000, 3_000] {
            let at = START + Span::from_millis(millis);
            assert!(path.at(at).distance(vector.project(at)) < 1e-9, "after {millis} ms");
        }
        assert_eq!(path.leaves(&vector, 0.09, START, 0.7), 0.7);
    }

    #[test]
    fn a_turning_path_leaves_its_vector_when_the_arc_does() {
        let seen = driving(0.5);
        let vector = DrVector::generate(START, &seen.state, MotionKind::Linear);
        let leaves = followed(&seen, 0.0).leaves(&vector, 0.2, START, 0.7);
        // An arc of 10 units/s² sideways is 0.2 off after 0.2 s; the turn has hardly decayed by then.
        assert!((leaves - 0.2).abs() < 0.01, "{leaves}");
    }

    #[test]
    fn a_rising_turn_rate_bends_the_path_early() {
        let mut bend = Bend::default();
        for tick in 0..20 {
            bend.observe(START + Span::from_millis(20 * tick), 0.02 * tick as f64);
        }
        assert!((bend.change - 1.0).abs() < 0.05, "{}", bend.change);
        let seen = driving(0.0);
        let later = START + Span::from_millis(500);
        assert!(followed(&seen, bend.change).at(later).y > 0.1);
        assert!(followed(&seen, 0.0).at(later).y.abs() < 1e-9);
    }

    #[test]
    fn small_sincos_matches_libm() {
        for step in -100..=100 {
            let angle = f64::from(step) * 0.001;
            let (sin, cos) = small_sincos(angle);
            assert!(
                (sin - libm::sin(angle)).abs() < 1e-10 && (cos - libm::cos(angle)).abs() < 1e-10,
                "{angle}"
            );
        }
    }
}
