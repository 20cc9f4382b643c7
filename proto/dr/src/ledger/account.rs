//! What the sender knows of one entity's copy at one receiver.
//!
//! The receiver's placed path is known exactly up to a horizon: the sending of the first vector whose fate is unknown.
//! (Reports are complete and in order of arrival, and a vector older than one that has arrived can no longer matter.)
//! Up to the horizon the error is settled (the papers' CEE). Beyond
//! it the error is estimated from the sending times and the delay estimate (EEE).
//!
//! What is known is in the columns of the life (`pairs.rs`) and in the messages to the receiver (`mail.rs`): an account is where to look.

mod entry;
mod estimate;
mod placed;
mod settle;

use evenkeel_core::{SessionTime, Span};

pub(super) use self::entry::Entry;
pub(super) use self::placed::Rare;
use super::cursor::{Cursor, Settled};
use super::folio::{Folio, Pending};
use super::mail::Mail;
use super::pairs::Pairs;
use super::waiting::{Arrived, Queue};
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

/// Where a look at an account can go on from, in place of the settled error: nothing was taken to have arrived since that, and
/// nothing has been heard, so that only what was exported has to be followed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Resume {
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
pub(super) struct Memo {
    /// The newest vector of the exported path.
    newest: DrSeq,
    outlook: Outlook,
    flight: Flight,
    pub(super) cursor: Cursor,
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
    mail: &'a Mail,
    /// The place of the receiver.
    link: u32,
}

/// The same, to write in.
#[derive(Debug)]
pub(crate) struct AccountMut<'a> {
    pairs: &'a mut Pairs,
    mail: &'a mut Mail,
    link: u32,
}

impl<'a> Account<'a> {
    /// The account in the columns of a life, of the receiver at a place, whom these messages went to.
    #[inline]
    pub(crate) const fn new(pairs: &'a Pairs, mail: &'a Mail, link: u32) -> Self {
        Self { pairs, mail, link }
    }

    #[inline]
    fn folio(&self) -> &'a Folio {
        &self.pairs.folios[self.link as usize]
    }

    #[inline]
    fn rare(&self) -> Option<&'a Rare> {
        self.pairs.few.rare.get(self.link)
    }

    #[inline]
    fn queue(&self) -> Queue {
        self.pairs.few.arrivals.get(self.link).copied().unwrap_or_default()
    }

    /// Arrivals that are reported and not settled.
    fn arrivals(&self) -> impl Iterator<Item = Arrived> + use<'a> {
        self.mail.waiting.iter(self.queue())
    }

    #[inline]
    fn next_arrival(&self) -> Option<Arrived> {
        self.mail.waiting.front(self.queue())
    }

    /// What the receiver is taken to have suffered before this account was opened, when receivers are compared.
    pub(crate) fn head_start(&self) -> f64 {
        self.pairs.few.head_starts.get(self.link).copied().unwrap_or(0.0)
    }

    /// The number of the vector that was sent last, and that of its message.
    #[inline]
    fn last(&self) -> (DrSeq, u32) {
        let prospect = self.pairs.prospects[self.link as usize];
        (prospect.seq, prospect.number())
    }

    /// The vector that was sent last.
    pub(crate) fn last_sent(&self) -> Option<Dispatch> {
        let (seq, number) = self.last();
        self.folio().has(Folio::SENT).then(|| Dispatch { sent: self.mail.sent(number), seq })
    }

    /// The newest vector that is reported to have arrived.
    #[inline]
    pub(super) fn newest_arrived(&self) -> Option<DrSeq> {
        let folio = self.folio();
        folio.has(Folio::ARRIVED).then_some(folio.arrived)
    }

    /// Whether it is plain, as the columns of few pairs tell.
    #[inline]
    pub(super) fn is_plain(&self, placement: Placement) -> bool {
        self.pairs.few.is_plain(self.link, placement)
    }

    /// Whether a vector is newer than all that are reported to have arrived.
    #[inline]
    pub(super) fn is_news(&self, seq: DrSeq) -> bool {
        self.newest_arrived().is_none_or(|newest| seq > newest)
    }

    /// Up to where the error is settled; `None` before the first arrival.
    #[inline]
    fn point(&self, history: &History) -> Option<Settled> {
        let folio = self.folio();
        folio.has(Folio::SETTLED).then(|| Settled {
            at: folio.settled_at(),
            exported: folio.exported(history.newest_number()),
            placed: self.placed_number(),
        })
    }

    /// The number of the vector that is placed where the error is settled.
    #[inline]
    fn placed_number(&self) -> DrSeq {
        let placed = self.pairs.few.placed.get(self.link).copied().flatten();
        placed.unwrap_or(self.folio().arrived)
    }

    /// What was sent and is not known to have arrived or to be lost, in order of sending, with the numbers of the messages.
    fn flown(&self) -> impl Iterator<Item = (u32, DrSeq)> + use<'a> {
        let (folio, (seq, number)) = (self.folio(), self.last());
        let last = folio.has(Folio::FLIES).then_some((number, seq));
        self.mail.chains.iter(folio.chain).chain(last)
    }

    /// The first of it.
    #[inline]
    fn oldest(&self) -> Option<Dispatch> {
        let oldest = self.only().unwrap_or_else(|Many| self.mail.chains.front(self.folio().chain));
        oldest.map(|(number, seq)| Dispatch { sent: self.mail.sent(number), seq })
    }

    fn in_flight_count(&self) -> usize {
        let folio = self.folio();
        self.mail.chains.len(folio.chain) + usize::from(folio.has(Folio::FLIES))
    }

    /// The only vector in flight, if it is the one that was sent last: nearly always there is no more than that.
    #[inline]
    fn only(&self) -> Result<Option<(u32, DrSeq)>, Many> {
        let (folio, (seq, number)) = (self.folio(), self.last());
        let last = folio.has(Folio::FLIES).then_some((number, seq));
        if folio.chain.is_empty() { Ok(last) } else { Err(Many) }
    }

    /// What was sent and is not known to have arrived or to be lost.
    pub(crate) fn dispatches(&self) -> impl Iterator<Item = Dispatch> + use<'a> {
        let mail = self.mail;
        self.flown().map(|(number, seq)| Dispatch { sent: mail.sent(number), seq })
    }

    /// What is on its way that is newer than all that is reported, and when the first of it was sent; `None`: there is none.
    #[inline(always)]
    fn first_unknown(&self) -> (Pending, Option<SessionTime>) {
        let is_news = |(_, seq): &(u32, DrSeq)| self.is_news(*seq);
        let (folio, (seq, number)) = (self.folio(), self.last());
        let last = Some((number, seq)).filter(|last| folio.has(Folio::FLIES) && is_news(last));
        let before =
            if folio.chain.is_empty() { None } else { self.mail.chains.iter(folio.chain).find(is_news) };
        let (pending, first) = match (before, last) {
            (Some(first), _) => (Pending::Several, first),
            (None, Some(last)) => (Pending::Last, last),
            (None, None) => return (Pending::Nothing, None),
        };
        let sent = if self.mail.is_ordered() {
            Some(self.mail.sent(first.0))
        } else {
            self.flown().filter(is_news).map(|(number, _)| self.mail.sent(number)).min()
        };
        (pending, sent)
    }

    /// Whether the first of what is in flight is older than what has arrived.
    #[inline]
    pub(super) fn is_overtaken(&self) -> bool {
        self.only()
            .unwrap_or_else(|Many| self.mail.chains.front(self.folio().chain))
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
        self.folio().has(Folio::ARRIVED)
    }

    /// The error that is settled; 0 before the first arrival.
    #[inline]
    pub(crate) fn settled_error(&self) -> f64 {
        self.folio().settled_error()
    }

    /// The error that is settled, and up to when. Exact for receivers that place globally or locally.
    #[must_use]
    pub fn settled(&self) -> Option<(f64, SessionTime)> {
        let folio = self.folio();
        folio.has(Folio::SETTLED).then(|| (folio.settled_error(), folio.settled_at()))
    }
}

#[cfg(test)]
mod tests;
