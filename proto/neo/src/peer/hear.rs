//! Others' updates: commitments, openings and votes.

use evenkeel_core::{LocalTime, Rejected, SessionClock, SessionTime};

use super::NeoPeer;
use crate::book::{Counted, Opened};
use crate::config::Processing;
use crate::crypto::commit;
use crate::members::{Seat, Stage};
use crate::message::{Update, VoteBlock, echo_group};
use crate::proof::{Signed, Statement};

/// What was found out about an update before anything changed.
pub(super) struct CheckedUpdate {
    /// Its signed statement, if it has one and the earlier commitment is known.
    signed: Option<Signed>,
    arrived: SessionTime,
}

impl<C: SessionClock> NeoPeer<C> {
    /// Checks an update. `None` without an error if it cannot be used: there is no session time, its sender has not proved
    /// its key, or its slot is not kept, because one of the two clocks is far off. The clock frames beside it are what
    /// mends that.
    pub(super) fn check_update(
        &self,
        now: LocalTime,
        seat: Seat,
        update: &Update<'_>,
    ) -> Result<Option<CheckedUpdate>, Rejected> {
        let Some(member) = self.members.get(seat) else { return Err(Rejected::UnknownPeer) };
        let (Some(arrived), Some((_, verifier))) = (self.clock.session(now), member.proved()) else {
            return Ok(None);
        };
        if !self.is_kept(update.slot, arrived) {
            return Ok(None);
        }
        let Some((back, signature)) = update.signature.filter(|_| self.config.is_accountable) else {
            return Ok(Some(CheckedUpdate { signed: None, arrived }));
        };
        let earlier = if back == 0 {
            None
        } else {
            let slot = update.slot.saturating_sub(u64::from(back));
            let known = self.slots.get(&slot).and_then(|phase| phase.book().entry(seat).commitment);
            match known {
                Some(commitment) => Some((back, commitment)),
                None => return Ok(Some(CheckedUpdate { signed: None, arrived })),
            }
        };
        let statement = Statement::Commitments { slot: update.slot, newest: update.commitment, earlier };
        let signed = Signed { statement, signature };
        if !signed.is_valid(self.config.session, verifier) {
            return Err(Rejected::OutOfRange);
        }
        Ok(Some(CheckedUpdate { signed: Some(signed), arrived }))
    }

    pub(super) fn hear_update(&mut self, seat: Seat, update: &Update<'_>, checked: CheckedUpdate) {
        if self.members.get(seat).is_some_and(|member| member.stage == Stage::Silent) {
            self.welcome_back(seat);
        }
        if let Some(member) = self.members.get_mut(seat) {
            member.since.get_or_insert(update.slot);
            member.wish = crate::tempo::Choice(update.wish.min(crate::tempo::Choice::COUNT - 1));
        }
        self.hear_commitment(seat, update, checked.arrived);
        if let Some(signed) = checked.signed {
            self.hear_commitment_signed(seat, signed);
        }
        for opening in &update.openings {
            let slot = update.slot.saturating_sub(u64::from(opening.lag));
            let is_late = checked.arrived > self.schedule.deadline(update.slot);
            let opened = Opened { bytes: opening.bytes.to_vec(), arrived: checked.arrived, is_late };
            self.hear_opening(seat, slot, &opening.nonce, opened);
        }
        for block in &update.votes {
            self.hear_votes(seat, update, block);
        }
        self.decide_after(update);
    }

    /// Decides the slots that an update said something about, once all of it was read: the thesis looks at a slot only when
    /// a round is complete, and must not miss the votes and the opening in the update that completed it.
    fn decide_after(&mut self, update: &Update<'_>) {
        let lag = match self.config.processing {
            Processing::Quorum => {
                let votes = update.votes.iter().map(|block| u64::from(block.lag));
                let openings = update.openings.iter().map(|opening| u64::from(opening.lag));
                let signed = update.signature.map(|(back, _)| u64::from(back));
                votes.chain(openings).chain(signed).max().unwrap_or(0)
            }
            Processing::RoundEnd => 2 * u64::from(self.schedule.of(update.slot).depth) + 1,
        };
        (update.slot.saturating_sub(lag)..=update.slot).for_each(|slot| self.decide(slot));
    }

    fn hear_commitment(&mut self, seat: Seat, update: &Update<'_>, arrived: SessionTime) {
        let is_in_time = arrived <= self.schedule.deadline(update.slot);
        let begin = self.schedule.begin(update.slot);
        let Some(phase) = self.slot_mut(update.slot) else { return };
        let entry = phase.book_mut().entry_mut(seat);
        match entry.commitment {
            Some(known) if known != update.commitment => {
                self.stats.disputes += 1;
                return;
            }
            Some(_) => {}
            None => entry.commitment = Some(update.commitment),
        }
        if !entry.was_committed {
            entry.was_committed = true;
            entry.is_in_time = is_in_time;
            self.stats.late += u64::from(!is_in_time);
            let delay = arrived - begin;
            self.ballots.note_delay(delay, !is_in_time);
        }
        self.commitment_known(update.slot, seat);
    }

    /// Looks again at what waited for a commitment.
    pub(super) fn commitment_known(&mut self, slot: u64, seat: Seat) {
        let Some(phase) = self.slots.get_mut(&slot) else { return };
        let different = phase.book_mut().recheck(seat);
        for voter in different {
            self.dispute(voter, slot);
        }
    }

    fn hear_opening(&mut self, seat: Seat, slot: u64, nonce: &[u8; 8], opened: Opened) {
        let session = self.config.session;
        let Some((key, _)) = self.members.get(seat).and_then(|member| member.key.clone()) else { return };
        let Some(phase) = self.slot_mut(slot) else { return };
        if phase.is_settled() {
            return;
        }
        let entry = phase.book_mut().entry_mut(seat);
        if entry.opened.is_some() {
            return;
        }
        let commitment = commit(session, slot, &key, nonce, &opened.bytes);
        match entry.commitment {
            Some(known) if known != commitment => {
                entry.is_bad = true;
                return;
            }
            Some(_) => {}
            None => entry.commitment = Some(commitment),
        }
        entry.opened = Some(opened);
        self.commitment_known(slot, seat);
    }

    /// Counts the votes of one block.
    fn hear_votes(&mut self, voter: Seat, update: &Update<'_>, block: &VoteBlock<'_>) {
        let Some(roster) = self.members.roster_by(update.roster) else { return };
        if roster.len() != usize::from(update.seats) {
            return;
        }
        let roster = roster.to_vec();
        let slot = update.slot.saturating_sub(u64::from(block.lag));
        let is_accountable = self.config.is_accountable;
        let Some(phase) = self.slot_mut(slot) else { return };
        if phase.is_settled() && !is_accountable {
            return;
        }
        let book = phase.book_mut();
        let mut is_different = false;
        let size = echo_group(roster.len());
        for (group, seats) in roster.chunks(size).enumerate() {
            let base = group * size;
            let voted = seats.iter().enumerate().filter(|(place, _)| block.is_set(base + place));
            let voted: Vec<Seat> = voted.map(|(_, seat)| *seat).collect();
            if voted.is_empty() {
                continue;
            }
            match block.echo(group) {
                Some(echo) if is_accountable => {
                    is_different |= book.count(voter, update.commitment, voted, echo) == Counted::Different;
                }
                _ if is_accountable => {}
                _ => book.count_plain(voter, voted.into_iter()),
            }
        }
        if is_different {
            self.dispute(voter, slot);
        }
    }
}
