//! `even`: everybody's error alike, at the least mean that a budget allows.
//!
//! 1. **The gain, not the debt.** The index of a pair is the error that a message now would save at the receiver, from its
//!    arrival on, along the path (`path.rs`) that the entity is expected to take.
//! 2. **The life of a vector.** One made in mid-turn is replaced within a tenth of a second, and it is better to wait for
//!    its successor: the gain is counted for as long as the newest vector is expected to hold.
//! 3. **A price, not a quota** (`price.rs`). A message is sent when its index beats a price that moves so that the budget
//!    is spent and never exceeded.
//! 4. **Control of seconds** (`control.rs`). A message to who has suffered more than its target counts for more. The
//!    targets even out `phi` of the difference that there would be without us (`shadow.rs`), and nobody's is above `kappa`
//!    times its own error without us.
//!
//! It decides at every trigger, and in between: where the owner runs it, with each look at the entity and by the owner's
//! own motion; at a relay, by what the newest vector says, and again when there has been no other for a second.

mod control;
mod path;
mod price;
mod reach;
mod shadow;

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{PeerId, SessionTime, Span};

use self::control::Control;
use self::path::{Bend, Path};
use self::price::{Bucket, Price};
use self::reach::{Asked, Known, Older, Reach};
use self::shadow::Shadow;
use super::{Exported, FairnessPolicy, Kinematics, Occasion, Pair, PairStates, Review, SendPlan};
use crate::ledger::{Resume, Shows};
use crate::vector::{DrVector, EntityId, MotionKind, MotionState};

/// How often an owner has its turn at a relay, where nobody looks at the entities.
const TICK: Span = Span::from_millis(100);
/// A relay does not decide between two triggers unless there has been none for so long. A vector that is soon replaced is
/// worth little, and whether it is, only the owner sees.
const SILENCE: Span = Span::from_secs(1);
/// Seconds from the arrival on over which the gain is averaged: paths cross, and an instant says little. The farther
/// away the arrival, the less it says.
const WINDOW: f64 = 0.05;
/// So much longer for each second of the delay.
const WINDOW_GROWTH: f64 = 0.4;
/// A vector holds for at most so many seconds: later, who knows.
const LIFE_MAX: f64 = 0.7;
/// And for at least so many.
const LIFE_MIN: f64 = 0.001;
/// A first guess of the price: the threshold for so many seconds.
const PRICE_GUESS: f64 = 0.3;
/// Who is ahead of the worst off by more seconds is sent nothing until that has changed.
const LEAD_MAX: f64 = 8.0;
/// What saves less than this part of the threshold for a second is not worth a message at any price.
const WORTH_MIN: f64 = 0.01;

/// Whose messages are worth more than this part of the most is among the worst off.
const WORST: f64 = 0.99;

/// What an owner without entities has saved up is forgotten after so long.
const FORGOTTEN: Span = Span::from_secs(30);

/// What users set, besides the budget.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EvenSettings {
    phi: f64,
    kappa: Option<f64>,
}

impl Default for EvenSettings {
    fn default() -> Self {
        Self { phi: Self::PHI, kappa: None }
    }
}

impl EvenSettings {
    /// How much is evened out unless said otherwise.
    pub const PHI: f64 = 0.985;
    /// The largest kappa.
    pub const KAPPA_MAX: f64 = 1000.0;

    /// `phi`, 0 to 1, is the part of the spread of 1/m base that is evened out; `kappa`, 1 to [`KAPPA_MAX`](Self::KAPPA_MAX), how many
    /// times its error under 1/m base anybody may have, if that is limited. `None` if they are out of range.
    #[must_use]
    pub fn new(phi: f64, kappa: Option<f64>) -> Option<Self> {
        let is_kappa = |kappa: f64| (1.0..=Self::KAPPA_MAX).contains(&kappa);
        ((0.0..=1.0).contains(&phi) && kappa.is_none_or(is_kappa)).then_some(Self { phi, kappa })
    }

    /// How many messages can be saved up for a turn, with this budget per trigger and so many entities: never more than that
    /// is sent beyond the budget.
    #[must_use]
    pub fn saved_max(budget: f64, entities: usize) -> f64 {
        price::capacity(budget, entities)
    }

    /// The part of the spread that is evened out.
    #[must_use]
    pub const fn phi(&self) -> f64 {
        self.phi
    }

    /// How many times its error without us anybody may have.
    #[must_use]
    pub const fn kappa(&self) -> Option<f64> {
        self.kappa
    }
}

/// What is remembered of a pair.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// Its error when it was last looked at; not a number: it never was.
    error: f64,
    /// The place of its receiver.
    place: u32,
    /// Where that look got to.
    resume: Resume,
}

impl Default for Note {
    fn default() -> Self {
        Self { error: f64::NAN, place: 0, resume: Resume::default() }
    }
}

/// What is remembered of an entity.
#[derive(Clone, Debug, Default)]
struct Tracked {
    shadow: Shadow,
    bend: Bend,
    /// When it triggered last.
    triggered: SessionTime,
}

/// A message that would save something.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// What it is worth.
    worth: f64,
    slot: usize,
    /// Whether it is for one of the worst off.
    worst: bool,
}

/// What all decisions use.
#[derive(Clone, Debug, Default)]
struct Desk {
    notes: PairStates<Note>,
    /// Filled anew for each owner and instant.
    reach: Reach,
    /// Filled anew for each entity.
    path: Path,
    candidates: Vec<Candidate>,
    /// Entities of which nothing has been heard.
    silent: Vec<EntityId>,
}

/// What the entities of one owner share: their triggers pay for them and for nobody else's.
///
/// A relay decides for many owners. One that drives wildly, or lies, cannot spend what the others have saved up, nor move
/// what they take for fair. Where everybody's error is alike for each owner, so it is in sum.
#[derive(Clone, Debug, Default)]
struct Share {
    bucket: Bucket,
    price: Price,
    control: Control,
    entities: BTreeMap<EntityId, Tracked>,
    /// The delay of the farthest receiver.
    farthest: Span,
    /// When it last had an entity.
    alive: SessionTime,
    /// Whether it has turns, because nobody looks at its entities.
    has_turns: bool,
}

impl Share {
    /// An entity made a vector.
    fn on_trigger(&mut self, exported: &Exported<'_>, budget: f64, now: SessionTime) {
        let vector = exported.newest().1;
        let tracked = self.entities.entry(exported.entity()).or_default();
        tracked.triggered = now;
        let receivers = exported.pair_count().max(1) as f64;
        tracked.shadow.trigger(vector, budget / receivers, now);
        if exported.observed().is_none() {
            tracked.bend.observe(vector.generated, vector.state.turn_rate);
        }
        self.price.guess(PRICE_GUESS * scale(exported));
        self.bucket.pay_in(budget, self.entities.len());
    }

    /// Looks at everybody's error with all of the owner's entities.
    fn look(&mut self, review: &Review<'_>, notes: &mut PairStates<Note>, settings: &EvenSettings) {
        let now = review.now();
        let (mut rate_min, mut farthest) = (0.0, Span::ZERO);
        let control = &mut self.control;
        self.entities.retain(|entity, tracked| {
            let Some(exported) = review.entity(*entity) else { return false };
            rate_min += WORTH_MIN * scale(&exported);
            for pair in exported.pairs() {
                let (peer, delay) = (pair.receiver(), pair.delay());
                let note = notes.of(&pair);
                if control.standing(note.place, peer).is_none() {
                    note.place = control.place(peer, now);
                }
                let (error, later) = pair.accumulated_until(now + delay, &mut note.resume);
                let ahead = later - error;
                let before = core::mem::replace(&mut note.error, error);
                let grown = if before.is_nan() { 0.0 } else { error - before };
                let (weight, without) = (pair.weight(), tracked.shadow.grown(delay));
                control.grow(note.place, weight * grown, weight * ahead, weight * without, now);
                farthest = farthest.max(delay);
            }
            tracked.shadow.take();
            true
        });
        control.step(now, settings, rate_min);
        self.farthest = farthest;
        if !self.entities.is_empty() {
            self.alive = now;
        }
    }

    /// Sends the newest vector of an entity to whom it is worth its price. True if one of the worst off was refused it, where
    /// refusals are noted.
    fn decide(
        &mut self,
        review: &Review<'_>,
        exported: &Exported<'_>,
        desk: &mut Desk,
        notes_refusals: bool,
        plan: &mut SendPlan,
    ) -> bool {
        let now = review.now();
        let (newest, _) = exported.newest();
        let least = WORTH_MIN * scale(exported);
        let weight = exported.weight_max();
        let asked = Asked { price: self.price.with(&self.bucket), least, notes_refusals };
        let Desk { notes, reach, path, candidates, .. } = desk;
        reach.update(review, exported.owner(), &self.control);
        let shortest = 1.0 / (LIFE_MAX * weight);
        let (mut older, mut life, mut lives) = (Older::new(), None, shortest);
        candidates.clear();
        for glance in exported.glances() {
            let row = reach.row(glance.link);
            let mut apart = None;
            match glance.shows(newest, now, row.lost_after) {
                Shows::Newest => continue,
                Shows::Older(seq) => {
                    let find = || reach.find(exported, seq, now, &asked, shortest);
                    match older.known(seq, newest, find) {
                        Known::Idle => continue,
                        Known::Apart(known) if row.rules_out(known, &asked, lives) => continue,
                        Known::Apart(known) => apart = Some(*known),
                        Known::Unasked | Known::Unclear => {}
                    }
                }
                Shows::Unclear => {}
            }
            let pair = exported.pair(glance);
            let Some((seq, shown)) = pair.prospect() else { continue };
            if seq >= newest {
                continue;
            }
            let place = notes.of(&pair).place;
            let Some(standing) = self.control.standing(place, pair.receiver()) else { continue };
            // Of whom nothing is heard, it is not known either that it is ahead: it must be sent something to tell.
            let unheard = pair.last_sent().is_some_and(|sent| sent.seq > seq);
            let boost = if unheard { 1.0 } else { standing.boost };
            // Who is so far ahead of the others waits for them.
            if !unheard && standing.above < self.control.above_max - LEAD_MAX {
                continue;
            }
            let life = *life.get_or_insert_with(|| self.foresee(exported, path, now));
            lives = 1.0 / (life * weight);
            if apart.is_some_and(|apart| row.rules_out(&apart, &asked, lives)) {
                continue;
            }
            let index = gain(path, &pair, &shown, &pair.offered(), now) * life * pair.weight();
            if index > least {
                let worst = boost > WORST;
                candidates.push(Candidate { worth: index * boost, slot: pair.slot(), worst });
            }
        }
        candidates.sort_unstable_by(|a, b| b.worth.total_cmp(&a.worth).then(a.slot.cmp(&b.slot)));
        let mut refused = false;
        for candidate in candidates {
            if self.bucket.has_one() && candidate.worth > self.price.with(&self.bucket) {
                self.bucket.take_one();
                plan.dispatch(candidate.slot, newest, now);
            } else {
                refused |= candidate.worst;
            }
        }
        refused
    }

    /// Follows the entity into its future. Gives the seconds for which its newest vector will hold.
    fn foresee(&self, exported: &Exported<'_>, path: &mut Path, now: SessionTime) -> f64 {
        let until = now + self.farthest + window(self.farthest);
        let tracked = self.entities.get(&exported.entity());
        let (triggered, bend) =
            tracked.map_or((now, 0.0), |tracked| (tracked.triggered, tracked.bend.change()));
        let seen = exported.observed().unwrap_or_else(|| presumed(exported, triggered, now));
        path.follow(&seen, bend, until);
        let leaves = path.leaves(exported.newest().1, exported.threshold().distance, now, LIFE_MAX);
        leaves.max(LIFE_MIN)
    }
}

/// The policy `even`.
#[derive(Clone, Debug)]
pub struct Even {
    settings: EvenSettings,
    shares: BTreeMap<Option<PeerId>, Share>,
    /// Whose turn it is, and when. Where there are many owners, they are looked at one after the other.
    turns: BTreeSet<(SessionTime, Option<PeerId>)>,
    desk: Desk,
}

impl Even {
    /// The policy with these settings.
    #[must_use]
    pub fn new(settings: EvenSettings) -> Self {
        Self { settings, shares: BTreeMap::new(), turns: BTreeSet::new(), desk: Desk::default() }
    }

    /// The entity triggered, or its owner looked at it.
    fn attend(&mut self, review: &Review<'_>, exported: &Exported<'_>, plan: &mut SendPlan) {
        let (now, is_trigger) = (review.now(), review.triggered().is_some());
        let Self { settings, shares, turns, desk } = self;
        let share = shares.entry(exported.owner()).or_default();
        if is_trigger {
            if share.entities.is_empty() {
                // What can be saved up depends on how many there are, and most have not triggered yet.
                let alike = review.all_entities().filter(|other| other.owner() == exported.owner());
                share.entities.extend(alike.map(|other| (other.entity(), Tracked::default())));
            }
            share.on_trigger(exported, review.budget(), now);
        }
        if let (Some(seen), Some(tracked)) = (exported.observed(), share.entities.get_mut(&exported.entity()))
        {
            tracked.bend.observe(seen.at, seen.state.turn_rate);
        }
        if share.control.is_due(now) {
            share.look(review, &mut desk.notes, settings);
        }
        if is_trigger {
            let refused = share.decide(review, exported, desk, true, plan);
            share.price.adapt(&share.bucket, refused, share.entities.len());
        } else if share.bucket.has_one() {
            share.decide(review, exported, desk, false, plan);
        }
        if exported.observed().is_none() && !share.has_turns {
            share.has_turns = true;
            turns.insert((now + first_turn(exported.owner()), exported.owner()));
        }
    }

    /// It is an owner's turn: somebody must look at its entities.
    fn take_turn(
        &mut self,
        review: &Review<'_>,
        at: SessionTime,
        owner: Option<PeerId>,
        plan: &mut SendPlan,
    ) {
        let now = review.now();
        let Self { settings, shares, turns, desk } = self;
        let Some(share) = shares.get_mut(&owner) else { return };
        share.look(review, &mut desk.notes, settings);
        let mut silent = core::mem::take(&mut desk.silent);
        let is_silent = |tracked: &Tracked| now - tracked.triggered >= SILENCE;
        silent.extend(
            share.entities.iter().filter(|(_, tracked)| is_silent(tracked)).map(|(entity, _)| *entity),
        );
        for entity in silent.drain(..) {
            if share.bucket.has_one()
                && let Some(exported) = review.entity(entity)
            {
                share.decide(review, &exported, desk, false, plan);
            }
        }
        desk.silent = silent;
        if now - share.alive > FORGOTTEN {
            shares.remove(&owner);
            return;
        }
        // However late it is: who has its turn together once must not have it together for ever.
        let missed = (now - at).as_nanos() / TICK.as_nanos();
        turns.insert((at + TICK.times(missed + 1), owner));
    }
}

/// After how much time an owner has its first turn. Owners that begin together, as those do whose games tick together, must
/// not go on together: consecutive numbers are spread over the time between two turns.
fn first_turn(owner: Option<PeerId>) -> Span {
    const GOLDEN: u32 = 0x9e37_79b9;
    let spread = owner.map_or(0, |owner| owner.0.wrapping_mul(GOLDEN));
    Span::from_nanos((TICK.as_nanos() * (i64::from(spread >> 16) + 1)) >> 16)
}

/// By how much the receiver will be nearer to the entity with the newest vector than with what it shows otherwise: the mean
/// over a short time from its arrival on, by Simpson's rule.
fn gain(path: &Path, pair: &Pair<'_>, shown: &DrVector, newest: &DrVector, now: SessionTime) -> f64 {
    let (arrival, window) = (now + pair.delay(), window(pair.delay()));
    let nearer = |at: SessionTime| {
        let there = path.at(at);
        shown.project(at).distance(there) - newest.project(at).distance(there)
    };
    (nearer(arrival) + 4.0 * nearer(arrival + window.part(2)) + nearer(arrival + window)) * (1.0 / 6.0)
}

/// Over how much time the gain at a receiver so far away is averaged.
fn window(delay: Span) -> Span {
    Span::from_secs_f64(WINDOW + WINDOW_GROWTH * delay.as_secs_f64())
}

/// The distance that matters in this game, as its owner says; owners may say anything.
fn scale(exported: &Exported<'_>) -> f64 {
    let distance = exported.threshold().distance;
    if distance.is_nan() { 1.0 } else { distance.clamp(1e-9, 1e9) }
}

/// How an entity moves as far as its newest vector tells, and its owner's silence since: had it left the vector's path by
/// more than the threshold, there would be another one.
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

impl FairnessPolicy for Even {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        if let Occasion::Trigger(entity) | Occasion::Observed(entity) = review.occasion() {
            if let Some(exported) = review.entity(entity) {
                self.attend(review, &exported, plan);
            }
            return;
        }
        while let Some(&(at, owner)) = self.turns.first()
            && at <= review.now()
        {
            self.turns.pop_first();
            self.take_turn(review, at, owner, plan);
        }
    }

    fn watches(&self) -> bool {
        true
    }

    fn asks_instantaneous(&self) -> bool {
        false
    }

    fn review_at(&self) -> Option<SessionTime> {
        self.turns.first().map(|(at, _)| *at)
    }
}
