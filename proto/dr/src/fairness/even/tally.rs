//! What a look gathers of one entity: by how much the error of each receiver has grown, and what is to come.

use evenkeel_core::{SessionTime, Vec3};

use super::look::Seat;
use super::sums::{Card, End, Exports, Front, NEAR, Sums};
use crate::fairness::Exported;
use crate::ledger::{Dispatch, Folio, Look, Pending};
use crate::linear::bulk::{Pieces, integrate_alike};
use crate::vector::{DrSeq, DrVector};

/// What an integral is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    More,
    Less,
    Ahead,
}

/// The error of a pair: now, what is to come, and how many integrals are still to be added. Now it is [`UNKNOWN`] where the
/// receiver is not believed; then what it is presumed to have grown by is to come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) error: f64,
    pub(super) ahead: f64,
    pub(super) uses: u16,
}

/// A pair that has to be asked by itself: the place of its receiver, and its error at the last look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Single {
    pub(super) link: u32,
    pub(super) before: f64,
    pub(super) entry: Entry,
}

/// The error of a receiver that is not believed: when it is believed again, it counts from then on.
pub(super) const UNKNOWN: f64 = f64::INFINITY;

/// What is gathered for one entity.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// What the error of each pair has grown by, and what is to come, by the places of the receivers.
    pub(super) grown: Vec<f64>,
    pub(super) ahead: Vec<f64>,
    /// By how many vectors before the newest: what those share who show it.
    cards: [Card; NEAR],
    /// The sums that are shared, a bit for each place.
    shared: u32,
    /// Where the newest vector is now, and how far it is away from those of the sums, as far as that was asked for.
    front: Front,
    aparts: Vec<(Vec3, Vec3)>,
    /// By the place of their sum: the receivers whose errors grow as it does, if anything is to come.
    alike: Vec<Vec<u32>>,
    /// The other pairs.
    pub(super) singles: Vec<Single>,
    pub(super) uses: Vec<Use>,
    pub(super) pieces: Pieces,
    lengths: Vec<f64>,
    integrals: Vec<f64>,
}

impl Tally {
    /// Of an entity nothing is known yet. There are places for so many receivers.
    pub(super) fn begin(&mut self, sums: &Sums, newest: DrSeq, front: Front, links: usize) {
        sums.deal(newest, &mut self.cards);
        self.front = front;
        self.aparts.clear();
        self.shared = 0;
        self.pieces.clear();
        self.uses.clear();
        self.singles.clear();
        self.grown.clear();
        self.grown.resize(links, 0.0);
        self.ahead.clear();
        self.ahead.resize(links, 0.0);
        if self.alike.len() < sums.len() {
            self.alike.resize(sums.len(), Vec::new());
        }
    }

    /// Takes the growth of a pair's error from the sum of what it shows, if it showed that at the last look and nothing is on
    /// its way. False if not.
    #[inline]
    pub(super) fn share(&mut self, newest: DrSeq, sums: &Sums, link: u32, folio: &Folio) -> bool {
        let (look, age) = (folio.look(), newest.0.wrapping_sub(folio.arrived.0) as usize);
        let Some(card) = self.cards.get(age).filter(|card| card.mark == look.sum && look.sum > 0) else {
            return false;
        };
        if folio.pending() != Pending::Nothing {
            return false;
        }
        let sum = usize::from(card.place);
        self.shared |= 1 << sum;
        self.grown[link as usize] = if look.told == card.mark {
            card.grown
        } else {
            let (before, error) = (sums.last(&look), look.base + sums.now(sum));
            folio.note(Look { error, told: card.mark, ..look });
            grown(before, error)
        };
        if age > 0 {
            self.alike[sum].push(link);
        }
        true
    }

    /// How far the newest vector is away from that of a sum, now.
    #[inline]
    fn apart(&mut self, sums: &Sums, place: usize) -> (Vec3, Vec3) {
        while self.aparts.len() <= place {
            self.aparts.push(sums.apart(self.aparts.len(), &self.front));
        }
        self.aparts[place]
    }

    /// Counts what is left to be integrated.
    pub(super) fn count(&mut self, sums: &mut Sums, folios: &[Folio], seconds: &[f64]) {
        sums.note_used(self.shared);
        for (sum, alike) in self.alike.iter_mut().enumerate().filter(|(_, alike)| !alike.is_empty()) {
            let (position, velocity) = sums.apart(sum, &self.front);
            self.lengths.clear();
            self.lengths.extend(alike.iter().map(|link| seconds[*link as usize]));
            integrate_alike(position, velocity, &mut self.lengths, &mut self.integrals);
            for (link, integral) in alike.drain(..).zip(&self.integrals) {
                self.ahead[link as usize] = *integral;
            }
        }
        self.pieces.integrate(&mut self.integrals);
        let mut start = 0;
        for Single { link, before, entry } in &self.singles {
            let (error, ahead) = self.entry(entry, &mut start);
            let link = *link as usize;
            folios[link].note(Look { error, told: 0, ..folios[link].look() });
            (self.grown[link], self.ahead[link]) =
                if error == UNKNOWN { (ahead, 0.0) } else { (grown(*before, error), ahead) };
        }
    }

    /// The error of a pair and what is to come; `start` is where its integrals begin.
    fn entry(&self, &Entry { mut error, mut ahead, uses }: &Entry, start: &mut usize) -> (f64, f64) {
        let (from, to) = (*start, *start + usize::from(uses));
        for (of, integral) in self.uses[from..to].iter().zip(&self.integrals[from..to]) {
            match of {
                Use::More => error += integral,
                Use::Less => error -= integral,
                Use::Ahead => ahead += integral,
            }
        }
        *start = to;
        (error, ahead)
    }

    /// The error of a pair by the sums of its entity, but for pieces; `None` if it can't be told by them.
    #[inline]
    pub(super) fn sum_up(
        &mut self,
        path: Exports<'_>,
        sums: &mut Sums,
        exported: &Exported<'_>,
        (link, folio): (u32, &Folio),
        seat: &Seat,
        now: SessionTime,
    ) -> Option<Entry> {
        let (Look { mut base, sum, error, .. }, pending) = (folio.look(), folio.pending());
        if pending == Pending::Unclear {
            return None;
        }
        let arrived = folio.arrived;
        let shown = sums.find(path, now, arrived, || exported.settled_vector(link))?;
        if sum != sums.mark(shown) {
            let account = exported.account(link);
            let (settled, at) = account.settled()?;
            base = account.head_start() + settled - sums.until(path, shown, End::new(path, at)?)?;
            folio.note(Look { error, base, sum: sums.mark(shown), told: 0 });
        }
        let newest = path[path.len() - 1].0;
        let mut way = Way { shown, seq: arrived, at: now, error: base, uses: 0 };
        match pending {
            Pending::Unclear | Pending::Nothing => {}
            Pending::Last => {
                let prospects = &exported.columns().prospects;
                let (seq, number) = (prospects.seqs[link as usize], prospects.numbers[link as usize]);
                let last = Dispatch { seq, sent: exported.mail(link).sent(number) };
                self.expect(&mut way, path, sums, seat, last, now)?;
            }
            Pending::Several => {
                for dispatch in exported.account(link).dispatches() {
                    self.expect(&mut way, path, sums, seat, dispatch, now)?;
                }
            }
        }
        if way.at == now {
            way.error += sums.now(way.shown);
        }
        if way.seq != newest {
            self.go_ahead(&mut way, sums, seat.later, now);
        }
        Some(Entry { error: way.error, ahead: 0.0, uses: way.uses })
    }

    /// A vector that is on its way, if it is, is shown from its arrival on.
    #[inline]
    fn expect(
        &mut self,
        way: &mut Way,
        path: Exports<'_>,
        sums: &mut Sums,
        seat: &Seat,
        Dispatch { seq, sent }: Dispatch,
        now: SessionTime,
    ) -> Option<()> {
        let arrival = (sent + seat.under_way).max(seat.known_until);
        // Lost is what is overdue although later arrivals have been reported.
        let lost = now - sent > seat.lost_after && seat.known_until >= sent + seat.under_way;
        if seq <= way.seq || lost || arrival > seat.later {
            return Some(());
        }
        let next = sums.find(path, now, seq, || vector(path, seq))?;
        if arrival <= now {
            let end = End::new(path, arrival)?;
            let (gathered, rest) = sums.until_piece(path, way.shown, end, &mut self.pieces)?;
            self.note(way, rest, Use::More);
            let (had, rest) = sums.until_piece(path, next, end, &mut self.pieces)?;
            self.note(way, rest, Use::Less);
            way.error += gathered - had;
        } else {
            if way.at == now {
                way.error += sums.now(way.shown);
            }
            self.go_ahead(way, sums, arrival, now);
        }
        (way.shown, way.seq) = (next, seq);
        Some(())
    }

    fn note(&mut self, way: &mut Way, is_used: bool, of: Use) {
        if is_used {
            self.uses.push(of);
            way.uses += 1;
        }
    }

    /// What is to come with what is shown, up to a time.
    #[inline]
    fn go_ahead(&mut self, way: &mut Way, sums: &Sums, to: SessionTime, now: SessionTime) {
        let (from, seconds) = ((way.at - now).as_secs_f64(), (to - way.at).as_secs_f64());
        let (position, velocity) = self.apart(sums, way.shown);
        self.pieces.push(position + velocity * from, velocity, seconds);
        self.note(way, true, Use::Ahead);
        way.at = to;
    }
}

/// What an error has grown by since the last look, if there was one at which it was known.
fn grown(before: f64, error: f64) -> f64 {
    if before.is_finite() { error - before } else { 0.0 }
}

/// How far the error of a pair has been followed.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The sum of what is shown, and its number.
    shown: usize,
    seq: DrSeq,
    /// Now, or later.
    at: SessionTime,
    error: f64,
    uses: u16,
}

fn vector(path: Exports<'_>, seq: DrSeq) -> Option<DrVector> {
    path.get(seq.0.wrapping_sub(path[0].0.0) as usize).map(|(_, vector)| *vector)
}
