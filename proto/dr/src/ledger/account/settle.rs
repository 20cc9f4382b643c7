//! Writes to an account: what was sent, what was reported, and the error that is settled by it.
//!
//! [`AccountMut::settle`] is the reference: it settles any report of any account. `fast.rs` settles the usual ones.

use evenkeel_core::{SessionTime, Span};

use super::{ARRIVALS_MAX, Account, AccountMut, Dispatch, IN_FLIGHT_MAX, Outlook};
use crate::ledger::cursor::{Cursor, Point, Walk};
use crate::ledger::exported_path::ExportedPath;
use crate::ledger::growth::Growth;
use crate::ledger::last_sent::LastSent;
use crate::ledger::pair_state::{PairState, Pending};
use crate::ledger::pairs::Pairs;
use crate::ledger::sent_messages::SentMessages;
use crate::ledger::waiting::{Arrived, Waiting};
use crate::motion::vector::DrSeq;

/// How long the fate of a dispatch is awaited before the error is settled by estimate. It bounds what a receiver that never
/// acknowledges anything costs.
pub(super) const AWAITED_MAX: Span = Span::from_secs(15);

/// The most vectors for which an account remembers the error at their generation. For others, the error since then is assumed
/// to be the estimated part.
const MARKS_MAX: usize = 256;

/// Marks up to which nothing is dropped.
const MARKS_MIN: usize = 4;

impl<'a> AccountMut<'a> {
    #[inline]
    pub(in crate::ledger) const fn new(
        pairs: &'a mut Pairs,
        messages: &'a mut SentMessages,
        link: u32,
    ) -> Self {
        Self { pairs, messages, link }
    }

    #[inline]
    pub(crate) fn read(&self) -> Account<'_> {
        Account { pairs: self.pairs, messages: self.messages, link: self.link }
    }

    #[inline]
    pub(super) fn state(&mut self) -> &mut PairState {
        &mut self.pairs.states[self.link as usize]
    }

    #[inline]
    pub(in crate::ledger) fn add_settled(&mut self, error: f64) {
        let state = self.state();
        state.set_settled_error(state.settled_error() + error);
    }

    pub(super) fn set_point(&mut self, Point { at, exported, placed }: Point) {
        self.state().settle(at, exported);
        let placed = (placed != self.state().arrived).then_some(placed);
        if placed.is_some() {
            self.waiting().placed = placed;
        } else {
            self.change_waiting(|waiting| waiting.placed = None);
        }
    }

    pub(in crate::ledger) fn set_head_start(&mut self, error: f64) {
        if error != 0.0 {
            self.pairs.sparse.head_starts.insert(self.link, error);
        }
    }

    /// Sets whether the settled error at the generation of each vector is remembered from now on.
    pub(in crate::ledger) fn keep_marks(&mut self, kept: bool) {
        self.set_rare(kept, |rare| rare.marks = kept.then(|| rare.marks.take().unwrap_or_default()));
    }

    /// Opens a dispatch: a vector leaves for the receiver, in a message with this nonce. Returns whether the error had to be
    /// settled by estimate to make room.
    pub(crate) fn open(
        &mut self,
        history: &ExportedPath,
        outlook: &Outlook,
        Dispatch { sent, seq }: Dispatch,
        nonce: u32,
    ) -> bool {
        let is_estimated = self.make_room(history, outlook, seq);
        let (last, number) = self.read().last();
        let new_number = self.messages.add(sent, nonce);
        let state = &mut self.pairs.states[self.link as usize];
        let flies = state.has(PairState::FLIES);
        let is_older = state.has(PairState::SENT) && last > seq;
        let is_disordered =
            (flies || !state.chain.is_empty()) && (state.has(PairState::DISORDERED) || is_older);
        if flies {
            self.messages.in_flight.push_back(&mut state.chain, (number, last));
        } else if state.has(PairState::SENT) {
            self.messages.release(number);
        }
        state.set(PairState::DISORDERED, is_disordered);
        state.set(PairState::SENT | PairState::FLIES, true);
        let last_sent = &mut self.pairs.last_sents[self.link as usize];
        *last_sent = LastSent::new(seq, new_number, last_sent.status());
        self.presume(history, outlook);
        is_estimated
    }

    /// Updates what policies see without asking the account.
    pub(in crate::ledger) fn show(&mut self) {
        let account = self.read();
        let (state, (last, _)) = (account.state(), account.last());
        let is_clear = state.is_in_order();
        let is_shown = is_clear
            && state.has(PairState::SETTLED)
            && account.placed_number() == state.arrived
            && account.next_arrival().is_none()
            && account.presumed().is_none();
        let pending = if is_shown { account.first_unknown().0 } else { Pending::Unclear };
        let status = match state.arrived.cmp(&last) {
            core::cmp::Ordering::Less if is_clear => 0,
            core::cmp::Ordering::Equal if is_clear => LastSent::REPORTED,
            _ => LastSent::UNCLEAR,
        };
        self.pairs.last_sents[self.link as usize].set_status(status);
        self.state().set_pending(pending);
    }

    fn forget_oldest(&mut self) {
        let state = &mut self.pairs.states[self.link as usize];
        match self.messages.in_flight.take(&mut state.chain, |_| true) {
            Some((number, _)) => self.messages.release(number),
            None => state.set(PairState::FLIES, false),
        }
    }

    /// Releases every message that this account refers to; it is about to be closed.
    pub(in crate::ledger) fn forget_all(&mut self) {
        while self.read().flown().next().is_some() {
            self.forget_oldest();
        }
        if self.state().has(PairState::SENT) {
            let (_, number) = self.read().last();
            self.messages.release(number);
        }
    }

    /// Settles the error as far as it is known, including any arrival just reported. A plain account's growth goes to `growth`;
    /// that of any other is added at once, and returned. The second result is how many arrivals were settled by estimate.
    ///
    /// Reported arrivals wait until the fate of everything sent before them is known and, at a relay, the exported path as well.
    /// If too many wait, the oldest is settled by what is known.
    pub(in crate::ledger) fn settle(
        &mut self,
        history: &ExportedPath,
        outlook: &Outlook,
        reported: Option<Arrived>,
        growth: &mut Growth,
    ) -> (f64, u64) {
        let is_plain = self.read().is_plain(outlook.placement);
        let mut walk = self.read().walk_from_settled(history, is_plain);
        if let Some((seq, at)) = reported.filter(|(seq, _)| self.read().is_news(*seq)) {
            self.state().arrive(seq);
            self.waiting().push_back((seq, at));
        }
        // Overtaken vectors that are long overdue can't matter, and give no delay sample.
        while self.read().is_overtaken()
            && self.read().oldest().is_some_and(|oldest| outlook.now - oldest.sent > outlook.lost_after)
        {
            self.forget_oldest();
        }
        let (_, unknown) = self.read().first_unknown();
        let horizon = history.exact_until().min(unknown.unwrap_or(outlook.now));
        let (mut has_arrived, mut estimated) = (false, 0);
        while let Some((seq, at)) = self.read().next_arrival()
            && (at <= horizon || self.read().arrivals().count() > ARRIVALS_MAX)
        {
            if let Some(vector) = self.read().placed(history, outlook, seq, at) {
                match &mut walk {
                    Some(walk) => {
                        self.move_on(walk, history, at, growth);
                        walk.place(seq, vector);
                    }
                    None if is_plain => walk = Some(Walk::Plain(Point::open(history, seq, at))),
                    None => walk = Some(Walk::Own(Cursor::open(history, seq, vector, at))),
                }
                if let Some(marks) = self.marks_mut() {
                    while marks.pop_front_if(|(marked, _)| *marked < seq).is_some() {}
                }
                has_arrived = true;
                estimated += u64::from(at > horizon);
            } else if walk.is_none() {
                // It was so long under way that the path is not kept, and nothing was settled that would have been given up then.
                estimated += 1;
            }
            // It stayed among the arrivals until here so that its mark was kept.
            self.change_waiting(Waiting::pop_front);
        }
        let Some(mut walk) = walk else { return (0.0, estimated) };
        self.move_on(&mut walk, history, horizon, growth);
        self.set_point(walk.point());
        let mut grown = 0.0;
        if let Walk::Own(cursor) = walk {
            grown = cursor.error - self.read().settled_error();
            self.state().set_settled_error(cursor.error);
            if has_arrived {
                self.set_own_unless_shared(&cursor, history);
            }
        }
        (grown, estimated)
    }

    /// Moves a settlement on, and marks the error at the generation of each vector on the way.
    fn move_on(&mut self, walk: &mut Walk, history: &ExportedPath, to: SessionTime, growth: &mut Growth) {
        if let Walk::Own(cursor) = walk
            && self.marks_mut().is_some()
        {
            while let Some((seq, vector)) = history.after(cursor.exported)
                && vector.generated <= to
            {
                cursor.integrate_to(history, vector.generated);
                cursor.exported = seq;
                self.mark(seq, cursor);
            }
        }
        walk.move_on(history, to, growth);
    }

    fn mark(&mut self, seq: DrSeq, cursor: &Cursor) {
        let Some(mut marks) = self.marks_mut().map(core::mem::take) else { return };
        if (MARKS_MIN..MARKS_MAX).contains(&marks.len()) && marks.len() == marks.capacity() {
            // Before a queue grows, it drops vectors that will never be placed.
            marks.retain(|(marked, _)| *marked == cursor.placed || self.read().may_arrive(*marked));
        }
        if marks.len() == MARKS_MAX {
            marks.pop_front();
        }
        marks.push_back((seq, cursor.error));
        self.rare().marks = Some(marks);
    }

    fn waiting(&mut self) -> &mut Waiting {
        let places = self.pairs.width() as usize;
        self.pairs.sparse.waiting.get_or_insert(self.link, places)
    }

    fn change_waiting(&mut self, change: impl FnOnce(&mut Waiting)) {
        let column = &mut self.pairs.sparse.waiting;
        if let Some(waiting) = column.get_mut(self.link) {
            change(waiting);
            column.remove_if_empty(self.link);
        }
    }

    /// Makes room for one more dispatch, of a vector that may have been sent before. Returns whether the error had to be
    /// settled by estimate.
    fn make_room(&mut self, history: &ExportedPath, outlook: &Outlook, seq: DrSeq) -> bool {
        let mut estimated = false;
        while let Some(oldest) = self.read().oldest()
            // If this very vector is sent again, a report of it covers this dispatch, too: only the first arrival is reported.
            && (outlook.now - oldest.sent > AWAITED_MAX && oldest.seq != seq
                || self.read().in_flight_count() >= IN_FLIGHT_MAX)
        {
            if self.read().is_news(oldest.seq) {
                self.give_up(history, outlook, oldest.sent + outlook.under_way);
                estimated = true;
            }
            self.forget_oldest();
        }
        // A vector sent repeatedly to a silent receiver: either the first or one of the recent dispatches may have arrived.
        if self.read().oldest().is_some_and(|oldest| outlook.now - oldest.sent > AWAITED_MAX) {
            let state = &mut self.pairs.states[self.link as usize];
            while self.messages.forget_repeated(&mut state.chain, outlook.now - AWAITED_MAX) {}
        }
        estimated
    }

    pub(crate) fn give_up(&mut self, history: &ExportedPath, outlook: &Outlook, until: SessionTime) {
        if let Some(cursor) = self.read().last_word(history, outlook, until) {
            self.set_point(Point::of(&cursor));
            self.state().set_settled_error(cursor.error);
            self.set_own_unless_shared(&cursor, history);
            self.set_presumed(None);
            self.change_waiting(|waiting| waiting.retain(|(seq, at)| at > until && seq > cursor.placed));
        }
    }
}
