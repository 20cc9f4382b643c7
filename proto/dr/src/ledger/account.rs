//! What the sender knows of one entity's copy at one receiver.
//!
//! The receiver's placed path is known exactly up to a horizon: the sending of the first vector whose fate is unknown.
//! (Reports are complete and in order of arrival, and a vector older than one that has arrived can no longer matter.)
//! Up to the horizon the error is settled (the papers' CEE). Beyond
//! it the error is estimated from the sending times and the delay estimate (EEE).

mod asked;
mod estimate;
mod in_flight;
mod placed;
mod waiting;

use std::collections::VecDeque;

use evenkeel_core::{SessionTime, Span};

use self::asked::Asked;
pub(super) use self::in_flight::Spare;
use self::in_flight::{Flying, InFlight};
use self::placed::Rare;
use self::waiting::{Arrived, Waiting};
use super::cursor::{Cursor, Settled};
use super::glance::{Look, Pending, Prospects};
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

/// Where a look at an account can go on from, in place of the settled error: nothing was taken to have arrived since that, and
/// nothing has been heard, so that only what was exported has to be followed.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Resume {
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

/// The account of one entity at one receiver. There are very many: 96 bytes each.
#[derive(Clone, Debug)]
pub struct Account {
    /// Unlike its place in the ledger, not used again; never 0.
    pub(crate) id: u32,
    /// The place of its entity's life among the sender's.
    pub(super) track: u32,
    /// The place of the receiver among the sender's.
    pub(super) link: u32,
    /// The vector that was sent last, if one was, and when.
    last: DrSeq,
    last_at: SessionTime,
    /// What the receiver is taken to have suffered before this account was opened, when receivers are compared.
    pub(crate) head_start: f64,
    /// From the first arrival that is settled on.
    settled: Settled,
    /// Reported to have arrived, if any is.
    newest: DrSeq,
    is_sent: bool,
    is_settled: bool,
    is_arrived: bool,
    /// Whether what was sent last is older than something that was sent before and may be on its way.
    is_disordered: bool,
    arrivals: Waiting,
    in_flight: InFlight,
    rare: Option<Box<Rare>>,
    /// The last estimate for "now": a policy asks for it several times in one review. Void as soon as anything changes
    /// that it was made from, or to ask would change what is decided later. And where the last look got to, if this account
    /// had to be asked for it.
    asked: Asked,
}

impl Account {
    /// The account with this number, of a life at a place, at the receiver at a place.
    pub(crate) fn new(id: u32, track: u32, link: u32) -> Self {
        let (none, never) = (DrSeq(0), SessionTime::MIN);
        Self {
            id,
            track,
            link,
            last: none,
            last_at: never,
            head_start: 0.0,
            settled: Settled { at: never, error: 0.0, exported: none, placed: none },
            newest: none,
            is_sent: false,
            is_settled: false,
            is_arrived: false,
            is_disordered: false,
            arrivals: Waiting::default(),
            in_flight: InFlight::default(),
            rare: None,
            asked: Asked::default(),
        }
    }

    /// What was estimated is void.
    fn change(&mut self) {
        self.asked.forget();
    }

    /// The vector that was sent last.
    pub(crate) const fn last_sent(&self) -> Option<Dispatch> {
        if self.is_sent { Some(Dispatch { sent: self.last_at, seq: self.last }) } else { None }
    }

    /// The newest vector that is reported to have arrived.
    pub(super) fn newest_arrived(&self) -> Option<DrSeq> {
        self.is_arrived.then_some(self.newest)
    }

    /// Whether a vector is newer than all that are reported to have arrived.
    fn is_news(&self, seq: DrSeq) -> bool {
        !self.is_arrived || seq > self.newest
    }

    /// Up to where the error is settled; `None` before the first arrival.
    fn point(&self) -> Option<Settled> {
        self.is_settled.then_some(self.settled)
    }

    fn set_point(&mut self, settled: Settled) {
        (self.settled, self.is_settled) = (settled, true);
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
    pub(crate) fn open(&mut self, dispatch: Dispatch, nonce: u32, spare: &mut Spare) {
        self.asked.forget_estimate();
        let Dispatch { sent, seq } = dispatch;
        let later = self.is_sent && self.last > seq;
        self.is_disordered = !self.in_flight.is_empty() && (self.is_disordered || later);
        self.in_flight.push_back(Flying { sent, seq, nonce }, spare);
        (self.last, self.last_at, self.is_sent) = (seq, sent, true);
    }

    /// Notes for a look what is on its way. Gives what the receiver is expected to show, and when that was sent if it is not reported.
    pub(super) fn show(&self, look: &mut Look) -> (DrSeq, SessionTime) {
        let mut prospect = Prospects::UNCLEAR;
        look.pending = Pending::Unclear;
        if let (Some(arrived), Some(last), false) =
            (self.newest_arrived(), self.last_sent(), self.is_disordered)
        {
            let is_reported = arrived >= last.seq;
            prospect = if is_reported { (arrived, SessionTime::MAX) } else { (last.seq, last.sent) };
            let shows = self.is_settled && self.settled.placed == arrived;
            if shows && self.arrivals.is_empty() && self.presumed().is_none() {
                let mut pending = self.in_flight.iter().filter(|flying| flying.seq > arrived);
                look.pending = match (pending.next(), pending.next()) {
                    (None, _) => Pending::Nothing,
                    (Some(one), None) if one.dispatch() == last => Pending::Last,
                    _ => Pending::Several,
                };
                return prospect;
            }
        }
        look.sum = 0;
        prospect
    }

    /// The receiver reports an arrival. Gives the dispatch back if it is still known.
    pub(super) fn take(&mut self, seq: DrSeq, nonce: u32, spare: &mut Spare) -> Option<Dispatch> {
        self.in_flight.take(seq, nonce, spare).map(|flying| flying.dispatch())
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
        self.in_flight.iter().map(|flying| flying.dispatch())
    }

    /// When the fate of what has been sent is first unknown; `None`: all of it is known.
    fn first_unknown(&self) -> Option<SessionTime> {
        self.in_flight.iter().filter(|flying| self.is_news(flying.seq)).map(|flying| flying.sent).min()
    }

    /// Settles the error as far as both paths are known.
    pub(crate) fn settle(&mut self, history: &History, outlook: &Outlook) {
        self.settle_with(history, outlook, None);
    }

    /// The same with what has just been reported.
    pub(super) fn settle_with(&mut self, history: &History, outlook: &Outlook, reported: Option<Arrived>) {
        self.change();
        let reported = reported.filter(|(seq, _)| self.is_news(*seq));
        if let Some((seq, _)) = reported {
            (self.newest, self.is_arrived) = (seq, true);
        }
        // What was overtaken and has not come for long is lost: it can't matter, and no sample is to be had of it.
        while let Some(oldest) = self.in_flight.front()
            && !self.is_news(oldest.seq)
            && outlook.now - oldest.sent > outlook.lost_after
        {
            self.in_flight.pop_front();
        }
        let horizon = history.exact_until().min(self.first_unknown().unwrap_or(outlook.now));
        if self.rare.is_some() || outlook.placement == Placement::Local {
            reported.into_iter().for_each(|arrived| self.arrivals.push_back(arrived));
            self.settle_waiting(history, outlook, horizon);
        } else {
            self.settle_plain(history, reported, horizon);
        }
        self.presume(history, outlook);
    }

    /// Settles what waits and what has just been reported, up to a horizon, where the receiver shows vectors as they are exported
    /// and nothing is remembered along the way: so it is nearly always, and what others have settled is of use.
    fn settle_plain(&mut self, history: &History, mut reported: Option<Arrived>, horizon: SessionTime) {
        let mut settled = self.settled;
        // It can't be missing: the history is told who shows what before it gives anything up.
        let shown = |placed| history.shown(placed).unwrap_or(history.newest().1);
        let mut placed = self.is_settled.then(|| shown(settled.placed));
        while let Some((seq, at)) = self.arrivals.front().or(reported) {
            let waiting = self.arrivals.len();
            if at > horizon && waiting + usize::from(reported.is_some()) <= ARRIVALS_MAX {
                break;
            }
            if let Some(vector) = history.vector(seq) {
                match placed {
                    Some(placed) => settled.integrate_to(history, placed, at),
                    None => settled = Settled::open(history, seq, at),
                }
                if placed.is_none() || seq > settled.placed {
                    (settled.placed, placed) = (seq, Some(vector));
                }
            }
            if waiting > 0 {
                self.arrivals.pop_front();
            } else {
                reported = None;
            }
        }
        reported.into_iter().for_each(|arrived| self.arrivals.push_back(arrived));
        if let Some(placed) = placed {
            settled.integrate_to(history, placed, horizon);
            self.set_point(settled);
        }
    }

    /// Settles what waits, up to a horizon, whatever the receiver shows and whatever is remembered.
    fn settle_waiting(&mut self, history: &History, outlook: &Outlook, horizon: SessionTime) {
        while let Some((seq, at)) = self.arrivals.front()
            && (at <= horizon || self.arrivals.len() > ARRIVALS_MAX)
        {
            // It is still among them while the settled error moves on to it: its mark is kept.
            self.arrive(history, outlook, seq, at);
            self.arrivals.pop_front();
        }
        if let Some(mut cursor) = self.cursor(history) {
            self.advance(&mut cursor, history, horizon);
            self.set_point(Settled::new(&cursor));
        }
        if let Some(marks) = self.marks_mut() {
            give_back(marks);
        }
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
        let pending = pending.filter(|seq| self.is_news(*seq));
        let arrived = self.arrivals.iter().map(|(seq, _)| seq);
        let exported = self.point().map(|settled| settled.exported);
        pending.chain(arrived).chain(exported).min().unwrap_or(history.newest().0)
    }

    /// Makes room for one more dispatch, of a vector that may have been sent before. True if the error had to be settled
    /// by estimate for that.
    pub(crate) fn make_room(&mut self, history: &History, outlook: &Outlook, seq: DrSeq) -> bool {
        let mut estimated = false;
        while let Some(oldest) = self.in_flight.front()
            // If the same is sent again, its arrival will tell of this one too: only the first is reported.
            && (outlook.now - oldest.sent > AWAITED_MAX && oldest.seq != seq
                || self.in_flight.len() >= IN_FLIGHT_MAX)
        {
            if self.is_news(oldest.seq) {
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
    pub(crate) const fn is_known(&self) -> bool {
        self.is_arrived
    }

    /// The error that is settled; 0 before the first arrival.
    pub(crate) fn settled_error(&self) -> f64 {
        self.settled.error
    }

    /// The error that is settled, and up to when. Exact for receivers that place globally or locally.
    #[must_use]
    pub fn settled(&self) -> Option<(f64, SessionTime)> {
        self.point().map(|settled| (settled.error, settled.at))
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
