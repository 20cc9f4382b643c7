//! What each kind of motion would have cost in the last seconds: the choice behind [`Content::Auto`](crate::Content).
//!
//! DR vectors of each kind are imagined to reach receivers at a few distances. How far these would have been from the real
//! path is averaged, and the recent past stands for the near future. It takes the same room whatever happens, and time
//! for a few projections at each look.
//!
//! Two use it. The owner (`owner.rs`) lets the kinds compete ([`Rivals`]): each makes vectors when the real path leaves it
//! by the threshold, and what is exported is the kind with the least error over all distances. Whoever runs the policy
//! (`tailor.rs`) shows the vectors that were made in each way, and sends each receiver the kind that is best at its
//! distance. The two differ: the exported kind must follow the entity for now and make vectors often enough to be worth
//! a choice, the shown one must be right after a long way. In the papers' setting most is gained by exporting turns and
//! showing damped ones.

use std::collections::VecDeque;

use evenkeel_core::{SessionTime, Span, Vec3};

use crate::threshold::Threshold;
use crate::vector::{DrVector, MotionKind, MotionState};

/// How far away receivers are imagined, in milliseconds.
const DISTANCES_MS: [i64; DISTANCES] = [50, 100, 200, 400, 800];
const DISTANCES: usize = 5;
const KINDS: usize = MotionKind::ALL.len();
/// Vectors that are under way to the farthest; with more, the oldest counts as arrived.
const UNDER_WAY_MAX: usize = 64;
/// The seconds whose errors count, more or less.
const MEMORY: f64 = 8.0;
/// Before so many have passed there is no choice.
const SECONDS_MIN: f64 = 2.0;
/// Errors are looked at no more often.
const LOOK: Span = Span::from_millis(15);
/// Another kind is taken if it is better by this part: to and fro would make paths jump.
const MARGIN: f64 = 0.1;
/// Differences below this part of the threshold do not count.
const LEAST: f64 = 0.01;
/// What the number of vectors counts for, beside the errors at all distances.
const VECTORS_WEIGHT: f64 = 0.5;
/// Of the vectors that a rival makes, receivers are imagined to be sent one in so many, as by a budget: a kind that makes few
/// of them leaves little to send.
const SENT_ONE_IN: u8 = 3;

/// A vector that was made, of the kinds that are set.
#[derive(Clone, Copy, Debug)]
struct Made {
    at: SessionTime,
    state: MotionState,
    kinds: [bool; KINDS],
}

/// What a receiver would show, and its mean error.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    shown: Option<DrVector>,
    /// Vectors that were left out since.
    left_out: u8,
    error: f64,
}

/// Imagined receivers of one entity.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// Differences of error below this do not count.
    least: f64,
    /// One vector in so many is sent.
    one_in: u8,
    under_way: VecDeque<Made>,
    /// How many vectors there were before the first that is under way.
    gone: u64,
    /// The number of the next vector to arrive at each distance.
    next: [u64; DISTANCES],
    trials: [[Trial; DISTANCES]; KINDS],
    looked: Option<SessionTime>,
    seconds: f64,
}

impl Replay {
    /// Receivers that are sent one vector in so many.
    pub(crate) fn new(threshold: Threshold, one_in: u8) -> Self {
        Self {
            least: LEAST * threshold.distance,
            one_in,
            under_way: VecDeque::new(),
            gone: 0,
            next: [0; DISTANCES],
            trials: [[Trial::default(); DISTANCES]; KINDS],
            looked: None,
            seconds: 0.0,
        }
    }

    /// A vector is made of this state, for each kind that is set.
    pub(crate) fn make(&mut self, state: &MotionState, kinds: [bool; KINDS], at: SessionTime) {
        if self.under_way.len() == UNDER_WAY_MAX {
            for distance in 0..DISTANCES {
                if self.next[distance] == self.gone {
                    self.arrive(distance);
                }
            }
            self.under_way.pop_front();
            self.gone += 1;
        }
        self.under_way.push_back(Made { at, state: *state, kinds });
    }

    /// The next vector arrives at a distance.
    fn arrive(&mut self, distance: usize) {
        let made = self.under_way[(self.next[distance] - self.gone) as usize];
        for (kind, trials) in MotionKind::ALL.into_iter().zip(&mut self.trials) {
            let trial = &mut trials[distance];
            if !made.kinds[kind as usize] {
                continue;
            }
            trial.left_out += 1;
            if trial.left_out >= self.one_in || trial.shown.is_none() {
                trial.shown = Some(DrVector::generate(made.at, &made.state, kind));
                trial.left_out = 0;
            }
        }
        self.next[distance] += 1;
    }

    /// The entity is really here.
    pub(crate) fn look(&mut self, position: Vec3, at: SessionTime) {
        let since = at - self.looked.unwrap_or(at - LOOK);
        if since < LOOK {
            return;
        }
        self.looked = Some(at);
        for (distance, millis) in DISTANCES_MS.into_iter().enumerate() {
            let due = at - Span::from_millis(millis);
            while let Some(made) = self.under_way.get((self.next[distance] - self.gone) as usize)
                && made.at <= due
            {
                self.arrive(distance);
            }
        }
        self.seconds += since.as_secs_f64();
        let share = (since.as_secs_f64() / self.seconds.min(MEMORY)).min(1.0);
        for trial in self.trials.as_flattened_mut() {
            let off = trial.shown.map_or(0.0, |vector| vector.project(at).distance(position));
            trial.error += (off - trial.error) * share;
        }
    }

    fn error(&self, kind: MotionKind, distance: usize) -> f64 {
        self.trials[kind as usize][distance].error + self.least
    }

    /// The kind that is best for a receiver so far away, if that differs from the one that it has.
    pub(crate) fn best_at(&self, delay: Span, now: MotionKind) -> MotionKind {
        // The nearest of the distances, by ratio.
        let near = |millis: &i64| *millis as f64 * core::f64::consts::SQRT_2 >= delay.as_millis_f64();
        let distance = DISTANCES_MS.iter().position(near).unwrap_or(DISTANCES - 1);
        self.choose(now, |kind| self.error(kind, distance))
    }

    /// The cost of a kind over all distances, each in parts of the best there.
    fn cost(&self, kind: MotionKind) -> f64 {
        let relative = |distance| {
            let best =
                MotionKind::ALL.map(|kind| self.error(kind, distance)).into_iter().fold(f64::MAX, f64::min);
            self.error(kind, distance) / best.max(f64::MIN_POSITIVE)
        };
        (0..DISTANCES).map(relative).sum()
    }

    fn choose(&self, now: MotionKind, cost: impl Fn(MotionKind) -> f64) -> MotionKind {
        if self.seconds < SECONDS_MIN {
            return now;
        }
        let better =
            |best: (f64, MotionKind), kind| if cost(kind) < best.0 { (cost(kind), kind) } else { best };
        let (least, best) = MotionKind::ALL.into_iter().fold((cost(now), now), better);
        if least < (1.0 - MARGIN) * cost(now) { best } else { now }
    }
}

/// The kinds as rivals: each exports the entity by itself, as far as the owner can imagine.
#[derive(Clone, Debug)]
pub(crate) struct Rivals {
    threshold: Threshold,
    replay: Replay,
    exported: [DrVector; KINDS],
    /// How many vectors a second each makes.
    rates: [f64; KINDS],
    looked: SessionTime,
}

impl Rivals {
    pub(crate) fn new(threshold: Threshold, state: &MotionState, now: SessionTime) -> Self {
        let mut replay = Replay::new(threshold, SENT_ONE_IN);
        replay.make(state, [true; KINDS], now);
        let exported = MotionKind::ALL.map(|kind| DrVector::generate(now, state, kind));
        Self { threshold, replay, exported, rates: [0.0; KINDS], looked: now }
    }

    /// The owner looks at its entity.
    pub(crate) fn look(&mut self, state: &MotionState, now: SessionTime) {
        let seconds = (now - self.looked).as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        self.looked = now;
        let strayed = self.exported.map(|vector| self.threshold.strayed(state, &vector, now));
        for (kind, made) in strayed.into_iter().enumerate() {
            if made {
                self.exported[kind] = DrVector::generate(now, state, MotionKind::ALL[kind]);
            }
            let rate = f64::from(u8::from(made)) / seconds;
            self.rates[kind] += (rate - self.rates[kind]) * (seconds / MEMORY).min(1.0);
        }
        if strayed.contains(&true) {
            self.replay.make(state, strayed, now);
        }
        self.replay.look(state.position, now);
    }

    /// The kind to export, given the present one.
    pub(crate) fn best(&self, now: MotionKind) -> MotionKind {
        let fewest = self.rates.into_iter().fold(f64::MAX, f64::min).max(1e-3);
        self.replay.choose(now, |kind| {
            self.replay.cost(kind) + VECTORS_WEIGHT * self.rates[kind as usize].max(1e-3) / fewest
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> SessionTime {
        SessionTime::from_nanos(0) + Span::from_millis(millis)
    }

    /// A tank on a circle.
    fn turning(millis: i64) -> MotionState {
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
    fn errors_are_those_of_vectors_that_are_as_old_as_the_way_is_long() {
        let mut replay = Replay::new(Threshold::default(), 1);
        for step in 0..200 {
            replay.make(&turning(20 * step), [true; KINDS], at(20 * step));
            replay.look(turning(20 * step).position, at(20 * step));
        }
        for (distance, millis) in DISTANCES_MS.into_iter().enumerate() {
            let age = 1e-3 * (millis as f64 / 20.0).ceil() * 20.0;
            let straight = turning(0).position + turning(0).velocity * age;
            let expected = straight.distance(turning((1e3 * age) as i64).position);
            let [linear, _, circular, damped] =
                MotionKind::ALL.map(|kind| replay.error(kind, distance) - replay.least);
            // It begins with nothing shown.
            let shown = 1.0 - age / 4.0;
            assert!((linear / (expected * shown) - 1.0).abs() < 0.03, "{linear}, {expected} at {millis} ms");
            assert!(circular < 1e-9 && damped < 1e-9, "{circular}, {damped}");
        }
    }

    #[test]
    fn it_takes_no_more_room_whatever_happens() {
        let mut replay = Replay::new(Threshold::default(), 1);
        for step in 0..10_000 {
            replay.make(&turning(step), [true; KINDS], at(step));
            replay.look(turning(step).position, at(step));
            assert!(
                replay.under_way.len() <= UNDER_WAY_MAX && replay.under_way.capacity() <= 2 * UNDER_WAY_MAX
            );
        }
    }

    #[test]
    fn nothing_is_chosen_without_evidence_or_for_nothing() {
        let mut rivals = Rivals::new(Threshold::default(), &turning(0), at(0));
        for millis in (20..1_000).step_by(20) {
            rivals.look(&turning(millis), at(millis));
            assert_eq!(rivals.best(MotionKind::Linear), MotionKind::Linear, "after {millis} ms");
        }
        for millis in (1_000..9_000).step_by(20) {
            rivals.look(&turning(millis), at(millis));
        }
        assert_eq!(rivals.best(MotionKind::Linear), MotionKind::Circular);
        assert_eq!(rivals.best(MotionKind::Damped), MotionKind::Damped, "it is as good");
    }

    #[test]
    fn time_that_stands_still_or_jumps_is_harmless() {
        let mut rivals = Rivals::new(Threshold::default(), &turning(0), at(0));
        for millis in [0, 0, 20, 20, 10, 3_600_000, 3_600_020, 0, i64::MAX / 1_000_000] {
            rivals.look(&turning(millis.min(10_000)), at(millis));
            let kind = rivals.best(MotionKind::Linear);
            assert!(rivals.replay.cost(kind).is_finite());
        }
    }
}
