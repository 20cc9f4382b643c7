//! The sender: runs the policy and keeps the ledger. It is part of the owner in the direct topology and of the relay
//! otherwise.

mod bandwidth;
pub mod feedback;
mod receiver_kinds;
mod report_cursor;
mod scope;
mod transmit;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use evenkeel_core::{PeerId, Seed, SessionTime, Timers};
use evenkeel_session::{Outbox, PeerMap};

use bandwidth::{Bandwidth, Left};
pub use feedback::EARLY_MAX;
use receiver_kinds::ReceiverKinds;
use report_cursor::ReportCursor;
use scope::ScopedPairs;
use transmit::HeldVector;

use crate::command::RelayCommand;
use crate::config::{Budget, DrConfig};
use crate::ledger::exported_path::Recorded;
use crate::ledger::{Dispatch, ErrorLedger, Life, Report};
use crate::message::{VectorFrame, emit_ended, emit_introduce};
use crate::motion::{Content, DrSeq, EntityId, MotionState};
use crate::owner::Threshold;
use crate::policy::{FairnessPolicy, Occasion, PairWeights, PolicyKind, Review, SendPlan};

/// Entities that one sender exports. Beyond, introductions are refused.
pub const ENTITIES_MAX: usize = 4096;

/// Runs a policy: decides, sends and keeps the ledger.
pub struct Sender {
    ledger: ErrorLedger,
    kind: PolicyKind,
    policy: Box<dyn FairnessPolicy>,
    budget: Budget,
    bandwidth: Bandwidth,
    /// The vectors that would have left if every trigger had reached everybody.
    possible: u64,
    seed: Seed,
    /// Whether the policy has taken over from another and has not made a plan yet.
    is_new: bool,
    weights: PairWeights,
    scope: ScopedPairs,
    /// What of a bandwidth other protocols use, per receiver.
    reserved: f64,
    plan: SendPlan,
    /// Set if each receiver is sent the kind that is best for it.
    kinds: Option<ReceiverKinds>,
    held: BinaryHeap<Reverse<HeldVector>>,
    /// Whether any vector was ever held. Most policies never hold any, and visiting every pair would be expensive.
    has_held: bool,
    cursors: PeerMap<ReportCursor>,
    /// Times at which to confirm reports, in order. Void if that has happened by then.
    confirmations: VecDeque<(SessionTime, PeerId)>,
    timers: Timers<SessionTime, 4>,
    reviews: u64,
    reported: Vec<Report>,
}

impl Sender {
    /// A sender without entities and receivers.
    #[must_use]
    pub fn new(config: &DrConfig) -> Self {
        let policy = config.policy.build();
        let mut ledger = ErrorLedger::new(config.placement, config.compensation);
        ledger.keep_marks(policy.asks_instantaneous());
        let mut sender = Self {
            ledger,
            policy,
            kind: config.policy,
            budget: config.budget,
            bandwidth: Bandwidth::default(),
            possible: 0,
            seed: config.seed,
            is_new: false,
            weights: PairWeights::default(),
            scope: ScopedPairs::default(),
            reserved: 0.0,
            plan: SendPlan::default(),
            kinds: (config.kind == Content::Auto).then(ReceiverKinds::default),
            held: BinaryHeap::new(),
            has_held: false,
            cursors: PeerMap::new(),
            confirmations: VecDeque::new(),
            timers: Timers::default(),
            reviews: 0,
            reported: Vec::new(),
        };
        sender.rearm();
        sender
    }

    /// The ledger of the receivers' errors.
    #[must_use]
    pub const fn ledger(&self) -> &ErrorLedger {
        &self.ledger
    }

    /// The share of the receivers that a trigger may reach, on average: 1 if everything goes to everybody.
    #[must_use]
    pub fn share(&self) -> f64 {
        let receivers = self.cursors.len().saturating_sub(1).max(1);
        (self.bandwidth.share() * self.budget.per_trigger(receivers) / receivers as f64).min(1.0)
    }

    /// Whether the budget is one per second, and everything fits it. Then nothing is withheld, whatever the policy: to even out the
    /// errors would only make some of them larger.
    fn fits_all(&self) -> bool {
        self.budget.per_second().is_some() && self.bandwidth.share() >= 1.0
    }

    /// Bits per second that leave for the average receiver, with the headers of the datagrams.
    #[must_use]
    pub const fn bits_per_second(&self) -> f64 {
        self.bandwidth.rate()
    }

    /// See [`FairnessPolicy::without`].
    pub fn without(&self, owner: Option<PeerId>, receiver: PeerId) -> Option<f64> {
        self.policy.without(owner, receiver)
    }

    /// Switches the policy, or weighs the error of an entity at a receiver until either leaves. That of a scoped entity may be
    /// weighed before it has moved, and stays so in its next lives.
    pub fn handle_command(&mut self, command: RelayCommand) {
        match command {
            RelayCommand::Switch { policy, budget } => self.switch(policy, budget),
            RelayCommand::Weigh { entity, receiver, weight } => {
                let is_known = self.ledger.present(entity).is_some() || self.is_shown(entity, receiver);
                if is_known && self.cursors.contains(receiver) {
                    self.weights.set(entity, receiver, weight);
                }
            }
        }
    }

    /// Replaces the policy and drops the vectors that the old one held.
    fn switch(&mut self, kind: PolicyKind, budget: Budget) {
        self.kind = kind;
        self.budget = budget;
        self.policy = kind.build();
        self.is_new = true;
        self.ledger.keep_marks(self.policy.asks_instantaneous());
        self.held.clear();
        let entities: Vec<EntityId> = self.ledger.lives().map(|(life, _)| life.entity).collect();
        for entity in entities {
            self.ledger.flush_held(entity);
        }
        self.rearm();
    }

    /// Adds a receiver and introduces every entity to it.
    pub fn join(&mut self, receiver: PeerId, now: SessionTime, outbox: &mut Outbox) {
        self.leave(receiver);
        self.ledger.join(receiver);
        self.cursors.insert(receiver, ReportCursor::new(now));
        let lives: Vec<Life> = self
            .ledger
            .lives()
            .filter(|(life, track)| track.owner != Some(receiver) && self.scope.shows(life.entity, receiver))
            .map(|(life, _)| life)
            .collect();
        for life in lives {
            self.introduce_to(life, receiver, now, outbox);
        }
    }

    /// Removes a receiver.
    pub fn leave(&mut self, receiver: PeerId) {
        self.ledger.leave(receiver);
        self.cursors.remove(receiver);
        self.weights.forget_receiver(receiver);
        self.scope.forget_receiver(receiver);
        self.report_closed();
    }

    fn report_closed(&mut self) {
        self.ledger.closed.drain(..).for_each(|closed| self.policy.on_closed(&closed));
    }

    /// Introduces a new entity, or one whose exported path continues after a hole, to every receiver on the reliable
    /// channel. Returns false if it is neither, or if there are too many.
    pub fn introduce(
        &mut self,
        owner: Option<PeerId>,
        frame: &VectorFrame,
        threshold: Threshold,
        now: SessionTime,
        outbox: &mut Outbox,
    ) -> bool {
        let life = Life { entity: frame.entity, first: frame.first };
        match self.ledger.present(frame.entity).map(|(life, track)| (life, track.owner)) {
            Some((_, known)) if known != owner => return false,
            Some((present, _)) if present == life => {
                if !self.ledger.restart(frame, threshold, now) {
                    return false;
                }
            }
            // Owners end a life before they begin the next. This one's end was lost with a connection.
            Some((present, _)) if present.first < life.first => {
                self.end(frame.entity, DrSeq(0), now, outbox);
                self.ledger.introduce(owner, frame, threshold);
            }
            Some(_) => return false,
            None => {
                if self.ledger.lives().count() >= ENTITIES_MAX
                    || !self.ledger.introduce(owner, frame, threshold)
                {
                    return false;
                }
            }
        }
        if let Some(kinds) = &mut self.kinds {
            kinds.introduce(frame, threshold);
        }
        let is_told = |peer: &PeerId| Some(*peer) != owner && self.scope.shows(frame.entity, *peer);
        let receivers: Vec<_> = self.cursors.ids().filter(is_told).collect();
        for receiver in receivers {
            self.introduce_to(life, receiver, now, outbox);
        }
        true
    }

    fn introduce_to(&mut self, life: Life, receiver: PeerId, now: SessionTime, outbox: &mut Outbox) {
        let Some(track) = self.ledger.track(life) else { return };
        let threshold = track.threshold;
        let Some(mut frame) = self.ledger.frame(life, track.history.newest().0, now) else { return };
        let slot = self.ledger.open_pair(life, receiver, now);
        frame.vector = self.ledger.account(slot).as_sent(frame.seq, &frame.vector);
        let nonce =
            outbox.reliable(receiver, |stamp, bytes| emit_introduce(&frame, &threshold, stamp, bytes));
        if let Some(nonce) = nonce {
            self.ledger.dispatch(slot, Dispatch { seq: frame.seq, sent: now }, nonce);
        }
    }

    /// Prefetches what [`observe`](Self::observe) reads of these entities, which is scattered in memory.
    pub fn prefetch(&self, entities: impl Iterator<Item = EntityId>) {
        if self.policy.watches() {
            entities.for_each(|entity| self.ledger.prefetch(entity));
        }
    }

    /// Handles an observation of an entity that made no DR vector.
    pub fn observe(&mut self, entity: EntityId, state: &MotionState, now: SessionTime, outbox: &mut Outbox) {
        self.record_observation(entity, state, now);
        if self.policy.watches() {
            self.review(Occasion::Observed(entity), now, outbox);
            self.rearm();
        }
    }

    /// Records an observation of an entity. [`trigger`](Self::trigger) follows if it made a DR vector.
    pub fn record_observation(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) {
        self.ledger.observe(entity, state, now);
        if let Some(kinds) = &mut self.kinds {
            kinds.observe(entity, state, now);
        }
    }

    /// Handles a further DR vector of an entity. Returns its effect on the exported path.
    pub fn trigger(&mut self, frame: &VectorFrame, now: SessionTime, outbox: &mut Outbox) -> Recorded {
        let recorded = self.ledger.record(frame, now);
        let present = self.ledger.present(frame.entity).is_some_and(|(life, _)| life.first == frame.first);
        if recorded == Recorded::Newest && present {
            if let Some(kinds) = &mut self.kinds {
                kinds.generate(frame.entity, &frame.vector);
                let best = |delay, kind| kinds.best(frame.entity, delay, kind);
                self.ledger.tailor(frame, now, best);
            }
            self.review(Occasion::Trigger(frame.entity), now, outbox);
            self.rearm();
        }
        recorded
    }

    /// Continues the exported path of a life at this vector, whatever is missing before it.
    pub fn pass_over(&mut self, frame: &VectorFrame, now: SessionTime) {
        self.ledger.pass_over(frame, now);
    }

    /// Ends an entity. `last` is the number of its last vector, as far as its owner says.
    pub fn end(&mut self, entity: EntityId, last: DrSeq, at: SessionTime, outbox: &mut Outbox) {
        let Some((_, track)) = self.ledger.present(entity) else { return };
        for link in track.pairs.links() {
            let receiver = self.ledger.at(link).peer();
            outbox.reliable(receiver, |stamp, bytes| emit_ended(entity, last, at, stamp, bytes));
        }
        self.ledger.end(entity, last, at);
        if !self.is_scoped(entity) {
            self.weights.forget_entity(entity);
        }
        if let Some(kinds) = &mut self.kinds {
            kinds.end(entity);
        }
        self.rearm();
    }

    /// Lets the policy make a plan, and carries it out.
    fn review(&mut self, occasion: Occasion, now: SessionTime, outbox: &mut Outbox) {
        self.report_closed();
        self.reviews += 1;
        self.is_new = false;
        let mut plan = core::mem::take(&mut self.plan);
        let seed = self.seed.child(self.reviews);
        let present = match occasion {
            Occasion::Trigger(entity) | Occasion::Observed(entity) => self.ledger.present(entity),
            Occasion::Asked => None,
        };
        let receivers = present.map_or(self.cursors.len(), |(_, track)| track.pairs.count());
        if matches!(occasion, Occasion::Trigger(_)) {
            self.possible += receivers as u64;
        }
        let left = Left { traffic: outbox.traffic(), vectors: self.ledger.sent(), possible: self.possible };
        let limit = self.budget.per_second().map(|limit| limit.without(self.reserved));
        self.bandwidth.measure(limit, left, self.cursors.len(), now);
        let budget = self.bandwidth.share() * self.budget.per_trigger(receivers);
        let review = Review::new(&self.ledger, &self.weights, now, occasion, present, budget, seed);
        self.policy.plan(&review, &mut plan);
        if self.fits_all()
            && let Some(exported) = review.triggered().and_then(|entity| review.entity(entity))
        {
            plan.clear();
            plan.send_to_all(&exported, now);
        }
        if let Occasion::Trigger(entity) = occasion
            && self.has_held
        {
            self.ledger.flush_held(entity);
        }
        let mut last = None;
        for (slot, dispatch) in plan.drain() {
            if dispatch.sent <= now {
                self.transmit(slot, dispatch.seq, &mut last, now, outbox);
            } else {
                self.hold(slot, dispatch);
            }
        }
        self.plan = plan;
    }

    /// Sends held vectors, settles ended lives, lets the policy review, and confirms reports, as far as each is due.
    pub fn on_timeout(&mut self, now: SessionTime, outbox: &mut Outbox) {
        if self.timers.expire(Timer::Held, now) {
            self.send_held(now, outbox);
        }
        if self.timers.expire(Timer::Burial, now) {
            self.ledger.bury_overdue(now);
        }
        if self.timers.expire(Timer::Review, now) {
            self.review(Occasion::Asked, now, outbox);
        }
        if self.timers.expire(Timer::Confirm, now) {
            self.confirm_overdue(now, outbox);
        }
        self.rearm();
    }

    /// Sets the timers. Every call that may change one of them ends with this.
    fn rearm(&mut self) {
        self.report_closed();
        self.timers.set(Timer::Held, self.held.peek().map(|Reverse(held)| held.dispatch.sent));
        self.timers.set(Timer::Burial, self.ledger.next_burial());
        // A policy that takes over reviews at once, because some entities may never trigger again.
        let at_once = (self.is_new && self.policy.watches()).then_some(SessionTime::MIN);
        self.timers.set(Timer::Review, at_once.or_else(|| self.policy.review_at()));
        self.timers.set(Timer::Confirm, self.confirmations.front().map(|(at, _)| *at));
    }

    /// When [`on_timeout`](Self::on_timeout) is due.
    #[must_use]
    pub fn next_timeout(&self) -> Option<SessionTime> {
        self.timers.next()
    }
}

#[derive(Clone, Copy, Debug)]
enum Timer {
    Held,
    /// An ended life has waited long enough for its last reports.
    Burial,
    Review,
    /// A report is due to be confirmed without a vector.
    Confirm,
}

impl From<Timer> for usize {
    fn from(timer: Timer) -> Self {
        timer as Self
    }
}

impl core::fmt::Debug for Sender {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sender").field("policy", &self.kind).finish_non_exhaustive()
    }
}
