//! What a receiver reports, on its way into the books.

use evenkeel_core::{SessionTime, Span};

use super::account::{Account, AccountMut};
use super::life::{Life, Track};
use super::link::Link;
use super::sums::Sums;
use super::waiting::Arrived;
use super::{ErrorLedger, Settlement, Slot};
use crate::message::Arrival;
use crate::placement::Placement;

/// The reports of one receiver that came together. What they add to its errors is in the books when this is dropped: it is counted for
/// all of them at once.
#[derive(Debug)]
pub(crate) struct Reports<'a> {
    ledger: &'a mut ErrorLedger,
    /// The place of the receiver.
    link: u32,
    now: SessionTime,
}

/// An arrival as it is reported, and the place of the life that it is of, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    arrival: Arrival,
    track: Option<u32>,
}

impl Report {
    pub(crate) const fn arrival(&self) -> Arrival {
        self.arrival
    }

    /// When it arrived, as its receiver says.
    pub(crate) const fn at(&self) -> SessionTime {
        self.arrival.at
    }
}

impl Drop for Reports<'_> {
    fn drop(&mut self) {
        self.ledger.add_up();
    }
}

impl ErrorLedger {
    /// The receiver at a place reports something.
    pub(crate) fn reports(&mut self, link: u32, now: SessionTime) -> Reports<'_> {
        Reports { ledger: self, link, now }
    }

    /// It reports an arrival and nothing else.
    #[cfg(test)]
    pub(crate) fn report(&mut self, link: u32, arrival: Arrival, now: SessionTime) -> Option<Settlement> {
        let mut reports = self.reports(link, now);
        reports.arrived(reports.find(arrival))
    }

    /// Settles an account as far as is known. What that adds is in the books after [`add_up`](Self::add_up).
    pub(super) fn settle(&mut self, slot: Slot, now: SessionTime) {
        let (track, link) = (&mut self.tracks[slot.track], self.links.at_mut(slot.link));
        if !settle_plainly(track, link, slot, None, now, self.placement, &mut self.sums) {
            self.settle_fully(slot, None, now);
        }
    }

    /// The same with what has just been reported, whatever has to be done.
    fn settle_fully(&mut self, slot: Slot, reported: Option<Arrived>, now: SessionTime) {
        self.add_up();
        let (track, link) = (&mut self.tracks[slot.track], self.links.at_mut(slot.link));
        let (history, outlook) = (&track.history, link.outlook_of_books(now, self.placement));
        link.keep(&mut track.pairs, slot.link, |account| {
            if !account.read().is_plain(outlook.placement) {
                account.settle_rare(
                    history,
                    &outlook,
                    reported.filter(|(seq, _)| account.read().is_news(*seq)),
                );
            }
            account.presume(history, &outlook);
        });
    }

    /// What was settled goes into the books.
    pub(super) fn add_up(&mut self) {
        let Self { tracks, links, sums, .. } = self;
        sums.pay(|slot, errors| {
            let (before, after) = tracks[slot.track].pairs.add(slot.link, errors);
            links.at_mut(slot.link).settled += after - before;
        });
    }
}

/// Settles an account as far as is known, with what has just been reported, if it is [plain](Account::is_plain). What that adds is among
/// the sums. False if there is more to do.
#[inline]
fn settle_plainly(
    track: &mut Track,
    link: &mut Link,
    slot: Slot,
    reported: Option<Arrived>,
    now: SessionTime,
    placement: Placement,
    sums: &mut Sums,
) -> bool {
    let history = &track.history;
    let mut account = AccountMut::new(&mut track.pairs, &mut link.mail, slot.link);
    account.change();
    if !account.read().is_plain(placement) {
        return false;
    }
    let reported = reported.filter(|(seq, _)| account.read().is_news(*seq));
    if !reported.is_some_and(|arrived| account.settle_at_once(history, now, arrived, sums)) {
        let outlook = link.outlook_of_books(now, placement);
        let mut account = AccountMut::new(&mut track.pairs, &mut link.mail, slot.link);
        account.settle_in_turn(history, &outlook, reported, sums);
        account.show();
    }
    sums.owe(slot);
    Account::new(&track.pairs, &link.mail, slot.link).is_near(history, now) && !sums.is_full()
}

impl Reports<'_> {
    /// Finds out what an arrival is of.
    #[inline]
    pub(crate) fn find(&self, arrival: Arrival) -> Report {
        let Arrival { entity, seq, .. } = arrival;
        Report { arrival, track: self.ledger.tracks.last(Life { entity, first: seq }) }
    }

    /// These arrivals are about to be reported. What they need lies far apart in memory: all of it is asked for here, so that it is
    /// waited for once. First where it is, then what is there: the less is done between two questions, the more are on their way at once.
    pub(crate) fn read_ahead(&self, reports: &[(u64, Report)]) {
        let tracks = || {
            let places = reports.iter().filter_map(|(_, report)| report.track);
            places.map(|track| &self.ledger.tracks[track])
        };
        let mut seen = 0;
        tracks().for_each(|Track { pairs, history, .. }| seen ^= pairs.width() as usize ^ history.len());
        tracks().for_each(|track| seen ^= track.pairs.read_ahead(self.link) as usize);
        tracks().for_each(|track| seen ^= track.history.read_ahead() as usize);
        core::hint::black_box(seen);
    }

    /// Reports are lost for good: what they would have said up to a time is estimated.
    pub(crate) fn give_up(&mut self, until: SessionTime) {
        let Self { ref mut ledger, link: place, now } = *self;
        ledger.add_up();
        let link = ledger.links.at_mut(place);
        ledger.tracks.for_each(|track| {
            if !track.pairs.is_open(place) {
                return;
            }
            let (outlook, history) = (link.outlook(now, ledger.placement), &track.history);
            link.keep(&mut track.pairs, place, |account| account.give_up(history, &outlook, until.min(now)));
        });
    }

    /// An arrival is reported. Times that can't be true are moved to the nearest that can.
    pub(crate) fn arrived(&mut self, Report { arrival, track: place }: Report) -> Option<Settlement> {
        let Self { ref mut ledger, link: to, now } = *self;
        let Arrival { entity, seq, at, nonce } = arrival;
        ledger.changes += 1;
        let (link, compensation) = (ledger.links.at_mut(to), ledger.compensation);
        let mut track = place.map(|place| &mut ledger.tracks[place]).filter(|track| track.pairs.is_open(to));
        let taken = track
            .as_mut()
            .map_or(Ok(None), |track| AccountMut::new(&mut track.pairs, &mut link.mail, to).take(seq, nonce));
        let Ok(sent) = taken else {
            link.hear(false, now);
            return None;
        };
        let least = compensation.map_or(Span::ZERO, |_| link.evidence.return_min());
        let mut arrived = at.min(now - least).max(link.known_until);
        arrived = sent.map_or(arrived, |sent| arrived.max(sent.min(now)));
        let is_true = (arrived - at).abs() <= link.evidence.tolerance();
        if sent.is_some() || !is_true {
            link.hear(is_true, now);
        }
        link.known_until = arrived;
        if let Some(sent) = sent {
            link.evidence.sample(sent, arrived, now, compensation);
        }
        let track = track?;
        let (slot, reported) = (Slot { track: track.place, link: to }, sent.map(|_| (seq, arrived)));
        let (receiver, account) = (link.peer, u64::from(track.id) << 32 | u64::from(link.id));
        if !settle_plainly(track, link, slot, reported, now, ledger.placement, &mut ledger.sums) {
            ledger.settle_fully(slot, reported, now);
        }
        sent.map(|sent| Settlement { entity, receiver, seq, sent, arrived, slot, account })
    }
}
