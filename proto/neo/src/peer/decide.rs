//! What is played, and when.

use evenkeel_core::{SessionClock, SessionTime, earlier};

use super::NeoPeer;
use super::speak::SLACK;
use crate::book::{Entry, Opened, Outcome, Phase};
use crate::command::{NeoEvent, PlayedMove, UnusedReason};
use crate::config::{Processing, Quorum};
use crate::control::Control;
use crate::members::{OWN, Seat};

impl<C: SessionClock> NeoPeer<C> {
    /// When a slot's moves are given up.
    pub(super) fn given_up_at(&self, slot: u64) -> SessionTime {
        match self.config.processing {
            Processing::Quorum => self.schedule.deadline(slot) + self.config.patience,
            // The next update opens the move; votes of others come in the round after.
            Processing::RoundEnd => self.schedule.round_end(slot + 1) + self.schedule.of(slot).round,
        }
    }

    /// When a slot has to be looked at next, whatever arrives.
    fn next_look(&self, phase: &Phase) -> Option<SessionTime> {
        let slot = phase.book().slot;
        let given_up = self.given_up_at(slot);
        match phase {
            Phase::Collecting(_) => Some(self.schedule.deadline(slot)),
            Phase::Deciding(_) => {
                let round_end = self.schedule.round_end(slot + 1);
                let is_waiting = self.config.processing == Processing::RoundEnd && !phase.book().is_reviewed;
                Some(if is_waiting { round_end } else { self.ask_at(phase).unwrap_or(given_up) })
            }
            Phase::Settled(_) => None,
        }
    }

    /// When a voter is asked for what it received, because a commitment is still missing here.
    fn ask_at(&self, phase: &Phase) -> Option<SessionTime> {
        let book = phase.book();
        let is_stuck = self.config.is_accountable && !book.is_reviewed && book.pending_voter().is_some();
        is_stuck.then(|| self.schedule.deadline(book.slot) + self.config.patience.part(3))
    }

    pub(super) fn decision_due(&self) -> Option<SessionTime> {
        self.slots.values().fold(None, |due, phase| earlier(due, self.next_look(phase)))
    }

    /// Looks at all slots whose time has come.
    pub(super) fn settle_due(&mut self, at: SessionTime) {
        let at = at + SLACK;
        let due: Vec<u64> = self
            .slots
            .iter()
            .filter(|(_, phase)| self.next_look(phase).is_some_and(|look| look <= at))
            .map(|(slot, _)| *slot)
            .collect();
        for slot in due {
            self.look(slot, at);
        }
        let kept: Vec<u64> = self
            .slots
            .iter()
            .filter(|(slot, phase)| {
                phase.is_settled() && at - self.schedule.begin(**slot) > self.keep_span(**slot)
            })
            .map(|(slot, _)| *slot)
            .collect();
        for slot in kept {
            self.slots.remove(&slot);
        }
    }

    /// Moves a slot on to the phase of this time.
    fn look(&mut self, slot: u64, at: SessionTime) {
        if self.schedule.deadline(slot) <= at {
            self.close(slot);
        }
        if let Some(phase) = self.slots.get(&slot) {
            let asks = self.ask_at(phase).is_some_and(|ask_at| ask_at <= at);
            let voter = phase.book().pending_voter().filter(|_| asks).and_then(|seat| self.peer_in(seat));
            if let Some(phase) = self.slots.get_mut(&slot).filter(|_| asks) {
                phase.book_mut().is_reviewed = true;
            }
            if let Some(voter) = voter {
                self.send(voter, &Control::Ask { slot });
            }
        }
        self.decide(slot);
        if self.config.processing == Processing::RoundEnd
            && self.schedule.round_end(slot + 1) <= at
            && let Some(phase) = self.slots.get_mut(&slot)
        {
            phase.book_mut().is_reviewed = true;
        }
        if self.given_up_at(slot) <= at {
            self.give_up(slot, at);
        }
    }

    /// Decides again what depends on who takes part.
    pub(super) fn decide_all(&mut self) {
        let slots: Vec<u64> = self.slots.keys().copied().collect();
        slots.into_iter().for_each(|slot| self.decide(slot));
    }

    /// The first slot whose moves are played here. Before, others may not have been heard yet, and what seems to be everybody's
    /// vote may be one peer's.
    fn plays_from(&self) -> Option<u64> {
        let first = self.own.first?;
        Some(first + 2 * u64::from(self.schedule.of(first).depth))
    }

    /// The peers whose moves of a slot are expected.
    fn expected(&self, slot: u64) -> impl Iterator<Item = Seat> {
        self.members
            .present()
            .filter(move |(_, member)| member.is_reaching && member.since.is_some_and(|since| since <= slot))
            .map(|(seat, _)| seat)
    }

    /// Who may vote for a peer's move, a bit for each seat, this peer included.
    fn voters(&self, sender: Seat, slot: u64) -> u64 {
        let has_areas = self.config.has_areas;
        let counts = |(_, member): &(Seat, &crate::members::Member)| {
            let is_there = member.is_reaching && member.since.is_some_and(|since| since <= slot);
            is_there && (!has_areas || member.hears(sender))
        };
        let voters = self.members.present().filter(counts).fold(0u64, |bits, (seat, _)| bits | 1 << seat);
        (voters | 1 << OWN) & !(1 << sender)
    }

    /// The votes for a move and how many there could be, and whether they are enough.
    fn count_votes(&self, sender: Seat, entry: &Entry, slot: u64) -> (u32, u32, bool) {
        let voters = self.voters(sender, slot);
        let own = if entry.is_in_time { 1 << OWN } else { 0 };
        let votes = ((entry.votes & !(1 << OWN) | own) & voters).count_ones();
        let others = voters.count_ones();
        match self.config.quorum {
            Quorum::MajorityOfOthers => (votes, others, 2 * votes > others),
            Quorum::ShareOfAll(share) => {
                // The sender votes for itself.
                let (votes, all) = (votes + 1, others + 1);
                (votes, all, 100 * votes >= u32::from(share) * all)
            }
        }
    }

    /// Plays what can be played of a slot.
    pub(super) fn decide(&mut self, slot: u64) {
        let Some(at) = self.session_now().filter(|_| self.plays_from().is_some_and(|from| from <= slot))
        else {
            return;
        };
        if self.slots.get(&slot).is_none_or(Phase::is_settled) {
            return;
        }
        // Nobody plays a move before all had to commit to theirs.
        if self.schedule.deadline(slot) > at + SLACK {
            return;
        }
        if self.config.processing == Processing::RoundEnd && !self.is_processed_now(slot, at) {
            return;
        }
        let Some(book) = self.slots.get(&slot).map(Phase::book) else { return };
        let mut played = Vec::new();
        for (seat, member) in self.members.iter() {
            let entry = book.entry(seat);
            let is_used = |opened: &&Opened| {
                entry.outcome == Outcome::Open && (self.config.uses_late || !opened.is_late)
            };
            let Some(opened) = entry.opened.as_ref().filter(is_used) else { continue };
            let (votes, voters, is_enough) = self.count_votes(seat, entry, slot);
            if is_enough {
                let made = PlayedMove {
                    from: member.peer,
                    slot,
                    made: self.schedule.begin(slot),
                    revealed: self.schedule.deadline(slot),
                    arrived: opened.arrived,
                    played: at,
                    is_in_time: entry.is_in_time,
                    votes: (votes, voters),
                    bytes: opened.bytes.clone(),
                };
                played.push((seat, made));
            }
        }
        if played.is_empty() {
            return;
        }
        for (seat, made) in played {
            if let Some(phase) = self.slots.get_mut(&slot) {
                phase.book_mut().entry_mut(seat).outcome = Outcome::Played;
            }
            self.stats.note_played(&made);
            self.push_event(NeoEvent::Played(made));
        }
        self.settle_if_done(slot);
    }

    /// Whether the thesis processes a slot now: once when the round that opens it is over or complete, and for the votes that
    /// were missing then, when the next one is.
    fn is_processed_now(&mut self, slot: u64, at: SessionTime) -> bool {
        let is_over = |this: &Self, slot: u64| {
            let is_in = |seat: Seat, slot: u64| {
                this.slots.get(&slot).is_some_and(|phase| phase.book().entry(seat).was_committed)
            };
            let is_complete = || {
                this.schedule.round_slots(slot).all(|slot| this.expected(slot).all(|seat| is_in(seat, slot)))
            };
            this.schedule.round_end(slot) <= at + SLACK || is_complete()
        };
        if !is_over(self, slot + 1) {
            return false;
        }
        let next_round = self.schedule.round_slots(slot + 1).end;
        let is_last = is_over(self, next_round);
        let Some(phase) = self.slots.get_mut(&slot) else { return false };
        let is_first = !std::mem::replace(&mut phase.book_mut().is_reviewed, true);
        is_first || is_last
    }

    /// Settles a slot early if nothing more can come of it.
    fn settle_if_done(&mut self, slot: u64) {
        let Some(phase) = self.slots.get(&slot) else { return };
        let is_done = self.members.iter().all(|(seat, _)| phase.book().entry(seat).outcome != Outcome::Open);
        if is_done && matches!(phase, Phase::Deciding(_)) {
            self.settle(slot);
        }
    }

    fn close(&mut self, slot: u64) {
        let phase = match self.slots.remove(&slot) {
            Some(Phase::Collecting(collecting)) => Phase::Deciding(collecting.close()),
            Some(other) => other,
            None => return,
        };
        self.slots.insert(slot, phase);
    }

    fn settle(&mut self, slot: u64) {
        self.close(slot);
        let phase = match self.slots.remove(&slot) {
            Some(Phase::Deciding(deciding)) => Phase::Settled(deciding.settle()),
            Some(other) => other,
            None => return,
        };
        self.slots.insert(slot, phase);
    }

    /// Gives up the moves of a slot that were not played.
    fn give_up(&mut self, slot: u64, at: SessionTime) {
        let is_overdue = at - self.given_up_at(slot) > self.schedule.of(slot).round;
        let is_played = self.plays_from().is_some_and(|from| from <= slot);
        let expected: Vec<Seat> = self.expected(slot).filter(|_| is_played).collect();
        let Some(phase) = self.slots.get(&slot).filter(|phase| !phase.is_settled()) else { return };
        let mut unused = Vec::new();
        let mut lost = Vec::new();
        for seat in expected {
            let entry = phase.book().entry(seat);
            lost.push(!entry.was_committed);
            if entry.outcome != Outcome::Open {
                continue;
            }
            let reason = match (&entry.opened, entry.is_bad) {
                _ if is_overdue => UnusedReason::NotProcessed,
                (Some(opened), _) if opened.is_late && !self.config.uses_late => UnusedReason::NeverArrived,
                (Some(_), _) if !entry.was_committed => UnusedReason::PredecessorMissing,
                (Some(_), _) => UnusedReason::TooFewVotes,
                (None, true) => UnusedReason::BadHash,
                (None, false) => UnusedReason::NeverArrived,
            };
            let (votes, voters, _) = self.count_votes(seat, entry, slot);
            unused.push((seat, reason, entry.opened.as_ref().map(|opened| opened.arrived), (votes, voters)));
        }
        let made = self.schedule.begin(slot);
        lost.into_iter().for_each(|is_lost| self.ballots.note_lost(is_lost));
        for (seat, reason, arrived, votes) in unused {
            if let Some(phase) = self.slots.get_mut(&slot) {
                phase.book_mut().entry_mut(seat).outcome = Outcome::Unused;
            }
            let Some(from) = self.peer_in(seat) else { continue };
            self.stats.unused[reason as usize] += 1;
            self.push_event(NeoEvent::Unused { from, slot, reason, made, arrived, votes });
        }
        self.settle(slot);
    }
}
