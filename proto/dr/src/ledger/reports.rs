//! What a receiver reports, on its way into the books.

use evenkeel_core::{SessionTime, Span};

use super::account::AccountMut;
use super::life::{Life, Track};
use super::waiting::Arrived;
use super::{ErrorLedger, Settlement, Slot};
use crate::message::Arrival;

/// The reports of one receiver that came together. What they add to its errors is in the books when this is dropped: it is counted for
/// all of them at once.
#[derive(Debug)]
pub(crate) struct Reports<'a> {
    ledger: &'a mut ErrorLedger,
    /// The place of the receiver.
    link: u32,
    now: SessionTime,
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

    /// Settles an account as far as is known, with what has just been reported. What that adds is in the books after
    /// [`add_up`](Self::add_up).
    pub(super) fn settle(&mut self, slot: Slot, reported: Option<Arrived>, now: SessionTime) {
        let (track, link) = (&mut self.tracks[slot.track], self.links.at_mut(slot.link));
        let history = &track.history;
        let mut account = AccountMut::new(&mut track.pairs, &mut link.mail, slot.link);
        let reported = reported.filter(|(seq, _)| account.read().is_news(*seq));
        account.change();
        let is_plain = account.read().is_plain(self.placement);
        if is_plain {
            let at_once =
                reported.is_some_and(|arrived| account.settle_at_once(history, now, arrived, &mut self.sums));
            if !at_once {
                let outlook = link.outlook_of_books(now, self.placement);
                let mut account = AccountMut::new(&mut track.pairs, &mut link.mail, slot.link);
                account.settle_in_turn(history, &outlook, reported, &mut self.sums);
            }
            self.sums.owe(slot);
            let mut account = AccountMut::new(&mut track.pairs, &mut link.mail, slot.link);
            if account.read().is_near(history, now) && !self.sums.is_full() {
                if !at_once {
                    account.show();
                }
                return;
            }
        }
        self.add_up();
        let (track, link) = (&mut self.tracks[slot.track], self.links.at_mut(slot.link));
        let (history, outlook) = (&track.history, link.outlook_of_books(now, self.placement));
        link.keep(&mut track.pairs, slot.link, |account| {
            if !is_plain {
                account.settle_rare(history, &outlook, reported);
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

impl Reports<'_> {
    /// These arrivals are about to be reported. What they need lies far apart in memory: all of it is asked for here, so that it is
    /// waited for once.
    pub(crate) fn read_ahead(&self, arrivals: &[(u64, Arrival)]) {
        let (mut seen, tracks) = (0, &self.ledger.tracks);
        for (_, Arrival { entity, seq, .. }) in arrivals {
            if let Some(track) = tracks.last(Life { entity: *entity, first: *seq }) {
                let Track { pairs, history, .. } = &tracks[track];
                seen ^= pairs.read_ahead(self.link) ^ history.read_ahead();
            }
        }
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
    pub(crate) fn arrived(&mut self, arrival: Arrival) -> Option<Settlement> {
        let Self { ref mut ledger, link: place, now } = *self;
        let Arrival { entity, seq, at, nonce } = arrival;
        ledger.changes += 1;
        let track = ledger.tracks.last(Life { entity, first: seq });
        let track = track.filter(|track| ledger.tracks[*track].pairs.is_open(place));
        let link = ledger.links.at_mut(place);
        let taken = track.map_or(Ok(None), |track| {
            AccountMut::new(&mut ledger.tracks[track].pairs, &mut link.mail, place).take(seq, nonce)
        });
        let Ok(sent) = taken else {
            link.hear(false, now);
            return None;
        };
        let least = ledger.compensation.map_or(Span::ZERO, |_| link.evidence.return_min());
        let mut arrived = at.min(now - least).max(link.known_until);
        arrived = sent.map_or(arrived, |sent| arrived.max(sent.min(now)));
        let is_true = (arrived - at).abs() <= link.evidence.tolerance();
        if sent.is_some() || !is_true {
            link.hear(is_true, now);
        }
        link.known_until = arrived;
        if let Some(sent) = sent {
            link.evidence.sample(sent, arrived, now, ledger.compensation);
        }
        let receiver = link.peer();
        let slot = Slot { track: track?, link: place };
        ledger.settle(slot, sent.map(|_| (seq, arrived)), now);
        let account = ledger.id(slot);
        sent.map(|sent| Settlement { entity, receiver, seq, sent, arrived, slot, account })
    }
}
