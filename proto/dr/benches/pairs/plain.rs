//! A straightforward implementation of `even`'s tick, to compare the cost with. It computes everything that the rules
//! of `even` name, for each entity and receiver, at each tick. Sending and acknowledgments are free.

use std::time::{Duration, Instant};

use evenkeel_core::{Seed, SessionTime, Span, Vec3};
use evenkeel_dr::{DrVector, MotionKind, MotionState, Threshold, export_error};
use evenkeel_games::{Driver, Mover};

use crate::room::TICK;

struct Pair {
    delay: Span,
    settled: f64,
    settled_to: SessionTime,
    /// The vectors that were sent, and when. The first has arrived.
    sent: Vec<(SessionTime, DrVector)>,
    boost: f64,
}

struct Entity {
    mover: Mover,
    exported: Vec<DrVector>,
    pairs: Vec<Pair>,
}

impl Pair {
    /// The settled error plus the error along everything that was exported and sent since.
    fn error(&self, exported: &[DrVector], to: SessionTime) -> f64 {
        let mut error = self.settled;
        for (index, (sent, placed)) in self.sent.iter().enumerate() {
            let from = (*sent + self.delay).max(self.settled_to);
            let until = self.sent.get(index + 1).map_or(to, |(sent, _)| (*sent + self.delay).min(to));
            for (number, vector) in exported.iter().enumerate() {
                let end = exported.get(number + 1).map_or(until, |next| next.generated.min(until));
                error += export_error(vector, placed, from.max(vector.generated), end);
            }
        }
        error
    }

    /// Settles the error up to the newest acknowledged arrival.
    fn settle(&mut self, exported: &[DrVector], now: SessionTime) {
        let until = now - self.delay - self.delay;
        if until > self.settled_to {
            (self.settled, self.settled_to) = (self.error(exported, until), until);
        }
        while self.sent.get(1).is_some_and(|(sent, _)| *sent + self.delay <= self.settled_to) {
            self.sent.remove(0);
        }
    }
}

/// The entity's predicted path in steps of 25 ms, with a turn rate that decays.
fn path(state: &MotionState, span: Span) -> Vec<Vec3> {
    let (mut position, mut velocity, mut turn) = (state.position, state.velocity, state.turn_rate);
    let mut points = vec![position];
    for _ in 0..=(span.as_secs_f64() / 0.025) as usize {
        let (sin, cos) = libm::sincos(turn * 0.025);
        velocity = (velocity + state.acceleration * 0.025).turned(cos, sin);
        position = position + velocity * 0.025;
        points.push(position);
        turn *= 0.99;
    }
    points
}

fn at(points: &[Vec3], seconds: f64) -> Vec3 {
    let index = ((seconds / 0.025) as usize).min(points.len() - 2);
    points[index] + (points[index + 1] - points[index]) * (seconds / 0.025 - index as f64)
}

impl Entity {
    fn tick(&mut self, tick: u64, price: f64, errors: &mut f64) -> u64 {
        let now = SessionTime::from_nanos(0) + TICK.times(tick as i64);
        let state = self.mover.at(2 * tick).expect("a driven tank never dies").state;
        let newest = *self.exported.last().expect("at least one");
        let threshold = Threshold { distance: 1.0, ..Threshold::default() };
        if threshold.strayed(&state, &newest, now) {
            self.exported.push(DrVector::generate(now, &state, MotionKind::Linear));
            let oldest = self.pairs.iter().map(|pair| pair.settled_to).min().unwrap_or(now);
            let needed = self.exported.iter().rposition(|vector| vector.generated <= oldest).unwrap_or(0);
            self.exported.drain(..needed);
        }
        let newest = *self.exported.last().expect("at least one");
        let points = path(&state, Span::from_millis(700));
        let step = |index: &usize| 0.02 * *index as f64;
        let off = |index: &usize| {
            let then = now + Span::from_secs_f64(step(index));
            at(&points, step(index)).distance(newest.project(then)) > threshold.distance
        };
        let life = (0..35).find(off).map_or(0.7, |index| step(&index)).max(0.001);
        let mut sent = 0;
        for pair in &mut self.pairs {
            if tick.is_multiple_of(5) {
                pair.settle(&self.exported, now);
                *errors += pair.error(&self.exported, now) + pair.error(&self.exported, now + pair.delay);
            }
            let shown = pair.sent.last().expect("at least one").1;
            if shown == newest {
                continue;
            }
            let nearer = |later: Span| {
                let (at, there) = (now + pair.delay + later, at(&points, (pair.delay + later).as_secs_f64()));
                shown.project(at).distance(there) - newest.project(at).distance(there)
            };
            let gain =
                (nearer(Span::ZERO) + 4.0 * nearer(Span::from_millis(75)) + nearer(Span::from_millis(150)))
                    / 6.0;
            if gain * life * pair.boost > price {
                pair.sent.push((now, newest));
                sent += 1;
            }
        }
        sent
    }
}

/// Nanoseconds per pair and tick, after a second of warming up.
pub(crate) fn nanos_per_tick(entities: usize, receivers: usize, price: f64) -> f64 {
    let start = SessionTime::from_nanos(0);
    let entity = |number: usize| {
        let mut mover = Mover::tank(Driver::Random, Seed::new(1 + number as u64));
        let first = DrVector::generate(start, &mover.at(0).expect("a driven tank").state, MotionKind::Linear);
        let pair = |receiver: usize| Pair {
            delay: Span::from_millis(10 + 390 * receiver as i64 / receivers as i64),
            settled: 0.0,
            settled_to: start,
            sent: vec![(SessionTime::MIN, first)],
            boost: 1.0 / (1.0 + receiver as f64 * 0.01),
        };
        Entity { mover, exported: vec![first], pairs: (0..receivers).map(pair).collect() }
    };
    let mut all: Vec<Entity> = (0..entities).map(entity).collect();
    let (mut took, mut errors, mut ticks, mut sent, mut price) = (Duration::ZERO, 0.0, 0, 0, 0.3 * price);
    for tick in 1..=100 {
        let started = Instant::now();
        let mut now = 0;
        for entity in &mut all {
            now += entity.tick(tick, price, &mut errors);
        }
        if tick > 50 {
            took += started.elapsed();
            (ticks, sent) = (ticks + 1, sent + now);
        }
        // Aim at a third of the receivers for each trigger, at about two triggers a second.
        let wanted = (entities * receivers) as f64 / 75.0;
        price *= if now as f64 > wanted { 1.05 } else { 0.95 };
    }
    std::hint::black_box((errors, sent));
    took.as_nanos() as f64 / (ticks * entities * receivers) as f64
}
