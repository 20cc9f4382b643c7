//! What a receiver reports, on its way into the books.

use evenkeel_core::SessionTime;

use super::account::{AccountMut, Entry, Forged};
use super::life::{Life, Track};
use super::link::Link;
use super::sums::Sums;
use super::waiting::Arrived;
use super::{Compensation, ErrorLedger, Settlement, Slot};
#[cfg(test)]
use crate::message::Arrival;
use crate::placement::Placement;
use crate::vector::{DrSeq, EntityId};

/// A life is asked for so many reports before the pair, whose place it tells. What fewer reports need is not asked for, but for the lives.
const STEP: usize = 4;

/// The reports of one receiver that came together. What they add to its errors is in the books when this is dropped: it is counted for
/// all of them at once.
#[derive(Debug)]
pub(crate) struct Reports<'a> {
    ledger: &'a mut ErrorLedger,
    /// The place of the receiver.
    link: u32,
    now: SessionTime,
    told: Told,
}

/// What was told last of when something was sent and arrived, and how often it was told again. What comes in one message mostly left in
/// one, too: that so much was answered is reckoned for all of it, when something else is told.
#[derive(Clone, Copy, Debug)]
struct Told {
    sent: SessionTime,
    at: SessionTime,
    again: u32,
}

impl Told {
    const NOTHING: Self = Self { sent: SessionTime::MAX, at: SessionTime::MAX, again: 0 };

    /// What was told again is reckoned.
    #[inline]
    fn reckon(&mut self, link: &mut Link, now: SessionTime) {
        if self.again > 0 {
            link.hear_again(core::mem::take(&mut self.again), now);
        }
    }

    /// Something else is told: what was taken out of the books for it, and when it is said to have arrived.
    #[inline(never)]
    fn learn(
        &mut self,
        link: &mut Link,
        taken: Result<Option<SessionTime>, Forged>,
        at: SessionTime,
        now: SessionTime,
        compensation: Option<Compensation>,
    ) {
        self.reckon(link, now);
        *self = Self::NOTHING;
        match taken {
            Err(Forged) => link.hear(false, now),
            Ok(sent) => {
                let again = link.learn(sent, at, now, compensation);
                *self = sent.filter(|_| again).map_or(Self::NOTHING, |sent| Self { sent, at, again: 0 });
            }
        }
    }
}

/// Which vector an arrival is of, and the place of the life that this is of, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    entity: EntityId,
    seq: DrSeq,
    track: Option<u32>,
}

/// What became known of a vector that was sent: when that was, when it arrived, and where that is in the books.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    sent: SessionTime,
    arrived: SessionTime,
    slot: Slot,
}

impl Drop for Reports<'_> {
    fn drop(&mut self) {
        self.told.reckon(self.ledger.links.at_mut(self.link), self.now);
        self.ledger.add_up();
    }
}

impl ErrorLedger {
    /// The receiver at a place reports something.
    pub(crate) fn reports(&mut self, link: u32, now: SessionTime) -> Reports<'_> {
        self.changes += 1;
        Reports { ledger: self, link, now, told: Told::NOTHING }
    }

    /// It reports an arrival and nothing else.
    #[cfg(test)]
    pub(crate) fn report(&mut self, link: u32, arrival: Arrival, now: SessionTime) -> Option<Settlement> {
        let mut reports = self.reports(link, now);
        let Arrival { entity, seq, at, nonce } = arrival;
        let report = reports.find(entity, seq);
        let fate = reports.arrived(&[report], at, nonce)?;
        Some(reports.settlement(report, fate))
    }

    /// Settles an account as far as is known, with what has just been reported and is not settled. What that adds is in the books after
    /// [`add_up`](Self::add_up).
    #[inline(never)]
    pub(super) fn settle(&mut self, slot: Slot, reported: Option<Arrived>, now: SessionTime) {
        let (track, link) = (&mut self.tracks[slot.track], self.links.at_mut(slot.link));
        if !settle_plainly(track, link, slot, reported, now, self.placement, &mut self.sums) {
            self.settle_fully(slot, reported, now);
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
        sums.pay(|slot, error| {
            tracks[slot.track].pairs.add(slot.link, error);
            links.at_mut(slot.link).settled += error;
        });
    }
}

/// Settles an account as far as is known, with what has just been reported, if it is [plain](super::pairs::Few::is_plain). What that adds is among
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
    let (history, lost_after) = (&track.history, link.evidence.lost_after());
    let mut account = AccountMut::new(&mut track.pairs, &mut link.mail, slot.link);
    account.change();
    if !account.read().is_plain(placement) {
        return false;
    }
    let reported = reported.filter(|(seq, _)| account.read().is_news(*seq));
    let placed = account.arrive_newer(reported);
    if account.read().is_overtaken() {
        account.forget_lost(now, lost_after);
    }
    account.settle_plain(history, placed, reported, now, sums);
    sums.owe(slot);
    account.read().is_near(history, now) && !sums.is_full()
}

impl Reports<'_> {
    /// Finds out what an arrival is of, and asks for its life.
    #[inline]
    pub(crate) fn find(&self, entity: EntityId, seq: DrSeq) -> Report {
        let track = self.ledger.tracks.last(Life { entity, first: seq });
        if let Some(place) = track {
            self.ledger.tracks.prefetch(place);
        }
        Report { entity, seq, track }
    }

    /// Finds out what all arrivals of a run are of, in place of what is in `found`. What they need lies far apart in memory, and each thing tells
    /// where the next is: it is asked for in steps, first the lives, then the pairs, then what those tell to be needed of the paths.
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
        let tracks = found.iter().filter_map(|report| Some((&self.ledger.tracks[report.track?], report.seq)));
        let mail = &self.ledger.links.at(self.link).mail;
        let mut number = None;
        for (Track { pairs, history, .. }, seq) in tracks {
            let Some(folio) = pairs.folio(self.link) else { continue };
            // They came in one message, and so there is mostly one to be asked for.
            if number.is_none() {
                number = pairs.last_number(self.link);
                mail.prefetch(number);
            }
            mail.chains.prefetch(folio.chain);
            history.prefetch(folio.arrived);
            history.prefetch(seq);
            history.prefetch_from(folio.exported(history.newest_number()));
        }
    }

    /// What is kept of the pair that an arrival is of will be needed.
    #[inline]
    fn prefetch_pair(&self, report: Report) {
        if let Some(place) = report.track {
            self.ledger.tracks[place].pairs.prefetch(self.link);
        }
    }

    /// Reports are lost for good, before all that come now: what they would have said up to a time is estimated.
    pub(crate) fn give_up(&mut self, until: SessionTime) {
        debug_assert_eq!(self.told.again, 0, "what was lost comes first");
        let Self { ref mut ledger, link: place, now, .. } = *self;
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

    /// Arrivals are reported, of what came with a message of this nonce. Times that can't be true are moved to the nearest that can. Gives
    /// what became known by the last of them, if anything: who wants to hear of each reports one at a time.
    pub(crate) fn arrived(&mut self, reports: &[Report], at: SessionTime, nonce: u32) -> Option<Fate> {
        let (mut left, mut fate) = (reports.iter(), None);
        while let Some((slot, reported)) = self.settle_at_once(&mut left, at, nonce, &mut fate) {
            self.ledger.settle(slot, reported, self.now);
        }
        fate
    }

    /// The same as long as each can be settled at once. Otherwise gives where there is more to do, and what is reported there and not
    /// settled.
    #[inline]
    fn settle_at_once(
        &mut self,
        left: &mut core::slice::Iter<'_, Report>,
        at: SessionTime,
        nonce: u32,
        fate: &mut Option<Fate>,
    ) -> Option<(Slot, Option<Arrived>)> {
        let Self { ref mut ledger, link: to, now, ref mut told } = *self;
        let ErrorLedger { tracks, links, sums, placement, compensation, .. } = &mut **ledger;
        let link = links.at_mut(to);
        for &Report { seq, track: place, .. } in left {
            *fate = None;
            let pair = place.and_then(|place| {
                let Track { history, pairs, .. } = &mut tracks[place];
                let (entry, few) = Entry::new(pairs, to)?;
                Some((place, &*history, entry, few))
            });
            let Some((place, history, mut entry, few)) = pair else {
                told.learn(link, Ok(None), at, now, *compensation);
                continue;
            };
            let taken = entry.take(&mut link.mail, seq, nonce);
            // What was true then is so again.
            if let Ok(Some(sent)) = taken
                && (sent, at) == (told.sent, told.at)
            {
                told.again += 1;
            } else {
                told.learn(link, taken, at, now, *compensation);
            }
            let Ok(sent) = taken else { continue };
            let (slot, arrived) = (Slot { track: place, link: to }, link.known_until);
            *fate = sent.map(|sent| Fate { sent, arrived, slot });
            few.asked.forget(to);
            let is_plain = few.is_plain(to, *placement);
            let is_settled = sent.is_some()
                && is_plain
                && entry.settle_at_once(&link.mail, history, (seq, arrived), now, sums);
            if is_settled {
                debug_assert_eq!(
                    few.placed.get(to).copied().flatten(),
                    None,
                    "what is shown is what has arrived"
                );
                sums.owe(slot);
            }
            if !is_settled || !entry.is_near(&link.mail, history, now) || sums.is_full() {
                return Some((slot, sent.filter(|_| !is_settled).map(|_| (seq, arrived))));
            }
        }
        None
    }

    /// What became known of what a report is of, for those who want to hear of it.
    pub(crate) fn settlement(&self, Report { entity, seq, .. }: Report, fate: Fate) -> Settlement {
        let Fate { sent, arrived, slot } = fate;
        let (receiver, account) = (self.ledger.at(slot.link).peer(), self.ledger.id(slot));
        Settlement { entity, receiver, seq, sent, arrived, slot, account }
    }
}
