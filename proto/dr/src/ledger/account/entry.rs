//! What nearly every acknowledgment needs of an account: what was sent last, and up to where the error is settled.

use evenkeel_core::SessionTime;

use super::Forged;
use super::estimate::is_near;
use crate::history::History;
use crate::ledger::cursor::{Settled, Walk};
use crate::ledger::folio::{Folio, Pending};
use crate::ledger::mail::Mail;
use crate::ledger::pairs::{Few, Pairs};
use crate::ledger::prospect::Prospect;
use crate::ledger::sums::Sums;
use crate::ledger::waiting::Arrived;
use crate::vector::DrSeq;

/// A pair in the columns of its life, found once.
#[derive(Debug)]
pub(in crate::ledger) struct Entry<'a> {
    folio: &'a mut Folio,
    prospect: &'a mut Prospect,
}

impl<'a> Entry<'a> {
    /// The pair with the receiver at a place, and what few pairs have.
    #[inline(always)]
    pub(in crate::ledger) fn new(pairs: &'a mut Pairs, link: u32) -> Option<(Self, &'a mut Few)> {
        let Pairs { folios, prospects, few, .. } = pairs;
        let (folio, prospect) = (folios.get_mut(link as usize)?, prospects.get_mut(link as usize)?);
        folio.has(Folio::OPEN).then_some((Self { folio, prospect }, few))
    }

    /// The receiver reports an arrival. Gives when the vector was sent, if its fate was unknown.
    ///
    /// # Errors
    /// It was sent, but not in a message with this nonce; nothing is changed.
    #[inline(always)]
    pub(in crate::ledger) fn take(
        &mut self,
        mail: &mut Mail,
        seq: DrSeq,
        nonce: u32,
    ) -> Result<Option<SessionTime>, Forged> {
        let of_chain =
            if self.folio.chain.is_empty() { Ok(None) } else { self.take_of_chain(mail, seq, nonce) };
        if let Ok(Some(_)) = of_chain {
            return of_chain;
        }
        if !self.folio.has(Folio::FLIES) || self.prospect.seq != seq {
            return of_chain;
        }
        let (sent, posted) = mail.posted(self.prospect.number());
        if posted != nonce {
            return Err(Forged);
        }
        self.folio.set(Folio::FLIES, false);
        Ok(Some(sent))
    }

    /// The same of all but what was sent last.
    #[inline(never)]
    fn take_of_chain(
        &mut self,
        mail: &mut Mail,
        seq: DrSeq,
        nonce: u32,
    ) -> Result<Option<SessionTime>, Forged> {
        let chain = &mut self.folio.chain;
        let taken = mail.take(chain, seq, nonce);
        let is_known = taken.is_none() && mail.chains.iter(*chain).any(|(_, flown)| flown == seq);
        if is_known { Err(Forged) } else { Ok(taken) }
    }

    /// Settles what has just been reported where the account is [plain](Few::is_plain), nothing waits, and what is still in
    /// flight is newer: so it is nearly always. Notes what is to be seen of it, too. False, and nothing is changed, if it is not so.
    #[inline(always)]
    pub(in crate::ledger) fn settle_at_once(
        &mut self,
        mail: &Mail,
        history: &History,
        (seq, at): Arrived,
        now: SessionTime,
        sums: &mut Sums,
    ) -> bool {
        let Self { folio, prospect } = self;
        let last = prospect.seq;
        // If it is clear what was pending, then nothing waits, and what was reported last is what is shown.
        if folio.pending() == Pending::Unclear || seq <= folio.arrived || seq > last {
            return false;
        }
        let (pending, oldest) = match (folio.chain.is_empty(), folio.has(Folio::FLIES)) {
            (true, false) => (Pending::Nothing, None),
            (true, true) => (Pending::Last, Some((prospect.number(), last))),
            (false, _) => (Pending::Several, mail.chains.front(folio.chain)),
        };
        if oldest.is_some_and(|(_, newer)| newer <= seq || !mail.is_ordered()) {
            return false;
        }
        let unknown = oldest.map_or(now, |(number, _)| mail.sent(number));
        let horizon = history.exact_until().min(unknown);
        let exported = folio.exported(history.newest_number());
        let (true, Ok(_), Ok(from)) = (at <= horizon, history.place(seq), history.place(exported)) else {
            return false;
        };
        let settled = Settled { at: folio.settled_at(), exported, placed: folio.arrived };
        let Settled { at, exported, .. } = Walk::past(history, from, settled, (seq, at), horizon, sums);
        folio.arrive(seq);
        folio.settle(at, exported);
        folio.set_pending(pending);
        prospect.set_state(if seq == last { Prospect::REPORTED } else { 0 });
        true
    }

    /// Whether little is unsettled, where it has just been settled at once.
    #[inline(always)]
    pub(in crate::ledger) fn is_near(&self, mail: &Mail, history: &History, now: SessionTime) -> bool {
        is_near(self.folio, mail, history, now)
    }
}
