//! The sending side: whoever runs the policy. The owner in the direct topology, the relay in the other: one
//! implementation of ledger, policies and held vectors for both.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use evenkeel_core::{PeerId, Seed, SessionTime, Span, Timers};

use crate::config::{Budget, DrConfig};
use crate::content::Content;
use crate::fairness::{FairnessPolicy, Occasion, PairWeight, PairWeights, PolicyKind, Review, SendPlan};
use crate::history::Recorded;
use crate::ledger::{Dispatch, ErrorLedger, Life, Report, Slot};
use crate::message::{
    Arrival, ConfirmFrame, FeedbackFrame, VectorFrame, WrittenVector, emit_confirm, emit_ended,
    emit_introduce, emit_vector,
};
use crate::outbox::Outbox;
use crate::peers::Peers;
use crate::report_cursor::ReportCursor;
use crate::tailor::Tailor;
use crate::threshold::Threshold;
use crate::vector::{DrSeq, DrVector, EntityId, MotionState};

/// A report waits this long for a vector that its confirmation can ride on.
const CONFIRM_AFTER: Span = Span::from_millis(200);
/// A receiver can't have lost thousands of reports sooner after the last time; and to give them up costs a look at all of
/// its accounts.
const GAP_AFTER: Span = Span::from_secs(1);
/// Reports of one receiver that wait behind a hole; more are dropped, and come again.
pub const EARLY_MAX: usize = 4096;
/// Entities that one sender exports; more are not taken.
pub const ENTITIES_MAX: usize = 4096;

/// A vector that waits for its time; void if the account has another one by then.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Due {
    dispatch: Dispatch,
    slot: Slot,
    account: u64,
}

/// A vector that may go to many.
#[derive(Clone, Copy, Debug)]
struct Letter {
    life: Life,
    written: WrittenVector,
}

impl Letter {
    fn new(life: Life, frame: VectorFrame) -> Self {
        Self { life, written: WrittenVector::new(&frame) }
    }
}

/// Ledger, policy, held vectors.
pub struct Sender {
    ledger: ErrorLedger,
    kind: PolicyKind,
    policy: Box<dyn FairnessPolicy>,
    budget: Budget,
    seed: Seed,
    /// Another policy has taken over and was not asked yet.
    is_new: bool,
    weights: PairWeights,
    plan: SendPlan,
    /// If each receiver is sent the kind that is best for it.
    tailor: Option<Tailor>,
    due: BinaryHeap<Reverse<Due>>,
    cursors: Peers<ReportCursor>,
    /// Reports to confirm, in order of time; void if that has happened by then.
    confirms: VecDeque<(SessionTime, PeerId)>,
    timers: Timers<SessionTime, 4>,
    reviews: u64,
    /// The arrivals of one run; the room for them is kept.
    reported: Vec<Report>,
    /// Whether anything was ever held: most policies never do, and to see that of every pair would be dear.
    holds: bool,
}

impl Sender {
    /// A sender with the policy, the receivers' placement and the compensation of this configuration.
    #[must_use]
    pub fn new(config: &DrConfig) -> Self {
        let policy = config.policy.build();
        let mut ledger = ErrorLedger::new(config.placement, config.compensation);
        ledger.keep_marks(policy.asks_instantaneous());
        Self {
            ledger,
            policy,
            kind: config.policy,
            budget: config.budget,
            seed: config.seed,
            is_new: false,
            weights: PairWeights::default(),
            plan: SendPlan::default(),
            tailor: (config.kind == Content::Auto).then(Tailor::default),
            due: BinaryHeap::new(),
            cursors: Peers::new(),
            confirms: VecDeque::new(),
            timers: Timers::default(),
            reviews: 0,
            reported: Vec::new(),
            holds: false,
        }
    }

    /// What it knows of the receivers' errors.
    #[must_use]
    pub const fn ledger(&self) -> &ErrorLedger {
        &self.ledger
    }

    /// What a receiver's accumulated error with an owner's entities would be without the policy, if that is reckoned.
    pub fn without(&self, owner: Option<PeerId>, receiver: PeerId) -> Option<f64> {
        self.policy.without(owner, receiver)
    }

    /// Another policy decides from now on; what the old one held back is dropped.
    pub fn switch(&mut self, kind: PolicyKind, budget: Budget) {
        self.kind = kind;
        self.budget = budget;
        self.policy = kind.build();
        self.is_new = true;
        self.ledger.keep_marks(self.policy.asks_instantaneous());
        self.due.clear();
        let entities: Vec<EntityId> = self.ledger.lives().map(|(life, _)| life.entity).collect();
        for entity in entities {
            self.ledger.flush_held(entity);
        }
        self.rearm();
    }

    /// The error of an entity at a receiver counts so much, until one of them goes. Nothing if one of them is not here.
    pub fn weigh(&mut self, entity: EntityId, receiver: PeerId, weight: PairWeight) {
        if self.ledger.present(entity).is_some() && self.cursors.contains(receiver) {
            self.weights.set(entity, receiver, weight);
        }
    }

    /// A receiver comes: it gets each entity's newest vector.
    pub fn join(&mut self, receiver: PeerId, now: SessionTime, outbox: &mut Outbox) {
        self.leave(receiver);
        self.ledger.join(receiver);
        self.cursors.insert(receiver, ReportCursor::new(now));
        let lives: Vec<Life> = self
            .ledger
            .lives()
            .filter(|(_, track)| track.owner != Some(receiver))
            .map(|(life, _)| life)
            .collect();
        for life in lives {
            self.introduce_to(life, receiver, now, outbox);
        }
    }

    /// A receiver goes.
    pub fn leave(&mut self, receiver: PeerId) {
        self.ledger.leave(receiver);
        self.cursors.remove(receiver);
        self.weights.forget_receiver(receiver);
        self.tell_closed();
    }

    /// Tells the policy which pairs have closed.
    fn tell_closed(&mut self) {
        self.ledger.drain_closed().for_each(|closed| self.policy.on_closed(&closed));
    }

    /// A new entity, or one whose exported path goes on after a hole: everybody gets its first vector reliably. False
    /// if it is neither.
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
            // Its owner ends a life before it begins the next; the end of this one got lost with a connection.
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
        if let Some(tailor) = &mut self.tailor {
            tailor.introduce(frame, threshold);
        }
        let receivers: Vec<_> = self.cursors.ids().filter(|peer| Some(*peer) != owner).collect();
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

    /// Prefetches what the next looks at these entities read.
    pub fn prefetch(&self, entities: impl Iterator<Item = EntityId>) {
        if self.policy.watches() {
            entities.for_each(|entity| self.ledger.prefetch(entity));
        }
    }

    /// The owner looks at its entity, and made no DR vector of it.
    pub fn observe(&mut self, entity: EntityId, state: &MotionState, now: SessionTime, outbox: &mut Outbox) {
        self.foresee(entity, state, now);
        if self.policy.watches() {
            self.review(Occasion::Observed(entity), now, outbox);
            self.rearm();
        }
    }

    /// The owner looks at its entity, and is about to tell of the DR vector that it made of it.
    pub fn foresee(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) {
        self.ledger.observe(entity, state, now);
        if let Some(tailor) = &mut self.tailor {
            tailor.look(entity, state, now);
        }
    }

    /// A new DR vector of a known entity. Says whether it is the newest, fills a hole, or changes nothing.
    pub fn trigger(&mut self, frame: &VectorFrame, now: SessionTime, outbox: &mut Outbox) -> Recorded {
        let recorded = self.ledger.record(frame, now);
        let present = self.ledger.present(frame.entity).is_some_and(|(life, _)| life.first == frame.first);
        if recorded == Recorded::Newest && present {
            if let Some(tailor) = &mut self.tailor {
                tailor.make(frame.entity, &frame.vector);
                let best = |delay, kind| tailor.kind(frame.entity, delay, kind);
                self.ledger.tailor(frame, now, best);
            }
            self.review(Occasion::Trigger(frame.entity), now, outbox);
            self.rearm();
        }
        recorded
    }

    /// The exported path of a life is known from a vector on, whatever never came before it.
    pub fn pass_over(&mut self, frame: &VectorFrame, now: SessionTime) {
        self.ledger.pass_over(frame, now);
    }

    /// An entity ends for everybody; `last` is the number of its last vector as far as its owner says.
    pub fn end(&mut self, entity: EntityId, last: DrSeq, at: SessionTime, outbox: &mut Outbox) {
        let Some((_, track)) = self.ledger.present(entity) else { return };
        for link in track.pairs.links() {
            let receiver = self.ledger.at(link).peer();
            outbox.reliable(receiver, |stamp, bytes| emit_ended(entity, last, at, stamp, bytes));
        }
        self.ledger.end(entity, last, at);
        self.weights.forget_entity(entity);
        if let Some(tailor) = &mut self.tailor {
            tailor.end(entity);
        }
        self.rearm();
    }

    fn review(&mut self, occasion: Occasion, now: SessionTime, outbox: &mut Outbox) {
        self.tell_closed();
        self.reviews += 1;
        self.is_new = false;
        let mut plan = core::mem::take(&mut self.plan);
        let seed = self.seed.child(self.reviews);
        let present = match occasion {
            Occasion::Trigger(entity) | Occasion::Observed(entity) => self.ledger.present(entity),
            Occasion::Asked => None,
        };
        let receivers = present.map_or(self.cursors.len(), |(_, track)| track.pairs.count());
        let budget = self.budget.per_trigger(receivers);
        let review = Review::new(&self.ledger, &self.weights, now, occasion, present, budget, seed);
        self.policy.plan(&review, &mut plan);
        if let Occasion::Trigger(entity) = occasion
            && self.holds
        {
            self.ledger.flush_held(entity);
        }
        let mut letter = None;
        for (slot, dispatch) in plan.drain() {
            if dispatch.sent <= now {
                self.transmit(slot, dispatch.seq, &mut letter, now, outbox);
            } else {
                self.hold(slot, dispatch);
            }
        }
        self.plan = plan;
    }

    fn hold(&mut self, slot: Slot, dispatch: Dispatch) {
        self.ledger.account_mut(slot).hold(Some(dispatch));
        self.holds = true;
        if dispatch.sent == SessionTime::MAX {
            return; // Held until the next trigger, whenever that is.
        }
        self.due.push(Reverse(Due { dispatch, slot, account: self.ledger.id(slot) }));
        // What was held and replaced stays in the heap until its time; rebuild it when that is most of it.
        if self.due.len() > 64 + 4 * self.ledger.pair_count() {
            let ledger = &self.ledger;
            self.due.retain(|Reverse(due)| ledger.is_held(due.slot, due.account, due.dispatch));
        }
    }

    fn is_current(&self, due: &Due) -> bool {
        self.ledger.is_held(due.slot, due.account, due.dispatch)
    }

    /// Sends a vector; `letter` is what was sent before it, if anything.
    fn transmit(
        &mut self,
        slot: Slot,
        seq: DrSeq,
        letter: &mut Option<Letter>,
        now: SessionTime,
        outbox: &mut Outbox,
    ) {
        let (life, receiver) = self.ledger.names(slot);
        if letter.as_ref().is_none_or(|letter| letter.life != life || letter.written.frame().seq != seq) {
            *letter = self.ledger.frame(life, seq, now).map(|frame| Letter::new(life, frame));
        }
        let Some(Letter { written, .. }) = letter else { return };
        let frame = written.frame();
        let kind = self.ledger.account(slot).kind_as_sent(seq, frame.vector.kind);
        self.confirm(receiver, now, outbox);
        let nonce = if kind == frame.vector.kind {
            outbox.datagram(receiver, |stamp, bytes| written.emit(stamp, bytes))
        } else {
            let frame = VectorFrame { vector: DrVector { kind, ..frame.vector }, ..*frame };
            outbox.datagram(receiver, |stamp, bytes| emit_vector(&frame, stamp, bytes))
        };
        let Some(nonce) = nonce else { return }; // It could never be sent.
        self.ledger.dispatch(slot, Dispatch { seq, sent: now }, nonce);
        self.ledger.count_sent(slot);
    }

    fn confirm(&mut self, receiver: PeerId, now: SessionTime, outbox: &mut Outbox) {
        let Some(cursor) = self.cursors.get_mut(receiver) else { return };
        if cursor.confirm_at.take().is_some() {
            let ReportCursor { next, stamp, heard, ref early, .. } = *cursor;
            let frame = ConfirmFrame { next, stamp, held: now - heard, hole: !early.is_empty() };
            outbox.datagram(receiver, |stamp, bytes| emit_confirm(&frame, stamp, bytes));
        }
    }

    /// A receiver reports arrivals. They are settled in the order of their numbers; what comes before its turn waits.
    pub fn on_feedback(
        &mut self,
        from: PeerId,
        feedback: &FeedbackFrame<'_>,
        now: SessionTime,
        outbox: &mut Outbox,
    ) {
        let Some(cursor) = self.cursors.get_mut(from) else { return };
        let Some(link) = self.ledger.link(from) else { return };
        if feedback.oldest > cursor.next && now - cursor.gap_at < GAP_AFTER {
            return; // It will be said again.
        }
        (cursor.stamp, cursor.heard) = (feedback.stamp, now);
        if cursor.confirm_at.is_none() {
            cursor.confirm_at = Some(now + CONFIRM_AFTER);
            self.confirms.push_back((now + CONFIRM_AFTER, from));
        }
        let whole = cursor.early.is_empty();
        if feedback.oldest > cursor.next {
            // The receiver had to give up reports that never came through: their truth is lost.
            (cursor.next, cursor.gap, cursor.gap_at) = (feedback.oldest, true, now);
            self.ledger.note_estimated();
        }
        let mut reports = self.ledger.reports(link, now);
        if feedback.first > cursor.next {
            for (number, arrival) in feedback.arrivals() {
                if cursor.early.len() < EARLY_MAX {
                    cursor.early.insert(number, arrival);
                }
            }
        } else {
            for run in feedback.runs_from(cursor.next) {
                reports.find_all(run.names, &mut self.reported);
                cursor.settle(&self.reported, run.came, &mut reports, &mut *self.policy);
            }
        }
        // Nearly always there are none, and that is seen without going where they would be.
        while !cursor.early.is_empty()
            && let Some(entry) = cursor.early.first_entry()
            && *entry.key() <= cursor.next
        {
            let (number, Arrival { entity, seq, at, nonce }) = entry.remove_entry();
            if number == cursor.next {
                let report = reports.find(entity, seq);
                cursor.settle(&[report], (at, nonce), &mut reports, &mut *self.policy);
            }
        }
        drop(reports);
        if whole && !cursor.early.is_empty() {
            self.confirm(from, now, outbox); // A hole opened: the receiver should hear of it at once.
        }
        self.rearm();
    }

    /// Sends what was held until now, asks the policy if it wants to be asked, confirms what found no ride.
    pub fn on_timeout(&mut self, now: SessionTime, outbox: &mut Outbox) {
        if self.timers.expire(Wake::Held, now) {
            while let Some(&Reverse(due)) = self.due.peek()
                && due.dispatch.sent <= now
            {
                self.due.pop();
                if self.is_current(&due) {
                    self.ledger.account_mut(due.slot).hold(None);
                    self.transmit(due.slot, due.dispatch.seq, &mut None, now, outbox);
                }
            }
        }
        if self.timers.expire(Wake::Burial, now) {
            self.ledger.bury_overdue(now);
        }
        if self.timers.expire(Wake::Review, now) {
            self.review(Occasion::Asked, now, outbox);
        }
        if self.timers.expire(Wake::Confirm, now) {
            while let Some((_, peer)) = self.confirms.pop_front_if(|(at, _)| *at <= now) {
                if self.cursors.get(peer).is_some_and(|cursor| cursor.confirm_at.is_some_and(|at| at <= now))
                {
                    self.confirm(peer, now, outbox);
                }
            }
        }
        self.rearm();
    }

    /// Every call that may change a reason to wake ends with this.
    fn rearm(&mut self) {
        self.tell_closed();
        self.timers.set(Wake::Held, self.due.peek().map(|Reverse(due)| due.dispatch.sent));
        self.timers.set(Wake::Burial, self.ledger.next_burial());
        // There may be entities that never trigger again.
        let at_once = (self.is_new && self.policy.watches()).then_some(SessionTime::MIN);
        self.timers.set(Wake::Review, at_once.or_else(|| self.policy.review_at()));
        self.timers.set(Wake::Confirm, self.confirms.front().map(|(at, _)| *at));
    }

    /// When to be called again.
    #[must_use]
    pub fn next_timeout(&self) -> Option<SessionTime> {
        self.timers.next()
    }
}

/// Why a sender wakes.
#[derive(Clone, Copy, Debug)]
enum Wake {
    /// A vector was held until now.
    Held,
    /// The last reports on an ended life have been waited for long enough.
    Burial,
    /// The policy asked to be asked.
    Review,
    /// A report found no vector that its confirmation could ride on.
    Confirm,
}

impl From<Wake> for usize {
    fn from(wake: Wake) -> Self {
        wake as Self
    }
}

impl core::fmt::Debug for Sender {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sender").field("policy", &self.kind).finish_non_exhaustive()
    }
}
