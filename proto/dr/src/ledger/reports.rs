//! Taking a receiver's reports into the ledger.

use evenkeel_core::SessionTime;

use super::account::AccountMut;
use super::life::{Life, Track};
use super::waiting::Arrived;
use super::{ErrorLedger, Settlement, Slot};
#[cfg(test)]
use crate::message::Arrival;
use crate::motion::vector::{DrSeq, EntityId};

/// How many reports a pair's prefetch trails that of its life, which holds the pair's address.
const STEP: usize = 4;

/// A batch of reports from one receiver. The errors they settle are added to the accounts when this is dropped, if not before.
#[derive(Debug)]
pub(crate) struct Reports<'a> {
    ledger: &'a mut ErrorLedger,
    link: u32,
    now: SessionTime,
}

impl Drop for Reports<'_> {
    fn drop(&mut self) {
        self.ledger.add_up();
    }
}

/// The vector that a report names, and the place of its life, if known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    entity: EntityId,
    seq: DrSeq,
    track: Option<u32>,
}

/// When a reported vector was sent and when it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    sent: SessionTime,
    arrived: SessionTime,
    slot: Slot,
}

impl ErrorLedger {
    pub(crate) fn reports(&mut self, link: u32, now: SessionTime) -> Reports<'_> {
        self.changes += 1;
        Reports { ledger: self, link, now }
    }

    #[cfg(test)]
    pub(crate) fn report(&mut self, link: u32, arrival: Arrival, now: SessionTime) -> Option<Settlement> {
        let mut reports = self.reports(link, now);
        let Arrival { entity, seq, at, nonce } = arrival;
        let report = reports.find(entity, seq);
        let fate = reports.arrived(report, at, nonce)?;
        Some(reports.settlement(report, fate))
    }

    /// Settles an account by the reference path, including any arrival just reported. The caller must call
    /// [`add_up`](Self::add_up) before errors are read.
    #[inline(never)]
    pub(super) fn settle(&mut self, slot: Slot, reported: Option<Arrived>, now: SessionTime) {
        let is_plain = self.account(slot).is_plain(self.placement);
        if !is_plain {
            self.add_up();
        }
        let Self { tracks, links, growth, placement, .. } = self;
        let (track, link) = (&mut tracks[slot.track], links.at_mut(slot.link));
        let outlook = link.outlook_if_credible(now, *placement);
        let mut account = AccountMut::new(&mut track.pairs, &mut link.messages, slot.link);
        let (grown, estimated) = account.settle(&track.history, &outlook, reported, growth);
        link.settled += grown;
        self.estimated += estimated;
        growth.owe(slot);
        if account.read().is_near(&track.history, now) && !growth.is_full() {
            return account.show();
        }
        self.add_up();
        let (track, link) = (&mut self.tracks[slot.track], self.links.at_mut(slot.link));
        let mut account = AccountMut::new(&mut track.pairs, &mut link.messages, slot.link);
        account.presume(&track.history, &outlook);
        account.show();
    }

    /// Adds the gathered errors to their accounts and receivers.
    pub(super) fn add_up(&mut self) {
        let Self { tracks, links, growth, .. } = self;
        growth.pay(|slot, error| {
            let (track, link) = (&mut tracks[slot.track], links.at_mut(slot.link));
            AccountMut::new(&mut track.pairs, &mut link.messages, slot.link).add_settled(error);
            link.settled += error;
        });
    }
}

impl Reports<'_> {
    /// Finds the life of a reported vector, and prefetches it.
    #[inline]
    pub(crate) fn find(&self, entity: EntityId, seq: DrSeq) -> Report {
        let track = self.ledger.tracks.last(Life { entity, first: seq });
        if let Some(place) = track {
            self.ledger.tracks.prefetch(place);
        }
        Report { entity, seq, track }
    }

    /// Replaces `found` by the reports of a run. Prefetches the lives, then the pairs, then their messages and vectors.
    pub(crate) fn find_all(&self, names: impl Iterator<Item = (EntityId, DrSeq)>, found: &mut Vec<Report>) {
        found.clear();
        for (entity, seq) in names {
            found.push(self.find(entity, seq));
            if let Some(before) = found.len().checked_sub(1 + STEP) {
                self.prefetch_pair(found[before]);
            }
        }
        if found.len() < STEP {
            return;
        }
        found[found.len() - STEP..].iter().for_each(|report| self.prefetch_pair(*report));
        let messages = &self.ledger.links.at(self.link).messages;
        let mut number = None;
        for report in found {
            let Some(Track { pairs, history, .. }) = report.track.map(|track| &self.ledger.tracks[track])
            else {
                continue;
            };
            let Some(state) = pairs.state(self.link) else { continue };
            // The vectors of a run mostly share one message.
            if number.is_none() {
                number = Some(pairs.last_sents[self.link as usize].number());
                messages.prefetch(number);
            }
            messages.in_flight.prefetch(state.chain);
            pairs.sparse.waiting.prefetch(self.link);
            history.prefetch(state.arrived);
            history.prefetch(report.seq);
            history.prefetch_from(state.exported(history.newest_number()));
        }
    }

    #[inline]
    fn prefetch_pair(&self, report: Report) {
        if let Some(place) = report.track {
            self.ledger.tracks[place].pairs.prefetch(self.link);
        }
    }

    /// Settles the error by estimate up to a time, because the reports up to then are lost for good.
    pub(crate) fn give_up(&mut self, until: SessionTime) {
        let Self { ref mut ledger, link: place, now } = *self;
        ledger.add_up();
        let link = ledger.links.at_mut(place);
        ledger.tracks.for_each(|Track { pairs, history, .. }| {
            if pairs.is_open(place) {
                let outlook = link.outlook(now, ledger.placement);
                link.keep(pairs, place, |account| account.give_up(history, &outlook, until.min(now)));
            }
        });
    }

    /// Takes the report of an arrival, with its message's nonce. Returns the vector's fate if it was unknown until now.
    #[inline]
    pub(crate) fn arrived(&mut self, report: Report, at: SessionTime, nonce: u32) -> Option<Fate> {
        let Self { ref mut ledger, link: place, now } = *self;
        #[cfg(test)]
        let may_be_usual = !ledger.only_reference;
        #[cfg(not(test))]
        let may_be_usual = true;
        let ErrorLedger { tracks, links, growth, placement, compensation, .. } = &mut **ledger;
        let link = links.at_mut(place);
        let seq = report.seq;
        let pair = report.track.map(|track| (track, &mut tracks[track]));
        let Some((track, Track { history, pairs, .. })) =
            pair.filter(|(_, track)| track.pairs.is_open(place))
        else {
            link.hear_of(None, at, now, *compensation);
            return None;
        };
        let mut account = AccountMut::new(pairs, &mut link.messages, place);
        let Ok(sent) = account.take(seq, nonce) else {
            link.hear(false, now);
            return None;
        };
        link.hear_of(sent, at, now, *compensation);
        let (slot, arrived) = (Slot { track, link: place }, link.known_until);
        let mut account = AccountMut::new(pairs, &mut link.messages, place);
        if may_be_usual
            && sent.is_some()
            && account.read().is_plain(*placement)
            && account.settle_usual(history, (seq, arrived), now, growth)
        {
            growth.owe(slot);
            let is_near = account.read().is_near(history, now) && !growth.is_full();
            #[cfg(test)]
            {
                ledger.usual += 1;
            }
            if !is_near {
                ledger.settle(slot, None, now);
            }
        } else {
            ledger.settle(slot, sent.map(|_| (seq, arrived)), now);
        }
        sent.map(|sent| Fate { sent, arrived, slot })
    }

    pub(crate) fn settlement(&self, Report { entity, seq, .. }: Report, fate: Fate) -> Settlement {
        let Fate { sent, arrived, slot } = fate;
        Settlement { entity, receiver: self.ledger.at(slot.link).peer(), seq, sent, arrived, slot }
    }
}
