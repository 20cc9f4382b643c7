//! The state that one owner's entities share: a bucket, a price, and the receivers' standings.

use evenkeel_core::{PeerId, SessionTime, Span};

use super::EvenSettings;
use super::control::Control;
use super::filter::{CandidateFilter, Chords};
use super::look::ErrorLook;
use super::path::{Bend, Path};
use super::price::{Bucket, Price};
use super::reach::{self, Reach, ReachRow, Separation, Terms};
use super::seen::SeenPair;
use super::shadow::Shadow;
use super::vector_sums::VectorSums;
use crate::ledger::ShownVector;
use crate::motion::linear::sift::ReceiverSet;
use crate::motion::vector::{DrSeq, DrVector, EntityId, EntityMap, MotionKind, MotionState};
use crate::policy::{Exported, Kinematics, Pair, PairColumn, Review, SendPlan};

/// Seconds from the arrival on over which the gain is averaged: paths cross, so an instant means little, the less the farther
/// ahead it is.
const WINDOW: f64 = 0.05;
/// Growth of the window per second of delay.
const WINDOW_GROWTH: f64 = 0.4;
/// The longest assumed life of a vector, in seconds.
const LIFE_MAX: f64 = 0.7;
/// The shortest assumed life of a vector, in seconds.
const LIFE_MIN: f64 = 0.001;
/// The first price: seconds of an error the size of the threshold.
const PRICE_GUESS: f64 = 0.3;
/// The lead over the worst off, in seconds, beyond which a receiver is sent nothing.
pub(super) const LEAD_MAX: f64 = 8.0;
/// The least error worth saving, as a fraction of a second of an error the size of the threshold.
const WORTH_MIN: f64 = 0.01;
/// The boost above which a receiver is among the worst off.
pub(super) const WORST: f64 = 0.99;
/// The silence after which an entity pays in without a trigger, if the bucket is too empty to send its last vector: a receiver
/// that lacks it would show a wrong path forever. With a heartbeat no entity is silent this long.
const PAID_SILENCE: Span = Span::from_secs(2);

/// The time after which a receiver that is not believed is tried again. Until then it is assumed to have what it was sent.
const TRIED_AGAIN: Span = Span::from_secs(5);

/// The state of one entity.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracked {
    pub(super) shadow: Shadow,
    pub(super) bend: Bend,
    sums: VectorSums,
    chords: Chords,
    pub(super) triggered: SessionTime,
    /// When it last paid for its silence.
    paid: SessionTime,
}

impl Tracked {
    /// Predicts the path of an entity up to the arrival at the farthest receiver. Returns the seconds that its newest vector
    /// will hold.
    fn foresee(&self, exported: &Exported<'_>, farthest: Span, path: &mut Path, now: SessionTime) -> f64 {
        let until = now + farthest + window(farthest);
        let seen = exported.observed().unwrap_or_else(|| presumed(exported, self.triggered, now));
        path.follow(&seen, self.bend.change, until);
        let leaves = path.leaves(exported.newest().1, exported.threshold().distance, now, LIFE_MAX);
        leaves.max(LIFE_MIN)
    }
}

/// A message that would save some error.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    worth: f64,
    link: u32,
    worst: bool,
    /// Whether it only tests whether the receiver answers. If so, it is sent whatever its worth if the bucket is half full.
    tried: bool,
}

impl Candidate {
    const fn trial(pair: &Pair<'_>, worth: f64) -> Self {
        Self { worth, link: pair.place(), worst: false, tried: true }
    }
}

/// Scratch space of all decisions.
#[derive(Clone, Debug, Default)]
pub(super) struct DecisionScratch {
    watch: ErrorLook,
    /// Each pair as the last look saw it.
    pub(super) seen: PairColumn<SeenPair>,
    reach: Reach,
    filter: CandidateFilter,
    left: ReceiverSet,
    path: Path,
    candidates: Vec<Candidate>,
    /// Entities without a recent trigger.
    pub(super) silent: Vec<EntityId>,
}

/// The state that one owner's entities share. Their triggers pay for them only.
///
/// A relay decides for many owners. One that drives wildly, or lies, can't spend the others' savings or move their targets. If
/// errors are even for each owner, so are their sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Share {
    pub(super) bucket: Bucket,
    pub(super) price: Price,
    pub(super) control: Control,
    /// Boxed, because they are large.
    pub(super) entities: EntityMap<Box<Tracked>>,
    /// The largest delay of a receiver.
    farthest: Span,
    /// When it last had an entity.
    pub(super) alive: SessionTime,
    /// Whether it has turns, because its entities are not observed.
    pub(super) has_turns: bool,
}

impl Share {
    /// Notes that an entity triggered.
    pub(super) fn on_trigger(&mut self, exported: &Exported<'_>, budget: f64, now: SessionTime) {
        let vector = exported.newest().1;
        let tracked = self.entities.entry(exported.entity());
        tracked.triggered = now;
        let receivers = exported.pair_count().max(1) as f64;
        tracked.shadow.trigger(vector, budget / receivers, now);
        if exported.observed().is_none() {
            tracked.bend.observe(vector.generated, vector.state.turn_rate);
        }
        self.price.guess(PRICE_GUESS * scale(exported));
        if exported.pair_count() > 0 {
            self.bucket.pay_in(budget, self.entities.len());
        }
    }

    pub(super) fn pay_for_silence(&mut self, entity: EntityId, budget: f64, now: SessionTime) {
        if !self.bucket.has_one()
            && let Some(tracked) = self.entities.get_mut(entity)
            && now - tracked.triggered.max(tracked.paid) >= PAID_SILENCE
        {
            tracked.paid = now;
            self.bucket.pay_in(budget, self.entities.len());
        }
    }

    /// Looks at the receivers' errors with all entities of the owner.
    pub(super) fn look(
        &mut self,
        review: &Review<'_>,
        owner: Option<PeerId>,
        scratch: &mut DecisionScratch,
        settings: &EvenSettings,
    ) {
        let now = review.now();
        let DecisionScratch { watch, seen, .. } = scratch;
        let (mut rate_min, control) = (0.0, &mut self.control);
        watch.begin(review, control);
        self.entities.retain(|entity, tracked| {
            // The id may belong to another owner by now.
            let exported = review.entity(entity).filter(|exported| exported.owner() == owner);
            let Some(exported) = exported else { return false };
            rate_min += WORTH_MIN * scale(&exported);
            watch.look_at(&exported, seen.of(&exported), &mut tracked.sums, &tracked.shadow, control, now);
            tracked.shadow.take();
            true
        });
        watch.settle(control, now);
        control.step(now, settings, rate_min);
        self.farthest = watch.farthest;
        if !self.entities.is_empty() {
            self.alive = now;
        }
    }

    /// Sends the newest vector of an entity to receivers for which it is worth its price. Returns whether it was refused to one
    /// of the worst off, where refusals are noted.
    pub(super) fn decide(
        &mut self,
        review: &Review<'_>,
        exported: &Exported<'_>,
        scratch: &mut DecisionScratch,
        notes_refusals: bool,
        plan: &mut SendPlan,
    ) -> bool {
        let now = review.now();
        let (least, weight) = (WORTH_MIN * scale(exported), exported.weight_max());
        let asked = Terms { price: self.price.with(&self.bucket), least, notes_refusals };
        let DecisionScratch { reach, filter, seen, left, path, candidates, .. } = scratch;
        let seen = &*seen.of(exported);
        reach.update(review, exported.owner(), &self.control);
        let mut unknown = None;
        let tracked = match self.entities.get_mut(exported.entity()) {
            Some(tracked) => tracked,
            None => unknown.insert(Tracked { triggered: now, ..Tracked::default() }),
        };
        let (farthest, lives) = (self.farthest, 1.0 / (LIFE_MAX * weight));
        filter.begin(&mut tracked.chords, exported, reach, &asked, lives, now);
        let mut decision =
            Decision { exported, tracked, path, farthest, asked, weight, now, life: None, lives };
        candidates.clear();
        let columns = reach.asks(notes_refusals).of(exported.last_sents());
        let mut next = 0;
        filter.sift(&columns, next, left);
        while let Some(link) = left.first_from(next) {
            next = link + 1;
            let lines = filter.bounds.len();
            candidates.extend(decision.consider(
                link as u32,
                seen[link].is_looked_at(),
                reach,
                filter,
                &self.control,
            ));
            // Most remaining candidates show the same vector as another one, or the bounds found since rule them out.
            if filter.raise(&asked, decision.lives) || filter.bounds.len() > lines {
                filter.sift(&columns, next, left);
            }
        }
        self.sell(candidates, asked.price, exported, now, plan)
    }

    /// Sends a vector in order of worth, while it is worth its price, which rises with each dispatch. Returns whether it was
    /// refused to one of the worst off.
    fn sell(
        &mut self,
        candidates: &mut [Candidate],
        mut price: f64,
        exported: &Exported<'_>,
        now: SessionTime,
        plan: &mut SendPlan,
    ) -> bool {
        candidates.sort_unstable_by(|a, b| b.worth.total_cmp(&a.worth).then(a.link.cmp(&b.link)));
        let mut refused = false;
        for candidate in candidates {
            let is_worth = candidate.worth > price || candidate.tried && self.bucket.lack() <= 0.0;
            if self.bucket.has_one() && is_worth {
                self.bucket.take_one();
                price = self.price.with(&self.bucket);
                plan.send_to(exported, candidate.link, now);
                self.control.note_sent(exported.pair(candidate.link).receiver());
            } else {
                refused |= candidate.worst;
            }
        }
        refused
    }
}

struct Decision<'a> {
    exported: &'a Exported<'a>,
    tracked: &'a mut Tracked,
    path: &'a mut Path,
    farthest: Span,
    asked: Terms,
    /// The largest weight of its pairs.
    weight: f64,
    now: SessionTime,
    /// Seconds that the newest vector will hold, computed on demand.
    life: Option<f64>,
    /// One over the product of that, or of the longest possible life, and the weight.
    lives: f64,
}

impl Decision<'_> {
    /// Predicts the entity's path on demand.
    fn life(&mut self) -> f64 {
        *self.life.get_or_insert_with(|| {
            let life = self.tracked.foresee(self.exported, self.farthest, self.path, self.now);
            self.lives = 1.0 / (life * self.weight);
            life
        })
    }

    /// The candidate for a receiver, if it is worth sending or noting.
    fn consider(
        &mut self,
        link: u32,
        is_looked_at: bool,
        reach: &Reach,
        filter: &mut CandidateFilter,
        control: &Control,
    ) -> Option<Candidate> {
        let (exported, now) = (self.exported, self.now);
        if !exported.pair_states()[link as usize].is_open() {
            return None;
        }
        let row = reach.row(link);
        let messages = exported.messages(link);
        let known = match exported.last_sents()[link as usize].shows(
            exported.newest().0,
            now,
            row.lost_after,
            messages,
        ) {
            ShownVector::Newest => return None,
            ShownVector::Older(_) if !row.is_served => return None,
            ShownVector::Older(seq) => filter.separation(&mut self.tracked.chords, exported, seq, now),
            ShownVector::Unclear => None,
        };
        match known {
            Some(apart) if !is_looked_at || row.rules_out(&apart, &self.asked, self.lives) => None,
            Some(apart) => self.weigh(&apart, row, link),
            None => self.weigh_closely(&exported.pair(link), is_looked_at, control),
        }
    }

    /// The candidate for a receiver that shows a linear vector with this separation.
    fn weigh(&mut self, apart: &Separation, row: &ReachRow, link: u32) -> Option<Candidate> {
        let life = self.life();
        let gain = reach::gain(self.path, self.path.age(self.now), apart, row);
        let index = gain * life * self.exported.weight(row.peer);
        let (worth, worst) = (index * row.boost, row.worst);
        let counts = worth > self.asked.price || self.asked.notes_refusals && worst;
        (index > self.asked.least && counts).then_some(Candidate { worth, link, worst, tried: false })
    }

    /// The candidate for a receiver whose account must be consulted.
    fn weigh_closely(&mut self, pair: &Pair<'_>, is_looked_at: bool, control: &Control) -> Option<Candidate> {
        let (newest, now) = (self.exported.newest().0, self.now);
        let shows = if is_believed(pair) { pair.prospect() } else { presumed_shown(pair) };
        let Some((seq, shown)) = shows.filter(|(seq, _)| *seq < newest) else {
            // If even the last vector sent is no longer kept, what the receiver lacks is unknown.
            let worth = if shows.is_none() { f64::INFINITY } else { 0.0 };
            return is_tried(pair, now).then(|| Candidate::trial(pair, worth));
        };
        let standing = control.find(pair.receiver()).filter(|_| is_looked_at)?;
        // A receiver that has not answered is not known to be ahead either: it must be sent something to find out.
        let unheard = is_believed(pair) && pair.last_sent().is_some_and(|sent| sent.seq > seq);
        let boost = if unheard { 1.0 } else { standing.boost };
        // A receiver this far ahead waits for the others.
        if !unheard && pair.is_known() && standing.above < control.above_max - LEAD_MAX {
            return None;
        }
        let life = self.life();
        let index = gain(self.path, pair, &shown, &pair.offered(), now) * life * pair.weight();
        if index > self.asked.least {
            let worst = boost > WORST;
            return Some(Candidate { worth: index * boost, link: pair.place(), worst, tried: false });
        }
        is_tried(pair, now).then(|| Candidate::trial(pair, 0.0))
    }
}

/// Whether a receiver has reported that it has the entity, and its reports are believed.
fn is_believed(pair: &Pair<'_>) -> bool {
    pair.is_known() && pair.is_credible()
}

/// Whether the last dispatch to a receiver that is not believed was long enough ago to try it again.
fn is_tried(pair: &Pair<'_>, now: SessionTime) -> bool {
    !is_believed(pair) && pair.last_sent().is_some_and(|sent| now - sent.sent > TRIED_AGAIN)
}

/// The vector that a receiver shows if every dispatch has arrived, or else the one that it reported.
pub(super) fn presumed_shown(pair: &Pair<'_>) -> Option<(DrSeq, DrVector)> {
    let sent = pair.last_sent().and_then(|sent| Some((sent.seq, pair.vector(sent.seq)?)));
    sent.or_else(|| pair.prospect())
}

/// How much closer to the entity the newest vector brings a receiver: the mean over a short time from its arrival on, by
/// Simpson's rule.
fn gain(path: &Path, pair: &Pair<'_>, shown: &DrVector, newest: &DrVector, now: SessionTime) -> f64 {
    let (arrival, window) = (now + pair.delay(), window(pair.delay()));
    let nearer = |at: SessionTime| {
        let there = path.at(at);
        shown.project(at).distance(there) - newest.project(at).distance(there)
    };
    (nearer(arrival) + 4.0 * nearer(arrival + window.part(2)) + nearer(arrival + window)) * (1.0 / 6.0)
}

/// Seconds over which the gain at a receiver is averaged.
pub(super) fn window(delay: Span) -> Span {
    Span::from_secs_f64(WINDOW + WINDOW_GROWTH * delay.as_secs_f64())
}

/// The distance that matters in this game, derived from the owner's threshold, which may be anything.
fn scale(exported: &Exported<'_>) -> f64 {
    let distance = exported.threshold().distance;
    if distance.is_nan() { 1.0 } else { distance.clamp(1e-9, 1e9) }
}

/// An entity's motion, inferred from its newest vector and its owner's silence since: had it left the vector's path by more than
/// the threshold, there would be a newer one.
fn presumed(exported: &Exported<'_>, triggered: SessionTime, now: SessionTime) -> Kinematics {
    let vector = exported.newest().1;
    if vector.kind != MotionKind::Linear {
        return Kinematics { at: vector.generated, state: vector.state };
    }
    let silent = (now - triggered).as_secs_f64().max(1e-3);
    let (velocity, most) = (vector.velocity(now), 2.0 * scale(exported) / (silent * silent));
    let MotionState { acceleration, turn_rate, .. } = vector.state;
    let turn_max = most / velocity.length().max(1e-9);
    let state = MotionState {
        position: vector.project(now),
        velocity,
        acceleration: acceleration * (most / acceleration.length().max(1e-9)).min(1.0),
        turn_rate: turn_rate.clamp(-turn_max, turn_max),
    };
    Kinematics { at: now, state }
}
