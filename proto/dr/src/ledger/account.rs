//! What the sender knows of one entity's copy at one receiver.
//!
//! The receiver's placed path is known exactly up to a horizon: the sending of the first vector whose fate is unknown.
//! (Reports are complete and in order of arrival, and a vector older than one that has arrived can no longer matter.)
//! Up to the horizon the error is settled (the papers' CEE). Beyond
//! it the error is estimated from the sending times and the delay estimate (EEE).

mod estimate;
mod kept;
mod placed;
mod waiting;

use std::collections::VecDeque;

use evenkeel_core::{PeerId, SessionTime, Span};

use self::kept::Kept;
use self::placed::{Rare, Settled};
use self::waiting::Waiting;
use super::cursor::Cursor;
use super::glance::{Glance, Look, Pending};
use super::life::Life;
use crate::history::History;
use crate::placement::Placement;
use crate::vector::{DrSeq, DrVector};

/// Dispatches whose fate is unknown, per account; when full, the error up to the oldest one's estimated arrival is settled
/// by estimate.
pub const IN_FLIGHT_MAX: usize = 512;
/// Room is made for so many at a time.
const IN_FLIGHT_STEP: usize = 5;
/// The fate of a dispatch is awaited for so long; then the error is settled by estimate. Whoever never acknowledges
/// anything costs its sender this much memory, and no more.
const AWAITED_MAX: Span = Span::from_secs(15);

/// Reported arrivals that wait for the exported path to become known, per account; when full, the oldest settles as if
/// it were. Every estimate walks along them, so an owner whose vectors are always late must not make them many.
pub const ARRIVALS_MAX: usize = 32;

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

/// A dispatch whose fate is unknown. There are very many: 16 bytes each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flying {
    sent: SessionTime,
    seq: DrSeq,
    /// The nonce of its message.
    nonce: u32,
}

impl Flying {
    const fn dispatch(&self) -> Dispatch {
        Dispatch { sent: self.sent, seq: self.seq }
    }
}

/// Where a look at an account can go on from, in place of the settled error: nothing was taken to have arrived since that, and
/// nothing has been heard, so that only what was exported has to be followed.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Resume {
    /// Of the account.
    changes: u32,
    exported: DrSeq,
    at: SessionTime,
    error: f64,
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
    /// Whether what the receiver reports is believed.
    pub(crate) is_credible: bool,
    /// Whether it claims to be farther away than a policy makes up for.
    pub(crate) is_cut: bool,
}

/// An estimate for "now", and what it was made under.
#[derive(Clone, Copy, Debug)]
struct Memo {
    /// The newest vector of the exported path.
    newest: DrSeq,
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
    /// The place of the receiver among the sender's.
    pub(super) link: u32,
    /// The place of the pair among its entity's.
    pub(super) place: u32,
    /// How often anything has changed of what is settled; never 0.
    changes: u32,
    pub(crate) last_sent: Option<Dispatch>,
    /// What the receiver is taken to have suffered before this account was opened, when receivers are compared.
    pub(crate) head_start: f64,
    settled: Option<Settled>,
    arrivals: Waiting,
    newest_arrived: Option<DrSeq>,
    in_flight: VecDeque<Flying>,
    /// Whether what was sent last is older than something that was sent before and may be on its way.
    disordered: bool,
    rare: Option<Box<Rare>>,
    /// The vector that is placed, if it is not the one in the history.
    own: Option<Box<DrVector>>,
    /// The last estimate for "now": a policy asks for it several times in one review. Void as soon as anything changes
    /// that it was made from, or to ask would change what is decided later.
    memo: Kept<Memo>,
    /// Where the last look got to, if this account had to be asked for it.
    resume: Kept<Resume>,
}

impl Account {
    pub(crate) fn new(id: u64, life: Life, receiver: PeerId) -> Self {
        Self {
            id,
            life,
            receiver,
            link: 0,
            place: 0,
            changes: 1,
            last_sent: None,
            head_start: 0.0,
            settled: None,
            arrivals: Waiting::default(),
            newest_arrived: None,
            in_flight: VecDeque::new(),
            disordered: false,
            rare: None,
            own: None,
            memo: Kept::default(),
            resume: Kept::default(),
        }
    }

    /// What was estimated is void.
    fn change(&mut self) {
        self.memo.clear();
        self.changes = self.changes.wrapping_add(1).max(1);
    }

    /// Whether the settled error at the generation of each vector is remembered from now on.
    pub(super) fn keep_marks(&mut self, kept: bool) {
        if kept || self.rare.is_some() {
            let marks = &mut self.rare().marks;
            *marks = marks.take().filter(|_| kept).or_else(|| kept.then(VecDeque::default));
            self.tidy();
        }
    }

    /// A vector leaves for the receiver.
    pub(crate) fn open(&mut self, dispatch: Dispatch, nonce: u32) {
        self.memo.clear();
        let later = self.last_sent.is_some_and(|last| last.seq > dispatch.seq);
        self.disordered = !self.in_flight.is_empty() && (self.disordered || later);
        let Dispatch { sent, seq } = dispatch;
        if self.in_flight.len() == self.in_flight.capacity() {
            self.in_flight.reserve_exact(IN_FLIGHT_STEP);
        }
        self.in_flight.push_back(Flying { sent, seq, nonce });
        self.last_sent = Some(dispatch);
    }

    /// Notes what there is to see at a glance.
    pub(super) fn show(&self, glance: &mut Glance, look: &mut Look) {
        *glance = Glance::unclear(glance.link, glance.slot);
        look.pending = Pending::Unclear;
        if let (Some(arrived), Some(last), false) = (self.newest_arrived, self.last_sent, self.disordered) {
            glance.set(arrived, last.seq, last.sent);
            let shows = self.settled.is_some_and(|settled| settled.placed == arrived);
            if shows && self.arrivals.is_empty() && self.presumed().is_none() {
                let mut pending = self.in_flight.iter().filter(|flying| flying.seq > arrived);
                look.pending = match (pending.next(), pending.next()) {
                    (None, _) => Pending::Nothing,
                    (Some(one), None) if one.dispatch() == last => Pending::Last,
                    _ => Pending::Several,
                };
                return;
            }
        }
        look.sum = 0;
    }

    /// The receiver reports an arrival. Gives the dispatch back if it is still known.
    pub(crate) fn arrived(&mut self, seq: DrSeq, nonce: u32, at: SessionTime) -> Option<Dispatch> {
        let index = self.in_flight.iter().position(|flying| (flying.seq, flying.nonce) == (seq, nonce));
        let dispatch = index.and_then(|index| self.in_flight.remove(index)).map(|flying| flying.dispatch());
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
        for flying in self.in_flight.iter().filter(|flying| flying.seq == seq) {
            if flying.nonce == nonce {
                return Ok(Some(flying.sent));
            }
            known = Some(Forged);
        }
        known.map_or(Ok(None), Err)
    }

    /// What was sent and is not known to have arrived or to be lost.
    pub(crate) fn dispatches(&self) -> impl Iterator<Item = Dispatch> + '_ {
        self.in_flight.iter().map(Flying::dispatch)
    }

    /// When the fate of what has been sent is first unknown; `None`: all of it is known.
    fn first_unknown(&self) -> Option<SessionTime> {
        self.dispatches().filter(|d| Some(d.seq) > self.newest_arrived).map(|d| d.sent).min()
    }

    /// Settles the error as far as both paths are known.
    pub(crate) fn settle(&mut self, history: &History, outlook: &Outlook) {
        self.change();
        // What was overtaken and has not come for long is lost: it can't matter, and no sample is to be had of it.
        while let Some(oldest) = self.in_flight.front()
            && Some(oldest.seq) <= self.newest_arrived
            && outlook.now - oldest.sent > outlook.lost_after
        {
            self.in_flight.pop_front();
        }
        let horizon = history.exact_until().min(self.first_unknown().unwrap_or(outlook.now));
        while let Some((seq, at)) = self.arrivals.front()
            && (at <= horizon || self.arrivals.len() > ARRIVALS_MAX)
        {
            // It is still among them while the settled error moves on to it: its mark is kept.
            self.arrive(history, outlook, seq, at);
            self.arrivals.pop_front();
        }
        if let Some(mut cursor) = self.cursor(history) {
            self.advance(&mut cursor, history, horizon);
            self.settled = Some(Settled::new(&cursor));
        }
        give_back(&mut self.in_flight);
        if let Some(marks) = self.marks_mut() {
            give_back(marks);
        }
        self.presume(history, outlook);
    }

    fn arrive(&mut self, history: &History, outlook: &Outlook, seq: DrSeq, at: SessionTime) {
        let Some(vector) = self.placed(history, outlook, seq, at) else { return };
        let cursor = match self.cursor(history) {
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
        if self.rare.as_ref().is_some_and(|rare| rare.marks.is_some()) {
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
        let Some(mut marks) = self.rare.as_mut().and_then(|rare| rare.marks.take()) else { return };
        if (MARKS_MIN..MARKS_MAX).contains(&marks.len()) && marks.len() == marks.capacity() {
            // There are very many accounts: before one takes more room, it drops what will not be placed any more.
            marks.retain(|(marked, _)| *marked == cursor.placed || self.may_arrive(*marked));
        }
        if marks.len() == MARKS_MAX {
            marks.pop_front();
        }
        marks.push_back((seq, cursor.error));
        self.rare().marks = Some(marks);
    }

    /// Whether the arrival of a vector that is not the newest is still to be settled.
    fn may_arrive(&self, seq: DrSeq) -> bool {
        let pending = self.dispatches().chain(self.held()).map(|dispatch| dispatch.seq);
        pending.chain(self.arrivals.iter().map(|(seq, _)| seq)).any(|pending| pending == seq)
    }

    /// The oldest exported vector that this account still needs.
    pub(crate) fn needs(&self, history: &History) -> DrSeq {
        let pending = self.dispatches().chain(self.held()).map(|dispatch| dispatch.seq);
        let pending = pending.filter(|seq| Some(*seq) > self.newest_arrived);
        let arrived = self.arrivals.iter().map(|(seq, _)| seq);
        let exported = self.settled.map(|settled| settled.exported);
        pending.chain(arrived).chain(exported).min().unwrap_or(history.newest().0)
    }

    /// Makes room for one more dispatch, of a vector that may have been sent before. True if the error had to be settled
    /// by estimate for that.
    pub(crate) fn make_room(&mut self, history: &History, outlook: &Outlook, seq: DrSeq) -> bool {
        let mut estimated = false;
        while let Some(oldest) = self.in_flight.front().copied()
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

    /// Settles by estimate up to a vector that is about to be given up.
    pub(crate) fn give_up(&mut self, history: &History, outlook: &Outlook, until: SessionTime) {
        if let Some(cursor) = self.last_word(history, outlook, until) {
            self.set_cursor(&cursor, history);
            self.set_presumed(None);
            self.arrivals.retain(|(seq, at)| at > until && seq > cursor.placed);
        }
        self.change();
    }

    /// The vector as the receiver placed it when it arrived.
    fn placed(&self, history: &History, outlook: &Outlook, seq: DrSeq, at: SessionTime) -> Option<DrVector> {
        let vector = self.as_sent(seq, history.vector(seq)?);
        // A receiver that places by its own delay estimate is taken to estimate well: the sender can't know its figure.
        let placement =
            if outlook.placement == Placement::Local { Placement::Local } else { Placement::Global };
        Some(placement.place(&vector, vector.generated, at, Span::ZERO))
    }

    /// Whether an arrival has been reported.
    pub(crate) fn is_known(&self) -> bool {
        self.newest_arrived.is_some()
    }

    /// The error that is settled; 0 before the first arrival.
    pub(crate) fn settled_error(&self) -> f64 {
        self.settled.map_or(0.0, |settled| settled.error)
    }

    /// The error that is settled, and up to when. Exact for receivers that place globally or locally.
    #[must_use]
    pub fn settled(&self) -> Option<(f64, SessionTime)> {
        self.settled.map(|settled| (settled.error, settled.at))
    }
}

/// Gives room back that a queue has not much use for: there are very many accounts, and each has its longest wait some day.
fn give_back<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > 4 * queue.len().max(2) {
        queue.shrink_to(2 * queue.len().max(2));
    }
}

#[cfg(test)]
mod tests;
