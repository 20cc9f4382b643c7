//! Contradictions: who signed two commitments for one slot, and the proof of it.
//!
//! Votes echo the commitments that a voter received. Where an echo differs from what was received here, one of the
//! commitments' senders told two stories, and both peers show each other what was signed. Whoever has both signatures
//! first makes the proof and passes it on.

use evenkeel_core::{Rejected, SessionClock};

use super::NeoPeer;
use crate::control::Control;
use crate::crypto::{Commitment, PublicKey, Verifier};
use crate::members::{Member, OWN, Seat};
use crate::proof::{Proof, Signed, Statement};

impl<C: SessionClock> NeoPeer<C> {
    /// A voter received other commitments for a slot: shows it those received here.
    pub(super) fn dispute(&mut self, voter: Seat, slot: u64) {
        let Some(phase) = self.slots.get_mut(&slot) else { return };
        let book = phase.book_mut();
        if book.disputes >> voter & 1 == 1 {
            return;
        }
        book.disputes |= 1 << voter;
        self.stats.disputes += 1;
        self.show_signed(voter, slot);
    }

    /// Answers a peer that cannot check this one's votes for a slot.
    pub(super) fn show_slot(&mut self, seat: Seat, slot: u64) {
        let Some(member) = self.members.get_mut(seat) else { return };
        if member.allowance < 16 {
            return;
        }
        member.allowance -= 16;
        self.show_signed(seat, slot);
    }

    fn show_signed(&mut self, to: Seat, slot: u64) {
        let Some(peer) = self.peer_in(to) else { return };
        let Some(phase) = self.slots.get(&slot) else { return };
        let mut shown = Vec::new();
        for (seat, member) in self.members.iter().filter(|(seat, _)| *seat != to) {
            if let (Some((author, _)), Some(signed)) = (member.proved(), &phase.book().entry(seat).signed) {
                shown.push(Control::Signed { author: *author, signed: signed.clone() });
            }
        }
        shown.iter().for_each(|control| self.send(peer, control));
    }

    /// Checks a signed statement that somebody shows.
    pub(super) fn check_signed(
        &self,
        member: &Member,
        author: &PublicKey,
        signed: &Signed,
    ) -> Result<(), Rejected> {
        // What this peer changed before it was restarted is news to it; nothing else of its own is.
        let is_earlier = |stream: &u64| self.own.first.is_none_or(|first| first != *stream);
        let is_news = matches!(&signed.statement, Statement::State { stream, .. } if is_earlier(stream));
        if *author == self.key && !is_news {
            return Err(Rejected::Unexpected);
        }
        let session = self.config.session;
        if let Statement::State { .. } = signed.statement {
            let is_valid = Verifier::new(author).is_some_and(|verifier| signed.is_valid(session, &verifier));
            return if is_valid { Ok(()) } else { Err(Rejected::OutOfRange) };
        }
        let seat = self.members.seat_by_key(author).ok_or(Rejected::UnknownPeer)?;
        if member.allowance == 0 {
            return Err(Rejected::Unexpected);
        }
        let known = self.members.get(seat).and_then(Member::proved).ok_or(Rejected::UnknownPeer)?;
        if signed.is_valid(session, &known.1) { Ok(()) } else { Err(Rejected::OutOfRange) }
    }

    /// Handles a statement whose signature is valid.
    pub(super) fn hear_signed(&mut self, from: Seat, author: PublicKey, signed: Signed) {
        match &signed.statement {
            Statement::State { .. } => return self.hear_change(from, author, signed),
            Statement::Commitments { .. } | Statement::Tempo { .. } => {}
        }
        if let Some(member) = self.members.get_mut(from) {
            member.allowance = member.allowance.saturating_sub(1);
        }
        let Some(seat) = self.members.seat_by_key(&author).filter(|seat| *seat != OWN) else { return };
        match signed.statement {
            Statement::Tempo { .. } => self.hear_ballot(author, signed),
            _ => {
                let slots: Vec<u64> = signed.statement.commitments().map(|(slot, _)| slot).collect();
                self.hear_commitment_signed(seat, signed);
                slots.into_iter().for_each(|slot| self.decide(slot));
            }
        }
    }

    /// Notes what a peer signed, and compares it with what else it signed.
    pub(super) fn hear_commitment_signed(&mut self, seat: Seat, signed: Signed) {
        let named: Vec<(u64, Commitment)> = signed.statement.commitments().collect();
        for (slot, commitment) in named {
            self.note_signed(seat, slot, commitment, &signed);
        }
    }

    fn note_signed(&mut self, seat: Seat, slot: u64, commitment: Commitment, signed: &Signed) {
        let Some((author, _)) = self.members.get(seat).and_then(|member| member.proved().cloned()) else {
            return;
        };
        let Some(phase) = self.slot_mut(slot) else { return };
        let book = phase.book_mut();
        let disputes = book.disputes;
        let entry = book.entry_mut(seat);
        if let Some(other) = &entry.signed {
            if other.statement.contradicts(&signed.statement) {
                let proof = Proof { culprit: author, first: other.clone(), second: signed.clone() };
                self.evict(proof);
            }
            return;
        }
        entry.signed = Some(signed.clone());
        if entry.commitment != Some(commitment) {
            // What is signed counts, and not what only this peer was told.
            entry.commitment = Some(commitment);
            entry.is_in_time = false;
            entry.opened = None;
            entry.votes = 0;
        }
        for voter in (0..OWN).filter(|voter| disputes >> voter & 1 == 1 && *voter != seat) {
            if let Some(peer) = self.peer_in(voter) {
                self.send(peer, &Control::Signed { author, signed: signed.clone() });
            }
        }
        self.commitment_known(slot, seat);
    }
}
