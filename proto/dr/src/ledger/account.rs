//! What the sender knows of one entity's copy at one receiver.
//!
//! The receiver's placed path is known exactly up to a horizon: the sending of the first vector whose fate is unknown.
//! (Reports are complete and in order of arrival, and a vector older than one that has arrived can no longer matter.)
//! Up to the horizon the error is settled (the papers' CEE). Beyond
//! it the error is estimated from the sending times and the delay estimate (EEE).

use std::cell::Cell;
use std::collections::VecDeque;

use evenkeel_core::{PeerId, SessionTime, Span};

use super::cursor::Cursor;
use super::life::Life;
use crate::history::History;
use crate::placement::Placement;
use crate::vector::{DrSeq, DrVector};

/// Dispatches whose fate is unknown, per account; when full, the error up to the oldest one's estimated arrival is settled
/// by estimate.
pub const IN_FLIGHT_MAX: usize = 512;
/// The fate of a dispatch is awaited for so long; then the error is settled by estimate. Whoever never acknowledges
/// anything costs its sender this much memory, and no more.
const AWAITED_MAX: Span = Span::from_secs(15);

/// Reported arrivals that wait for the exported path to become known, per account; when full, the oldest settles as if
/// it were. Every estimate walks along them, so an owner whose vectors are always late must not make them many.
pub const ARRIVALS_MAX: usize = 32;

/// An estimate goes along about so many vectors at most, exported and expected ones each.
const NEAR: usize = 64;

/// And counts over so much time at most.
const NEAR_SPAN: Span = Span::from_secs(5);

/// Vectors for which the error at their generation is remembered, per account; without it the error since then is
/// taken to be the estimated part.
pub(super) const MARKS_MAX: usize = 256;

/// Room for so many of them is kept.
const MARKS_MIN: usize = 4;

/// A DR vector on its way to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Dispatch {
    /// When it was sent, or is to be.
    pub sent: SessionTime,
    /// Which vector.
    pub seq: DrSeq,
}

/// A dispatch whose fate is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flying {
    dispatch: Dispatch,
    /// The nonce of its message.
    nonce: u32,
}

/// An acknowledgment that did not come from having received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forged;

/// How long what is in flight is taken to travel when an error is estimated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flight {
    /// As long as the delay estimate says.
    #[default]
    Estimated,
    /// No time at all: the thesis' text for its scheduling algorithms.
    Instant,
}

/// What an estimate needs to know of the receiver and of now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outlook {
    pub(crate) now: SessionTime,
    /// How long vectors take to arrive, as far as the books can tell.
    pub(crate) under_way: Span,
    /// How much of that a policy makes up for.
    pub(crate) delay: Span,
    pub(crate) lost_after: Span,
    pub(crate) known_until: SessionTime,
    pub(crate) placement: Placement,
    /// A vector that is about to be sent: counted as if it were.
    pub(crate) assumed: Option<Dispatch>,
}

/// An estimate for "now", and what it was made under.
#[derive(Clone, Copy, Debug)]
struct Memo {
    outlook: Outlook,
    flight: Flight,
    cursor: Cursor,
}

/// Where estimates begin in place of the settled error.
#[derive(Clone, Copy, Debug)]
struct Presumed {
    cursor: Cursor,
    /// It was walked from the settled error when that was not yet here. Once it is, it is walked anew, so that reports
    /// that are always late count, too.
    based: SessionTime,
}

/// The account of one entity at one receiver.
#[derive(Clone, Debug)]
pub struct Account {
    /// Unlike its place in the ledger, never used again.
    pub(crate) id: u64,
    pub(crate) life: Life,
    pub(crate) receiver: PeerId,
    pub(crate) held: Option<Dispatch>,
    pub(crate) last_sent: Option<Dispatch>,
    /// What the receiver is taken to have suffered before this account was opened, when receivers are compared.
    pub(crate) head_start: f64,
    cursor: Option<Cursor>,
    arrivals: VecDeque<(DrSeq, SessionTime)>,
    newest_arrived: Option<DrSeq>,
    in_flight: VecDeque<Flying>,
    /// The settled error at the generation of each exported vector, from the placed one on.
    marks: VecDeque<(DrSeq, f64)>,
    /// Where estimates begin while very much is unsettled: what was expected then is not walked along again. Few accounts
    /// ever have it.
    presumed: Option<Box<Presumed>>,
    /// The last estimate for "now": a policy asks for it several times in one review. Void as soon as anything changes
    /// that it was made from, or to ask would change what is decided later.
    memo: Cell<Option<Memo>>,
}

impl Account {
    pub(crate) fn new(id: u64, life: Life, receiver: PeerId) -> Self {
        Self {
            id,
            life,
            receiver,
            held: None,
            last_sent: None,
            head_start: 0.0,
            cursor: None,
            arrivals: VecDeque::new(),
            newest_arrived: None,
            in_flight: VecDeque::new(),
            marks: VecDeque::new(),
            presumed: None,
            memo: Cell::new(None),
        }
    }

    /// A vector leaves for the receiver.
    pub(crate) fn open(&mut self, dispatch: Dispatch, nonce: u32) {
        self.memo.set(None);
        self.in_flight.push_back(Flying { dispatch, nonce });
        self.last_sent = Some(dispatch);
    }

    /// The receiver reports an arrival. Gives the dispatch back if it is still known.
    pub(crate) fn arrived(&mut self, seq: DrSeq, nonce: u32, at: SessionTime) -> Option<Dispatch> {
        let index =
            self.in_flight.iter().position(|flying| (flying.dispatch.seq, flying.nonce) == (seq, nonce));
        let dispatch = index.and_then(|index| self.in_flight.remove(index)).map(|flying| flying.dispatch);
        if dispatch.is_some() && Some(seq) > self.newest_arrived {
            self.newest_arrived = Some(seq);
            self.arrivals.push_back((seq, at));
        }
        dispatch
    }

    /// When a vector whose fate is unknown was sent, if it was in a message with this nonce.
    ///
    /// # Errors
    /// It was sent, but not with this nonce.
    pub(crate) fn sent_with(&self, seq: DrSeq, nonce: u32) -> Result<Option<SessionTime>, Forged> {
        let mut known = None;
        for flying in self.in_flight.iter().filter(|flying| flying.dispatch.seq == seq) {
            if flying.nonce == nonce {
                return Ok(Some(flying.dispatch.sent));
            }
            known = Some(Forged);
        }
        known.map_or(Ok(None), Err)
    }

    fn dispatches(&self) -> impl Iterator<Item = Dispatch> + '_ {
        self.in_flight.iter().map(|flying| flying.dispatch)
    }

    /// When the fate of what has been sent is first unknown; `None`: all of it is known.
    fn first_unknown(&self) -> Option<SessionTime> {
        self.dispatches().filter(|d| Some(d.seq) > self.newest_arrived).map(|d| d.sent).min()
    }

    /// Settles the error as far as both paths are known.
    pub(crate) fn settle(&mut self, history: &History, outlook: &Outlook) {
        self.memo.set(None);
        // What was overtaken and has not come for long is lost: it can't matter, and no sample is to be had of it.
        while let Some(Flying { dispatch: oldest, .. }) = self.in_flight.front()
            && Some(oldest.seq) <= self.newest_arrived
            && outlook.now - oldest.sent > outlook.lost_after
        {
            self.in_flight.pop_front();
        }
        let horizon = history.exact_until().min(self.first_unknown().unwrap_or(outlook.now));
        while let Some(&(seq, at)) = self.arrivals.front()
            && (at <= horizon || self.arrivals.len() > ARRIVALS_MAX)
        {
            // It is still among them while the settled error moves on to it: its mark is kept.
            self.arrive(history, outlook, seq, at);
            self.arrivals.pop_front();
        }
        self.advance(history, horizon);
        give_back(&mut self.arrivals);
        give_back(&mut self.in_flight);
        give_back(&mut self.marks);
        self.presume(history, outlook);
    }

    /// Moves on to where estimates begin, if from the settled error on they would have far to go. Whoever never reports,
    /// or whose vectors are always late, must not make them dear.
    pub(crate) fn presume(&mut self, history: &History, outlook: &Outlook) {
        let near = self.near(history, outlook);
        let settled = self.cursor.or_else(|| self.first_arrival(history, outlook, near));
        let Some(settled) = settled.filter(|settled| settled.at < near) else {
            self.presumed = None;
            return;
        };
        let before = self.presumed.as_deref().filter(|presumed| settled.at < presumed.based);
        let (start, based) = before.map_or((settled, near), |presumed| (presumed.cursor, presumed.based));
        let cursor = self.walk(start, history, outlook, Flight::Estimated, near, Cursor::estimate_to);
        self.presumed = Some(Box::new(Presumed { cursor, based }));
    }

    /// From here on an estimate has neither many vectors to go along nor long to count.
    fn near(&self, history: &History, outlook: &Outlook) -> SessionTime {
        let exported = history.nth_newest(NEAR).map(|vector| vector.generated);
        let nth_newest = self.in_flight.len().checked_sub(NEAR);
        let expected = nth_newest.map(|nth| self.in_flight[nth].dispatch.sent + outlook.under_way);
        let last = exported.into_iter().chain(expected).fold(SessionTime::MIN, SessionTime::max);
        last.max(outlook.now - NEAR_SPAN).min(outlook.now)
    }

    fn arrive(&mut self, history: &History, outlook: &Outlook, seq: DrSeq, at: SessionTime) {
        let Some(vector) = placed(history, outlook, seq, at) else { return };
        self.advance(history, at);
        match &mut self.cursor {
            Some(cursor) => cursor.place(seq, vector),
            None => self.cursor = Some(Cursor::open(history, seq, vector, at)),
        }
        while self.marks.front().is_some_and(|(marked, _)| *marked < seq) {
            self.marks.pop_front();
        }
    }

    /// Moves the settled error on, noting what it was when each vector was generated.
    fn advance(&mut self, history: &History, to: SessionTime) {
        let Some(mut cursor) = self.cursor else { return };
        while let Some((seq, vector)) = history.after(cursor.exported)
            && vector.generated <= to
        {
            cursor.integrate_to(history, vector.generated);
            cursor.exported = seq;
            self.mark(seq, &cursor);
        }
        cursor.integrate_to(history, to);
        self.cursor = Some(cursor);
    }

    fn mark(&mut self, seq: DrSeq, cursor: &Cursor) {
        if (MARKS_MIN..MARKS_MAX).contains(&self.marks.len()) && self.marks.len() == self.marks.capacity() {
            // There are very many accounts: before one takes more room, it drops what will not be placed any more.
            let mut marks = core::mem::take(&mut self.marks);
            marks.retain(|(marked, _)| *marked == cursor.placed || self.may_arrive(*marked));
            self.marks = marks;
        }
        if self.marks.len() == MARKS_MAX {
            self.marks.pop_front();
        }
        self.marks.push_back((seq, cursor.error));
    }

    /// Whether the arrival of a vector that is not the newest is still to be settled.
    fn may_arrive(&self, seq: DrSeq) -> bool {
        let pending = self.dispatches().chain(self.held).map(|dispatch| dispatch.seq);
        pending.chain(self.arrivals.iter().map(|(seq, _)| *seq)).any(|pending| pending == seq)
    }

    /// The error since the generation of the vector that is in use at a time.
    pub(crate) fn since_generation(&self, history: &History, outlook: &Outlook, now: SessionTime) -> f64 {
        let Some(cursor) = self.estimate(history, outlook, Flight::Estimated, now) else { return 0.0 };
        let generated =
            history.vector(cursor.placed).map_or(cursor.vector.generated, |vector| vector.generated);
        let (settled, at) = self.settled().unwrap_or((0.0, now));
        let then = if generated >= at {
            self.estimate(history, outlook, Flight::Estimated, generated)
                .map_or(settled, |cursor| cursor.error)
        } else {
            self.marks.iter().find(|(seq, _)| *seq == cursor.placed).map_or(settled, |(_, error)| *error)
        };
        // What is presumed may be a little below what is settled.
        (cursor.error - then).max(0.0)
    }

    /// The oldest exported vector that this account still needs.
    pub(crate) fn needs(&self, history: &History) -> DrSeq {
        let pending = self.dispatches().chain(self.held).map(|dispatch| dispatch.seq);
        let pending = pending.filter(|seq| Some(*seq) > self.newest_arrived);
        let arrived = self.arrivals.iter().map(|(seq, _)| *seq);
        let exported = self.cursor.map(|cursor| cursor.exported);
        pending.chain(arrived).chain(exported).min().unwrap_or(history.newest().0)
    }

    /// Makes room for one more dispatch, of a vector that may have been sent before. True if the error had to be settled
    /// by estimate for that.
    pub(crate) fn make_room(&mut self, history: &History, outlook: &Outlook, seq: DrSeq) -> bool {
        let mut estimated = false;
        while let Some(Flying { dispatch: oldest, .. }) = self.in_flight.front().copied()
            // If the same is sent again, its arrival will tell of this one too: only the first is reported.
            && (self.in_flight.len() >= IN_FLIGHT_MAX
                || outlook.now - oldest.sent > AWAITED_MAX && oldest.seq != seq)
        {
            if Some(oldest.seq) > self.newest_arrived {
                self.give_up(history, outlook, oldest.sent + outlook.under_way);
                estimated = true;
            }
            self.in_flight.pop_front();
        }
        estimated
    }

    /// The exported path has changed: what was estimated along it is void.
    pub(crate) fn forget_estimate(&mut self) {
        self.memo.set(None);
    }

    /// Settles by estimate up to a vector that is about to be given up.
    pub(crate) fn give_up(&mut self, history: &History, outlook: &Outlook, until: SessionTime) {
        if let Some(cursor) = self.last_word(history, outlook, until) {
            self.cursor = Some(cursor);
            self.presumed = None;
            self.arrivals.retain(|(seq, at)| *at > until && *seq > cursor.placed);
        }
        self.memo.set(None);
    }

    /// The settled error moved on to `until` by what is reported and, beyond, expected: what goes into the books if
    /// nothing more is waited for. Unlike an estimate it is counted exactly, and from what is settled on.
    pub(crate) fn last_word(
        &self,
        history: &History,
        outlook: &Outlook,
        until: SessionTime,
    ) -> Option<Cursor> {
        let settled = self.cursor.or_else(|| self.first_arrival(history, outlook, until))?;
        Some(self.walk(settled, history, outlook, Flight::Estimated, until, Cursor::integrate_to))
    }

    /// The cursor moved on to `to` by what is known and, beyond, estimated; `None` before the first arrival.
    pub(crate) fn estimate(
        &self,
        history: &History,
        outlook: &Outlook,
        flight: Flight,
        to: SessionTime,
    ) -> Option<Cursor> {
        // For other times than "now" it is of no use: a sum that is added up in other steps has other last bits, and
        // would tell whether somebody had asked before.
        if let Some(memo) = self.memo.get()
            && (memo.outlook, memo.flight, to) == (*outlook, flight, outlook.now)
        {
            return Some(memo.cursor);
        }
        let start = self.presumed.as_deref().map(|presumed| presumed.cursor).or(self.cursor);
        let cursor = start.or_else(|| self.first_arrival(history, outlook, to))?;
        let cursor = self.walk(cursor, history, outlook, flight, to, Cursor::estimate_to);
        if to == outlook.now {
            self.memo.set(Some(Memo { outlook: *outlook, flight, cursor }));
        }
        Some(cursor)
    }

    /// The cursor at the first arrival, if that is reported but not settled yet.
    fn first_arrival(&self, history: &History, outlook: &Outlook, to: SessionTime) -> Option<Cursor> {
        let &(seq, at) = self.arrivals.front().filter(|(_, at)| *at <= to)?;
        Some(Cursor::open(history, seq, placed(history, outlook, seq, at)?, at))
    }

    /// The newest vector that the receiver has, or will have if what is on its way arrives.
    pub(crate) fn prospect<'a>(
        &'a self,
        history: &'a History,
        outlook: &Outlook,
    ) -> Option<(DrSeq, &'a DrVector)> {
        // Whether a vector is lost or its report is late can't be told. To send something twice is better than never.
        let is_awaited = |dispatch: &Dispatch| outlook.now - dispatch.sent <= outlook.lost_after;
        let awaited = self.under_way(outlook).filter(is_awaited);
        let flying = awaited.map(|dispatch| dispatch.seq).max();
        let newest = flying.max(self.newest_arrived)?;
        match &self.cursor {
            // The history may have given it up since.
            Some(cursor) if cursor.placed == newest => Some((newest, &cursor.vector)),
            _ => history.vector(newest).map(|vector| (newest, vector)),
        }
    }

    /// Whether an arrival has been reported.
    pub(crate) fn is_known(&self) -> bool {
        self.newest_arrived.is_some()
    }

    /// Moves a cursor on by what has been reported and, beyond, by what is expected.
    fn walk(
        &self,
        mut cursor: Cursor,
        history: &History,
        outlook: &Outlook,
        flight: Flight,
        to: SessionTime,
        count_to: fn(&mut Cursor, &History, SessionTime),
    ) -> Cursor {
        for (seq, at) in self.expected(outlook, flight) {
            if seq <= cursor.placed {
                continue;
            }
            let at = at.max(cursor.at);
            if at > to {
                break;
            }
            count_to(&mut cursor, history, at);
            if let Some(vector) = placed(history, outlook, seq, at) {
                cursor.place(seq, vector);
            }
        }
        count_to(&mut cursor, history, to);
        cursor
    }

    /// The earliest time, from now on and up to `by`, at which the error reaches `error`.
    pub(crate) fn reaches(
        &self,
        history: &History,
        outlook: &Outlook,
        flight: Flight,
        error: f64,
        by: SessionTime,
    ) -> Option<SessionTime> {
        let mut cursor = self.estimate(history, outlook, flight, outlook.now)?;
        for (seq, at) in self.expected(outlook, flight) {
            if at <= outlook.now {
                continue;
            }
            if at >= by {
                break;
            }
            if let Some(time) = cursor.reach(history, error, at) {
                return Some(time);
            }
            if let Some(vector) = placed(history, outlook, seq, at) {
                cursor.place(seq, vector);
            }
        }
        cursor.reach(history, error, by)
    }

    /// What was sent and is neither reported, nor overtaken, nor taken as lost.
    fn under_way(&self, outlook: &Outlook) -> impl Iterator<Item = Dispatch> + '_ {
        let Outlook { now, under_way, lost_after, known_until, assumed, .. } = *outlook;
        self.dispatches()
            .chain(assumed)
            .filter(move |d| Some(d.seq) > self.newest_arrived)
            // Lost is what is overdue although later arrivals have been reported. If nothing is reported, it is the
            // reports that are late, and what is under way is taken to arrive.
            .filter(move |d| now - d.sent <= lost_after || known_until < d.sent + under_way)
    }

    /// Arrivals that are reported but not settled, then those that are expected, in order of time.
    fn expected(&self, outlook: &Outlook, flight: Flight) -> impl Iterator<Item = (DrSeq, SessionTime)> + '_ {
        let Outlook { under_way, known_until, .. } = *outlook;
        // What is reported is complete, so nothing else can have come before; unless it is taken to fly in no time.
        let (delay, earliest) = match flight {
            Flight::Estimated => (under_way, known_until),
            Flight::Instant => (Span::ZERO, SessionTime::MIN),
        };
        let mut reported = self.arrivals.iter().copied().peekable();
        let mut expected =
            self.under_way(outlook).map(move |d| (d.seq, (d.sent + delay).max(earliest))).peekable();
        core::iter::from_fn(move || match (reported.peek(), expected.peek()) {
            (Some((_, known)), Some((_, guessed))) if guessed < known => expected.next(),
            (Some(_), _) => reported.next(),
            (None, _) => expected.next(),
        })
    }

    /// The error that is settled; 0 before the first arrival.
    pub(crate) fn settled_error(&self) -> f64 {
        self.cursor.map_or(0.0, |cursor| cursor.error)
    }

    /// The error that is settled, and up to when. Exact for receivers that place globally or locally.
    #[must_use]
    pub fn settled(&self) -> Option<(f64, SessionTime)> {
        self.cursor.map(|cursor| (cursor.error, cursor.at))
    }
}

/// Gives room back that a queue has not much use for: there are very many accounts, and each has its longest wait some day.
fn give_back<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > 4 * queue.len().max(1) {
        queue.shrink_to(2 * queue.len().max(2));
    }
}

/// The vector as the receiver placed it when it arrived.
fn placed(history: &History, outlook: &Outlook, seq: DrSeq, at: SessionTime) -> Option<DrVector> {
    let vector = history.vector(seq)?;
    // A receiver that places by its own delay estimate is taken to estimate well: the sender can't know its figure.
    let placement = if outlook.placement == Placement::Local { Placement::Local } else { Placement::Global };
    Some(placement.place(vector, vector.generated, at, Span::ZERO))
}

#[cfg(test)]
mod tests;
