//! The fast path of an acknowledgment: finds the vector among those in flight, and settles the usual report.

use evenkeel_core::SessionTime;

use super::{AccountMut, Forged};
use crate::ledger::cursor::Point;
use crate::ledger::exported_path::ExportedPath;
use crate::ledger::growth::Growth;
use crate::ledger::last_sent::LastSent;
use crate::ledger::pair_state::{PairState, Pending};
use crate::ledger::pairs::Arrived;
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

    /// Settles the usual report as [`settle`](Self::settle) would: the account is [plain](super::Account::is_plain), nothing
    /// waits, and what is in flight is newer than the vector, which is newer than all that were reported. Otherwise returns false
    /// and changes nothing.
    #[inline(always)]
    pub(in crate::ledger) fn settle_usual(
        &mut self,
        history: &ExportedPath,
        (seq, at): Arrived,
        now: SessionTime,
        growth: &mut Growth,
    ) -> bool {
        let place = self.link as usize;
        let (state, last_sent) = (&mut self.pairs.states[place], &mut self.pairs.last_sents[place]);
        let (last, messages) = (last_sent.seq, &*self.messages);
        // If the pending state is clear, no arrival waits, and the receiver shows the newest arrival.
        if state.pending() == Pending::Unclear || seq <= state.arrived || seq > last {
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
        let unknown = oldest.map_or(now, |(number, _)| messages.sent(number));
        let horizon = history.exact_until().min(unknown);
        if at > horizon || history.place(seq).is_err() {
            return false;
        }
        let exported = state.exported(history.newest_number());
        let mut point = Point { at: state.settled_at(), exported, placed: state.arrived };
        // A loop, so that the walk is inlined once.
        for (placed, to) in [(point.placed, at), (seq, horizon)] {
            point.placed = placed;
            point.settle_to(history, to, growth);
        }
        state.arrive(seq);
        state.settle(point.at, point.exported);
        state.set_pending(pending);
        last_sent.set_status(if seq == last { LastSent::REPORTED } else { 0 });
        true
    }
}
