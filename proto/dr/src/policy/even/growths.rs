//! By how much the error of each receiver of an entity has grown since the last look, and what is still to come.

use evenkeel_core::SessionTime;

use super::look::LookRow;
use super::seen::{SeenPair, Sight};
use super::vector_sums::{End, Exports, NEAR, NewestNow, SUMS_MAX, SharedGrowth, VectorSums};
use crate::ledger::{Dispatch, PairState, Pending};
use crate::motion::linear::bulk::{Intervals, Start};
use crate::motion::vector::{DrSeq, DrVector};
use crate::policy::Exported;

/// What an integral is added to.
#[derive(Clone, Copy, Debug)]
enum IntegralUse {
    More,
    Less,
    Ahead,
}

/// The error of a pair now, what is to come, and how many integrals are still to be added. For a receiver that is not believed,
/// the error is [`UNKNOWN`] and `ahead` is what it is presumed to have grown by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairGrowth {
    pub(super) error: f64,
    pub(super) ahead: f64,
    pub(super) uses: u16,
}

/// A pair that shares no growth: the place of its receiver, and its error at the last look.
#[derive(Clone, Copy, Debug)]
struct Single {
    link: u32,
    before: f64,
    entry: PairGrowth,
}

/// The error of a receiver that is not believed. Once it is believed again, it counts from then on.
pub(super) const UNKNOWN: f64 = f64::INFINITY;

/// Exported vectors before the newest whose pieces are shared: nearly everything that is expected arrives in their time.
const LATEST: usize = 4;

/// Starts of integrals: first zero, for receivers that show the newest vector; then how far the newest vector is from that of
/// each sum now; then pieces.
#[derive(Clone, Debug, Default)]
struct Starts {
    all: Vec<Start>,
    /// By sum and by age of the exported vector, the place of the piece that starts with it. 0: none.
    pieces: [[u32; LATEST]; SUMS_MAX],
}

impl Starts {
    const PIECES: usize = 1 + SUMS_MAX;

    fn begin(&mut self, sums: &VectorSums, front: &NewestNow) {
        self.all.resize(Self::PIECES, Start::default());
        for place in 0..sums.len() {
            self.all[1 + place] = sums.apart(place, front);
            self.pieces[place] = [0; LATEST];
        }
    }

    /// Adds a sum.
    fn open(&mut self, sums: &VectorSums, place: usize, front: &NewestNow) {
        self.all[1 + place] = sums.apart(place, front);
        self.pieces[place] = [0; LATEST];
    }

    fn push(&mut self, start: Start) -> u32 {
        self.all.push(start);
        (self.all.len() - 1) as u32
    }

    /// The place of the piece that starts with an exported vector.
    #[inline]
    fn piece(&mut self, path: Exports<'_>, sums: &VectorSums, place: usize, exported: usize) -> u32 {
        let known = self.pieces[place].get(path.len() - 1 - exported).copied();
        if let Some(known) = known.filter(|known| *known > 0) {
            return known;
        }
        let piece = self.push(sums.start(path, place, exported));
        if let Some(known) = self.pieces[place].get_mut(path.len() - 1 - exported) {
            *known = piece;
        }
        piece
    }
}

/// The growth of all pairs of one entity.
#[derive(Clone, Debug, Default)]
pub(super) struct PairGrowths {
    /// What the error of each pair has grown by, by the places of the receivers.
    grown: Vec<f64>,
    /// By age, what receivers that show the same vector share.
    cards: [SharedGrowth; NEAR],
    /// The sums that are shared, a bit for each place.
    shared: u32,
    /// The newest vector now.
    front: NewestNow,
    /// Pairs that share no growth.
    singles: Vec<Single>,
    uses: Vec<IntegralUse>,
    starts: Starts,
    /// Intervals to integrate over: first what is to come, by the places of the receivers; then those of single pairs.
    intervals: Intervals,
    integrals: Vec<f64>,
}

impl PairGrowths {
    /// Begins with an entity. `away` is how many seconds a message takes to each place.
    pub(super) fn begin(&mut self, sums: &VectorSums, newest: DrSeq, front: NewestNow, away: &[f64]) {
        sums.deal(newest, &mut self.cards);
        self.starts.begin(sums, &front);
        self.front = front;
        self.shared = 0;
        self.uses.clear();
        self.singles.clear();
        self.grown.clear();
        self.grown.resize(away.len(), 0.0);
        self.intervals.truncate(0);
        self.intervals.starts.resize(away.len(), 0);
        self.intervals.lengths.extend_from_slice(away);
    }

    /// What the error of each pair has grown by, and what is to come, by the places of the receivers.
    pub(super) fn counted(&self) -> (&[f64], &[f64]) {
        (&self.grown, &self.integrals[..self.grown.len()])
    }

    /// What receivers that show a vector share, if it has a sum.
    #[inline]
    fn card(&self, newest: DrSeq, shown: DrSeq) -> Option<&SharedGrowth> {
        self.cards.get(newest.0.wrapping_sub(shown.0) as usize).filter(|card| card.mark > 0)
    }

    /// Takes over the growth of sums for pairs that showed the same at the last look and have nothing in flight: most of them.
    /// The places of the others go to `others`.
    pub(super) fn share(
        &mut self,
        newest: DrSeq,
        states: &[PairState],
        seen: &[SeenPair],
        others: &mut Vec<u32>,
    ) {
        others.resize(states.len(), 0);
        let (mut shared, mut count) = (0, 0);
        let all = states.iter().zip(seen).zip(&mut self.grown).zip(&mut self.intervals.starts);
        for (link, (((state, seen), grown), place)) in (0..).zip(all) {
            let age = newest.0.wrapping_sub(state.arrived().0) as usize;
            let card = &self.cards[age % NEAR];
            let is_shared = age < NEAR && seen.is_told_by(state, card.mark);
            // Without branches, which could not be predicted.
            *grown = if is_shared { card.grown } else { 0.0 };
            *place = if is_shared { card.start } else { 0 };
            shared |= u32::from(is_shared) << card.place;
            others[count] = link;
            count += usize::from(!is_shared);
        }
        others.truncate(count);
        self.shared |= shared;
    }

    /// Takes over the growth of a sum for one pair, even if the sum did not tell its error at the last look. Returns whether it
    /// could.
    #[inline]
    pub(super) fn join(
        &mut self,
        newest: DrSeq,
        sums: &VectorSums,
        link: u32,
        state: &PairState,
        seen: &mut SeenPair,
    ) -> bool {
        let Some(&SharedGrowth { mark, place, start, now, grown: told, .. }) =
            self.card(newest, state.arrived())
        else {
            return false;
        };
        if !seen.goes_with(state, mark) {
            return false;
        }
        self.shared |= 1 << place;
        self.intervals.starts[link as usize] = start;
        self.grown[link as usize] = if seen.is_told_by(state, mark) {
            told
        } else {
            let look = seen.sight(state);
            let (before, error) = (sums.last(&look), look.base + now);
            seen.note(state, Sight { error, told: mark, ..look });
            grown(before, error)
        };
        true
    }

    /// Notes a pair that shares no growth.
    #[inline]
    pub(super) fn note(&mut self, link: u32, before: f64, entry: PairGrowth) {
        self.singles.push(Single { link, before, entry });
    }

    /// Integrates, and adds up every pair.
    pub(super) fn count(&mut self, sums: &mut VectorSums, states: &[PairState], seen: &mut [SeenPair]) {
        sums.note_used(self.shared);
        if self.intervals.starts.iter().fold(0, |any, place| any | place) == 0 {
            self.integrals.clear();
            self.integrals.resize(self.intervals.starts.len(), 0.0);
        } else {
            self.intervals.integrate(&self.starts.all, &mut self.integrals);
        }
        let (aheads, pieces) = self.integrals.split_at_mut(self.grown.len());
        let mut uses = self.uses.iter().zip(pieces);
        for Single { link, before, entry } in &self.singles {
            let link = *link as usize;
            let (mut error, mut ahead) = (entry.error, entry.ahead + aheads[link]);
            for (of, integral) in uses.by_ref().take(usize::from(entry.uses)) {
                match of {
                    IntegralUse::More => error += *integral,
                    IntegralUse::Less => error -= *integral,
                    IntegralUse::Ahead => ahead += *integral,
                }
            }
            seen[link].note_error(&states[link], error);
            (self.grown[link], aheads[link]) =
                if error == UNKNOWN { (ahead, 0.0) } else { (grown(*before, error), ahead) };
        }
    }

    /// The error of a pair by the sums of its entity, without the integrals; `None` if they can't tell it.
    pub(super) fn sum_up(
        &mut self,
        path: Exports<'_>,
        sums: &mut VectorSums,
        exported: &Exported<'_>,
        (link, state, seen): (u32, &PairState, &mut SeenPair),
        seat: &LookRow,
        now: SessionTime,
    ) -> Option<PairGrowth> {
        let known = self.uses.len();
        let entry = self.try_sum_up(path, sums, exported, (link, state, seen), seat, now);
        if entry.is_none() {
            self.forget_from(known);
        }
        entry
    }

    /// Drops integrals from one on.
    fn forget_from(&mut self, known: usize) {
        self.uses.truncate(known);
        self.intervals.truncate(self.grown.len() + known);
    }

    #[inline]
    fn try_sum_up(
        &mut self,
        path: Exports<'_>,
        sums: &mut VectorSums,
        exported: &Exported<'_>,
        (link, state, seen): (u32, &PairState, &mut SeenPair),
        seat: &LookRow,
        now: SessionTime,
    ) -> Option<PairGrowth> {
        let (Sight { mut base, sum, error, .. }, pending) = (seen.sight(state), state.pending());
        if pending == Pending::Unclear {
            return None;
        }
        let arrived = state.arrived();
        let shown = self.find(path, sums, now, arrived, || exported.pair(link).settled_vector())?;
        if sum != sums.mark(shown) {
            let (settled, at) = exported.pair(link).settled()?;
            base = settled - sums.until(path, shown, End::new(path, at)?)?;
            seen.note(state, Sight { error, base, sum: sums.mark(shown), told: 0 });
        }
        let mut way = ErrorWalk { shown, seq: arrived, at: now, error: base, uses: 0 };
        match pending {
            Pending::Unclear | Pending::Nothing => {}
            Pending::Last => {
                let prospect = exported.last_sents()[link as usize];
                let (seq, number) = (prospect.seq, prospect.number());
                let last = Dispatch { seq, sent: exported.messages(link).sent(number) };
                self.expect(&mut way, path, sums, seat, last, now)?;
            }
            Pending::Several => {
                for dispatch in exported.pair(link).in_flight() {
                    self.expect(&mut way, path, sums, seat, dispatch, now)?;
                }
            }
        }
        Some(self.arrive(way, path[path.len() - 1].seq, sums, link, seat, now))
    }

    /// Ends the walk of a pair: what is still to come is integrated until a message sent now would arrive.
    #[inline]
    fn arrive(
        &mut self,
        mut way: ErrorWalk,
        newest: DrSeq,
        sums: &VectorSums,
        link: u32,
        seat: &LookRow,
        now: SessionTime,
    ) -> PairGrowth {
        let is_newest = way.seq == newest;
        if way.at == now {
            way.error += sums.now(way.shown);
            self.intervals.starts[link as usize] = if is_newest { 0 } else { 1 + way.shown as u32 };
        } else if !is_newest {
            self.go_ahead(&mut way, seat.later, now);
        }
        PairGrowth { error: way.error, ahead: 0.0, uses: way.uses }
    }

    /// The place of a vector's sum, which is opened if there is none.
    #[inline]
    fn find(
        &mut self,
        path: Exports<'_>,
        sums: &mut VectorSums,
        now: SessionTime,
        seq: DrSeq,
        vector: impl FnOnce() -> Option<DrVector>,
    ) -> Option<usize> {
        let known = sums.len();
        let place = sums.find(path, now, seq, vector)?;
        if place == known {
            self.starts.open(sums, place, &self.front);
            sums.deal_one(place, path[path.len() - 1].seq, &mut self.cards);
        }
        Some(place)
    }

    /// Walks on to the expected arrival of a vector in flight.
    #[inline]
    fn expect(
        &mut self,
        way: &mut ErrorWalk,
        path: Exports<'_>,
        sums: &mut VectorSums,
        seat: &LookRow,
        Dispatch { seq, sent }: Dispatch,
        now: SessionTime,
    ) -> Option<()> {
        let arrival = seat.expects(sent, now).filter(|_| seq > way.seq);
        let Some(arrival) = arrival else { return Some(()) };
        let next = self.find(path, sums, now, seq, || vector(path, seq))?;
        self.show(way, path, sums, (seq, next), arrival, now)
    }

    /// Walks on to an arrival, from which on the vector of a sum is shown.
    #[inline]
    fn show(
        &mut self,
        way: &mut ErrorWalk,
        path: Exports<'_>,
        sums: &VectorSums,
        (seq, next): (DrSeq, usize),
        arrival: SessionTime,
        now: SessionTime,
    ) -> Option<()> {
        if arrival <= now {
            let end = End::new(path, arrival)?;
            let gathered = self.until(way, path, sums, way.shown, end, IntegralUse::More)?;
            let had = self.until(way, path, sums, next, end, IntegralUse::Less)?;
            way.error += gathered - had;
        } else {
            if way.at == now {
                way.error += sums.now(way.shown);
            }
            self.go_ahead(way, arrival, now);
        }
        (way.shown, way.seq) = (next, seq);
        Some(())
    }

    /// The sum up to an end before now. The last piece is integrated if there is one.
    #[inline]
    fn until(
        &mut self,
        way: &mut ErrorWalk,
        path: Exports<'_>,
        sums: &VectorSums,
        place: usize,
        end: End,
        of: IntegralUse,
    ) -> Option<f64> {
        let (before, has_rest) = sums.before(place, end)?;
        if has_rest {
            let start = self.starts.piece(path, sums, place, end.place);
            self.use_from(way, start, end.after, of);
        }
        Some(before)
    }

    #[inline]
    fn use_from(&mut self, way: &mut ErrorWalk, start: u32, seconds: f64, of: IntegralUse) {
        self.intervals.push(start, seconds);
        self.uses.push(of);
        way.uses += 1;
    }

    /// Walks on to a time after now with what is shown.
    #[inline]
    fn go_ahead(&mut self, way: &mut ErrorWalk, to: SessionTime, now: SessionTime) {
        let mut start = 1 + way.shown as u32;
        if way.at != now {
            let later = self.starts.all[start as usize].after((way.at - now).as_secs_f64());
            start = self.starts.push(later);
        }
        self.use_from(way, start, (to - way.at).as_secs_f64(), IntegralUse::Ahead);
        way.at = to;
    }
}

/// What an error has grown by since the last look, if it was known then.
fn grown(before: f64, error: f64) -> f64 {
    if before.is_finite() { error - before } else { 0.0 }
}

/// How far the error of a pair has been followed.
#[derive(Clone, Copy, Debug)]
struct ErrorWalk {
    /// The place of the sum of the shown vector, and its number.
    shown: usize,
    seq: DrSeq,
    /// Now or later.
    at: SessionTime,
    error: f64,
    uses: u16,
}

fn vector(path: Exports<'_>, seq: DrSeq) -> Option<DrVector> {
    path.get(seq.0.wrapping_sub(path[0].seq.0) as usize).map(|stretch| stretch.vector)
}
