//! What everybody gathers who shows the same vector of an entity, summed up once for all of them.
//!
//! Between two arrivals the error of a receiver grows by the distance between the exported path and the vector that it shows,
//! whoever it is. So the sum is kept for each vector that anybody shows, up to the generation of each vector that was exported since; what
//! is left is one piece from there on. An error is then a sum and what the receiver's is above it, which does not change
//! before the next arrival.

use evenkeel_core::{SessionTime, Vec3};

use super::seen::{MARKS_END, SeenPair, Sight};
use crate::history::Stretch;
use crate::linear::{self, bulk::Start};
use crate::vector::{DrSeq, DrVector, MotionState};

/// VectorSums are kept of so many vectors at most, and along paths of so many vectors; beyond, accounts are asked.
pub(super) const SUMS_MAX: usize = 32;
pub(super) const PATH_MAX: usize = 128;
/// There may be room for so many more than twice what there is.
const SUMS_SPARE: usize = 4;

/// The places of sums of so many vectors before the newest are at hand.
pub(super) const NEAR: usize = 32;

/// The exported path of an entity, without holes.
pub(super) type Exports<'a> = &'a [Stretch];

/// What is gathered by showing one vector.
#[derive(Clone, Debug)]
struct VectorSum {
    seq: DrSeq,
    /// Used again only when no look knows it any more; never 0.
    mark: u8,
    /// Whether anybody showed it at this look.
    is_used: bool,
    line: LinearPath,
    /// The number of the first exported vector up to which it is summed up.
    first: DrSeq,
    /// Up to the generation of that, and of each after it.
    sums: Vec<f64>,
    /// Up to the last look, and up to now.
    before: f64,
    now: f64,
}

/// A linear vector: when it was made, where it was then, and where to.
#[derive(Clone, Copy, Debug)]
struct LinearPath {
    generated: SessionTime,
    position: Vec3,
    velocity: Vec3,
}

impl LinearPath {
    const fn of(vector: &DrVector) -> Self {
        let MotionState { position, velocity, .. } = vector.state;
        Self { generated: vector.generated, position, velocity }
    }

    /// What [`DrVector::project`] gives.
    #[inline]
    fn project(&self, at: SessionTime) -> Vec3 {
        self.position + self.velocity * (at - self.generated).as_secs_f64()
    }
}

/// What those share who show one vector: its sum, by its mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedGrowth {
    /// 0: there is none.
    pub(super) mark: u8,
    pub(super) place: u8,
    /// Where what is to come starts: one more than the place; 0 if nothing is newer.
    pub(super) start: u32,
    /// Up to now, and what it has grown by since the last look.
    pub(super) now: f64,
    pub(super) grown: f64,
}

/// The sums of one entity.
#[derive(Clone, Debug, Default)]
pub(super) struct VectorSums {
    all: Vec<VectorSum>,
    marks: u8,
    /// By how many vectors before the newest: one more than the place of the sum; 0: there is none.
    near: [u8; NEAR],
    /// The newest exported vector at the last look, and when it was made.
    reached: Option<(DrSeq, SessionTime)>,
}

/// The end of a stretch before now: in the time of which exported vector, by its place, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) place: usize,
    /// Its number.
    seq: DrSeq,
    /// Seconds after that was made.
    pub(super) after: f64,
}

impl End {
    /// A time that is not before the first exported vector.
    pub(super) fn new(path: Exports<'_>, at: SessionTime) -> Option<Self> {
        let place = path.iter().rposition(|stretch| stretch.vector.generated <= at)?;
        let Stretch { seq, vector, .. } = &path[place];
        Some(Self { place, seq: *seq, after: (at - vector.generated).as_secs_f64() })
    }
}

impl VectorSums {
    /// A look begins. What nobody showed at the last one is forgotten.
    pub(super) fn begin(&mut self, path: Exports<'_>, seen: &mut [SeenPair], now: SessionTime) {
        let (first, Stretch { seq: newest, vector, .. }) = (path[0].seq, &path[path.len() - 1]);
        let (newest, made) = (*newest, vector.generated);
        // An entity of the same name may have begun anew, with numbers that were used before.
        let goes_on = |(seq, made): (DrSeq, SessionTime)| {
            let same = path.get(seq.0.wrapping_sub(first.0) as usize);
            seq < first || same.is_some_and(|stretch| stretch.vector.generated == made)
        };
        if !self.reached.is_none_or(goes_on) {
            self.clear(seen);
        }
        self.reached = Some((newest, made));
        self.all.retain_mut(|sum| {
            let kept = sum.is_used && sum.trim(first);
            if !kept {
                sum.leave(seen);
            }
            kept
        });
        // Now and then many show different vectors: room for that is not kept, or each entity would have it in the end.
        if self.all.capacity() > 2 * self.all.len() + SUMS_SPARE {
            self.all.shrink_to(self.all.len() + SUMS_SPARE / 2);
        }
        self.near = [0; NEAR];
        for (place, sum) in self.all.iter_mut().enumerate() {
            sum.is_used = false;
            sum.go_on(path, now);
            note(&mut self.near, newest, sum.seq, place);
        }
    }

    /// Nothing is known any more.
    pub(super) fn clear(&mut self, seen: &mut [SeenPair]) {
        self.all.drain(..).for_each(|sum| sum.leave(seen));
    }

    /// Lays out what those share who show one of the vectors before the newest.
    pub(super) fn deal(&self, newest: DrSeq, cards: &mut [SharedGrowth; NEAR]) {
        *cards = [SharedGrowth::default(); NEAR];
        (0..self.all.len()).for_each(|place| self.deal_one(place, newest, cards));
    }

    /// The same for the sum at a place.
    pub(super) fn deal_one(&self, place: usize, newest: DrSeq, cards: &mut [SharedGrowth; NEAR]) {
        let VectorSum { seq, mark, before, now, .. } = self.all[place];
        let age = newest.0.wrapping_sub(seq.0) as usize;
        if let Some(card) = cards.get_mut(age) {
            let start = if age == 0 { 0 } else { 1 + place as u32 };
            *card = SharedGrowth { mark, place: place as u8, start, now, grown: now - before };
        }
    }

    /// Somebody shows the vectors of these sums, a bit for each place.
    pub(super) fn note_used(&mut self, places: u32) {
        for (place, sum) in self.all.iter_mut().enumerate() {
            sum.is_used |= places >> place & 1 == 1;
        }
    }

    /// How far the newest vector is away from that of a sum, now.
    pub(super) fn apart(&self, place: usize, front: &NewestNow) -> Start {
        let line = &self.all[place].line;
        Start::new(front.position - line.project(front.now), front.velocity - line.velocity)
    }

    /// What the sum with a mark is up to now.
    #[cfg(test)]
    pub(super) fn told(&self, mark: u8) -> f64 {
        self.all.iter().find(|sum| sum.mark == mark).map_or(f64::NAN, |sum| sum.now)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The error of a pair at the last look; not a number: there was none.
    pub(super) fn last(&self, look: &Sight) -> f64 {
        if look.told == 0 {
            return look.error;
        }
        let sum = self.all.iter().find(|sum| sum.mark == look.told);
        sum.map_or(f64::NAN, |sum| look.base + sum.before)
    }

    /// The place of the sum of a vector, which is asked for if there is no sum yet.
    #[inline]
    pub(super) fn find(
        &mut self,
        path: Exports<'_>,
        now: SessionTime,
        seq: DrSeq,
        vector: impl FnOnce() -> Option<DrVector>,
    ) -> Option<usize> {
        let newest = path[path.len() - 1].seq;
        let near = self.near.get(newest.0.wrapping_sub(seq.0) as usize).copied();
        let place = match near {
            Some(0) => None,
            Some(place) => Some(usize::from(place) - 1),
            None => self.all.iter().position(|sum| sum.seq == seq),
        };
        let place = match place {
            Some(place) => place,
            None => self.open(path, now, seq, vector()?)?,
        };
        self.all[place].is_used = true;
        Some(place)
    }

    fn open(&mut self, path: Exports<'_>, now: SessionTime, seq: DrSeq, vector: DrVector) -> Option<usize> {
        if self.all.len() >= SUMS_MAX {
            return None;
        }
        loop {
            self.marks = self.marks % (MARKS_END - 1) + 1;
            if self.all.iter().all(|sum| sum.mark != self.marks) {
                break;
            }
        }
        let first = path.partition_point(|stretch| stretch.vector.generated < vector.generated);
        let first = path[first.min(path.len() - 1)].seq;
        let (line, sums) = (LinearPath::of(&vector), vec![0.0]);
        let mark = self.marks;
        let mut sum = VectorSum { seq, mark, is_used: true, line, first, sums, before: 0.0, now: 0.0 };
        sum.go_on(path, now);
        grow(&mut self.all);
        self.all.push(sum);
        let place = self.all.len() - 1;
        note(&mut self.near, path[path.len() - 1].seq, seq, place);
        Some(place)
    }

    /// What tells a sum from others.
    #[inline]
    pub(super) fn mark(&self, place: usize) -> u8 {
        self.all[place].mark
    }

    /// The sum up to now.
    #[inline]
    pub(super) fn now(&self, place: usize) -> f64 {
        self.all[place].now
    }

    /// The sum up to a time before now.
    pub(super) fn until(&self, path: Exports<'_>, place: usize, end: End) -> Option<f64> {
        let (before, has_rest) = self.before(place, end)?;
        if !has_rest {
            return Some(before);
        }
        let exported = &path[end.place].vector;
        let (position, velocity) = self.all[place].apart(exported, exported.generated);
        Some(before + linear::integral(position, velocity, end.after))
    }

    /// The sum up to the last exported vector before an end, and whether there is a piece from there on; `None` if that is forgotten.
    #[inline]
    pub(super) fn before(&self, place: usize, end: End) -> Option<(f64, bool)> {
        let sum = &self.all[place];
        let before = sum.sums.get(end.seq.0.wrapping_sub(sum.first.0) as usize)?;
        Some((*before, end.seq != sum.seq && end.after > 0.0))
    }

    /// What the piece from the generation of an exported vector on begins with.
    pub(super) fn start(&self, path: Exports<'_>, place: usize, exported: usize) -> Start {
        let exported = &path[exported].vector;
        let (position, velocity) = self.all[place].apart(exported, exported.generated);
        Start::new(position, velocity)
    }
}

/// Where the newest vector of an entity is now, and where to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NewestNow {
    now: SessionTime,
    position: Vec3,
    velocity: Vec3,
}

impl NewestNow {
    pub(super) fn new(newest: &DrVector, now: SessionTime) -> Self {
        Self { now, position: newest.project(now), velocity: newest.state.velocity }
    }
}

/// Makes room for a few more: there are very many entities.
fn grow<T>(all: &mut Vec<T>) {
    if all.len() == all.capacity() {
        all.reserve_exact(1 + all.len() / 4);
    }
}

fn note(near: &mut [u8; NEAR], newest: DrSeq, seq: DrSeq, place: usize) {
    if let Some(near) = near.get_mut(newest.0.wrapping_sub(seq.0) as usize) {
        *near = place as u8 + 1;
    }
}

impl VectorSum {
    /// It is about to go: the errors that were told by it are noted, and nobody's is above it any more.
    fn leave(&self, seen: &mut [SeenPair]) {
        for seen in seen {
            seen.leave(self.mark, self.now);
        }
    }

    /// Forgets what was before an exported vector; false if it did not get there.
    fn trim(&mut self, first: DrSeq) -> bool {
        let old = first.0.saturating_sub(self.first.0) as usize;
        if old > self.sums.len() / 2 {
            self.sums.drain(..old.min(self.sums.len()));
            self.first = first;
        }
        !self.sums.is_empty()
    }

    /// VectorSums up to the newest vector of a path, and to now.
    fn go_on(&mut self, path: Exports<'_>, now: SessionTime) {
        let mut place = (self.first.0 + self.sums.len() as u32 - 1 - path[0].seq.0) as usize;
        let mut sum = self.sums[self.sums.len() - 1];
        while let Some(next) = path.get(place + 1) {
            sum += self.piece(&path[place], next.vector.generated);
            grow(&mut self.sums);
            self.sums.push(sum);
            place += 1;
        }
        let newest = &path[place];
        self.before = self.now;
        self.now = sum + self.piece(newest, now);
    }

    #[inline]
    fn apart(&self, exported: &DrVector, at: SessionTime) -> (Vec3, Vec3) {
        let position = LinearPath::of(exported).project(at) - self.line.project(at);
        (position, exported.state.velocity - self.line.velocity)
    }

    /// From the generation of an exported vector on.
    fn piece(&self, Stretch { seq, vector: exported, .. }: &Stretch, until: SessionTime) -> f64 {
        if *seq == self.seq {
            return 0.0;
        }
        let (position, velocity) = self.apart(exported, exported.generated);
        linear::integral(position, velocity, (until - exported.generated).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Span;

    use super::*;
    use crate::vector::MotionKind;

    fn path(from: i64, count: u32) -> Vec<Stretch> {
        let at = |number: u32| SessionTime::from_nanos(0) + Span::from_millis(from + 100 * i64::from(number));
        let state = |number: u32| MotionState {
            position: Vec3::xy(f64::from(number) + from as f64, 0.0),
            ..MotionState::default()
        };
        let vector = |number| DrVector::generate(at(number), &state(number), MotionKind::Linear);
        (0..count).map(|number| Stretch::new(DrSeq(number), vector(number))).collect()
    }

    #[test]
    fn an_entity_that_begins_anew_with_numbers_that_were_used_is_summed_up_anew() {
        let now = SessionTime::from_nanos(0) + Span::from_secs(60);
        for count in [1, 3, 5, 6, 20] {
            let (before, anew) = (path(0, 5), path(10_000, count));
            let mut sums = VectorSums::default();
            sums.begin(&before, &mut [], now);
            sums.find(&before, now, DrSeq(1), || Some(before[1].vector)).expect("there is room");
            sums.begin(&before, &mut [], now);
            assert_eq!(sums.all.len(), 1, "what is shown is kept");
            sums.begin(&anew, &mut [], now);
            assert!(sums.all.is_empty(), "{count}");
        }
    }
}
