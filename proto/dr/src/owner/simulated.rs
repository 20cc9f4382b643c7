//! Simulated receivers: how well each kind of motion would have predicted an entity lately.
//!
//! Vectors of each kind travel to imaginary receivers at a few delays. What those would show is compared with the real path. An
//! owner thereby picks the kind that it exports (`kind_selector.rs`), and a sender the kind that each receiver is sent
//! (`sender/receiver_kinds.rs`).

use std::collections::VecDeque;

use evenkeel_core::{SessionTime, Span, Vec3};

use super::Threshold;
use crate::motion::{DrVector, MotionKind, MotionState};

/// The delays of the receivers, in milliseconds.
const DELAYS_MS: [i64; DELAYS] = [50, 100, 200, 400, 800];
const DELAYS: usize = 5;
pub(super) const KINDS: usize = MotionKind::ALL.len();
/// Vectors on their way to the farthest receiver; beyond, the oldest counts as arrived.
const IN_FLIGHT_MAX: usize = 64;
/// The time constant of the means, in seconds.
pub(super) const MEMORY: f64 = 8.0;
/// The time before the first choice, in seconds.
const SECONDS_MIN: f64 = 2.0;
/// The shortest time between two measurements of errors.
const MEASURE_INTERVAL: Span = Span::from_millis(15);
/// The part by which another kind must be better. Alternating kinds would make paths jump.
const MARGIN: f64 = 0.1;
/// The part of the threshold below which differences of error do not count.
const ERROR_FLOOR: f64 = 0.01;

/// Vectors of one state, one for each kind that is set.
#[derive(Clone, Copy, Debug)]
struct SimulatedVector {
    at: SessionTime,
    state: MotionState,
    kinds: [bool; KINDS],
}

/// The receiver of one kind at one delay: the vector that it shows, and its mean error.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    shown: Option<DrVector>,
    skipped: u8,
    error: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct SimulatedReceivers {
    /// Differences of error below this do not count.
    error_floor: f64,
    /// One in this many vectors is sent.
    one_in: u8,
    in_flight: VecDeque<SimulatedVector>,
    /// The number of the first vector in flight.
    first: u64,
    /// The number of the next vector to arrive at each delay.
    next: [u64; DELAYS],
    trials: [[Trial; DELAYS]; KINDS],
    measured: Option<SessionTime>,
    /// The time that was measured, in seconds.
    seconds: f64,
}

impl SimulatedReceivers {
    pub(crate) fn new(threshold: Threshold, one_in: u8) -> Self {
        Self {
            error_floor: ERROR_FLOOR * threshold.distance,
            one_in,
            in_flight: VecDeque::new(),
            first: 0,
            next: [0; DELAYS],
            trials: [[Trial::default(); DELAYS]; KINDS],
            measured: None,
            seconds: 0.0,
        }
    }

    /// Sends vectors of this state, one for each kind that is set.
    pub(crate) fn generate(&mut self, state: &MotionState, kinds: [bool; KINDS], at: SessionTime) {
        if self.in_flight.len() == IN_FLIGHT_MAX {
            for delay in 0..DELAYS {
                if self.next[delay] == self.first {
                    self.arrive(delay);
                }
            }
            self.in_flight.pop_front();
            self.first += 1;
        }
        self.in_flight.push_back(SimulatedVector { at, state: *state, kinds });
    }

    fn arrive(&mut self, delay: usize) {
        let sent = self.in_flight[(self.next[delay] - self.first) as usize];
        for (kind, trials) in MotionKind::ALL.into_iter().zip(&mut self.trials) {
            let trial = &mut trials[delay];
            if !sent.kinds[kind as usize] {
                continue;
            }
            trial.skipped += 1;
            if trial.skipped >= self.one_in || trial.shown.is_none() {
                trial.shown = Some(DrVector::generate(sent.at, &sent.state, kind));
                trial.skipped = 0;
            }
        }
        self.next[delay] += 1;
    }

    /// Measures the errors, given the entity's real position.
    pub(crate) fn observe(&mut self, position: Vec3, at: SessionTime) {
        let since = at - self.measured.unwrap_or(at - MEASURE_INTERVAL);
        if since < MEASURE_INTERVAL {
            return;
        }
        self.measured = Some(at);
        for (delay, millis) in DELAYS_MS.into_iter().enumerate() {
            let due = at - Span::from_millis(millis);
            while let Some(sent) = self.in_flight.get((self.next[delay] - self.first) as usize)
                && sent.at <= due
            {
                self.arrive(delay);
            }
        }
        self.seconds += since.as_secs_f64();
        let share = (since.as_secs_f64() / self.seconds.min(MEMORY)).min(1.0);
        for trial in self.trials.as_flattened_mut() {
            let error = trial.shown.map_or(0.0, |vector| vector.project(at).distance(position));
            trial.error += (error - trial.error) * share;
        }
    }

    fn error(&self, kind: MotionKind, delay: usize) -> f64 {
        self.trials[kind as usize][delay].error + self.error_floor
    }

    /// The best kind for a receiver at this delay, given the current one.
    pub(crate) fn best_at(&self, delay: Span, current: MotionKind) -> MotionKind {
        // The nearest simulated delay, by ratio.
        let near = |millis: &i64| *millis as f64 * core::f64::consts::SQRT_2 >= delay.as_millis_f64();
        let delay = DELAYS_MS.iter().position(near).unwrap_or(DELAYS - 1);
        self.choose(current, |kind| self.error(kind, delay))
    }

    /// The errors of a kind at all delays, each relative to the best kind's, added up.
    pub(super) fn cost(&self, kind: MotionKind) -> f64 {
        let relative = |delay| {
            let best =
                MotionKind::ALL.map(|kind| self.error(kind, delay)).into_iter().fold(f64::MAX, f64::min);
            self.error(kind, delay) / best.max(f64::MIN_POSITIVE)
        };
        (0..DELAYS).map(relative).sum()
    }

    /// The kind with the lowest cost, or the current one unless another is clearly better.
    pub(super) fn choose(&self, current: MotionKind, cost: impl Fn(MotionKind) -> f64) -> MotionKind {
        if self.seconds < SECONDS_MIN {
            return current;
        }
        let better =
            |best: (f64, MotionKind), kind| if cost(kind) < best.0 { (cost(kind), kind) } else { best };
        let (least, best) = MotionKind::ALL.into_iter().fold((cost(current), current), better);
        if least < (1.0 - MARGIN) * cost(current) { best } else { current }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn at(millis: i64) -> SessionTime {
        SessionTime::from_nanos(0) + Span::from_millis(millis)
    }

    /// A tank on a circle.
    pub(crate) fn turning(millis: i64) -> MotionState {
        let (speed, turn_rate) = (10.0, 0.5);
        let (sin, cos) = libm::sincos(turn_rate * 1e-3 * millis as f64);
        let radius = speed / turn_rate;
        MotionState {
            position: Vec3::xy(radius * sin, -radius * cos),
            velocity: Vec3::xy(speed * cos, speed * sin),
            acceleration: Vec3::ZERO,
            turn_rate,
        }
    }

    #[test]
    fn errors_are_those_of_vectors_as_old_as_the_delay() {
        let mut receivers = SimulatedReceivers::new(Threshold::default(), 1);
        for step in 0..200 {
            receivers.generate(&turning(20 * step), [true; KINDS], at(20 * step));
            receivers.observe(turning(20 * step).position, at(20 * step));
        }
        for (delay, millis) in DELAYS_MS.into_iter().enumerate() {
            let age = 1e-3 * (millis as f64 / 20.0).ceil() * 20.0;
            let straight = turning(0).position + turning(0).velocity * age;
            let expected = straight.distance(turning((1e3 * age) as i64).position);
            let [linear, _, circular, damped] =
                MotionKind::ALL.map(|kind| receivers.error(kind, delay) - receivers.error_floor);
            // In the beginning nothing is shown and nothing counts as error.
            let shown = 1.0 - age / 4.0;
            assert!((linear / (expected * shown) - 1.0).abs() < 0.03, "{linear}, {expected} at {millis} ms");
            assert!(circular < 1e-9 && damped < 1e-9, "{circular}, {damped}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut receivers = SimulatedReceivers::new(Threshold::default(), 1);
        for step in 0..10_000 {
            receivers.generate(&turning(step), [true; KINDS], at(step));
            receivers.observe(turning(step).position, at(step));
            assert!(
                receivers.in_flight.len() <= IN_FLIGHT_MAX
                    && receivers.in_flight.capacity() <= 2 * IN_FLIGHT_MAX
            );
        }
    }
}
