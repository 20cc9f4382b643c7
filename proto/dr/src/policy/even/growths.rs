//! Growth of the errors of an entity's receivers since the last look, and until a message sent now arrives.

use evenkeel_core::SessionTime;

use super::look::LookRow;
use super::seen::{SeenPair, UnpackedPair};
use super::vector_sums::{End, Exports, NEAR, NewestNow, SUMS_MAX, SharedGrowth, VectorSums};
use crate::ledger::{Dispatch, PairState, Pending};
use crate::motion::linear::bulk::{Intervals, Start};
use crate::motion::vector::{DrSeq, DrVector};
use crate::policy::Exported;

/// How an integral is used.
#[derive(Clone, Copy, Debug)]
enum IntegralUse {
    More,
    Less,
    Ahead,
}

/// The error of a pair now, its growth to come, and the number of integrals still to be added. For a receiver that is not
/// believed, the error is [`UNKNOWN`] and `ahead` is its presumed growth.
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

/// The growth of all pairs of one entity.
#[derive(Clone, Debug, Default)]
pub(super) struct PairGrowths {
    /// Growth of each pair's error, by the places of the receivers.
    grown: Vec<f64>,
    /// Growth shared by receivers that show the same vector, by its age.
    cards: [SharedGrowth; NEAR],
    /// The sums in use, a bit for each place.
    used: u32,
    front: NewestNow,
    singles: Vec<Single>,
    uses: Vec<IntegralUse>,
    /// Starts of integrals: first zero, for receivers that show the newest vector; then the newest vector's difference from that
    /// of each sum now; then those of single pairs.
    starts: Vec<Start>,
    /// Intervals to integrate over: first until a message sent now arrives, by the places of the receivers; then those of single
    /// pairs.
    intervals: Intervals,
    integrals: Vec<f64>,
}

impl PairGrowths {
    /// Begins with an entity. `away` is the seconds that a message takes to each place.
    pub(super) fn begin(&mut self, sums: &VectorSums, front: NewestNow, away: &[f64]) {
        self.front = front;
        self.cards = [SharedGrowth::default(); NEAR];
        self.starts.resize(1 + SUMS_MAX, Start::default());
        (0..sums.len()).for_each(|place| self.add(sums, place));
        self.used = 0;
        self.uses.clear();
        self.singles.clear();
        self.grown.clear();
        self.grown.resize(away.len(), 0.0);
        self.intervals.truncate(0);
        self.intervals.starts.resize(away.len(), 0);
        self.intervals.lengths.extend_from_slice(away);
    }

    /// Adds a sum of the entity.
    fn add(&mut self, sums: &VectorSums, place: usize) {
        self.starts[1 + place] = sums.apart(place, &self.front);
        let (seq, card) = sums.card(place);
        let age = self.age(seq);
        if let Some(known) = self.cards.get_mut(age) {
            *known = SharedGrowth { start: if age == 0 { 0 } else { card.start }, ..card };
        }
    }

    /// Growth since the last look and growth to come, by the places of the receivers.
    pub(super) fn counted(&self) -> (&[f64], &[f64]) {
        (&self.grown, &self.integrals[..self.grown.len()])
    }

    fn age(&self, seq: DrSeq) -> usize {
        self.front.seq.0.wrapping_sub(seq.0) as usize
    }

    /// The growth shared by receivers that show a vector, if it has a sum.
    #[inline]
    fn card(&self, shown: DrSeq) -> Option<SharedGrowth> {
        self.cards.get(self.age(shown)).filter(|card| card.mark > 0).copied()
    }

    /// Takes over the growth of sums for pairs that showed the same vector at the last look and have nothing in flight, which are
    /// most pairs. The places of the rest go to `others`.
    pub(super) fn share(&mut self, states: &[PairState], seen: &[SeenPair], others: &mut Vec<u32>) {
        others.resize(states.len(), 0);
        let (newest, mut used, mut count) = (self.front.seq.0, 0, 0);
        let all = states.iter().zip(seen).zip(&mut self.grown).zip(&mut self.intervals.starts);
        for (link, (((state, seen), grown), place)) in (0..).zip(all) {
            let age = newest.wrapping_sub(state.arrived().0) as usize;
            let card = &self.cards[age % NEAR];
            let is_shared = age < NEAR && seen.takes_error_from(state, card.mark);
            // Branchless, because branches would be unpredictable.
            *grown = if is_shared { card.grown } else { 0.0 };
            *place = if is_shared { card.start } else { 0 };
            used |= u32::from(is_shared) << card.place;
            others[count] = link;
            count += usize::from(!is_shared);
        }
        others.truncate(count);
        self.used |= used;
    }

    /// Takes over the growth of a sum for one pair, even if the sum did not give its error at the last look. Returns whether that
    /// was possible.
    #[inline]
    pub(super) fn join(
        &mut self,
        sums: &VectorSums,
        link: u32,
        state: &PairState,
        seen: &mut SeenPair,
    ) -> bool {
        let card = self.card(state.arrived()).filter(|card| seen.goes_with(state, card.mark));
        let Some(SharedGrowth { mark, place, start, now, grown: shared }) = card else { return false };
        self.used |= 1 << place;
        self.intervals.starts[link as usize] = start;
        self.grown[link as usize] = if seen.takes_error_from(state, mark) {
            shared
        } else {
            let look = seen.unpack(state);
            let (before, error) = (sums.last(&look), look.base + now);
            seen.note(state, UnpackedPair { error, error_mark: mark, ..look });
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
        sums.note_used(self.used);
        if self.intervals.starts.iter().fold(0, |any, place| any | place) == 0 {
            self.integrals.clear();
            self.integrals.resize(self.intervals.starts.len(), 0.0);
        } else {
            self.intervals.integrate(&self.starts, &mut self.integrals);
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

    /// The error of a pair from the sums of its entity, without the integrals; `None` if the sums don't determine it.
    pub(super) fn sum_up(
        &mut self,
        path: Exports<'_>,
        sums: &mut VectorSums,
        exported: &Exported<'_>,
        pair: (u32, &PairState, &mut SeenPair),
        row: &LookRow,
    ) -> Option<PairGrowth> {
        let known = self.uses.len();
        let entry = self.try_sum_up(path, sums, exported, pair, row);
        if entry.is_none() {
            self.uses.truncate(known);
            self.intervals.truncate(self.grown.len() + known);
        }
        entry
    }

    #[inline]
    fn try_sum_up(
        &mut self,
        path: Exports<'_>,
        sums: &mut VectorSums,
        exported: &Exported<'_>,
        (link, state, seen): (u32, &PairState, &mut SeenPair),
        row: &LookRow,
    ) -> Option<PairGrowth> {
        let (UnpackedPair { mut base, sum, error, .. }, pending) = (seen.unpack(state), state.pending());
        if pending == Pending::Unclear {
            return None;
        }
        let (arrived, now) = (state.arrived(), self.front.now);
        let shown = self.find(path, sums, arrived, || exported.pair(link).settled_vector())?;
        if sum != sums.mark(shown) {
            let (settled, at) = exported.pair(link).settled()?;
            base = settled - sums.until(path, shown, End::new(path, at)?)?;
            seen.note(state, UnpackedPair { error, base, sum: sums.mark(shown), error_mark: 0 });
        }
        let mut walk = ErrorWalk { shown, seq: arrived, at: now, error: base, uses: 0 };
        match pending {
            Pending::Unclear | Pending::Nothing => {}
            Pending::Last => {
                let last = exported.last_sents()[link as usize];
                let sent = exported.messages(link).sent(last.number());
                self.expect(&mut walk, path, sums, row, Dispatch { seq: last.seq, sent })?;
            }
            Pending::Several => {
                for dispatch in exported.pair(link).in_flight() {
                    self.expect(&mut walk, path, sums, row, dispatch)?;
                }
            }
        }
        // Future growth is integrated until a message sent now would arrive.
        let is_newest = walk.seq == self.front.seq;
        if walk.at == now {
            walk.error += sums.now(walk.shown);
            self.intervals.starts[link as usize] = if is_newest { 0 } else { 1 + walk.shown as u32 };
        } else if !is_newest {
            self.go_ahead(&mut walk, row.later);
        }
        Some(PairGrowth { error: walk.error, ahead: 0.0, uses: walk.uses })
    }

    /// The place of a vector's sum, which is opened if there is none.
    #[inline]
    fn find(
        &mut self,
        path: Exports<'_>,
        sums: &mut VectorSums,
        seq: DrSeq,
        vector: impl FnOnce() -> Option<DrVector>,
    ) -> Option<usize> {
        let place = if let Some(card) = self.card(seq) {
            usize::from(card.place)
        } else {
            let known = sums.len();
            let place = sums.find(path, self.front.now, seq, vector)?;
            if place == known {
                self.add(sums, place);
            }
            place
        };
        self.used |= 1 << place;
        Some(place)
    }

    /// Walks on to the expected arrival of a vector in flight, which is shown from then on.
    #[inline]
    fn expect(
        &mut self,
        walk: &mut ErrorWalk,
        path: Exports<'_>,
        sums: &mut VectorSums,
        row: &LookRow,
        Dispatch { seq, sent }: Dispatch,
    ) -> Option<()> {
        let now = self.front.now;
        let arrival = row.expects(sent, now).filter(|_| seq > walk.seq);
        let Some(arrival) = arrival else { return Some(()) };
        let index = seq.0.wrapping_sub(path[0].seq.0) as usize;
        let next = self.find(path, sums, seq, || path.get(index).map(|segment| segment.vector))?;
        if arrival <= now {
            let end = End::new(path, arrival)?;
            let gathered = self.until(walk, path, sums, walk.shown, end, IntegralUse::More)?;
            let had = self.until(walk, path, sums, next, end, IntegralUse::Less)?;
            walk.error += gathered - had;
        } else {
            if walk.at == now {
                walk.error += sums.now(walk.shown);
            }
            self.go_ahead(walk, arrival);
        }
        (walk.shown, walk.seq) = (next, seq);
        Some(())
    }

    /// The sum up to an end before now. The last piece is integrated if there is one.
    #[inline]
    fn until(
        &mut self,
        walk: &mut ErrorWalk,
        path: Exports<'_>,
        sums: &VectorSums,
        place: usize,
        end: End,
        of: IntegralUse,
    ) -> Option<f64> {
        let (before, has_rest) = sums.before(place, end)?;
        if has_rest {
            let (position, velocity) = sums.piece_from(path, place, end);
            self.integrate_from(walk, Start::new(position, velocity), end.after, of);
        }
        Some(before)
    }

    #[inline]
    fn integrate_from(&mut self, walk: &mut ErrorWalk, start: Start, seconds: f64, of: IntegralUse) {
        self.starts.push(start);
        self.intervals.push(self.starts.len() as u32 - 1, seconds);
        self.uses.push(of);
        walk.uses += 1;
    }

    /// Walks on to a time after now with the vector shown.
    #[inline]
    fn go_ahead(&mut self, walk: &mut ErrorWalk, to: SessionTime) {
        let start = self.starts[1 + walk.shown].after((walk.at - self.front.now).as_secs_f64());
        self.integrate_from(walk, start, (to - walk.at).as_secs_f64(), IntegralUse::Ahead);
        walk.at = to;
    }
}

/// The growth of an error since the last look; zero if it was unknown then.
fn grown(before: f64, error: f64) -> f64 {
    if before.is_finite() { error - before } else { 0.0 }
}

/// The state of following a pair's error through time.
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
