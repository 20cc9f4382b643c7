//! The ledger of export error: one account for each entity and receiver, kept by whoever runs the policy.
//!
//! Acknowledgments may be late, lost, doubled or out of order; the ledger ends at the same settled error whatever
//! their order, because receivers repeat what is not confirmed and reports are taken in sequence.

mod account;
mod cursor;

use std::collections::BTreeMap;

use evenkeel_core::{DelayEstimate, PeerId, SessionTime, Span};

pub(crate) use account::Outlook;
pub use account::{ARRIVALS_MAX, Account, Dispatch, Flight, IN_FLIGHT_MAX};
pub use cursor::Cursor;

use crate::history::{HISTORY_MAX, History, Recorded};
use crate::message::VectorFrame;
use crate::placement::Placement;
use crate::vector::{DrSeq, DrVector, EntityId};

/// An ended entity's accounts wait this long for reports before they are settled by estimate.
const LINGER: Span = Span::from_secs(10);
/// Ended entities that wait; when full, the oldest is settled by estimate.
const ENDED_MAX: usize = 256;

/// One entity's exported path and its accounts.
#[derive(Clone, Debug)]
pub struct Track {
    /// The exported path.
    pub history: History,
    /// Slots of the accounts, in order of opening.
    pub(crate) slots: Vec<usize>,
    /// Whom it belongs to, at a relay.
    pub(crate) owner: Option<PeerId>,
    /// The distance that triggers a new vector, as the owner states it.
    pub threshold: f64,
    /// When the time threshold triggers next.
    pub expires: SessionTime,
    /// Triggers so far.
    pub triggers: u64,
    trim_at: usize,
}

/// What the sender knows of one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) delay: DelayEstimate,
    pub(crate) round_trip: DelayEstimate,
    known_until: SessionTime,
    /// Error of entities that are no more.
    closed: f64,
    sent_closed: u64,
    /// Reported arrival times that could not be true.
    pub(crate) clamped: u64,
}

impl Link {
    /// A vector that is not acknowledged for so long is taken as lost, until a later report says otherwise.
    fn lost_after(&self) -> Span {
        if self.round_trip.samples() == 0 {
            return Span::MAX;
        }
        self.round_trip.mean() + self.round_trip.deviation().times(6) + Span::from_millis(60)
    }
}

/// A report of an arrival as it went into the books.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settlement {
    /// Which entity.
    pub entity: EntityId,
    /// At which receiver.
    pub receiver: PeerId,
    /// Which vector.
    pub seq: DrSeq,
    /// When it was sent.
    pub sent: SessionTime,
    /// When it arrived.
    pub arrived: SessionTime,
}

/// All accounts of one sender.
#[derive(Clone, Debug, Default)]
pub struct ErrorLedger {
    pub(crate) tracks: BTreeMap<EntityId, Track>,
    ended: Vec<(EntityId, Track)>,
    pub(crate) links: BTreeMap<PeerId, Link>,
    accounts: Vec<Option<Account>>,
    slots: BTreeMap<(EntityId, PeerId), usize>,
    free: Vec<usize>,
    opened: u64,
    placement: Placement,
    /// Times that the truth could not be waited for.
    pub(crate) estimated: u64,
}

impl ErrorLedger {
    /// A ledger for receivers that place in this way.
    #[must_use]
    pub fn new(placement: Placement) -> Self {
        Self { placement, ..Self::default() }
    }

    pub(crate) fn account(&self, slot: usize) -> &Account {
        self.accounts[slot].as_ref().expect("a slot in use has an account")
    }

    pub(crate) fn account_mut(&mut self, slot: usize) -> &mut Account {
        self.accounts[slot].as_mut().expect("a slot in use has an account")
    }

    pub(crate) fn slot(&self, entity: EntityId, receiver: PeerId) -> Option<usize> {
        self.slots.get(&(entity, receiver)).copied()
    }

    /// The account of one pair.
    #[must_use]
    pub fn pair(&self, entity: EntityId, receiver: PeerId) -> Option<&Account> {
        self.slot(entity, receiver).map(|slot| self.account(slot))
    }

    pub(crate) fn outlook(&self, receiver: PeerId, now: SessionTime) -> Outlook {
        let link = self.links.get(&receiver).expect("an account's receiver is here");
        Outlook {
            now,
            delay: link.delay.mean(),
            lost_after: link.lost_after(),
            known_until: link.known_until,
            placement: self.placement,
        }
    }

    /// A receiver comes.
    pub(crate) fn join(&mut self, receiver: PeerId) {
        self.links.entry(receiver).or_insert(Link {
            delay: DelayEstimate::default(),
            round_trip: DelayEstimate::default(),
            known_until: SessionTime::MIN,
            closed: 0.0,
            sent_closed: 0,
            clamped: 0,
        });
    }

    /// A receiver goes; its accounts are closed.
    pub(crate) fn leave(&mut self, receiver: PeerId) {
        self.links.remove(&receiver);
        let gone: Vec<_> =
            self.slots.iter().filter(|((_, r), _)| *r == receiver).map(|(k, s)| (*k, *s)).collect();
        for ((entity, _), slot) in gone {
            if let Some(track) = self.tracks.get_mut(&entity) {
                track.slots.retain(|s| *s != slot);
            }
            for (_, track) in &mut self.ended {
                track.slots.retain(|s| *s != slot);
            }
            self.close(slot);
        }
    }

    fn close(&mut self, slot: usize) {
        if let Some(account) = self.accounts[slot].take() {
            self.slots.remove(&(account.entity, account.receiver));
            self.free.push(slot);
        }
    }

    /// An entity begins to be exported. False if there is one of that name already.
    pub(crate) fn introduce(&mut self, entity: EntityId, owner: Option<PeerId>, history: History) -> bool {
        // A new life of a name that still waits for reports: settle the old one now.
        if let Some(index) = self.ended.iter().position(|(id, _)| *id == entity) {
            self.bury(index);
        }
        if self.tracks.contains_key(&entity) {
            return false;
        }
        let expires = SessionTime::MAX;
        let track =
            Track { history, slots: Vec::new(), owner, threshold: 0.0, expires, triggers: 1, trim_at: 64 };
        self.tracks.insert(entity, track);
        true
    }

    /// Opens the account of an entity at a receiver; gives its slot.
    pub(crate) fn open_pair(&mut self, entity: EntityId, receiver: PeerId) -> usize {
        if let Some(slot) = self.slot(entity, receiver) {
            return slot;
        }
        self.opened += 1;
        let account = Account::new(self.opened, entity, receiver);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.accounts.push(None);
            self.accounts.len() - 1
        });
        self.accounts[slot] = Some(account);
        self.slots.insert((entity, receiver), slot);
        self.tracks.get_mut(&entity).expect("a pair's entity is exported").slots.push(slot);
        slot
    }

    /// Takes a vector into the exported path.
    pub(crate) fn record(
        &mut self,
        entity: EntityId,
        seq: DrSeq,
        vector: DrVector,
        now: SessionTime,
    ) -> Recorded {
        self.make_room(entity, now);
        let Some(track) = self.tracks.get_mut(&entity) else { return Recorded::Ignored };
        let recorded = track.history.record(seq, vector);
        if recorded == Recorded::Newest {
            track.triggers += 1;
        }
        // At a relay every vector makes more of the exported path certain.
        if track.owner.is_some() {
            self.settle_track(entity, now);
        }
        recorded
    }

    /// The exported path goes on with this vector although some before it never came.
    pub(crate) fn restart(
        &mut self,
        entity: EntityId,
        seq: DrSeq,
        vector: DrVector,
        now: SessionTime,
    ) -> bool {
        let Some(track) = self.tracks.get(&entity) else { return false };
        let (newest, newest_vector) = track.history.newest();
        if seq <= newest || vector.generated <= newest_vector.generated {
            return false;
        }
        self.give_up(entity, vector.generated, now);
        self.tracks.get_mut(&entity).is_some_and(|track| track.history.restart(seq, vector))
    }

    fn settle_track(&mut self, entity: EntityId, now: SessionTime) {
        let Some(track) = self.tracks.get(&entity) else { return };
        for &slot in &track.slots {
            let account = self.accounts[slot].as_mut().expect("a slot in use has an account");
            let link = self.links.get(&account.receiver).expect("an account's receiver is here");
            let outlook = Outlook {
                now,
                delay: link.delay.mean(),
                lost_after: link.lost_after(),
                known_until: link.known_until,
                placement: self.placement,
            };
            account.settle(&track.history, &outlook);
        }
    }

    /// Drops what no account needs any more, and if that is not enough, what the slowest still needs.
    fn make_room(&mut self, entity: EntityId, now: SessionTime) {
        let Some(track) = self.tracks.get(&entity) else { return };
        if track.history.len() < track.trim_at {
            return;
        }
        self.settle_track(entity, now);
        let track = &self.tracks[&entity];
        let newest = track.history.newest().0;
        let needed = track.slots.iter().map(|&slot| self.account(slot).needs(&track.history)).min();
        let track = self.tracks.get_mut(&entity).expect("it was there a line ago");
        track.history.trim(needed.unwrap_or(newest).min(track.history.contiguous()));
        if track.history.len() >= HISTORY_MAX {
            let half = DrSeq(track.history.first().0 + (HISTORY_MAX / 2) as u32);
            let until = track.history.after(half).map_or(now, |(_, vector)| vector.generated);
            self.give_up(entity, until, now);
            let track = self.tracks.get_mut(&entity).expect("it was there a line ago");
            track.history.trim(half);
        }
        let track = self.tracks.get_mut(&entity).expect("it was there a line ago");
        track.trim_at = (2 * track.history.len()).clamp(64, HISTORY_MAX);
    }

    fn give_up(&mut self, entity: EntityId, until: SessionTime, now: SessionTime) {
        let Some(track) = self.tracks.get(&entity) else { return };
        for &slot in &track.slots {
            let outlook = self.outlook(self.account(slot).receiver, now);
            let account = self.accounts[slot].as_mut().expect("a slot in use has an account");
            if account.settled().is_some_and(|(_, at)| at < until) {
                account.give_up(&track.history, &outlook, until);
                self.estimated += 1;
            }
        }
    }

    /// An entity ends. Its accounts wait for the last reports.
    pub(crate) fn end(&mut self, entity: EntityId, at: SessionTime) {
        let Some(mut track) = self.tracks.remove(&entity) else { return };
        track.history.end(at);
        for &slot in &track.slots {
            self.account_mut(slot).held = None;
        }
        self.ended.push((entity, track));
        if self.ended.len() > ENDED_MAX {
            self.bury(0);
        }
        while self.ended.first().is_some_and(|(_, t)| t.history.ended().is_some_and(|end| at - end > LINGER))
        {
            self.bury(0);
        }
    }

    /// Closes the accounts of an ended entity, by estimate where reports are missing.
    fn bury(&mut self, index: usize) {
        let (_, track) = self.ended.remove(index);
        let end = track.history.ended().unwrap_or(SessionTime::MAX);
        for slot in track.slots {
            let account = self.account(slot);
            let receiver = account.receiver;
            let outlook = self.outlook(receiver, end);
            let cursor = account.estimate(&track.history, &outlook, Flight::Estimated, end);
            let sent = account.sent;
            let link = self.links.get_mut(&receiver).expect("an account's receiver is here");
            link.closed += cursor.map_or(0.0, |cursor| cursor.error);
            link.sent_closed += sent;
            self.close(slot);
        }
    }

    fn history_of(&self, entity: EntityId) -> Option<&History> {
        let ended = || self.ended.iter().find(|(id, _)| *id == entity).map(|(_, track)| &track.history);
        self.tracks.get(&entity).map(|track| &track.history).or_else(ended)
    }

    /// A receiver reports an arrival. Times that can't be true are moved to the nearest that can.
    pub(crate) fn arrived(
        &mut self,
        receiver: PeerId,
        entity: EntityId,
        seq: DrSeq,
        at: SessionTime,
        now: SessionTime,
    ) -> Option<Settlement> {
        let link = self.links.get_mut(&receiver)?;
        let mut arrived = at.min(now).max(link.known_until);
        link.known_until = arrived;
        let slot = self.slot(entity, receiver)?;
        let account = self.account_mut(slot);
        let sent = account.in_flight_sent(seq);
        if let Some(sent) = sent {
            arrived = arrived.max(sent);
        }
        let dispatch = account.arrived(seq, arrived);
        let link = self.links.get_mut(&receiver)?;
        link.clamped += u64::from(arrived != at);
        link.known_until = arrived;
        if let Some(dispatch) = dispatch {
            link.delay.sample(arrived - dispatch.sent);
            link.round_trip.sample(now - dispatch.sent);
        }
        let outlook = self.outlook(receiver, now);
        let ended = self.ended.iter().find(|(id, _)| *id == entity).map(|(_, track)| &track.history);
        let history = self.tracks.get(&entity).map(|track| &track.history).or(ended)?;
        let account = self.accounts[slot].as_mut().expect("a slot in use has an account");
        account.settle(history, &outlook);
        dispatch.map(|dispatch| Settlement { entity, receiver, seq, sent: dispatch.sent, arrived })
    }

    /// The accumulated export error of a receiver at `now`, as far as the sender knows: settled and estimated.
    #[must_use]
    pub fn accumulated(&self, receiver: PeerId, now: SessionTime) -> f64 {
        let Some(link) = self.links.get(&receiver) else { return 0.0 };
        let outlook = self.outlook(receiver, now);
        let accounts = self.accounts.iter().flatten().filter(|account| account.receiver == receiver);
        let open: f64 = accounts
            .filter_map(|account| {
                let history = self.history_of(account.entity)?;
                account.estimate(history, &outlook, Flight::Estimated, now)
            })
            .map(|cursor| cursor.error)
            .sum();
        link.closed + open
    }

    /// Reported arrival times of a receiver that could not be true.
    #[must_use]
    pub fn clamped(&self, receiver: PeerId) -> u64 {
        self.links.get(&receiver).map_or(0, |link| link.clamped)
    }
}

/// What the sending machine asks of its ledger beside the accounts.
impl ErrorLedger {
    pub(crate) fn entity_count(&self) -> usize {
        self.tracks.len()
    }

    pub(crate) fn pair_count(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn owner_of(&self, entity: EntityId) -> Option<Option<PeerId>> {
        self.tracks.get(&entity).map(|track| track.owner)
    }

    pub(crate) fn contiguous(&self, entity: EntityId) -> Option<DrSeq> {
        self.tracks.get(&entity).map(|track| track.history.contiguous())
    }

    pub(crate) fn entities_for(&self, receiver: PeerId) -> impl Iterator<Item = EntityId> + '_ {
        self.tracks.iter().filter(move |(_, track)| track.owner != Some(receiver)).map(|(entity, _)| *entity)
    }

    pub(crate) fn entities_of(&self, owner: PeerId) -> impl Iterator<Item = EntityId> + '_ {
        self.tracks.iter().filter(move |(_, track)| track.owner == Some(owner)).map(|(entity, _)| *entity)
    }

    pub(crate) fn receivers_of(&self, entity: EntityId) -> Vec<PeerId> {
        let slots = self.tracks.get(&entity).map_or(&[][..], |track| &track.slots);
        slots.iter().map(|&slot| self.account(slot).receiver).collect()
    }

    pub(crate) fn note_threshold(&mut self, frame: &VectorFrame) {
        if let Some(track) = self.tracks.get_mut(&frame.entity) {
            (track.threshold, track.expires) = (frame.threshold, frame.expires);
        }
    }

    pub(crate) fn frame(&self, entity: EntityId, seq: DrSeq, sent: SessionTime) -> Option<VectorFrame> {
        let track = self.tracks.get(&entity)?;
        let vector = *track.history.vector(seq)?;
        Some(VectorFrame { entity, seq, sent, threshold: track.threshold, expires: track.expires, vector })
    }

    pub(crate) fn newest_frame(&self, entity: EntityId, sent: SessionTime) -> Option<VectorFrame> {
        let seq = self.tracks.get(&entity)?.history.newest().0;
        self.frame(entity, seq, sent)
    }

    pub(crate) fn flush_held(&mut self, entity: EntityId) {
        let Some(track) = self.tracks.get(&entity) else { return };
        for &slot in &track.slots {
            self.accounts[slot].as_mut().expect("a slot in use has an account").held = None;
        }
    }

    pub(crate) fn is_held(&self, slot: usize, account: u64, seq: DrSeq, at: SessionTime) -> bool {
        let current = self.accounts.get(slot).and_then(Option::as_ref).filter(|a| a.id == account);
        current.is_some_and(|a| a.held == Some(Dispatch { seq, sent: at }))
    }

    /// DR vectors sent to a receiver, introductions not counted.
    #[must_use]
    pub fn sent_to(&self, receiver: PeerId) -> u64 {
        let closed = self.links.get(&receiver).map_or(0, |link| link.sent_closed);
        let open: u64 =
            self.accounts.iter().flatten().filter(|a| a.receiver == receiver).map(|a| a.sent).sum();
        closed + open
    }
}
