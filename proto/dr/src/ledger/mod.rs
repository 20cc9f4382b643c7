//! The ledger of export error: one account for each entity and receiver, kept by whoever runs the policy.
//!
//! Acknowledgments may be late, lost, doubled or out of order; the ledger ends at the same settled error whatever
//! their order, because receivers repeat what is not confirmed and reports are taken in sequence.

mod account;
mod cursor;
mod evidence;
mod life;

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{PeerId, SessionTime, Span};

use account::Forged;
pub(crate) use account::Outlook;
pub use account::{ARRIVALS_MAX, Account, Dispatch, Flight, IN_FLIGHT_MAX};
pub use cursor::Cursor;
pub use evidence::Compensation;
use evidence::Evidence;
pub(crate) use life::Track;
pub use life::{ENDED_MAX, Kinematics, LINGER, Life};

use crate::history::History;
use crate::message::Arrival;
use crate::placement::Placement;
use crate::vector::{DrSeq, EntityId};

/// What the sender knows of one receiver.
#[derive(Clone, Debug)]
struct Link {
    evidence: Evidence,
    /// Every arrival up to here has been reported.
    known_until: SessionTime,
    /// Settled error over all lives, those that are over included.
    settled: f64,
    /// DR vectors sent, introductions not counted.
    sent: u64,
    /// Reports that could not be true: of arrivals before the sending or after now, or without the nonce.
    clamped: u64,
}

impl Link {
    /// Settles an account of this receiver as far as is known.
    fn settle(&mut self, account: &mut Account, history: &History, now: SessionTime, placement: Placement) {
        let before = account.settled_error();
        account.settle(history, &self.outlook(now, placement));
        self.settled += account.settled_error() - before;
    }

    fn outlook(&self, now: SessionTime, placement: Placement) -> Outlook {
        let (under_way, delay) = (self.evidence.claimed().mean(), self.evidence.delay());
        let lost_after = self.evidence.lost_after();
        Outlook { now, under_way, delay, lost_after, known_until: self.known_until, placement, assumed: None }
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
    /// The account: its place in the ledger, and what tells it from others that had the place before.
    pub(crate) slot: usize,
    pub(crate) account: u64,
}

/// All accounts of one sender.
#[derive(Clone, Debug, Default)]
pub struct ErrorLedger {
    placement: Placement,
    compensation: Option<Compensation>,
    /// Lives that are going on, and ended ones whose last reports are awaited.
    tracks: BTreeMap<Life, Track>,
    /// The ended ones, in the order of their end.
    ended: VecDeque<Life>,
    links: BTreeMap<PeerId, Link>,
    accounts: Vec<Option<Account>>,
    slots: BTreeMap<(Life, PeerId), usize>,
    free: Vec<usize>,
    opened: u64,
    sent: u64,
    estimated: u64,
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

    pub(crate) fn outlook(&self, receiver: PeerId, now: SessionTime) -> Outlook {
        self.links.get(&receiver).expect("an account's receiver is here").outlook(now, self.placement)
    }

    /// A receiver comes.
    pub(crate) fn join(&mut self, receiver: PeerId) {
        self.links.entry(receiver).or_insert(Link {
            evidence: Evidence::default(),
            known_until: SessionTime::MIN,
            settled: 0.0,
            sent: 0,
            clamped: 0,
        });
    }

    /// A receiver goes; its accounts are closed.
    pub(crate) fn leave(&mut self, receiver: PeerId) {
        if self.links.remove(&receiver).is_none() {
            return;
        }
        let lives: Vec<Life> = self.tracks.keys().copied().collect();
        for life in lives {
            if let Some(slot) = self.slots.get(&(life, receiver)).copied() {
                self.tracks.get_mut(&life).expect("a life of the list").slots.retain(|s| *s != slot);
                self.close(slot);
            }
        }
    }

    /// Opens the account of a life at a receiver; gives its slot.
    pub(crate) fn open_pair(&mut self, life: Life, receiver: PeerId, now: SessionTime) -> usize {
        if let Some(slot) = self.slots.get(&(life, receiver)) {
            return *slot;
        }
        self.opened += 1;
        let mut account = Account::new(self.opened, life, receiver);
        account.head_start = self.head_start(life, receiver, now);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.accounts.push(None);
            self.accounts.len() - 1
        });
        self.accounts[slot] = Some(account);
        self.slots.insert((life, receiver), slot);
        self.tracks.get_mut(&life).expect("a pair's entity is exported").slots.push(slot);
        slot
    }

    /// The part of a receiver's accumulated export error that is settled: the truth, as of about a round trip ago. Unlike
    /// [`accumulated`](Self::accumulated) it is at hand.
    #[must_use]
    pub fn settled(&self, receiver: PeerId) -> Option<f64> {
        self.links.get(&receiver).map(|link| link.settled)
    }

    /// A DR vector, no introduction, was sent.
    pub(crate) fn count_sent(&mut self, receiver: PeerId) {
        if let Some(link) = self.links.get_mut(&receiver) {
            link.sent += 1;
            self.sent += 1;
        }
    }

    /// A vector leaves for a receiver, in a message with this nonce.
    pub(crate) fn dispatch(&mut self, slot: usize, dispatch: Dispatch, nonce: u32) {
        let account = self.accounts[slot].as_mut().expect("a slot in use has an account");
        let link = self.links.get_mut(&account.receiver).expect("an account's receiver is here");
        let Some(track) = self.tracks.get(&account.life) else { return };
        let (history, outlook) = (&track.history, link.outlook(dispatch.sent, self.placement));
        let before = account.settled_error();
        let estimated = account.make_room(history, &outlook, dispatch.seq);
        link.settled += account.settled_error() - before;
        self.estimated += u64::from(estimated);
        account.open(dispatch, nonce);
        account.presume(history, &outlook);
    }

    fn close(&mut self, slot: usize) {
        if let Some(account) = self.accounts[slot].take() {
            self.slots.remove(&(account.life, account.receiver));
            self.free.push(slot);
        }
    }

    /// A receiver reports an arrival. Times that can't be true are moved to the nearest that can.
    pub(crate) fn arrived(
        &mut self,
        receiver: PeerId,
        arrival: Arrival,
        now: SessionTime,
    ) -> Option<Settlement> {
        let Arrival { entity, seq, at, nonce } = arrival;
        let life = self.life_of(entity, seq);
        let link = self.links.get_mut(&receiver)?;
        let mut arrived = at.min(now).max(link.known_until);
        let slot = life.and_then(|life| self.slots.get(&(life, receiver)).copied());
        let account = slot.and_then(|slot| self.accounts[slot].as_mut());
        match account.as_ref().map_or(Ok(None), |account| account.sent_with(seq, nonce)) {
            Ok(None) => {}
            Ok(Some(sent)) => arrived = arrived.max(sent.min(now)),
            Err(Forged) => {
                link.clamped += 1;
                return None;
            }
        }
        link.clamped += u64::from((arrived - at).abs() > link.evidence.tolerance());
        link.known_until = arrived;
        let (slot, account) = (slot?, account?);
        let dispatch = account.arrived(seq, nonce, arrived);
        if let Some(dispatch) = dispatch {
            link.evidence.sample(dispatch.sent, arrived, now, self.compensation);
        }
        let history = &self.tracks.get(&account.life)?.history;
        link.settle(account, history, now, self.placement);
        let account = account.id;
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
        let life = self.life_of(entity, DrSeq(u32::MAX))?;
        self.slots.get(&(life, receiver)).map(|slot| self.account(*slot))
    }

    /// The accumulated export error of a receiver at `now`, as far as the sender knows: settled and estimated.
    #[must_use]
    pub fn accumulated(&self, receiver: PeerId, now: SessionTime) -> f64 {
        let Some(link) = self.links.get(&receiver) else { return 0.0 };
        let outlook = link.outlook(now, self.placement);
        let accounts = self.accounts.iter().flatten().filter(|account| account.receiver == receiver);
        let estimated: f64 = accounts
            .filter_map(|account| {
                let history = &self.tracks.get(&account.life)?.history;
                let cursor = account.estimate(history, &outlook, Flight::Estimated, now)?;
                Some(cursor.error - account.settled_error())
            })
            .sum();
        link.settled + estimated
    }

    /// Reports of a receiver are lost for good: what they would have said up to a time is estimated.
    pub(crate) fn give_up_reports(&mut self, receiver: PeerId, until: SessionTime, now: SessionTime) {
        let Some(link) = self.links.get_mut(&receiver) else { return };
        for (life, track) in &self.tracks {
            let slot = self.slots.get(&(*life, receiver)).copied();
            let Some(account) = slot.and_then(|slot| self.accounts[slot].as_mut()) else { continue };
            let before = account.settled_error();
            account.give_up(&track.history, &link.outlook(now, self.placement), until.min(now));
            link.settled += account.settled_error() - before;
        }
    }

    /// DR vectors sent to all receivers, those that have gone included; introductions not counted.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// DR vectors sent to a receiver, introductions not counted.
    #[must_use]
    pub fn sent_to(&self, receiver: PeerId) -> u64 {
        self.links.get(&receiver).map_or(0, |link| link.sent)
    }

    /// What a receiver reported that could not be true, and how often the delay that it claims was cut.
    #[must_use]
    pub fn clamped(&self, receiver: PeerId) -> u64 {
        self.links.get(&receiver).map_or(0, |link| link.clamped + link.evidence.clamped)
    }

    /// The delay of a receiver: what a policy compensates, and what the receiver's reports claim on average. `None` before
    /// the first report.
    #[must_use]
    pub fn delay(&self, receiver: PeerId) -> Option<(Span, Span)> {
        let evidence = &self.links.get(&receiver)?.evidence;
        let claimed = evidence.claimed();
        (claimed.samples() > 0).then(|| (evidence.delay(), claimed.mean()))
    }

    /// The least round trip to a receiver that this side measured lately, acknowledgments' waiting included.
    #[must_use]
    pub fn least_round_trip(&self, receiver: PeerId) -> Option<Span> {
        let least = self.links.get(&receiver)?.evidence.least_round_trip();
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
        self.slots.len()
    }

    pub(crate) fn is_held(&self, slot: usize, account: u64, dispatch: Dispatch) -> bool {
        let current = self.accounts.get(slot).and_then(Option::as_ref).filter(|a| a.id == account);
        current.is_some_and(|a| a.held == Some(dispatch))
    }
}
