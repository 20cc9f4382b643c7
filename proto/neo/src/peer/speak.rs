//! This peer's own slots: it commits to a move, votes for others' and opens its earlier ones.

use evenkeel_core::{PeerId, SessionClock, SessionTime, Span};

use super::{NeoPeer, OwnMove};
use crate::command::NeoEvent;
use crate::config::Deadline;
use crate::crypto::{Commitment, commit};
use crate::members::{OWN, Seat};
use crate::message::{Opening, Update, VoteBlock, emit_update, parts_max};
use crate::proof::{Signed, Statement};

/// A timer may fire this much early, because clocks are converted in whole nanoseconds.
pub(super) const SLACK: Span = Span::from_nanos(1_000);
/// How many slots share a signature.
const SIGNED_EVERY: u64 = 2;

/// The parts of an update that are the same for all receivers.
struct Common {
    slot: u64,
    commitment: Commitment,
    wish: u8,
    lags: Vec<u8>,
    /// The own moves that it opens.
    opened: Vec<(u8, OwnMove)>,
    signature: Option<(u8, crate::SignatureBytes)>,
}

impl<C: SessionClock> NeoPeer<C> {
    /// Makes the move of the current slot if it is due.
    pub(super) fn speak(&mut self, at: SessionTime) {
        let Some(first) = self.own.first.filter(|_| !self.has_left) else { return };
        if self.schedule.begin(self.own.next) - SLACK > at {
            return;
        }
        if self.begin_with_tempo() {
            let first = self.schedule.slot_at(at) + 1;
            self.own.first = Some(first);
            self.own.next = first;
            return;
        }
        // The current slot, which is a later one if the clock jumped: an update that is sure to be late is not sent.
        let slot = self.schedule.slot_at(at + SLACK).max(self.own.next);
        self.stats.skipped += slot - self.own.next;
        self.own.next = slot + 1;
        self.review_silence();
        self.review_reach();
        self.review_streams();
        self.review_ballots(slot);
        let common = self.make_move(slot, at);
        let to: Vec<Seat> = self
            .members
            .iter()
            .filter(|(_, member)| member.is_reached && member.proved().is_some())
            .map(|(seat, _)| seat)
            .collect();
        for seat in to {
            self.send_update(seat, &common);
        }
        let round = self.schedule.round_of(slot);
        let begin = self.schedule.begin(slot);
        debug_assert!(slot >= first, "no slot before the first is played");
        self.push_event(NeoEvent::Committed { slot, round, at: begin });
    }

    /// Commits to the move of a slot, and collects what goes with it.
    fn make_move(&mut self, slot: u64, at: SessionTime) -> Common {
        let session = self.config.session;
        let (nonce, bytes) = (self.identity.nonce(session, slot), self.own.submitted.clone());
        let commitment = commit(session, slot, &self.key, &nonce, &bytes);
        let signature = self.sign_commitment(slot, commitment);
        if let Some(phase) = self.slot_mut(slot) {
            let entry = phase.book_mut().entry_mut(OWN);
            entry.commitment = Some(commitment);
            entry.is_in_time = true;
        }
        self.stats.committed += 1;
        let opened = self.open_moves(slot, at);
        self.own.pending.push_back(OwnMove { slot, nonce, bytes, commitment, opened: 0 });
        let wish = self.wish(slot).0;
        Common { slot, commitment, wish, lags: self.vote_lags(slot), opened, signature }
    }

    /// Every other update is signed, and its signature covers the one before.
    fn sign_commitment(&self, slot: u64, newest: Commitment) -> Option<(u8, crate::SignatureBytes)> {
        if !self.config.is_accountable || !slot.is_multiple_of(SIGNED_EVERY) {
            return None;
        }
        let last = self.own.pending.back().filter(|last| slot - last.slot < SIGNED_EVERY);
        let earlier = last.map(|last| ((slot - last.slot) as u8, last.commitment));
        let statement = Statement::Commitments { slot, newest, earlier };
        let signed = Signed::new(&self.identity, self.config.session, statement);
        Some((earlier.map_or(0, |(back, _)| back), signed.signature))
    }

    /// The own moves that the update of this slot opens: those whose deadline has passed.
    fn open_moves(&mut self, slot: u64, at: SessionTime) -> Vec<(u8, OwnMove)> {
        let (schedule, repeats) = (&self.schedule, self.config.repeats);
        let oldest = schedule.of(slot).round.times(2) + self.config.patience;
        self.own.pending.retain(|own| own.opened <= repeats && at - schedule.begin(own.slot) <= oldest);
        let mut opened = Vec::new();
        for own in &mut self.own.pending {
            let lag = slot - own.slot;
            let is_due = schedule.deadline(own.slot) - SLACK <= schedule.begin(slot);
            if is_due && lag <= 63 && opened.len() < parts_max(usize::MAX) {
                own.opened += 1;
                opened.push((lag as u8, own.clone()));
            }
        }
        opened
    }

    /// The slots that votes are about, counted back from the update's. Ours votes at once, for the proof of equivocation,
    /// and again shortly before the deadline; the thesis votes in the next round.
    fn vote_lags(&self, slot: u64) -> Vec<u8> {
        let depth = self.schedule.of(slot).depth.min(60) as u8;
        let mut lags = match self.config.deadline {
            Deadline::Slot => vec![depth],
            Deadline::Round if depth <= 2 => vec![1, 2],
            // Where few votes make the majority, none may be missing.
            Deadline::Round if self.members.roster().1.len() <= 8 => vec![1, depth - 1, depth],
            Deadline::Round => vec![1, depth - 1],
        };
        lags.retain(|lag| u64::from(*lag) <= slot);
        lags
    }

    /// Sends the update to one peer, with votes for those that it hears.
    fn send_update(&mut self, seat: Seat, common: &Common) {
        let Some(member) = self.members.get(seat) else { return };
        let (peer, hears) = (member.peer, &member.hears);
        let mut blocks = Vec::new();
        for lag in common.lags.iter().filter(|_| !hears.is_empty()) {
            let slot = common.slot - u64::from(*lag);
            if let Some(phase) = self.slots.get(&slot) {
                let votes = phase.book().vote(hears, &common.commitment, self.config.is_accountable);
                blocks.push((*lag, votes));
            }
        }
        let votes =
            blocks.iter().map(|(lag, (bitmap, echoes))| VoteBlock { lag: *lag, bitmap, echoes }).collect();
        let openings = common
            .opened
            .iter()
            .map(|(lag, own)| Opening { lag: *lag, nonce: own.nonce, bytes: &own.bytes })
            .collect();
        let update = Update {
            slot: common.slot,
            commitment: common.commitment,
            roster: member.rosters.back().map_or(0, |(version, _)| *version),
            seats: hears.len() as u8,
            wish: common.wish,
            votes,
            openings,
            signature: common.signature,
        };
        let mut bytes = Vec::with_capacity(160);
        emit_update(&update, &mut bytes);
        if bytes.len() + 40 > member.datagram_max {
            // Without the votes it may fit; a datagram that does not is lost.
            bytes.clear();
            emit_update(&Update { votes: Vec::new(), ..update }, &mut bytes);
        }
        self.outbox.push_update(peer, bytes);
    }
}

/// What a [cheater](crate::cheat) reaches into.
impl<C: SessionClock> NeoPeer<C> {
    pub(crate) const fn next_slot(&self) -> u64 {
        self.own.next
    }

    pub(crate) const fn first_slot(&self) -> Option<u64> {
        self.own.first
    }

    pub(crate) fn own_move(&self, slot: u64) -> Option<(Vec<u8>, Commitment)> {
        let own = self.own.pending.iter().find(|own| own.slot == slot)?;
        Some((own.bytes.clone(), own.commitment))
    }

    /// This peer's votes for a slot, by the roster of the receiver.
    pub(crate) fn votes_for(&self, to: PeerId, slot: u64, key: &Commitment) -> Option<(Vec<u8>, Vec<u8>)> {
        let member = self.members.get(self.members.seat_of(to)?)?;
        let book = self.slots.get(&slot)?.book();
        Some(book.vote(&member.hears, key, self.config.is_accountable))
    }

    pub(crate) fn pretend_in_time(&mut self, accomplice: PeerId) {
        let Some(seat) = self.members.seat_of(accomplice) else { return };
        for phase in self.slots.values_mut() {
            let entry = phase.book_mut().entry_mut(seat);
            entry.is_in_time |= entry.commitment.is_some();
        }
    }
}
