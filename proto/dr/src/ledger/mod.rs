//! The ledger of export error: one account for each entity and receiver, kept by whoever runs the policy.
//!
//! Acknowledgments may be late, lost, doubled or out of order; the ledger ends at the same settled error whatever
//! their order, because receivers repeat what is not confirmed and reports are taken in sequence.

mod account;
mod cursor;
mod evidence;
mod glance;
mod life;
mod link;
mod tracks;

use std::collections::VecDeque;

use evenkeel_core::{PeerId, SessionTime, Span};

pub(crate) use account::Outlook;
pub use account::{ARRIVALS_MAX, Account, Dispatch, Flight, IN_FLIGHT_MAX};
use account::{Forged, Spare};
pub use cursor::Cursor;
pub use evidence::Compensation;
pub(crate) use glance::{Glance, Look, Pending, Prospects, Shows};
pub(crate) use life::Track;
pub use life::{ENDED_MAX, Kinematics, LINGER, Life};
pub(crate) use link::Link;
use link::Links;
use tracks::Tracks;

use crate::message::Arrival;
use crate::placement::Placement;
use crate::vector::{DrSeq, DrVector, EntityId};

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
    /// The account: its place in the ledger, and what tells it from others that had the place before.
    pub(crate) slot: usize,
    pub(crate) account: u32,
}

/// What a receiver has suffered with one life of an entity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Suffered {
    /// Which life.
    pub life: Life,
    /// Whose it is, at a relay.
    pub owner: Option<PeerId>,
    /// Who.
    pub receiver: PeerId,
    /// The accumulated export error.
    pub error: f64,
}

/// All accounts of one sender.
#[derive(Clone, Debug, Default)]
pub struct ErrorLedger {
    placement: Placement,
    compensation: Option<Compensation>,
    /// Lives that are going on, and ended ones whose last reports are awaited.
    tracks: Tracks,
    /// The ended ones, in the order of their end.
    ended: VecDeque<Life>,
    links: Links,
    accounts: Vec<Option<Account>>,
    free: Vec<usize>,
    spare: Spare,
    opened: u32,
    sent: u64,
    estimated: u64,
    /// How often anything has changed of what is known of receivers.
    changes: u64,
    /// Whether the policy asks what the error was when a vector was generated.
    keeps_marks: bool,
    /// Whether receivers may be sent the same vector as different kinds.
    is_tailored: bool,
}

impl ErrorLedger {
    /// A ledger for receivers that place in this way, and whose claims are believed no further than this.
    #[must_use]
    pub fn new(placement: Placement, compensation: Option<Compensation>) -> Self {
        Self { placement, compensation, ..Self::default() }
    }

    pub(crate) fn account(&self, slot: usize) -> &Account {
        self.accounts[slot].as_ref().expect("a slot in use has an account")
    }

    pub(crate) fn account_mut(&mut self, slot: usize) -> &mut Account {
        self.accounts[slot].as_mut().expect("a slot in use has an account")
    }

    /// Whether what the error was when each vector was generated is remembered from now on.
    pub(crate) fn keep_marks(&mut self, kept: bool) {
        self.keeps_marks = kept;
        self.accounts.iter_mut().flatten().for_each(|account| account.keep_marks(kept));
    }

    /// The life and the receiver of an account.
    pub(crate) fn names(&self, slot: usize) -> (Life, PeerId) {
        let Account { track, link, .. } = *self.account(slot);
        (self.tracks[track].life, self.links.at(link).peer())
    }

    /// What an estimate of an account needs to know, and who its receiver is.
    pub(crate) fn outlook(&self, account: &Account, now: SessionTime) -> (PeerId, Outlook) {
        let link = self.links.at(account.link);
        (link.peer(), link.outlook(now, self.placement))
    }

    /// All receivers by their places.
    pub(crate) fn links(&self) -> &[Option<Link>] {
        self.links.rows()
    }

    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether every receiver that has a vector shows the same.
    pub(crate) fn shows_alike(&self) -> bool {
        self.placement != Placement::Local && !self.is_tailored
    }

    pub(crate) const fn placement(&self) -> Placement {
        self.placement
    }

    /// A receiver comes.
    pub(crate) fn join(&mut self, receiver: PeerId) {
        self.changes += 1;
        self.links.join(receiver);
    }

    /// A receiver goes; its accounts are closed.
    pub(crate) fn leave(&mut self, receiver: PeerId) {
        self.changes += 1;
        let Some(link) = self.links.leave(receiver) else { return };
        self.tracks.for_each(|track| {
            let Some(place) = track.place(link) else { return };
            let slot = track.remove(place);
            self.accounts[slot] = None;
            self.free.push(slot);
        });
    }

    /// Opens the account of a life at a receiver; gives its slot.
    pub(crate) fn open_pair(&mut self, life: Life, receiver: PeerId, now: SessionTime) -> usize {
        let link = self.links.place(receiver).expect("a pair's receiver is here");
        let track = self.tracks.place(life).expect("a pair's entity is exported");
        if let Some(slot) = self.tracks[track].slot(link) {
            return slot;
        }
        self.opened = self.opened.wrapping_add(1).max(1);
        let mut account = Account::new(self.opened, track, link);
        account.head_start = self.head_start(life, link, now);
        account.keep_marks(self.keeps_marks);
        let slot = self.free.pop().unwrap_or_else(|| {
            push(&mut self.accounts, None);
            self.accounts.len() - 1
        });
        self.tracks[track].push(link, slot);
        self.accounts[slot] = Some(account);
        slot
    }

    /// The part of a receiver's accumulated export error that is settled: the truth, as of about a round trip ago. Unlike
    /// [`accumulated`](Self::accumulated) it is at hand.
    #[must_use]
    pub fn settled(&self, receiver: PeerId) -> Option<f64> {
        self.links.get(receiver).map(|link| link.settled)
    }

    /// A DR vector, no introduction, was sent.
    pub(crate) fn count_sent(&mut self, slot: usize) {
        let link = self.account(slot).link;
        self.links.at_mut(link).sent += 1;
        self.sent += 1;
    }

    /// A vector leaves for a receiver, in a message with this nonce.
    pub(crate) fn dispatch(&mut self, slot: usize, dispatch: Dispatch, nonce: u32) {
        let account = self.accounts[slot].as_mut().expect("a slot in use has an account");
        let link = self.links.at_mut(account.link);
        let track = &mut self.tracks[account.track];
        let (history, outlook) = (&track.history, link.outlook_of_books(dispatch.sent, self.placement));
        let before = account.settled_error();
        let estimated = account.make_room(history, &outlook, dispatch.seq);
        link.settled += account.settled_error() - before;
        self.estimated += u64::from(estimated);
        link.ask(dispatch.sent);
        account.open(dispatch, nonce, &mut self.spare);
        account.presume(history, &outlook);
        track.show(account);
    }

    fn close(&mut self, slot: usize) {
        self.accounts[slot] = None;
        self.free.push(slot);
    }

    /// The place of a receiver.
    pub(crate) fn link(&self, receiver: PeerId) -> Option<u32> {
        self.links.place(receiver)
    }

    /// The receiver at a place reports an arrival. Times that can't be true are moved to the nearest that can.
    pub(crate) fn arrived(&mut self, place: u32, arrival: Arrival, now: SessionTime) -> Option<Settlement> {
        let Arrival { entity, seq, at, nonce } = arrival;
        self.changes += 1;
        let mut track = self.tracks.last(Life { entity, first: seq }).map(|place| &mut self.tracks[place]);
        let link = self.links.at_mut(place);
        let least = self.compensation.map_or(Span::ZERO, |_| link.evidence.return_min());
        let mut arrived = at.min(now - least).max(link.known_until);
        let slot = track.as_ref().and_then(|track| track.slot(place));
        let account = slot.and_then(|slot| self.accounts[slot].as_mut());
        let sent = match account.as_ref().map_or(Ok(None), |account| account.sent_with(seq, nonce)) {
            Ok(sent) => sent,
            Err(Forged) => {
                link.hear(false, now);
                return None;
            }
        };
        arrived = sent.map_or(arrived, |sent| arrived.max(sent.min(now)));
        let is_true = (arrived - at).abs() <= link.evidence.tolerance();
        if sent.is_some() || !is_true {
            link.hear(is_true, now);
        }
        link.known_until = arrived;
        let (slot, account, track) = (slot?, account?, track.as_mut()?);
        let dispatch = sent.and_then(|_| account.take(seq, nonce, &mut self.spare));
        if let Some(dispatch) = dispatch {
            link.evidence.sample(dispatch.sent, arrived, now, self.compensation);
        }
        let (outlook, before) = (link.outlook_of_books(now, self.placement), account.settled_error());
        account.settle_with(&track.history, &outlook, dispatch.map(|_| (seq, arrived)));
        link.settled += account.settled_error() - before;
        track.show(account);
        let (receiver, account) = (link.peer(), account.id);
        dispatch.map(|Dispatch { sent, .. }| Settlement {
            entity,
            receiver,
            seq,
            sent,
            arrived,
            slot,
            account,
        })
    }

    /// The account of an entity's present life at a receiver, or of its last life while reports are awaited.
    #[must_use]
    pub fn pair(&self, entity: EntityId, receiver: PeerId) -> Option<&Account> {
        let last = self.tracks.last(Life { entity, first: DrSeq(u32::MAX) })?;
        self.tracks[last].slot(self.links.place(receiver)?).map(|slot| self.account(slot))
    }

    /// The accumulated export error of a receiver at `now`, as far as the sender knows: settled and estimated.
    #[must_use]
    pub fn accumulated(&self, receiver: PeerId, now: SessionTime) -> f64 {
        let Some(place) = self.links.place(receiver) else { return 0.0 };
        let link = self.links.at(place);
        let outlook = link.outlook(now, self.placement);
        let accounts = self.accounts.iter().flatten().filter(|account| account.link == place);
        let estimated: f64 = accounts
            .filter_map(|account| {
                let history = &self.tracks[account.track].history;
                let cursor = account.estimate(history, &outlook, Flight::Estimated, now)?;
                Some(cursor.error - account.settled_error())
            })
            .sum();
        link.settled + estimated
    }

    /// The accumulated export error of every pair at `now`, settled and estimated: of lives that are going on, and of ended
    /// ones whose last reports are awaited. Nothing before a pair's first arrival.
    pub fn pairs(&self, now: SessionTime) -> impl Iterator<Item = Suffered> + '_ {
        self.tracks.iter().flat_map(move |track| {
            track.slots().filter_map(move |slot| {
                let account = self.account(slot);
                let (receiver, outlook) = self.outlook(account, now);
                let cursor = account.estimate(&track.history, &outlook, Flight::Estimated, now)?;
                Some(Suffered { life: track.life, owner: track.owner, receiver, error: cursor.error })
            })
        })
    }

    /// What each receiver is taken to show of an entity at `now`: what it has reported and, beyond, what is expected to have
    /// arrived.
    pub fn shown(&self, entity: EntityId, now: SessionTime) -> impl Iterator<Item = (PeerId, DrVector)> + '_ {
        let track = self.present(entity).map(|(_, track)| track);
        track.into_iter().flat_map(move |track| {
            track.slots().filter_map(move |slot| {
                let account = self.account(slot);
                let (receiver, outlook) = self.outlook(account, now);
                let cursor = account.estimate(&track.history, &outlook, Flight::Estimated, now)?;
                Some((receiver, cursor.vector))
            })
        })
    }

    /// Reports of a receiver are lost for good: what they would have said up to a time is estimated.
    pub(crate) fn give_up_reports(&mut self, receiver: PeerId, until: SessionTime, now: SessionTime) {
        let Some(place) = self.links.place(receiver) else { return };
        let link = self.links.at_mut(place);
        self.tracks.for_each(|track| {
            let Some(account) = track.slot(place).and_then(|slot| self.accounts[slot].as_mut()) else {
                return;
            };
            let before = account.settled_error();
            account.give_up(&track.history, &link.outlook(now, self.placement), until.min(now));
            link.settled += account.settled_error() - before;
            track.show(account);
        });
    }

    /// What the looks of a policy saw is forgotten.
    pub(crate) fn forget_looks(&mut self) {
        self.tracks.for_each(|track| {
            for look in track.looks.iter_mut().map(|look| look.get_mut()) {
                *look = Look { pending: look.pending, ..Look::NONE };
            }
        });
    }

    /// DR vectors sent to all receivers, those that have gone included; introductions not counted.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// DR vectors sent to a receiver, introductions not counted.
    #[must_use]
    pub fn sent_to(&self, receiver: PeerId) -> u64 {
        self.links.get(receiver).map_or(0, |link| link.sent)
    }

    /// What a receiver reported that could not be true, and how often the delay that it claims was cut.
    #[must_use]
    pub fn clamped(&self, receiver: PeerId) -> u64 {
        self.links.get(receiver).map_or(0, |link| link.clamped + link.evidence.clamped)
    }

    /// The delay of a receiver: what a policy compensates, and what the receiver's reports claim on average. `None` before
    /// the first report.
    #[must_use]
    pub fn delay(&self, receiver: PeerId) -> Option<(Span, Span)> {
        let evidence = &self.links.get(receiver)?.evidence;
        let claimed = evidence.claimed();
        (claimed.samples() > 0).then(|| (evidence.delay(), claimed.mean()))
    }

    /// The least round trip to a receiver that this side measured lately, acknowledgments' waiting included.
    #[must_use]
    pub fn least_round_trip(&self, receiver: PeerId) -> Option<Span> {
        let least = self.links.get(receiver)?.evidence.least_round_trip();
        (least < Span::MAX).then_some(least)
    }

    /// Times that the truth could not be waited for.
    #[must_use]
    pub const fn estimated(&self) -> u64 {
        self.estimated
    }

    pub(crate) fn note_estimated(&mut self) {
        self.estimated += 1;
    }

    pub(crate) fn pair_count(&self) -> usize {
        self.accounts.len() - self.free.len()
    }

    pub(crate) fn is_held(&self, slot: usize, account: u32, dispatch: Dispatch) -> bool {
        let current = self.accounts.get(slot).and_then(Option::as_ref).filter(|a| a.id == account);
        current.is_some_and(|a| a.held() == Some(dispatch))
    }
}

/// Adds to what there is very much of: room for twice as many would be too much.
fn push<T>(all: &mut Vec<T>, value: T) {
    if all.len() == all.capacity() {
        all.reserve_exact(4 + all.len() / 16);
    }
    all.push(value);
}
