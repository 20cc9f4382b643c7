//! The fast path: opens the usual dispatch, finds an acknowledged vector among those in flight, and settles the usual report.

use evenkeel_core::SessionTime;

use super::settle::AWAITED_MAX;
use super::{ARRIVALS_MAX, AccountMut, Dispatch, Forged};
use crate::ledger::cursor::Point;
use crate::ledger::exported_path::ExportedPath;
use crate::ledger::growth::Growth;
use crate::ledger::last_sent::LastSent;
use crate::ledger::pair_state::{PairState, Pending};
use crate::ledger::pairs::Pairs;
use crate::ledger::waiting::Arrived;
use crate::motion::vector::DrSeq;

impl AccountMut<'_> {
    /// Removes a vector reported as arrived from those in flight. Returns when it was sent, if its fate was unknown. Fails and
    /// changes nothing if it was sent, but not in a message with this nonce.
    #[inline(always)]
    pub(in crate::ledger) fn take(&mut self, seq: DrSeq, nonce: u32) -> Result<Option<SessionTime>, Forged> {
        let state = &mut self.pairs.states[self.link as usize];
        let mut is_known = false;
        if !state.chain.is_empty() {
            let taken = self.messages.take(&mut state.chain, seq, nonce);
            if taken.is_some() {
                return Ok(taken);
            }
            is_known = self.messages.in_flight.iter(state.chain).any(|(_, flown)| flown == seq);
        }
        let last = self.pairs.last_sents[self.link as usize];
        if !state.has(PairState::FLIES) || last.seq != seq {
            return if is_known { Err(Forged) } else { Ok(None) };
        }
        let (sent, known_nonce) = self.messages.sent_with(last.number());
        if known_nonce != nonce {
            return Err(Forged);
        }
        state.set(PairState::FLIES, false);
        Ok(Some(sent))
    }

    /// Opens a dispatch as [`open`](Self::open) would, in the usual case: little is in flight and unsettled, and the vector is
    /// newer than all of that. Otherwise returns false and changes nothing.
    #[inline]
    pub(in crate::ledger) fn open_usual(
        &mut self,
        history: &ExportedPath,
        Dispatch { sent, seq }: Dispatch,
        nonce: u32,
    ) -> bool {
        let (account, place) = (self.read(), self.link as usize);
        let (state, (last, number)) = (*account.state(), account.last());
        let is_newer = state.is_in_order() && last.max(state.arrived) < seq;
        let is_overdue = |oldest: Dispatch| sent - oldest.sent > AWAITED_MAX;
        if !is_newer || !account.is_near(history, sent) || account.oldest().is_some_and(is_overdue) {
            return false;
        }
        let new_number = self.messages.add(sent, nonce);
        let state = &mut self.pairs.states[place];
        if state.has(PairState::FLIES) {
            self.messages.in_flight.push_back(&mut state.chain, (number, last));
        } else {
            self.messages.release(number);
        }
        state.set(PairState::FLIES, true);
        state.set_pending(match state.pending() {
            Pending::Unclear => Pending::Unclear,
            Pending::Nothing => Pending::Last,
            Pending::Last | Pending::Several => Pending::Several,
        });
        self.pairs.last_sents[place] = LastSent::new(seq, new_number, 0);
        true
    }

    /// Settles the usual report as [`settle`](Self::settle) would: the account is [plain](super::Account::is_plain), and what is in
    /// flight is newer than the vector, which is newer than all that were reported. Otherwise returns false and changes nothing.
    #[inline(always)]
    pub(in crate::ledger) fn settle_usual(
        &mut self,
        history: &ExportedPath,
        (seq, at): Arrived,
        now: SessionTime,
        growth: &mut Growth,
    ) -> bool {
        let (link, place) = (self.link, self.link as usize);
        let Pairs { states, last_sents, sparse, .. } = &mut *self.pairs;
        let (state, last_sent) = (&mut states[place], &mut last_sents[place]);
        let (last, messages) = (last_sent.seq, &*self.messages);
        let is_settled = state.is_in_order() && state.has(PairState::SETTLED);
        if !is_settled || seq <= state.arrived || seq > last || history.place(seq).is_err() {
            return false;
        }
        let (pending, oldest) = match (state.chain.is_empty(), state.has(PairState::FLIES)) {
            (true, false) => (Pending::Nothing, None),
            (true, true) => (Pending::Last, Some((last_sent.number(), last))),
            (false, _) => (Pending::Several, messages.in_flight.front(state.chain)),
        };
        if oldest.is_some_and(|(_, newer)| newer <= seq || !messages.is_ordered()) {
            return false;
        }
        // If the pending state is clear, no arrival waits, and the receiver shows the newest arrival.
        let is_clear = state.pending() != Pending::Unclear;
        let mut waiting = if is_clear { None } else { sparse.waiting.get_mut(link) };
        if waiting.as_ref().is_some_and(|waiting| waiting.len() >= ARRIVALS_MAX) {
            return false;
        }
        let placed = waiting.as_ref().and_then(|waiting| waiting.placed).unwrap_or(state.arrived);
        let unknown = oldest.map_or(now, |(number, _)| messages.sent(number));
        let horizon = history.exact_until().min(unknown);
        let exported = state.exported(history.newest_number());
        let mut point = Point { at: state.settled_at(), exported, placed };
        let mut reported = Some((seq, at));
        loop {
            let oldest = waiting.as_ref().and_then(|waiting| waiting.front());
            let due = oldest.or(reported).filter(|(_, at)| *at <= horizon);
            let is_kept = due.is_none_or(|(seq, _)| history.place(seq).is_ok());
            if is_kept {
                point.settle_to(history, due.map_or(horizon, |(_, at)| at), growth);
            }
            let Some((seq, _)) = due else { break };
            if is_kept {
                point.placed = point.placed.max(seq);
            }
            match &mut waiting {
                Some(waiting) if oldest.is_some() => waiting.pop_front(),
                _ => reported = None,
            }
        }
        state.arrive(seq);
        state.settle(point.at, point.exported);
        last_sent.set_status(if seq == last { LastSent::REPORTED } else { 0 });
        let is_shown = reported.is_none() && point.placed == seq;
        state.set_pending(if is_shown { pending } else { Pending::Unclear });
        if !is_shown {
            let waiting = sparse.waiting.get_or_insert(link, states.len());
            waiting.placed = (point.placed != seq).then_some(point.placed);
            // It is behind all that wait.
            reported.into_iter().for_each(|arrived| waiting.push_back(arrived));
        } else if !is_clear {
            sparse.waiting.remove(link);
        }
        true
    }
}
