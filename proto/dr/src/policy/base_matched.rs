//! Base with a coarser threshold: what a game without a fairness policy would do with the same bandwidth.
//!
//! A game that has to save bandwidth raises its threshold. Every receiver is then sent a vector when the exported path has left
//! the vector that it was sent last by more than that. The policy steers the threshold so that it sends what the budget allows, on
//! average over time.
//!
//! A game with that threshold would send its state of this instant, but a policy has only the vectors that the owner made. A vector
//! of some time ago predicts less well, so when the paths diverge between two triggers, the policy waits for the next one, up to
//! their mean interval. Against the real path that costs nothing: both agree within a few percent (`evenkeel lab run comparison`
//! shows them side by side). By the export error, which ignores a coarser exported path, the calibrated one has less.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{SessionTime, Span};

use super::{ClosedPairs, Exported, FairnessPolicy, Review, SendPlan};
use crate::motion::divergence::Divergence;
use crate::motion::{DrSeq, DrVector, EntityId};

/// How far one entity's trigger moves the logarithm of the threshold. A room's threshold follows its motion within seconds, and
/// hardly trembles.
const GAIN: f64 = 0.05;
/// The weight of the latest interval in the mean time between an entity's triggers.
const INTERVAL_GAIN: f64 = 0.1;
/// The range of the threshold, in units. It bounds what a room in which nothing moves, or that may send nothing, can drift to.
const THRESHOLD_MIN: f64 = 1e-4;
const THRESHOLD_MAX: f64 = 1e6;
/// How often paths that turn or accelerate are compared between triggers.
const STEP: Span = Span::from_millis(20);
/// How far ahead they are compared. Triggers nearly always come sooner.
const STEPS_MAX: u32 = 50;

/// Base with a threshold that keeps the budget.
#[derive(Clone, Debug, Default)]
pub struct BaseMatched {
    /// The coarser threshold; `None` before the first entity.
    threshold: Option<f64>,
    /// The share of the receivers that a trigger may reach, on average.
    share: f64,
    /// Whether there was a receiver when the share was last set.
    was_seen: bool,
    deadlines: Deadlines,
    /// Whether the entities that were there when this policy took over have been compared.
    is_started: bool,
}

/// What is known of the entities' triggers, and when they are to be compared again without one, by the places of their lives.
#[derive(Clone, Debug, Default)]
struct Deadlines {
    by_place: BTreeMap<u32, Rhythm>,
    by_time: BTreeSet<(SessionTime, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Rhythm {
    entity: EntityId,
    deadline: SessionTime,
    triggered: Option<SessionTime>,
    /// The mean time between triggers; zero until it is known.
    interval: Span,
}

impl Deadlines {
    fn of(&mut self, exported: &Exported<'_>) -> &mut Rhythm {
        let entity = exported.entity();
        let new = Rhythm { entity, deadline: SessionTime::MAX, triggered: None, interval: Span::ZERO };
        self.by_place.entry(exported.slot(0).track).or_insert(new)
    }

    /// Counts a trigger.
    fn trigger(&mut self, exported: &Exported<'_>, now: SessionTime) {
        let rhythm = self.of(exported);
        if let Some(before) = rhythm.triggered.replace(now) {
            let weight = if rhythm.interval == Span::ZERO { 1.0 } else { INTERVAL_GAIN };
            let step = (now - before).as_secs_f64() - rhythm.interval.as_secs_f64();
            rhythm.interval += Span::from_secs_f64(weight * step);
        }
    }

    fn set(&mut self, exported: &Exported<'_>, at: SessionTime) {
        let before = core::mem::replace(&mut self.of(exported).deadline, at);
        let place = exported.slot(0).track;
        self.by_time.remove(&(before, place));
        if at < SessionTime::MAX {
            self.by_time.insert((at, place));
        }
    }

    fn close(&mut self, place: u32) {
        if let Some(Rhythm { deadline, .. }) = self.by_place.remove(&place) {
            self.by_time.remove(&(deadline, place));
        }
    }

    fn first(&self) -> Option<SessionTime> {
        self.by_time.first().map(|(at, _)| *at)
    }

    fn pop_due(&mut self, now: SessionTime) -> Option<EntityId> {
        let due = self.by_time.first().copied().filter(|(at, _)| *at <= now)?;
        self.by_time.remove(&due);
        let rhythm = self.by_place.get_mut(&due.1)?;
        rhythm.deadline = SessionTime::MAX;
        Some(rhythm.entity)
    }
}

impl BaseMatched {
    /// Compares an entity's newest vector with what its receivers were sent last, and sends it where they have diverged.
    fn compare(&mut self, exported: &Exported<'_>, now: SessionTime, plan: &mut SendPlan) {
        let (receivers, (newest, vector)) = (exported.pair_count(), exported.newest());
        let threshold = self.threshold.unwrap_or(THRESHOLD_MIN);
        let heartbeat = exported.threshold().time.filter(|_| self.share > 0.0);
        let heartbeat = heartbeat.map(|time| Span::from_secs_f64(time.as_secs_f64() / self.share));
        let patience = self.deadlines.of(exported).interval;
        let (mut sent, mut deadline) = (0_usize, SessionTime::MAX);
        // Nearly all receivers were sent the same vector last.
        let mut known: Option<(DrSeq, SessionTime)> = None;
        for place in exported.places() {
            let last = exported.last_sents()[place as usize].seq;
            if last >= newest {
                continue;
            }
            let due = match known {
                Some((seq, due)) if seq == last => due,
                _ => exported.vector(last).map_or(now, |last| {
                    let beats = heartbeat.map_or(SessionTime::MAX, |time| last.generated + time);
                    diverges(vector, last, threshold, now).min(beats)
                }),
            };
            known = Some((last, due));
            if due <= now {
                plan.send_to(exported, place, now);
                sent += 1;
            } else if due < SessionTime::MAX {
                deadline = deadline.min(due + patience);
            }
        }
        self.deadlines.set(exported, deadline);
        self.steer(sent as f64 / receivers.max(1) as f64);
    }

    /// Moves the threshold up by what was sent; a trigger moves it down by what may be sent.
    fn steer(&mut self, share: f64) {
        let gain = GAIN / self.deadlines.by_place.len().max(1) as f64;
        self.threshold = self
            .threshold
            .map(|threshold| (threshold * libm::exp(gain * share)).clamp(THRESHOLD_MIN, THRESHOLD_MAX));
    }

    fn allow(&mut self, exported: &Exported<'_>, budget: f64) {
        let receivers = exported.pair_count() as f64;
        let share = if receivers > 0.0 { (budget / receivers).clamp(0.0, 1.0) } else { 1.0 };
        let before = core::mem::replace(&mut self.share, share);
        let was_seen = core::mem::replace(&mut self.was_seen, receivers > 0.0);
        // Paths stray by the square of the time, so a third of the vectors takes about nine times the threshold.
        let per_threshold = |share: f64| (share * share).max(1e-4);
        self.threshold = Some(match self.threshold {
            None => exported.threshold().distance.max(THRESHOLD_MIN) / per_threshold(share),
            Some(threshold) if before == share || !was_seen => threshold,
            Some(threshold) => {
                (threshold * per_threshold(before) / per_threshold(share)).clamp(THRESHOLD_MIN, THRESHOLD_MAX)
            }
        });
    }
}

/// When two paths have diverged by more than `threshold`; after [`STEPS_MAX`] steps or when they never will, that is when they
/// must be compared again.
fn diverges(newest: &DrVector, last: &DrVector, threshold: f64, now: SessionTime) -> SessionTime {
    let divergence = Divergence::between(newest, last, now);
    if divergence.distance(0.0) > threshold {
        return now;
    }
    if divergence.is_linear() {
        let Divergence { position, velocity, .. } = divergence;
        let (speed, along) = (velocity.length_squared(), position.dot(velocity));
        let inside = threshold * threshold - position.length_squared();
        let seconds = (libm::sqrt(along * along + speed * inside) - along) / speed;
        // A nanosecond more, so that the paths have diverged by then.
        return if seconds < 1e6 {
            now + Span::from_secs_f64(seconds) + Span::from_nanos(1)
        } else {
            SessionTime::MAX
        };
    }
    let at = |step: u32| STEP.as_secs_f64() * f64::from(step);
    let step = (1..STEPS_MAX).find(|step| divergence.distance(at(*step)) > threshold).unwrap_or(STEPS_MAX);
    now + Span::from_secs_f64(at(step))
}

impl FairnessPolicy for BaseMatched {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        let now = review.now();
        if let Some(entity) = review.triggered() {
            let Some(exported) = review.entity(entity) else { return };
            self.allow(&exported, review.budget());
            self.deadlines.trigger(&exported, now);
            if self.share >= 1.0 {
                self.deadlines.set(&exported, SessionTime::MAX);
                return plan.send_to_all(&exported, now);
            }
            self.steer(-self.share);
            return self.compare(&exported, now, plan);
        }
        if !self.is_started {
            self.is_started = true;
            for exported in review.all_entities() {
                self.allow(&exported, review.budget());
                self.compare(&exported, now, plan);
            }
        }
        while let Some(entity) = self.deadlines.pop_due(now) {
            if let Some(exported) = review.entity(entity) {
                self.compare(&exported, now, plan);
            }
        }
    }

    fn review_at(&self) -> Option<SessionTime> {
        if self.is_started { self.deadlines.first() } else { Some(SessionTime::MIN) }
    }

    fn on_closed(&mut self, closed: &ClosedPairs) {
        if closed.link.is_none() {
            self.deadlines.close(closed.track);
        }
    }

    fn asks_instantaneous(&self) -> bool {
        false
    }

    fn wants_settlements(&self) -> bool {
        false
    }
}
