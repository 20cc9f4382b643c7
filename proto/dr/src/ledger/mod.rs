//! The ledger of export error: one account for each entity and receiver, kept by the side that runs the policy.
//!
//! Acknowledgments may be late, lost, duplicated or out of order. None of this changes the settled error, because receivers
//! repeat unconfirmed reports and reports are taken in sequence.

mod account;
mod cursor;
mod evidence;
pub mod exported_path;
mod growth;
mod in_flight;
mod last_sent;
mod life;
mod link;
mod pair_state;
mod pairs;
mod reports;
mod sent_messages;
mod tracks;
mod waiting;

use std::collections::VecDeque;

use evenkeel_core::{PeerId, SessionTime, Span};

use account::AccountMut;
pub use account::Outlook;
pub use account::{ARRIVALS_MAX, Account, Dispatch, Flight, IN_FLIGHT_MAX};
pub use cursor::Cursor;
pub use evidence::Compensation;
use growth::Growth;
pub use last_sent::{LastSent, ShownVector};
pub(crate) use life::Track;
pub use life::{ENDED_MAX, Kinematics, LINGER, Life};
pub(crate) use link::Link;
use link::Links;
pub use pair_state::{PairState, Pending};
pub(crate) use reports::{Report, Reports};
pub use sent_messages::SentMessages;
use tracks::Tracks;

use crate::motion::vector::{DrSeq, DrVector, EntityId};
use crate::receiver::placement::Placement;

/// A settled report of an arrival.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settlement {
    /// Which entity.
    pub entity: EntityId,
    /// The receiver.
    pub receiver: PeerId,
    /// The vector.
    pub seq: DrSeq,
    /// When it was sent.
    pub sent: SessionTime,
    /// When it arrived.
    pub arrived: SessionTime,
    pub(crate) slot: Slot,
}

/// Pairs that have closed: one pair, or all pairs of a life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClosedPairs {
    /// The place of the life, and that of the receiver if it is a single pair.
    pub(crate) track: u32,
    pub(crate) link: Option<u32>,
}

/// The place of an account: the places of its life and its receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Slot {
    pub(crate) track: u32,
    pub(crate) link: u32,
}

/// The error of one receiver over one life of an entity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Suffered {
    /// The life.
    pub life: Life,
    /// The owner, at a relay.
    pub owner: Option<PeerId>,
    /// The receiver.
    pub receiver: PeerId,
    /// The accumulated export error.
    pub error: f64,
}

/// All accounts of one sender.
#[derive(Clone, Debug, Default)]
pub struct ErrorLedger {
    placement: Placement,
    compensation: Option<Compensation>,
    tracks: Tracks,
    /// The ended lives, in the order of their end.
    ended: VecDeque<Life>,
    /// Closed pairs that the policy has not been notified of.
    pub(crate) closed: Vec<ClosedPairs>,
    links: Links,
    growth: Growth,
    pub(crate) pair_count: usize,
    sent: u64,
    pub(crate) estimated: u64,
    /// Counts changes to receivers and their reports.
    changes: u64,
    /// Whether the policy asks for the error since a vector was generated.
    keeps_marks: bool,
    /// Whether receivers may be sent a vector as different kinds.
    is_tailored: bool,
    /// Whether to settle by the reference path only.
    #[cfg(test)]
    only_reference: bool,
    /// How often the fast path was taken.
    #[cfg(test)]
    usual: u64,
}

impl ErrorLedger {
    /// A ledger for receivers with this placement, whose claimed delays are compensated within these limits.
    #[must_use]
    pub fn new(placement: Placement, compensation: Option<Compensation>) -> Self {
        Self { placement, compensation, ..Self::default() }
    }

    pub(crate) fn account(&self, Slot { track, link }: Slot) -> Account<'_> {
        Account::new(&self.tracks[track].pairs, &self.links.at(link).messages, link)
    }

    pub(crate) fn account_mut(&mut self, Slot { track, link }: Slot) -> AccountMut<'_> {
        AccountMut::new(&mut self.tracks[track].pairs, &mut self.links.at_mut(link).messages, link)
    }

    /// Distinguishes an account from earlier ones in its slot; never 0.
    pub(crate) fn id(&self, Slot { track, link }: Slot) -> u64 {
        u64::from(self.tracks[track].id) << 32 | u64::from(self.links.at(link).id)
    }

    /// Sets whether the error at the generation of each vector is remembered from now on.
    pub(crate) fn keep_marks(&mut self, kept: bool) {
        self.keeps_marks = kept;
        let Self { tracks, links, .. } = self;
        tracks.for_each(|track| {
            track.for_each_pair(links, |Track { pairs, .. }, link, place| {
                AccountMut::new(pairs, &mut link.messages, place).keep_marks(kept);
            });
        });
    }

    pub(crate) fn names(&self, Slot { track, link }: Slot) -> (Life, PeerId) {
        (self.tracks[track].life, self.links.at(link).peer())
    }

    pub(crate) fn at(&self, link: u32) -> &Link {
        self.links.at(link)
    }

    pub(crate) fn links(&self) -> &[Option<Link>] {
        &self.links.rows
    }

    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether all receivers that have a vector show the same motion.
    pub(crate) fn shows_alike(&self) -> bool {
        self.placement != Placement::Local && !self.is_tailored
    }

    pub(crate) const fn placement(&self) -> Placement {
        self.placement
    }

    pub(crate) fn join(&mut self, receiver: PeerId) {
        self.changes += 1;
        self.links.join(receiver);
    }

    /// Removes a receiver and closes its pairs.
    pub(crate) fn leave(&mut self, receiver: PeerId) {
        self.changes += 1;
        let Some(link) = self.links.leave(receiver) else { return };
        self.tracks.for_each(|track| {
            if track.pairs.is_open(link) {
                track.pairs.close(link);
                self.closed.push(ClosedPairs { track: track.place, link: Some(link) });
                self.pair_count -= 1;
            }
        });
    }

    /// Opens the pair of a life and a receiver, and returns its slot.
    pub(crate) fn open_pair(&mut self, life: Life, receiver: PeerId, now: SessionTime) -> Slot {
        let link = self.links.place(receiver).expect("a pair's receiver is here");
        let track = self.tracks.place(life).expect("a pair's entity is exported");
        let slot = Slot { track, link };
        if self.tracks[track].pairs.is_open(link) {
            return slot;
        }
        let head_start = self.head_start(life, link, now);
        let (places, keeps_marks) = (self.links.rows.len(), self.keeps_marks);
        self.tracks[track].pairs.open(link, places);
        let mut account = self.account_mut(slot);
        account.set_head_start(head_start);
        account.keep_marks(keeps_marks);
        self.pair_count += 1;
        slot
    }

    /// The settled part of a receiver's accumulated export error: the truth as of about a round trip ago. Cheaper than
    /// [`accumulated`](Self::accumulated).
    #[must_use]
    pub fn settled(&self, receiver: PeerId) -> Option<f64> {
        self.links.get(receiver).map(|link| link.settled)
    }

    pub(crate) fn count_sent(&mut self, Slot { link, .. }: Slot) {
        self.links.at_mut(link).sent += 1;
        self.sent += 1;
    }

    /// Records that a vector was sent to a receiver, in a message with this nonce.
    pub(crate) fn dispatch(&mut self, slot: Slot, dispatch: Dispatch, nonce: u32) {
        let (track, link) = (&mut self.tracks[slot.track], self.links.at_mut(slot.link));
        link.ask(dispatch.sent);
        #[cfg(test)]
        let may_be_usual = !self.only_reference;
        #[cfg(not(test))]
        let may_be_usual = true;
        let history = &track.history;
        let mut account = AccountMut::new(&mut track.pairs, &mut link.messages, slot.link);
        if !may_be_usual || !account.open_usual(history, dispatch, nonce) {
            let outlook = link.outlook_if_credible(dispatch.sent, self.placement);
            let is_estimated = link.keep(&mut track.pairs, slot.link, |account| {
                account.open(history, &outlook, dispatch, nonce)
            });
            self.estimated += u64::from(is_estimated);
        }
        if link.messages.is_crowded() {
            let numbers = link.messages.renumber();
            self.tracks.for_each(|track| track.pairs.renumber(slot.link, &numbers));
            self.changes += 1;
        }
    }

    pub(crate) fn link(&self, receiver: PeerId) -> Option<u32> {
        self.links.place(receiver)
    }

    /// Prefetches the data that decisions on an entity's newest vector read.
    pub(crate) fn prefetch(&self, entity: EntityId) {
        if let Some(place) = self.tracks.last(Life { entity, first: DrSeq(u32::MAX) }) {
            let Track { pairs, history, .. } = &self.tracks[place];
            pairs.prefetch_last_sents();
            history.prefetch_newest();
        }
    }

    /// The account of an entity's present life at a receiver, or of its last life while reports are awaited.
    #[must_use]
    pub fn pair(&self, entity: EntityId, receiver: PeerId) -> Option<Account<'_>> {
        let track = self.tracks.last(Life { entity, first: DrSeq(u32::MAX) })?;
        let slot = Slot { track, link: self.links.place(receiver)? };
        self.tracks[track].pairs.is_open(slot.link).then(|| self.account(slot))
    }

    /// The accumulated export error of a receiver at `now`: settled and estimated.
    #[must_use]
    pub fn accumulated(&self, receiver: PeerId, now: SessionTime) -> f64 {
        let Some(place) = self.links.place(receiver) else { return 0.0 };
        let estimated = |track: &Track| {
            let settled = track.pairs.state(place)?.settled_error();
            self.shown_at(track, place, now).map(|(_, cursor)| cursor.error - settled)
        };
        self.links.at(place).settled + self.tracks.by_place().filter_map(estimated).sum::<f64>()
    }

    /// The accumulated export error of every pair at `now`, settled and estimated: of live entities, and of ended ones whose
    /// last reports are awaited. Pairs without an arrival are left out.
    pub fn pairs(&self, now: SessionTime) -> impl Iterator<Item = Suffered> + '_ {
        self.tracks.iter().flat_map(move |track| {
            track.pairs.links().filter_map(move |link| {
                let (receiver, cursor) = self.shown_at(track, link, now)?;
                Some(Suffered { life: track.life, owner: track.owner, receiver, error: cursor.error })
            })
        })
    }

    /// The vector that each receiver is assumed to show of an entity at `now`, by its reports and the arrivals expected since.
    pub fn shown(&self, entity: EntityId, now: SessionTime) -> impl Iterator<Item = (PeerId, DrVector)> + '_ {
        let track = self.present(entity).map(|(_, track)| track);
        track.into_iter().flat_map(move |track| {
            track.pairs.links().filter_map(move |link| {
                let (receiver, cursor) = self.shown_at(track, link, now)?;
                Some((receiver, cursor.vector))
            })
        })
    }

    /// A receiver, with its estimated error and the vector it shows at `now`.
    fn shown_at(&self, track: &Track, place: u32, now: SessionTime) -> Option<(PeerId, Cursor)> {
        let link = self.links.at(place);
        let account = Account::new(&track.pairs, &link.messages, place);
        let outlook = link.outlook(now, self.placement);
        let cursor = account.estimated(&track.history, &outlook, Flight::Estimated, now)?;
        Some((link.peer(), cursor))
    }

    /// DR vectors sent to all receivers, including those that have left. Introductions don't count.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// DR vectors sent to a receiver. Introductions don't count.
    #[must_use]
    pub fn sent_to(&self, receiver: PeerId) -> u64 {
        self.links.get(receiver).map_or(0, |link| link.sent)
    }

    /// Reports of a receiver that could not be true, plus how often its claimed delay was cut.
    #[must_use]
    pub fn clamped(&self, receiver: PeerId) -> u64 {
        self.links.get(receiver).map_or(0, |link| link.clamped + link.evidence.clamped)
    }

    /// Reports of a receiver whose arrivals were moved to the nearest time that can be true, however little. Without any, its
    /// settled error is exact.
    #[must_use]
    pub fn moved(&self, receiver: PeerId) -> u64 {
        self.links.get(receiver).map_or(0, |link| link.moved)
    }

    /// The delay of a receiver: what a policy compensates, and what the receiver's reports claim on average. `None` before the
    /// first report.
    #[must_use]
    pub fn delay(&self, receiver: PeerId) -> Option<(Span, Span)> {
        let evidence = &self.links.get(receiver)?.evidence;
        let claimed = &evidence.claimed;
        (claimed.samples() > 0).then(|| (evidence.compensated, claimed.mean()))
    }

    /// The least round trip to a receiver that this side measured lately, including the time that acknowledgments waited.
    #[must_use]
    pub fn least_round_trip(&self, receiver: PeerId) -> Option<Span> {
        let least = self.links.get(receiver)?.evidence.least_round_trip();
        (least < Span::MAX).then_some(least)
    }

    /// How often the error was settled by estimate because the truth could not be awaited.
    #[must_use]
    pub const fn estimated(&self) -> u64 {
        self.estimated
    }

    pub(crate) fn is_held(&self, slot: Slot, account: u64, dispatch: Dispatch) -> bool {
        let is_open = self.tracks.at(slot.track).is_some_and(|track| track.pairs.is_open(slot.link));
        is_open && self.id(slot) == account && self.account(slot).held() == Some(dispatch)
    }
}

/// Appends to a long vector, which grows by 6 %: doubling would waste too much memory.
fn push<T>(all: &mut Vec<T>, value: T) {
    if all.len() == all.capacity() {
        all.reserve_exact(4 + all.len() / 16);
    }
    all.push(value);
}

#[cfg(test)]
mod equivalence;
#[cfg(test)]
mod tests;
