//! State changes: sent to all, passed on by whoever has them, delivered once.

use evenkeel_core::{LocalTime, SessionClock, Span};

use super::NeoPeer;
use crate::command::NeoEvent;
use crate::config::STATE_LEN_MAX;
use crate::control::{Control, Known};
use crate::crypto::PublicKey;
use crate::members::{CREDIT_MAX, Member, Seat};
use crate::proof::{Proof, Signed, Statement};
use crate::streams::Taken;

/// How often a peer tells one other what it knows, in case that knows more.
const TELL_EVERY: Span = Span::from_secs(2);
/// How often it does while it knows that something is missing.
const ASK_EVERY: Span = Span::from_millis(500);

/// Bytes of state changes that a peer is sent at a time, and that it gets credit for in a slot.
const PAID_MAX: usize = 1 << 14;
const CREDIT_PER_SLOT: usize = 1 << 10;

impl<C: SessionClock> NeoPeer<C> {
    pub(super) fn change_state(&mut self, bytes: Vec<u8>) {
        let slot = self.session_now().map(|at| self.schedule.slot_at(at));
        let (Some(stream), Some(slot), true) = (self.own.first, slot, bytes.len() <= STATE_LEN_MAX) else {
            self.stats.refused += 1;
            return;
        };
        let number = self.streams.next_own(self.key, stream);
        let statement = Statement::State { stream, number, slot, bytes: bytes.clone() };
        let signed = Signed::new(&self.identity, self.config.session, statement);
        self.streams.keep_own(self.key, stream, &signed);
        self.stats.changes_sent += 1;
        self.send_to_all(&Control::Signed { author: self.key, signed });
        self.push_event(NeoEvent::StateSent { slot, bytes });
    }

    pub(super) fn hear_change(&mut self, from: Seat, author: PublicKey, signed: Signed) {
        let members = &self.members;
        let is_present = |key: &PublicKey| members.seat_by_key(key).is_some();
        match self.streams.take(self.now, author, signed.clone(), is_present) {
            Taken::Next => self.deliver_changes(),
            Taken::Known | Taken::Refused => {}
            Taken::Early => {
                if let Some(peer) = self.peer_in(from).filter(|_| self.asked_at + ASK_EVERY <= self.now) {
                    self.asked_at = self.now;
                    self.send(peer, &Control::Have { known: self.streams.known() });
                }
            }
            Taken::Contradicted(other) => {
                self.evict(Proof { culprit: author, first: *other, second: signed });
            }
        }
    }

    fn deliver_changes(&mut self) {
        while let Some((author, signed)) = self.streams.pop_ready() {
            let Statement::State { slot, bytes, .. } = signed.statement else { continue };
            let seat = self.members.seat_by_key(&author);
            let from = seat.and_then(|seat| self.peer_in(seat));
            self.stats.changes_received += 1;
            self.push_event(NeoEvent::StateChanged { author, from, slot, bytes });
        }
    }

    /// A peer says what it knows: it is sent what it lacks, and the changes of authors that told it others than this peer. The
    /// first of those that it has another one of is the proof.
    pub(super) fn tell_beyond(&mut self, seat: Seat, mut known: Vec<Known>) {
        let Some(member) = self.members.get_mut(seat) else { return };
        if member.answered_at + Span::from_millis(100) > self.now {
            return;
        }
        member.answered_at = self.now;
        for known in &mut known {
            if self.streams.differs(known) && !self.evicted.contains_key(&known.author) {
                self.stats.disputes += 1;
                known.next = 0;
            }
        }
        if let Some(member) = self.members.get_mut(seat) {
            member.owed = Some(known);
        }
        self.pay(seat);
    }

    /// Sends a peer some of what it lacks: as much as it has credit for, and the rest in later slots.
    fn pay(&mut self, seat: Seat) {
        let Some(member) = self.members.get_mut(seat) else { return };
        let Some(mut owed) = member.owed.take() else { return };
        let lacking = self.streams.beyond(&mut owed, member.credit.min(PAID_MAX));
        let size: usize = lacking.iter().map(|(_, signed)| signed.size()).sum();
        member.credit = member.credit.saturating_sub(size);
        if !lacking.is_empty() || member.credit == 0 {
            member.owed = Some(owed);
        }
        let peer = member.peer;
        for (author, signed) in lacking {
            self.send(peer, &Control::Signed { author, signed });
        }
    }

    /// Sends everybody more of what it lacks. Called once per slot.
    fn review_owed(&mut self) {
        let seats: Vec<Seat> = self.members.iter().map(|(seat, _)| seat).collect();
        for seat in seats {
            if let Some(member) = self.members.get_mut(seat) {
                member.credit = (member.credit + CREDIT_PER_SLOT).min(CREDIT_MAX);
            }
            self.pay(seat);
        }
    }

    /// Tells everybody what is known here, so that they send what is not.
    pub(super) fn tell_known(&mut self) {
        self.send_to_all(&Control::Have { known: self.streams.known() });
    }

    /// Tells one peer after the other what is known here. Called once per slot.
    pub(super) fn review_streams(&mut self) {
        self.review_owed();
        let has_gap = self.streams.review(self.now);
        self.deliver_changes();
        let pause = if has_gap { ASK_EVERY } else { TELL_EVERY };
        if self.asked_at != LocalTime::MIN && self.now < self.asked_at + pause {
            return;
        }
        self.asked_at = self.now;
        let peers: Vec<_> = self.members.present().map(|(_, member): (Seat, &Member)| member.peer).collect();
        if !peers.is_empty() {
            self.turn = self.turn.wrapping_add(1);
            self.send(peers[self.turn % peers.len()], &Control::Have { known: self.streams.known() });
        }
    }
}
