//! What the sender knows of one entity's copy at one receiver.
//!
//! The receiver's placed path is known exactly up to a horizon: the sending of the first vector whose fate is unknown. (Reports
//! are complete and in order of arrival, and a vector older than one that has arrived no longer matters.) Up to the horizon the
//! error is settled (the papers' CEE). Beyond it, it is estimated from the sending times and the delay estimate (EEE).
//!
//! An account is a view: the data is in the columns of the life (`pairs.rs`) and in the messages to the receiver
//! (`sent_messages.rs`).

mod estimate;
mod fast;
mod settle;
mod shown;

use evenkeel_core::{SessionTime, Span};

pub(super) use self::shown::RareState;
use super::cursor::{Cursor, Point};
use super::in_flight::Flown;
use super::pair_state::{PairState, Pending};
use super::pairs::Pairs;
use super::sent_messages::SentMessages;
use super::waiting::{Arrived, Waiting};
use crate::ledger::exported_path::ExportedPath;
use crate::motion::vector::{DrSeq, DrVector};
use crate::receiver::placement::Placement;

/// Dispatches of unknown fate, per account. When full, the error up to the oldest one's estimated arrival is settled by
/// estimate.
pub const IN_FLIGHT_MAX: usize = 512;

/// Reported arrivals that wait for the exported path to become known, per account. When full, the oldest is settled as if it
/// were, which counts as an estimate. Every estimate walks along them, so an owner whose vectors are always late must not be able to pile them up.
pub const ARRIVALS_MAX: usize = 32;

/// A DR vector on its way to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Dispatch {
    /// When it was sent, or is to be.
    pub sent: SessionTime,
    /// The vector.
    pub seq: DrSeq,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forged;

/// How long a vector in flight is assumed to travel when an error is estimated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flight {
    /// As long as the delay estimate says.
    #[default]
    Estimated,
    /// No time at all, as in the thesis' text on its scheduling algorithms.
    Instant,
}

/// What is known of a receiver now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outlook {
    /// The time of this outlook.
    pub now: SessionTime,
    /// How long vectors travel, by the receiver's claims.
    pub under_way: Span,
    /// How much of that a policy compensates.
    pub delay: Span,
    /// How long until an unacknowledged vector is considered lost; [`Span::MAX`] if not known yet.
    pub lost_after: Span,
    /// Every arrival up to here has been reported.
    pub known_until: SessionTime,
    /// How it places vectors.
    pub placement: Placement,
    /// A vector that is counted as sent, though it is not yet.
    pub assumed: Option<Dispatch>,
    /// Whether its reports are believed.
    pub is_credible: bool,
    /// Whether it claims to be farther away than is compensated.
    pub is_cut: bool,
}

#[derive(Clone, Copy, Debug)]
struct Presumed {
    cursor: Cursor,
    /// The walk to here began at a settled error before this. Once the error is settled up to here, the walk begins anew, so
    /// that late reports count.
    based: SessionTime,
}

/// The account of one entity at one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    pairs: &'a Pairs,
    messages: &'a SentMessages,
    link: u32,
}

#[derive(Debug)]
pub(crate) struct AccountMut<'a> {
    pairs: &'a mut Pairs,
    messages: &'a mut SentMessages,
    link: u32,
}

impl<'a> Account<'a> {
    #[inline]
    pub(crate) const fn new(pairs: &'a Pairs, messages: &'a SentMessages, link: u32) -> Self {
        Self { pairs, messages, link }
    }

    #[inline]
    fn state(&self) -> &'a PairState {
        &self.pairs.states[self.link as usize]
    }

    #[inline]
    fn rare(&self) -> Option<&'a RareState> {
        self.pairs.sparse.rare.get(&self.link).map(Box::as_ref)
    }

    fn arrivals(&self) -> impl Iterator<Item = Arrived> + use<'a> {
        self.pairs.sparse.waiting.get(self.link).into_iter().flat_map(Waiting::arrivals)
    }

    fn next_arrival(&self) -> Option<Arrived> {
        self.pairs.sparse.waiting.get(self.link)?.front()
    }

    /// The error assumed before the account opened. Policies add it when they compare receivers.
    pub(crate) fn head_start(&self) -> f64 {
        self.pairs.sparse.head_starts.get(&self.link).copied().unwrap_or(0.0)
    }

    /// The vector that was sent last, and the number of its message.
    #[inline]
    fn last(&self) -> (DrSeq, u32) {
        let last_sent = self.pairs.last_sents[self.link as usize];
        (last_sent.seq, last_sent.number())
    }

    pub(crate) fn last_sent(&self) -> Option<Dispatch> {
        let (seq, number) = self.last();
        self.state().has(PairState::SENT).then(|| Dispatch { sent: self.messages.sent(number), seq })
    }

    #[inline]
    pub(super) fn newest_arrived(&self) -> Option<DrSeq> {
        let state = self.state();
        state.has(PairState::ARRIVED).then_some(state.arrived)
    }

    /// Whether pieces of its error can be shared with other receivers: it shows vectors as they are exported, and nothing is
    /// remembered along the way.
    #[inline]
    pub(super) fn is_plain(&self, placement: Placement) -> bool {
        let rare = &self.pairs.sparse.rare;
        placement != Placement::Local && (rare.is_empty() || !rare.contains_key(&self.link))
    }

    #[inline]
    pub(super) fn is_news(&self, seq: DrSeq) -> bool {
        self.newest_arrived().is_none_or(|newest| seq > newest)
    }

    /// Up to where the error is settled; `None` before the first arrival.
    #[inline]
    fn point(&self, history: &ExportedPath) -> Option<Point> {
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
        let waiting = self.pairs.sparse.waiting.get(self.link);
        waiting.and_then(|waiting| waiting.placed).unwrap_or(self.state().arrived)
    }

    /// The vectors in flight in order of sending, with their message numbers.
    fn flown(&self) -> impl Iterator<Item = Flown> + use<'a> {
        self.messages.in_flight.iter(self.state().chain).chain(self.last_flown())
    }

    /// The last vector and the number of its message, if its fate is unknown.
    #[inline]
    fn last_flown(&self) -> Option<Flown> {
        let (seq, number) = self.last();
        self.state().has(PairState::FLIES).then_some((number, seq))
    }

    #[inline]
    fn oldest(&self) -> Option<Dispatch> {
        let oldest = self.messages.in_flight.front(self.state().chain).or_else(|| self.last_flown());
        oldest.map(|(number, seq)| Dispatch { sent: self.messages.sent(number), seq })
    }

    fn in_flight_count(&self) -> usize {
        self.flown().count()
    }

    pub(crate) fn dispatches(&self) -> impl Iterator<Item = Dispatch> + use<'a> {
        let messages = self.messages;
        self.flown().map(|(number, seq)| Dispatch { sent: messages.sent(number), seq })
    }

    /// What is in flight beyond the newest reported arrival, and when the first of it was sent.
    #[inline(always)]
    fn first_unknown(&self) -> (Pending, Option<SessionTime>) {
        let is_news = |(_, seq): &Flown| self.is_news(*seq);
        let before = self.messages.in_flight.iter(self.state().chain).find(is_news);
        let (pending, first) = match (before, self.last_flown().filter(is_news)) {
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

    /// Whether the oldest vector in flight is older than one that has arrived.
    #[inline]
    pub(super) fn is_overtaken(&self) -> bool {
        self.oldest().is_some_and(|oldest| !self.is_news(oldest.seq))
    }

    fn may_arrive(&self, seq: DrSeq) -> bool {
        let pending = self.dispatches().chain(self.held()).map(|dispatch| dispatch.seq);
        pending.chain(self.arrivals().map(|(seq, _)| seq)).any(|pending| pending == seq)
    }

    pub(crate) fn needs(&self, history: &ExportedPath) -> DrSeq {
        let pending = self.dispatches().chain(self.held()).map(|dispatch| dispatch.seq);
        let pending = pending.filter(|seq| self.is_news(*seq));
        let arrived = self.arrivals().map(|(seq, _)| seq);
        let exported = self.point(history).map(|settled| settled.exported);
        pending.chain(arrived).chain(exported).min().unwrap_or(history.newest().0)
    }

    /// The vector as the receiver placed it on arrival.
    fn placed(
        &self,
        history: &ExportedPath,
        outlook: &Outlook,
        seq: DrSeq,
        at: SessionTime,
    ) -> Option<DrVector> {
        let vector = self.as_sent(seq, history.vector(seq)?);
        // A receiver that places by its own delay estimate is assumed to estimate well: the sender can't know its figure.
        let placement =
            if outlook.placement == Placement::Local { Placement::Local } else { Placement::Global };
        Some(placement.place(&vector, vector.generated, at, Span::ZERO))
    }

    pub(crate) fn is_known(&self) -> bool {
        self.state().has(PairState::ARRIVED)
    }

    /// The settled error; 0 before the first arrival.
    #[inline]
    pub(crate) fn settled_error(&self) -> f64 {
        self.state().settled_error()
    }

    /// The settled error, and up to when it is settled. Exact for receivers that place globally or locally.
    #[must_use]
    pub fn settled(&self) -> Option<(f64, SessionTime)> {
        let state = self.state();
        state.has(PairState::SETTLED).then(|| (state.settled_error(), state.settled_at()))
    }
}

#[cfg(test)]
mod tests;
