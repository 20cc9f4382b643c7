//! What is written into an account: what was sent, what was reported, and the error that is settled by it.

use std::collections::VecDeque;

use evenkeel_core::{SessionTime, Span};

use super::{ARRIVALS_MAX, Account, AccountMut, Dispatch, IN_FLIGHT_MAX, Outlook};
use crate::history::History;
use crate::ledger::cursor::{Cursor, Settled, Walk};
use crate::ledger::folio::{Folio, Pending};
use crate::ledger::mail::Mail;
use crate::ledger::pairs::Pairs;
use crate::ledger::prospect::Prospect;
use crate::ledger::sums::Sums;
use crate::ledger::waiting::Arrived;
use crate::vector::DrSeq;

/// The fate of a dispatch is awaited for so long; then the error is settled by estimate. Whoever never acknowledges
/// anything costs its sender this much memory, and no more.
const AWAITED_MAX: Span = Span::from_secs(15);

/// Vectors for which the error at their generation is remembered, per account; without it the error since then is
/// taken to be the estimated part.
const MARKS_MAX: usize = 256;

/// Room for so many of them is kept.
const MARKS_MIN: usize = 4;

impl<'a> AccountMut<'a> {
    /// The account in the columns of a life, of the receiver at a place, whom these messages went to.
    #[inline]
    pub(in crate::ledger) const fn new(pairs: &'a mut Pairs, mail: &'a mut Mail, link: u32) -> Self {
        Self { pairs, mail, link }
    }

    /// To read in.
    #[inline]
    pub(crate) fn read(&self) -> Account<'_> {
        Account { pairs: self.pairs, mail: self.mail, link: self.link }
    }

    #[inline]
    pub(super) fn folio(&mut self) -> &mut Folio {
        &mut self.pairs.folios[self.link as usize]
    }

    /// What was estimated is void.
    #[inline]
    pub(in crate::ledger) fn change(&mut self) {
        self.pairs.few.asked.forget(self.link);
    }

    pub(super) fn set_point(&mut self, Settled { at, exported, placed }: Settled) {
        let folio = &mut self.pairs.folios[self.link as usize];
        folio.settle(at, exported);
        let elsewhere = Some(placed).filter(|placed| *placed != folio.arrived);
        if elsewhere.is_some() {
            *self.pairs.few.placed.entry(self.link) = elsewhere;
        } else if let Some(place) = self.pairs.few.placed.get_mut(self.link) {
            *place = None;
        }
    }

    /// Another vector is the newest that is reported; what is placed where the error is settled is still the same.
    pub(super) fn set_arrived(&mut self, seq: DrSeq) {
        let placed = self.read().placed_number();
        let folio = self.folio();
        folio.arrive(seq);
        if folio.has(Folio::SETTLED) && placed != seq {
            *self.pairs.few.placed.entry(self.link) = Some(placed);
        }
    }

    /// What the receiver is taken to have suffered before the account was opened.
    pub(in crate::ledger) fn set_head_start(&mut self, error: f64) {
        if error != 0.0 {
            *self.pairs.few.head_starts.entry(self.link) = error;
        }
    }

    /// Whether the settled error at the generation of each vector is remembered from now on.
    pub(in crate::ledger) fn keep_marks(&mut self, kept: bool) {
        if kept || self.read().rare().is_some() {
            let marks = &mut self.rare().marks;
            *marks = marks.take().filter(|_| kept).or_else(|| kept.then(VecDeque::default));
            self.tidy();
        }
    }

    /// A vector leaves for the receiver.
    pub(crate) fn open(&mut self, Dispatch { sent, seq }: Dispatch, nonce: u32) {
        self.pairs.few.asked.forget_estimate(self.link);
        let (last, number) = self.read().last();
        let posted = self.mail.post(sent, nonce);
        let folio = &mut self.pairs.folios[self.link as usize];
        let flies = folio.has(Folio::FLIES);
        let later = folio.has(Folio::SENT) && last > seq;
        let is_disordered = (flies || !folio.chain.is_empty()) && (folio.has(Folio::DISORDERED) || later);
        if flies {
            self.mail.chains.push_back(&mut folio.chain, (number, last));
        } else if folio.has(Folio::SENT) {
            self.mail.release(number);
        }
        folio.set(Folio::DISORDERED, is_disordered);
        folio.set(Folio::SENT | Folio::FLIES, true);
        let prospect = &mut self.pairs.prospects[self.link as usize];
        *prospect = Prospect::new(seq, posted, prospect.state());
    }

    /// The same where little is unsettled and little is in flight, and what leaves is newer than all of that: so it is nearly always. Notes
    /// what is to be seen of it, too. False, and nothing is changed, if it is not so.
    pub(in crate::ledger) fn open_at_once(
        &mut self,
        history: &History,
        Dispatch { sent, seq }: Dispatch,
        nonce: u32,
    ) -> bool {
        let account = self.read();
        let (folio, (last, number)) = (account.folio(), account.last());
        let (pending, flies, chains) = (folio.pending(), folio.has(Folio::FLIES), &self.mail.chains);
        let oldest = if folio.chain.is_empty() {
            flies.then_some(number)
        } else {
            chains.front(folio.chain).map(|(number, _)| number)
        };
        if !folio.is_in_order()
            || last.max(folio.arrived) >= seq
            || !chains.is_one_block(folio.chain)
            || oldest.is_some_and(|number| sent - self.mail.sent(number) > AWAITED_MAX)
            || !account.is_near(history, sent)
        {
            return false;
        }
        self.pairs.few.asked.forget_estimate(self.link);
        let posted = self.mail.post(sent, nonce);
        let folio = &mut self.pairs.folios[self.link as usize];
        if flies {
            self.mail.chains.push_back(&mut folio.chain, (number, last));
        } else {
            self.mail.release(number);
        }
        folio.set(Folio::FLIES, true);
        folio.set_pending(pending.and_newer());
        self.pairs.prospects[self.link as usize] = Prospect::new(seq, posted, 0);
        true
    }

    /// Notes what is to be seen without asking the account.
    pub(in crate::ledger) fn show(&mut self) {
        let account = self.read();
        let is_told = account.next_arrival().is_none() && account.presumed().is_none();
        let pending = if is_told { account.first_unknown().0 } else { Pending::Unclear };
        self.show_pending(pending);
    }

    /// The same if it is known what is pending besides what has arrived.
    #[inline(always)]
    fn show_pending(&mut self, pending: Pending) {
        let (account, place) = (self.read(), self.link as usize);
        let (folio, (last, _)) = (account.folio(), account.last());
        let is_clear = folio.is_in_order();
        let shows = is_clear && folio.has(Folio::SETTLED) && account.placed_number() == folio.arrived;
        // What was sent last is nearly always what is newest; who was sent something older after that is asked.
        let state = match folio.arrived.cmp(&last) {
            _ if !is_clear => Prospect::UNCLEAR,
            core::cmp::Ordering::Less => 0,
            core::cmp::Ordering::Equal => Prospect::REPORTED,
            core::cmp::Ordering::Greater => Prospect::UNCLEAR,
        };
        let pending = if shows { pending } else { Pending::Unclear };
        self.pairs.prospects[place].set_state(state);
        let folio = &mut self.pairs.folios[place];
        folio.set_pending(pending);
        if pending == Pending::Unclear {
            folio.leave_sum();
        }
    }

    /// A vector that is newer than all that were reported has arrived, if any has. Gives what is placed where the error is settled, which
    /// is to be set anew.
    #[inline]
    pub(in crate::ledger) fn arrive_newer(&mut self, reported: Option<Arrived>) -> DrSeq {
        let placed = self.read().placed_number();
        if let Some((seq, _)) = reported {
            self.folio().arrive(seq);
        }
        placed
    }

    /// The oldest vector in flight is not waited for any more.
    fn forget_oldest(&mut self) {
        let folio = &mut self.pairs.folios[self.link as usize];
        match self.mail.chains.take(&mut folio.chain, |_| true) {
            Some((number, _)) => self.mail.release(number),
            None => folio.set(Folio::FLIES, false),
        }
    }

    /// The account is about to be closed: nothing is asked of any message for it.
    pub(in crate::ledger) fn forget_all(&mut self) {
        while self.read().flown().next().is_some() {
            self.forget_oldest();
        }
        self.wait_no_longer(|_| false);
        if self.folio().has(Folio::SENT) {
            let (_, number) = self.read().last();
            self.mail.release(number);
        }
    }

    /// An arrival is settled later.
    pub(super) fn wait(&mut self, arrived: Arrived) {
        self.mail.waiting.push_back(self.pairs.few.arrivals.entry(self.link), arrived);
    }

    /// Some arrivals need not be settled any more.
    fn wait_no_longer(&mut self, keeps: impl Fn(Arrived) -> bool) {
        if let Some(queue) = self.pairs.few.arrivals.get_mut(self.link) {
            self.mail.waiting.retain(queue, keeps);
        }
    }

    /// Settles what waits and what has just been reported, if anything, whatever the receiver shows and whatever is remembered along
    /// the way.
    pub(in crate::ledger) fn settle_rare(
        &mut self,
        history: &History,
        outlook: &Outlook,
        reported: Option<Arrived>,
    ) {
        if let Some(arrived) = reported {
            self.set_arrived(arrived.0);
            self.wait(arrived);
        }
        if self.read().is_overtaken() {
            self.forget_lost(outlook.now, outlook.lost_after);
        }
        let (_, unknown) = self.read().first_unknown();
        let horizon = history.exact_until().min(unknown.unwrap_or(outlook.now));
        self.settle_waiting(history, outlook, horizon);
    }

    /// What was overtaken and has not come for long is lost: it can't matter, and no sample is to be had of it.
    pub(in crate::ledger) fn forget_lost(&mut self, now: SessionTime, lost_after: Span) {
        while self.read().is_overtaken()
            && self.read().oldest().is_some_and(|oldest| now - oldest.sent > lost_after)
        {
            self.forget_oldest();
        }
    }

    /// Settles what waits and what has just been reported, if anything, where the account is [plain](Account::is_plain): what others
    /// have settled is of use. What it shows where the error is settled was `placed` before that was reported. Notes what is to be
    /// seen of it, too.
    #[inline]
    pub(in crate::ledger) fn settle_plain(
        &mut self,
        history: &History,
        placed: DrSeq,
        mut reported: Option<Arrived>,
        now: SessionTime,
        sums: &mut Sums,
    ) {
        let (pending, unknown) = self.read().first_unknown();
        let horizon = history.exact_until().min(unknown.unwrap_or(now));
        let mut walk =
            self.read().point(history).map(|point| Walk::new(history, Settled { placed, ..point }));
        let (waiting, few) = (&mut self.mail.waiting, &mut self.pairs.few);
        let mut queue = few.arrivals.get_mut(self.link).filter(|queue| !queue.is_empty());
        loop {
            let first = queue.as_ref().and_then(|queue| waiting.front(**queue));
            let count = || queue.as_ref().map_or(0, |queue| waiting.iter(**queue).count());
            let is_due = |at| at <= horizon || count() + usize::from(reported.is_some()) > ARRIVALS_MAX;
            let Some((seq, at)) = first.or(reported).filter(|(_, at)| is_due(*at)) else { break };
            match (&mut walk, history.vector(seq)) {
                (Some(walk), Some(_)) => walk.arrive((seq, at), sums),
                (None, Some(_)) => walk = Some(Walk::new(history, Settled::open(history, seq, at))),
                (_, None) => {}
            }
            match &mut queue {
                Some(queue) if first.is_some() => waiting.pop_front(queue),
                _ => reported = None,
            }
        }
        let waits = reported.is_some() || queue.is_some_and(|queue| !queue.is_empty());
        if let Some(arrived) = reported {
            waiting.push_back(few.arrivals.entry(self.link), arrived);
        }
        if let Some(walk) = walk {
            self.set_point(walk.end(horizon, sums));
        }
        self.show_pending(if waits { Pending::Unclear } else { pending });
    }

    /// Settles what waits, up to a horizon, whatever the receiver shows and whatever is remembered.
    fn settle_waiting(&mut self, history: &History, outlook: &Outlook, horizon: SessionTime) {
        while let Some((seq, at)) = self.read().next_arrival()
            && (at <= horizon || self.read().arrivals().count() > ARRIVALS_MAX)
        {
            // It is still among them while the settled error moves on to it: its mark is kept.
            self.arrive(history, outlook, seq, at);
            if let Some(queue) = self.pairs.few.arrivals.get_mut(self.link) {
                self.mail.waiting.pop_front(queue);
            }
        }
        if let Some(mut cursor) = self.read().cursor(history) {
            self.advance(&mut cursor, history, horizon);
            self.set_point(Settled::new(&cursor));
            self.folio().set_settled_error(cursor.error);
        }
        if let Some(marks) = self.marks_mut() {
            give_back(marks);
        }
    }

    fn arrive(&mut self, history: &History, outlook: &Outlook, seq: DrSeq, at: SessionTime) {
        let Some(vector) = self.read().placed(history, outlook, seq, at) else { return };
        let cursor = match self.read().cursor(history) {
            Some(mut cursor) => {
                self.advance(&mut cursor, history, at);
                cursor.place(seq, vector);
                cursor
            }
            None => Cursor::open(history, seq, vector, at),
        };
        self.set_cursor(&cursor, history);
        if let Some(marks) = self.marks_mut() {
            while marks.pop_front_if(|(marked, _)| *marked < seq).is_some() {}
        }
    }

    /// Moves the settled error on, noting what it was when each vector was generated.
    fn advance(&mut self, cursor: &mut Cursor, history: &History, to: SessionTime) {
        if self.read().rare().is_some_and(|rare| rare.marks.is_some()) {
            while let Some((seq, vector)) = history.after(cursor.exported)
                && vector.generated <= to
            {
                cursor.integrate_to(history, vector.generated);
                cursor.exported = seq;
                self.mark(seq, cursor);
            }
        }
        cursor.integrate_to(history, to);
    }

    fn mark(&mut self, seq: DrSeq, cursor: &Cursor) {
        let Some(mut marks) = self.marks_mut().map(core::mem::take) else { return };
        if (MARKS_MIN..MARKS_MAX).contains(&marks.len()) && marks.len() == marks.capacity() {
            // There are very many accounts: before one takes more room, it drops what will not be placed any more.
            marks.retain(|(marked, _)| *marked == cursor.placed || self.read().may_arrive(*marked));
        }
        if marks.len() == MARKS_MAX {
            marks.pop_front();
        }
        marks.push_back((seq, cursor.error));
        self.rare().marks = Some(marks);
    }

    /// Makes room for one more dispatch, of a vector that may have been sent before. True if the error had to be settled
    /// by estimate for that.
    pub(crate) fn make_room(&mut self, history: &History, outlook: &Outlook, seq: DrSeq) -> bool {
        let mut estimated = false;
        while let Some(oldest) = self.read().oldest()
            // If the same is sent again, its arrival will tell of this one too: only the first is reported.
            && (outlook.now - oldest.sent > AWAITED_MAX && oldest.seq != seq
                || self.read().in_flight_count() >= IN_FLIGHT_MAX)
        {
            if self.read().is_news(oldest.seq) {
                self.give_up(history, outlook, oldest.sent + outlook.under_way);
                estimated = true;
            }
            self.forget_oldest();
        }
        // What is sent again and again to somebody who never answers: it may have had the first, or one of the last.
        if self.read().oldest().is_some_and(|oldest| outlook.now - oldest.sent > AWAITED_MAX) {
            let folio = &mut self.pairs.folios[self.link as usize];
            while self.mail.forget_repeated(&mut folio.chain, outlook.now - AWAITED_MAX) {}
        }
        estimated
    }

    /// Settles by estimate up to a vector that is about to be given up.
    pub(crate) fn give_up(&mut self, history: &History, outlook: &Outlook, until: SessionTime) {
        if let Some(cursor) = self.read().last_word(history, outlook, until) {
            self.set_cursor(&cursor, history);
            self.set_presumed(None);
            self.wait_no_longer(|(seq, at)| at > until && seq > cursor.placed);
        }
        self.change();
    }
}

/// Gives room back that a queue has not much use for: there are very many accounts, and each has its longest wait some day.
fn give_back<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > 4 * queue.len().max(2) {
        queue.shrink_to(2 * queue.len().max(2));
    }
}
