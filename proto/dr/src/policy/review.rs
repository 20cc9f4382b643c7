//! What a policy sees.

use evenkeel_core::{PeerId, Seed, SessionTime, Span};

use super::PairWeights;
use crate::ledger::exported_path::{ExportedPath, PathSegment};
use crate::ledger::{
    Account, Dispatch, ErrorLedger, Flight, Kinematics, LastSent, Life, Link, Outlook, PairState,
    SentMessages, Slot, Track,
};
use crate::motion::vector::{DrSeq, DrVector, EntityId};
use crate::owner::threshold::Threshold;

/// The longest time that a plan looks ahead.
pub const HOLD_MAX: Span = Span::from_secs(60);

/// Why a policy is asked to plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occasion {
    /// An entity triggered.
    Trigger(EntityId),
    /// The owner observed an entity without a trigger; only if the policy [watches](super::FairnessPolicy::watches).
    Observed(EntityId),
    /// The policy [requested](super::FairnessPolicy::review_at) a plan between triggers.
    Asked,
}

/// What a policy sees when it plans.
#[derive(Clone, Copy, Debug)]
pub struct Review<'a> {
    ledger: &'a ErrorLedger,
    weights: &'a PairWeights,
    now: SessionTime,
    occasion: Occasion,
    /// The entity that triggered or was observed.
    present: Option<(Life, &'a Track)>,
    budget: f64,
    seed: Seed,
}

impl<'a> Review<'a> {
    pub(crate) const fn new(
        ledger: &'a ErrorLedger,
        weights: &'a PairWeights,
        now: SessionTime,
        occasion: Occasion,
        present: Option<(Life, &'a Track)>,
        budget: f64,
        seed: Seed,
    ) -> Self {
        Self { ledger, weights, now, occasion, present, budget, seed }
    }

    /// The session's time.
    pub const fn now(&self) -> SessionTime {
        self.now
    }

    /// Why the policy is asked to plan.
    pub const fn occasion(&self) -> Occasion {
        self.occasion
    }

    /// The entity that triggered, if one did.
    pub const fn triggered(&self) -> Option<EntityId> {
        match self.occasion {
            Occasion::Trigger(entity) => Some(entity),
            Occasion::Observed(_) | Occasion::Asked => None,
        }
    }

    /// DR vectors that may be sent per trigger, averaged over time.
    pub const fn budget(&self) -> f64 {
        self.budget
    }

    /// The entities to decide on: the one that triggered or was observed, or all.
    pub fn entities(&self) -> impl Iterator<Item = Exported<'a>> + '_ {
        let all = (self.occasion == Occasion::Asked).then(|| self.all_entities()).into_iter().flatten();
        self.present.into_iter().map(|present| self.exported(present)).chain(all)
    }

    /// An entity, if it is alive.
    pub fn entity(&self, entity: EntityId) -> Option<Exported<'a>> {
        let present = self.present.filter(|(life, _)| life.entity == entity);
        present.or_else(|| self.ledger.present(entity)).map(|present| self.exported(present))
    }

    /// Every live entity.
    pub fn all_entities(&self) -> impl Iterator<Item = Exported<'a>> + '_ {
        self.ledger.lives().map(|present| self.exported(present))
    }

    fn exported(&self, (_, track): (Life, &'a Track)) -> Exported<'a> {
        Exported { ledger: self.ledger, weights: self.weights, now: self.now, track }
    }

    /// The messages to the receivers by their places; `None` at empty places.
    pub fn messages_by_place(&self) -> impl Iterator<Item = Option<&'a SentMessages>> + use<'a> {
        self.ledger.links().iter().map(|link| link.as_ref().map(Link::messages))
    }

    /// A counter of changes to what is known about receivers.
    pub const fn changes(&self) -> u64 {
        self.ledger.changes()
    }

    /// The receivers by their places, with what is currently known about each; `None` at empty places.
    pub fn receivers(&self) -> impl Iterator<Item = Option<(PeerId, Outlook)>> + '_ {
        let (now, placement) = (self.now, self.ledger.placement());
        let known = move |link: &Link| (link.peer(), link.outlook(now, placement));
        self.ledger.links().iter().map(move |link| link.as_ref().map(known))
    }

    /// The pairs to decide on: those of the entity that triggered or was observed, or all.
    pub fn pairs(&self) -> impl Iterator<Item = Pair<'a>> + '_ {
        self.entities().flat_map(|exported| exported.pairs())
    }

    /// A random number in [0, 1) for a pair, reproducible.
    pub fn unit(&self, pair: &Pair<'_>) -> f64 {
        self.seed.child(u64::from(pair.receiver().0)).child(u64::from(pair.entity().0)).draws().unit()
    }
}

/// One entity, as the sender knows it.
#[derive(Clone, Copy, Debug)]
pub struct Exported<'a> {
    ledger: &'a ErrorLedger,
    weights: &'a PairWeights,
    now: SessionTime,
    track: &'a Track,
}

impl<'a> Exported<'a> {
    /// Its id.
    pub const fn entity(&self) -> EntityId {
        self.track.life.entity
    }

    /// Its owner; `None`: the sender itself.
    pub const fn owner(&self) -> Option<PeerId> {
        self.track.owner
    }

    /// Its newest vector and that vector's number.
    pub fn newest(&self) -> (DrSeq, &'a DrVector) {
        self.track.history.newest()
    }

    /// A vector by its number, while it is kept.
    pub fn vector(&self, seq: DrSeq) -> Option<&'a DrVector> {
        self.track.history.shown(seq)
    }

    /// The number of its last trigger. Its introduction was number 0.
    pub const fn trigger(&self) -> u64 {
        self.track.triggers - 1
    }

    /// The owner's threshold.
    pub const fn threshold(&self) -> Threshold {
        self.track.threshold
    }

    /// The owner's last observation; `None` at a relay, which knows only the newest vector.
    pub const fn observed(&self) -> Option<Kinematics> {
        self.track.observed
    }

    /// The session's time.
    #[cfg(test)]
    pub(crate) const fn now(&self) -> SessionTime {
        self.now
    }

    /// The number of its receivers.
    pub const fn pair_count(&self) -> usize {
        self.track.pairs.count()
    }

    /// The states of its pairs, by the places of their receivers. Empty places have a state, too.
    pub fn pair_states(&self) -> &'a [PairState] {
        self.track.pairs.states()
    }

    /// What was sent last, by the places of the receivers. Empty places have an entry, too.
    pub fn last_sents(&self) -> &'a [LastSent] {
        &self.track.pairs.last_sents
    }

    /// The places of its receivers.
    pub fn places(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.track.pairs.links()
    }

    /// The messages to the receiver at a place.
    ///
    /// # Panics
    /// There is no receiver at this place.
    pub fn messages(&self, link: u32) -> &'a SentMessages {
        self.ledger.at(link).messages()
    }

    /// Its exported path, if that is linear, has no holes and is known up to now, and all receivers show vectors identically.
    pub fn linear_path(&self) -> Option<&'a [PathSegment]> {
        let path = self.track.history.gapless_linear().filter(|_| self.ledger.shows_alike())?;
        let known = path.last().is_some_and(|newest| newest.vector.generated <= self.now);
        known.then_some(path)
    }

    /// The weight of the error at a receiver.
    pub fn weight(&self, receiver: PeerId) -> f64 {
        self.weights.of(self.entity(), receiver)
    }

    /// Whether all weights are 1.
    pub fn is_unweighted(&self) -> bool {
        self.weights.is_empty()
    }

    /// The largest weight of its pairs, at least 1.
    pub fn weight_max(&self) -> f64 {
        self.weights.most(self.entity())
    }

    /// The pair with the receiver at a place.
    ///
    /// # Panics
    /// There is no receiver at this place.
    pub fn pair(&self, place: u32) -> Pair<'a> {
        let link = self.ledger.at(place);
        let account = Account::new(&self.track.pairs, link.messages(), place);
        let outlook = link.outlook(self.now, self.ledger.placement());
        Pair { exported: *self, link: place, account, receiver: link.peer(), outlook }
    }

    /// The place of its account with the receiver at a place.
    pub(crate) const fn slot(&self, link: u32) -> Slot {
        Slot { track: self.track.place, link }
    }

    /// A vector as shown by every receiver that has it; `None` if it was dropped, or receivers show it differently.
    pub fn shown(&self, seq: DrSeq) -> Option<&'a DrVector> {
        self.track.history.shown(seq).filter(|_| self.ledger.shows_alike())
    }

    /// Its receivers.
    pub fn pairs(&self) -> impl Iterator<Item = Pair<'a>> + use<'a> {
        let exported = *self;
        self.track.pairs.links().map(move |link| exported.pair(link))
    }
}

/// One entity at one receiver, as the sender knows it.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    exported: Exported<'a>,
    link: u32,
    account: Account<'a>,
    receiver: PeerId,
    outlook: Outlook,
}

impl<'a> Pair<'a> {
    /// The entity.
    pub const fn entity(&self) -> EntityId {
        self.exported.entity()
    }

    /// The receiver.
    pub const fn receiver(&self) -> PeerId {
        self.receiver
    }

    /// The number of the entity's last trigger. Its introduction was number 0.
    pub const fn trigger(&self) -> u64 {
        self.exported.trigger()
    }

    /// The newest vector of the entity and its number.
    pub fn newest(&self) -> (DrSeq, &'a DrVector) {
        self.exported.newest()
    }

    /// The latest time that a vector is worth holding until: when the owner makes a new one in any case, at most [`HOLD_MAX`]
    /// ahead.
    pub fn horizon(&self) -> SessionTime {
        self.exported.track.expires.min(self.outlook.now + HOLD_MAX)
    }

    /// A vector of the entity in the form sent to this receiver, while it is kept.
    pub fn vector(&self, seq: DrSeq) -> Option<DrVector> {
        self.exported.track.history.vector(seq).map(|vector| self.account.as_sent(seq, vector))
    }

    /// The newest vector in the form that would be sent to this receiver.
    pub fn offered(&self) -> DrVector {
        let (newest, vector) = self.newest();
        self.account.as_sent(newest, vector)
    }

    /// The last dispatch, introductions included.
    pub fn last_sent(&self) -> Option<Dispatch> {
        self.account.last_sent()
    }

    /// The newest vector that the receiver has, or will have once vectors in flight that are not overdue arrive; `None` if none
    /// is known.
    pub fn prospect(&self) -> Option<(DrSeq, DrVector)> {
        self.account.prospect(self.history(), &self.outlook)
    }

    /// The vector held since an earlier trigger.
    pub fn held(&self) -> Option<Dispatch> {
        self.account.held()
    }

    /// This pair as it will be once a vector has been sent now, to plan on top of it.
    pub fn once_sent(mut self, seq: DrSeq) -> Self {
        self.outlook.assumed = Some(Dispatch { seq, sent: self.outlook.now });
        self
    }

    /// The delay to the receiver that a policy compensates.
    pub const fn delay(&self) -> Span {
        self.outlook.delay
    }

    /// Whether the receiver's reports are believed. Others should not wait for one that is silent or reports the impossible,
    /// however large its error seems to be.
    pub const fn is_credible(&self) -> bool {
        self.outlook.is_credible
    }

    /// The weight of its error; 1 unless the game sets it.
    pub fn weight(&self) -> f64 {
        self.exported.weight(self.receiver)
    }

    /// Whether an arrival has been reported. Before, the error is unknown.
    pub fn is_known(&self) -> bool {
        self.account.is_known()
    }

    /// AEE: the accumulated export error of this entity up to now, by which its receivers are compared. It includes the error
    /// from its last life; a newcomer starts with the mean of the others, or it would be starved until it caught up with
    /// them.
    pub fn accumulated(&self) -> f64 {
        self.accumulated_at(self.outlook.now, Flight::Estimated)
    }

    /// The accumulated export error at a time, if nothing is sent until then; `flight` says how long vectors in flight are
    /// assumed to travel.
    pub fn accumulated_at(&self, at: SessionTime, flight: Flight) -> f64 {
        let cursor = self.account.estimated(self.history(), &self.outlook, flight, at);
        self.account.head_start() + cursor.map_or(0.0, |cursor| cursor.error)
    }

    /// The accumulated export error now, and at a later time if nothing is sent until then.
    pub fn accumulated_until(&self, later: SessionTime) -> (f64, f64) {
        let errors = self.account.estimates(self.history(), &self.outlook, later);
        let (now, later) = errors.unwrap_or_default();
        (self.account.head_start() + now, self.account.head_start() + later)
    }

    /// The earliest time from now on, up to `by`, at which the accumulated error reaches `error` if nothing is sent.
    pub fn reaches(&self, error: f64, by: SessionTime, flight: Flight) -> Option<SessionTime> {
        let error = error - self.account.head_start();
        self.account.reaches(self.history(), &self.outlook, flight, error, by)
    }

    /// The export error since the generation of the vector that the receiver uses now.
    pub fn instantaneous(&self) -> f64 {
        self.account.since_generation(self.history(), &self.outlook, self.outlook.now)
    }

    /// The settled part of the accumulated export error, and the time it is settled up to; `None` before the first arrival.
    pub fn settled(&self) -> Option<(f64, SessionTime)> {
        self.account.settled().map(|(settled, at)| (self.account.head_start() + settled, at))
    }

    /// The vector that the receiver shows at the end of the settled part.
    pub fn settled_vector(&self) -> Option<DrVector> {
        self.account.cursor(self.history()).map(|cursor| cursor.vector)
    }

    /// The vectors in flight: sent, and not known to have arrived or to be lost.
    pub fn in_flight(&self) -> impl Iterator<Item = Dispatch> + use<'a> {
        self.account.dispatches()
    }

    const fn history(&self) -> &'a ExportedPath {
        &self.exported.track.history
    }

    /// The place of the receiver, which it keeps until it leaves.
    pub const fn place(&self) -> u32 {
        self.link
    }

    pub(crate) const fn slot(&self) -> Slot {
        self.exported.slot(self.link)
    }
}
