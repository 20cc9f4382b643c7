//! What the entities of one owner share: a bucket, a price, and everybody's standing.

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

/// Seconds from the arrival on over which the gain is averaged: paths cross, and an instant says little, the less the farther
/// away it is.
const WINDOW: f64 = 0.05;
/// What is added for each second of the delay.
const WINDOW_GROWTH: f64 = 0.4;
/// The longest life of a vector that is assumed, in seconds.
const LIFE_MAX: f64 = 0.7;
/// The shortest.
const LIFE_MIN: f64 = 0.001;
/// The first price: the threshold for this many seconds.
const PRICE_GUESS: f64 = 0.3;
/// A receiver this many seconds ahead of the worst off is sent nothing.
pub(super) const LEAD_MAX: f64 = 8.0;
/// A message that saves less than this part of the threshold for a second is never worth sending.
const WORTH_MIN: f64 = 0.01;
/// Receivers whose boost is above this are among the worst off.
pub(super) const WORST: f64 = 0.99;
/// An entity without triggers for this long pays if nothing is left to send its last vector with: a receiver that lacks it
/// would see it go astray for ever. With a heartbeat no entity is as silent.
const PAID_SILENCE: Span = Span::from_secs(2);

/// A receiver that is not believed is taken to have what it was sent. After this long it is sent again.
const TRIED_AGAIN: Span = Span::from_secs(5);

/// What is kept of an entity.
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
    /// Predicts the path of an entity up to the arrival at the farthest receiver. Returns for how many seconds its newest
    /// vector will hold.
    fn foresee(&self, exported: &Exported<'_>, farthest: Span, path: &mut Path, now: SessionTime) -> f64 {
        let until = now + farthest + window(farthest);
        let seen = exported.observed().unwrap_or_else(|| presumed(exported, self.triggered, now));
        path.follow(&seen, self.bend.change, until);
        let leaves = path.leaves(exported.newest().1, exported.threshold().distance, now, LIFE_MAX);
        leaves.max(LIFE_MIN)
    }
}

/// A message that would save something.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    worth: f64,
    link: u32,
    worst: bool,
    /// Whether it only tests whether the receiver answers. Then it is sent whatever it is worth, if the bucket is half full.
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
    /// What the last look saw of each pair.
    pub(super) seen: PairColumn<SeenPair>,
    reach: Reach,
    filter: CandidateFilter,
    left: ReceiverSet,
    path: Path,
    candidates: Vec<Candidate>,
    /// Entities without a recent trigger.
    pub(super) silent: Vec<EntityId>,
}

/// What the entities of one owner share. Their triggers pay for them and for nobody else's.
///
/// A relay decides for many owners. One that drives wildly, or lies, can't spend what the others have saved up, nor move their
/// targets. If everybody's error is even for each owner, so it is in sum.
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
    /// Whether it has turns, because nobody observes its entities.
    pub(super) has_turns: bool,
}

impl Share {
    /// Notes that an entity made a vector.
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

    /// Looks at everybody's error with all entities of the owner.
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
            // The name may belong to another owner by now.
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

    /// Sends the newest vector of an entity to receivers for which it is worth its price. Returns whether one of the worst off
    /// was refused it, where refusals are noted.
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
            // Most candidates left show the same vector as another, or are ruled out by what is known by now.
            if filter.raise(&asked, decision.lives) || filter.bounds.len() > lines {
                filter.sift(&columns, next, left);
            }
        }
        self.sell(candidates, asked.price, exported, now, plan)
    }

    /// Sends a vector in order of worth, while it is worth its price, which rises with each. Returns whether one of the worst
    /// off was refused it.
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
    /// For how many seconds the newest vector will hold, once that is needed.
    life: Option<f64>,
    /// One over that, or over the longest possible life, times the weight.
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

    /// The candidate for a receiver whose account must be asked.
    fn weigh_closely(&mut self, pair: &Pair<'_>, is_looked_at: bool, control: &Control) -> Option<Candidate> {
        let (newest, now) = (self.exported.newest().0, self.now);
        let shows = if is_believed(pair) { pair.prospect() } else { presumed_shown(pair) };
        let Some((seq, shown)) = shows.filter(|(seq, _)| *seq < newest) else {
            // If even the last vector sent is forgotten, there is no telling what it lacks.
            let worth = if shows.is_none() { f64::INFINITY } else { 0.0 };
            return is_tried(pair, now).then(|| Candidate::trial(pair, worth));
        };
        let standing = control.find(pair.receiver()).filter(|_| is_looked_at)?;
        // A receiver of which nothing is heard is not known to be ahead either: it must be sent something to find out.
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

/// Whether a receiver has reported to have the entity, and its reports are believed.
fn is_believed(pair: &Pair<'_>) -> bool {
    pair.is_known() && pair.is_credible()
}

/// Whether a receiver that is not believed was last sent something so long ago that it is tried again.
fn is_tried(pair: &Pair<'_>, now: SessionTime) -> bool {
    !is_believed(pair) && pair.last_sent().is_some_and(|sent| now - sent.sent > TRIED_AGAIN)
}

/// What a receiver shows if everything that it was sent has arrived, or else what it reported.
pub(super) fn presumed_shown(pair: &Pair<'_>) -> Option<(DrSeq, DrVector)> {
    let sent = pair.last_sent().and_then(|sent| Some((sent.seq, pair.vector(sent.seq)?)));
    sent.or_else(|| pair.prospect())
}

/// How much nearer to the entity the newest vector brings a receiver: the mean over a short time from its arrival on, by
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

/// The distance that matters in this game, by the owner's threshold, which may be anything.
fn scale(exported: &Exported<'_>) -> f64 {
    let distance = exported.threshold().distance;
    if distance.is_nan() { 1.0 } else { distance.clamp(1e-9, 1e9) }
}

/// How an entity moves, judging by its newest vector and its owner's silence since: if it had left the vector's path by more
/// than the threshold, there would be another one.
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
