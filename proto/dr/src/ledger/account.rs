//! What the sender knows of one entity's copy at one receiver.
//!
//! The receiver's placed path is known exactly up to a horizon: the sending of the first vector whose fate is unknown.
//! (Reports are complete and in order of arrival, and a vector older than one that has arrived can no longer matter.)
//! Up to the horizon the error is settled (the papers' CEE). Beyond
//! it the error is estimated from the sending times and the delay estimate (EEE).
//!
//! What is known is in the columns of the life (`pairs.rs`) and in the messages to the receiver (`mail.rs`): an account is where to look.

mod estimate;
mod fast;
mod settle;
mod shown;

use evenkeel_core::{SessionTime, Span};

pub(super) use self::shown::Rare;
use super::cursor::{Cursor, Point};
use super::pair_state::{PairState, Pending};
use super::pairs::{Arrived, Pairs};
use super::sent_messages::SentMessages;
use crate::history::History;
use crate::placement::Placement;
use crate::vector::{DrSeq, DrVector};

/// Dispatches whose fate is unknown, per account; when full, the error up to the oldest one's estimated arrival is settled
/// by estimate.
pub const IN_FLIGHT_MAX: usize = 512;

/// Reported arrivals that wait for the exported path to become known, per account; when full, the oldest settles as if
/// it were. Every estimate walks along them, so an owner whose vectors are always late must not make them many.
pub const ARRIVALS_MAX: usize = 32;

/// A DR vector on its way to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Dispatch {
    /// When it was sent, or is to be.
    pub sent: SessionTime,
    /// Which vector.
    pub seq: DrSeq,
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

/// What is known of a receiver now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outlook {
    /// Now.
    pub now: SessionTime,
    /// How long vectors take to arrive, as far as the books can tell.
    pub under_way: Span,
    /// How much of that a policy makes up for.
    pub delay: Span,
    /// When a vector that is not acknowledged is taken as lost; [`Span::MAX`]: that is not known yet.
    pub lost_after: Span,
    /// Every arrival up to here has been reported.
    pub known_until: SessionTime,
    /// How it places vectors.
    pub placement: Placement,
    /// A vector that is about to be sent: counted as if it were.
    pub assumed: Option<Dispatch>,
    /// Whether what the receiver reports is believed.
    pub is_credible: bool,
    /// Whether it claims to be farther away than a policy makes up for.
    pub is_cut: bool,
}

/// Where estimates begin in place of the settled error.
#[derive(Clone, Copy, Debug)]
struct Presumed {
    cursor: Cursor,
    /// It was walked from the settled error when that was not yet here. Once it is, it is walked anew, so that reports
    /// that are always late count, too.
    based: SessionTime,
}

/// More than what was sent last is in flight.
#[derive(Clone, Copy, Debug)]
struct Many;

/// The account of one entity at one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    pairs: &'a Pairs,
    messages: &'a SentMessages,
    /// The place of the receiver.
    link: u32,
}

/// The same, to write in.
#[derive(Debug)]
pub(crate) struct AccountMut<'a> {
    pairs: &'a mut Pairs,
    messages: &'a mut SentMessages,
    link: u32,
}

impl<'a> Account<'a> {
    /// The account in the columns of a life, of the receiver at a place, whom these messages went to.
    #[inline]
    pub(crate) const fn new(pairs: &'a Pairs, messages: &'a SentMessages, link: u32) -> Self {
        Self { pairs, messages, link }
    }

    #[inline]
    fn state(&self) -> &'a PairState {
        &self.pairs.states[self.link as usize]
    }

    #[inline]
    fn rare(&self) -> Option<&'a Rare> {
        self.pairs.sparse.rare.get(&self.link).map(Box::as_ref)
    }

    /// Reported arrivals that are not settled.
    fn arrivals(&self) -> impl Iterator<Item = Arrived> + use<'a> {
        self.pairs.sparse.arrivals.get(&self.link).into_iter().flatten().copied()
    }

    #[inline]
    fn next_arrival(&self) -> Option<Arrived> {
        self.arrivals().next()
    }

    /// What the receiver is taken to have suffered before this account was opened, when receivers are compared.
    pub(crate) fn head_start(&self) -> f64 {
        self.pairs.sparse.head_starts.get(&self.link).copied().unwrap_or(0.0)
    }

    /// The number of the vector that was sent last, and that of its message.
    #[inline]
    fn last(&self) -> (DrSeq, u32) {
        let prospect = self.pairs.last_sents[self.link as usize];
        (prospect.seq, prospect.number())
    }

    /// The vector that was sent last.
    pub(crate) fn last_sent(&self) -> Option<Dispatch> {
        let (seq, number) = self.last();
        self.state().has(PairState::SENT).then(|| Dispatch { sent: self.messages.sent(number), seq })
    }

    /// The newest vector that is reported to have arrived.
    #[inline]
    pub(super) fn newest_arrived(&self) -> Option<DrSeq> {
        let state = self.state();
        state.has(PairState::ARRIVED).then_some(state.arrived)
    }

    /// Whether it is plain, as the columns of sparse pairs tell.
    #[inline]
    pub(super) fn is_plain(&self, placement: Placement) -> bool {
        self.pairs.sparse.is_plain(self.link, placement)
    }

    /// Whether a vector is newer than all that are reported to have arrived.
    #[inline]
    pub(super) fn is_news(&self, seq: DrSeq) -> bool {
        self.newest_arrived().is_none_or(|newest| seq > newest)
    }

    /// Up to where the error is settled; `None` before the first arrival.
    #[inline]
    fn point(&self, history: &History) -> Option<Point> {
        let state = self.state();
        state.has(PairState::SETTLED).then(|| Point {
            at: state.settled_at(),
            exported: state.exported(history.newest_number()),
            placed: self.placed_number(),
        })
    }

    /// The number of the vector that is placed where the error is settled.
    #[inline]
    fn placed_number(&self) -> DrSeq {
        let placed = self.pairs.sparse.placed.get(&self.link).copied();
        placed.unwrap_or(self.state().arrived)
    }

    /// What was sent and is not known to have arrived or to be lost, in order of sending, with the numbers of the messages.
    fn flown(&self) -> impl Iterator<Item = (u32, DrSeq)> + use<'a> {
        let (state, (seq, number)) = (self.state(), self.last());
        let last = state.has(PairState::FLIES).then_some((number, seq));
        self.messages.in_flight.iter(state.chain).chain(last)
    }

    /// The first of it.
    #[inline]
    fn oldest(&self) -> Option<Dispatch> {
        let oldest = self.only().unwrap_or_else(|Many| self.messages.in_flight.front(self.state().chain));
        oldest.map(|(number, seq)| Dispatch { sent: self.messages.sent(number), seq })
    }

    fn in_flight_count(&self) -> usize {
        let state = self.state();
        self.messages.in_flight.len(state.chain) + usize::from(state.has(PairState::FLIES))
    }

    /// The only vector in flight, if it is the one that was sent last: nearly always there is no more than that.
    #[inline]
    fn only(&self) -> Result<Option<(u32, DrSeq)>, Many> {
        let (state, (seq, number)) = (self.state(), self.last());
        let last = state.has(PairState::FLIES).then_some((number, seq));
        if state.chain.is_empty() { Ok(last) } else { Err(Many) }
    }

    /// What was sent and is not known to have arrived or to be lost.
    pub(crate) fn dispatches(&self) -> impl Iterator<Item = Dispatch> + use<'a> {
        let messages = self.messages;
        self.flown().map(|(number, seq)| Dispatch { sent: messages.sent(number), seq })
    }

    /// What is on its way that is newer than all that is reported, and when the first of it was sent; `None`: there is none.
    #[inline(always)]
    fn first_unknown(&self) -> (Pending, Option<SessionTime>) {
        let is_news = |(_, seq): &(u32, DrSeq)| self.is_news(*seq);
        let (state, (seq, number)) = (self.state(), self.last());
        let last = Some((number, seq)).filter(|last| state.has(PairState::FLIES) && is_news(last));
        let before = if state.chain.is_empty() {
            None
        } else {
            self.messages.in_flight.iter(state.chain).find(is_news)
        };
        let (pending, first) = match (before, last) {
            (Some(first), _) => (Pending::Several, first),
            (None, Some(last)) => (Pending::Last, last),
            (None, None) => return (Pending::Nothing, None),
        };
        let sent = if self.messages.is_ordered() {
            Some(self.messages.sent(first.0))
        } else {
            self.flown().filter(is_news).map(|(number, _)| self.messages.sent(number)).min()
        };
        (pending, sent)
    }

    /// Whether the first of what is in flight is older than what has arrived.
    #[inline]
    pub(super) fn is_overtaken(&self) -> bool {
        self.only()
            .unwrap_or_else(|Many| self.messages.in_flight.front(self.state().chain))
            .is_some_and(|(_, seq)| !self.is_news(seq))
    }

    /// Whether the arrival of a vector that is not the newest is still to be settled.
    fn may_arrive(&self, seq: DrSeq) -> bool {
        let pending = self.dispatches().chain(self.held()).map(|dispatch| dispatch.seq);
        pending.chain(self.arrivals().map(|(seq, _)| seq)).any(|pending| pending == seq)
    }

    /// The oldest exported vector that this account still needs.
    pub(crate) fn needs(&self, history: &History) -> DrSeq {
        let pending = self.dispatches().chain(self.held()).map(|dispatch| dispatch.seq);
        let pending = pending.filter(|seq| self.is_news(*seq));
        let arrived = self.arrivals().map(|(seq, _)| seq);
        let exported = self.point(history).map(|settled| settled.exported);
        pending.chain(arrived).chain(exported).min().unwrap_or(history.newest().0)
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
        self.state().has(PairState::ARRIVED)
    }

    /// The error that is settled; 0 before the first arrival.
    #[inline]
    pub(crate) fn settled_error(&self) -> f64 {
        self.state().settled_error()
    }

    /// The error that is settled, and up to when. Exact for receivers that place globally or locally.
    #[must_use]
    pub fn settled(&self) -> Option<(f64, SessionTime)> {
        let state = self.state();
        state.has(PairState::SETTLED).then(|| (state.settled_error(), state.settled_at()))
    }
}

#[cfg(test)]
mod tests;
