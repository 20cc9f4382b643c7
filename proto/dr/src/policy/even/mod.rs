//! `even`: equal errors at all receivers, at the lowest mean that a budget allows.
//!
//! 1. **The gain, not the debt.** The index of a pair is the error that a message now would save at the receiver, from its
//!    arrival on, along the path (`path.rs`) that the entity is expected to take.
//! 2. **The life of a vector.** One made in mid-turn is replaced within a tenth of a second, and it is better to wait for
//!    its successor: the gain is counted for as long as the newest vector is expected to hold.
//! 3. **A price, not a quota** (`price.rs`). A message is sent when its index beats a price that moves so that the budget
//!    is spent and never exceeded.
//! 4. **Control of seconds** (`control.rs`). A message to a receiver that has suffered more than its target counts for
//!    more. The targets even out `phi` of the spread under 1/m base (`shadow.rs`), and none is above `kappa` times the
//!    receiver's own error under 1/m base. With `keep`, nobody takes more messages than leave the others that part of an
//!    equal share.
//!
//! It decides at every trigger and in between: at an owner, with each observation and from the entity's actual motion; at a
//! relay, from the newest vector, once there has been no other for a second.

mod control;
mod filter;
mod growths;
mod look;
mod path;
mod price;
mod reach;
mod seen;
mod shadow;
mod share;
mod vector_sums;

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{PeerId, SessionTime, Span};

use self::share::{DecisionScratch, Share, Tracked};
use super::{ClosedPairs, Exported, FairnessPolicy, Occasion, Review, SendPlan};

/// The interval between an owner's turns at a relay, where entities are not observed.
const TICK: Span = Span::from_millis(100);
/// How long a relay waits without a trigger before it decides in between. A vector that is soon replaced is worth little, and
/// only the owner knows whether it will be.
const SILENCE: Span = Span::from_secs(1);

/// How long the savings of an owner without entities are kept.
const FORGOTTEN: Span = Span::from_secs(600);

/// Settings besides the budget.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EvenSettings {
    phi: f64,
    kappa: Option<f64>,
    keep: Option<f64>,
}

impl Default for EvenSettings {
    fn default() -> Self {
        Self { phi: Self::PHI, kappa: None, keep: None }
    }
}

impl EvenSettings {
    /// The default of phi.
    pub const PHI: f64 = 0.995;
    /// The largest kappa.
    pub const KAPPA_MAX: f64 = 1000.0;

    /// `phi`, 0 to 1, is the part of the spread under 1/m base that is evened out. `kappa`, 1 to
    /// [`KAPPA_MAX`](Self::KAPPA_MAX), caps each receiver's error at that multiple of its error under 1/m base. `None` if they
    /// are out of range.
    #[must_use]
    pub fn new(phi: f64, kappa: Option<f64>) -> Option<Self> {
        let is_kappa = |kappa: f64| (1.0..=Self::KAPPA_MAX).contains(&kappa);
        let is_valid = (0.0..=1.0).contains(&phi) && kappa.is_none_or(is_kappa);
        is_valid.then_some(Self { phi, kappa, keep: None })
    }

    /// The same with `keep`, 0 to 1: the part of an equal share of the messages that the others keep on average, whatever
    /// one receiver needs, or claims to need. `None` if it is out of range.
    #[must_use]
    pub fn keeping(self, keep: f64) -> Option<Self> {
        (0.0..=1.0).contains(&keep).then_some(Self { keep: Some(keep), ..self })
    }

    /// The number of messages that an owner can save up for a turn. At most that many are sent for its entities beyond the
    /// budget of all triggers, as long as each triggers every two seconds.
    #[must_use]
    pub fn saved_max(budget: f64, entities: usize) -> f64 {
        price::capacity(budget, entities)
    }

    /// The part of the spread that is evened out.
    #[must_use]
    pub const fn phi(&self) -> f64 {
        self.phi
    }

    /// The cap on each receiver's error, as a multiple of its error under 1/m base.
    #[must_use]
    pub const fn kappa(&self) -> Option<f64> {
        self.kappa
    }

    /// The part of an equal share of the messages that the others keep, whatever one receiver needs.
    #[must_use]
    pub const fn keep(&self) -> Option<f64> {
        self.keep
    }
}

/// The owners' turns, spread over time.
type Turns = BTreeSet<(SessionTime, Option<PeerId>)>;

/// The policy `even`.
#[derive(Clone, Debug)]
pub struct Even {
    settings: EvenSettings,
    shares: BTreeMap<Option<PeerId>, Share>,
    turns: Turns,
    scratch: DecisionScratch,
    has_begun: bool,
}

impl Even {
    /// The policy with these settings.
    #[must_use]
    pub fn new(settings: EvenSettings) -> Self {
        Self {
            settings,
            shares: BTreeMap::new(),
            turns: BTreeSet::new(),
            scratch: DecisionScratch::default(),
            has_begun: false,
        }
    }

    /// Handles a trigger or an observation of an entity.
    fn attend(&mut self, review: &Review<'_>, exported: &Exported<'_>, plan: &mut SendPlan) {
        let (now, is_trigger) = (review.now(), review.triggered().is_some());
        let Self { settings, shares, turns, scratch, .. } = self;
        let share = shares.entry(exported.owner()).or_default();
        if is_trigger {
            if share.entities.is_empty() {
                // The capacity depends on the number of entities, and most have not triggered yet.
                let alike = review.all_entities().filter(|other| other.owner() == exported.owner());
                alike.for_each(|other| share.entities.insert(other.entity(), Box::default()));
            }
            share.on_trigger(exported, review.budget(), now);
        }
        if let (Some(seen), Some(tracked)) = (exported.observed(), share.entities.get_mut(exported.entity()))
        {
            tracked.bend.observe(seen.at, seen.state.turn_rate);
        }
        if share.control.is_due(now, share.entities.len()) {
            share.look(review, exported.owner(), scratch, settings);
        }
        if is_trigger {
            let refused = share.decide(review, exported, scratch, true, plan);
            // Without receivers there is nothing to learn about the price.
            if exported.pair_count() > 0 {
                share.price.adapt(&share.bucket, refused, share.entities.len());
            }
        } else {
            share.pay_for_silence(exported.entity(), review.budget(), now);
            if share.bucket.has_one() {
                share.decide(review, exported, scratch, false, plan);
            }
        }
        share.begin_turns(exported, now, turns);
    }

    /// Gives shares and turns to existing entities, which may never trigger again.
    fn begin(&mut self, review: &Review<'_>) {
        for exported in review.all_entities() {
            let share = self.shares.entry(exported.owner()).or_default();
            share.entities.insert(exported.entity(), Box::default());
            share.alive = review.now();
            share.begin_turns(&exported, review.now(), &mut self.turns);
        }
    }

    /// Takes the turn of an owner whose entities are not observed.
    fn take_turn(
        &mut self,
        review: &Review<'_>,
        at: SessionTime,
        owner: Option<PeerId>,
        plan: &mut SendPlan,
    ) {
        let now = review.now();
        let Self { settings, shares, turns, scratch, .. } = self;
        let Some(share) = shares.get_mut(&owner) else { return };
        if share.control.is_due_in_turn(now, share.entities.len()) {
            share.look(review, owner, scratch, settings);
        }
        let mut silent = core::mem::take(&mut scratch.silent);
        let is_silent = |tracked: &Tracked| now - tracked.triggered >= SILENCE;
        silent.extend(
            share.entities.iter().filter(|(_, tracked)| is_silent(tracked)).map(|(entity, _)| entity),
        );
        for entity in silent.drain(..) {
            share.pay_for_silence(entity, review.budget(), now);
            if share.bucket.has_one()
                && let Some(exported) = review.entity(entity)
            {
                share.decide(review, &exported, scratch, false, plan);
            }
        }
        scratch.silent = silent;
        if now - share.alive > FORGOTTEN {
            shares.remove(&owner);
            return;
        }
        // Turns keep their phase however late they run, or owners that coincide once would coincide forever.
        let missed = (now - at).as_nanos() / TICK.as_nanos();
        turns.insert((at + TICK.times(missed + 1), owner));
    }
}

impl Share {
    /// Gives the owner turns if its entities are not observed. Owners often start at the same time, because games tick
    /// together: the first turns of consecutive numbers are spread over a tick.
    fn begin_turns(&mut self, exported: &Exported<'_>, now: SessionTime, turns: &mut Turns) {
        const GOLDEN: u32 = 0x9e37_79b9;
        if exported.observed().is_some() || core::mem::replace(&mut self.has_turns, true) {
            return;
        }
        let spread = exported.owner().map_or(0, |owner| owner.0.wrapping_mul(GOLDEN));
        let wait = Span::from_nanos((TICK.as_nanos() * (i64::from(spread >> 16) + 1)) >> 16);
        turns.insert((now + wait, exported.owner()));
    }
}

impl FairnessPolicy for Even {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        if !core::mem::replace(&mut self.has_begun, true) {
            self.begin(review);
        }
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

    fn without(&self, owner: Option<PeerId>, receiver: PeerId) -> Option<f64> {
        self.shares.get(&owner)?.control.find(receiver).map(|standing| standing.without)
    }

    fn watches(&self) -> bool {
        true
    }

    fn asks_instantaneous(&self) -> bool {
        false
    }

    fn wants_settlements(&self) -> bool {
        false
    }

    fn on_closed(&mut self, closed: &ClosedPairs) {
        self.scratch.seen.close(closed);
    }

    fn review_at(&self) -> Option<SessionTime> {
        self.turns.first().map(|(at, _)| *at)
    }
}
