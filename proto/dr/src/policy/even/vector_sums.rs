//! The error of all receivers that show the same vector of an entity, summed once for all of them.
//!
//! Between two arrivals the error of a receiver grows by the distance between the exported path and the vector that it shows.
//! So a sum is kept for each shown vector, up to the generation of each vector exported since, plus one piece from there on. An
//! error is the sum plus a base of the receiver's own, which is constant until its next arrival.

use evenkeel_core::{SessionTime, Vec3};

use super::seen::{MARKS_END, SeenPair, UnpackedPair};
use crate::ledger::exported_path::PathSegment;
use crate::motion::linear::{self, bulk::Start};
use crate::motion::vector::{DrSeq, DrVector, MotionKind, MotionState};

/// The most sums kept per entity, and the most vectors of a path. Beyond that, accounts are used.
pub(super) const SUMS_MAX: usize = 32;
pub(super) const PATH_MAX: usize = 128;
const SUMS_SPARE: usize = 4;

/// The range of ages of vectors whose sums are found directly.
pub(super) const NEAR: usize = 32;

/// The exported path of an entity, without holes.
pub(super) type Exports<'a> = &'a [PathSegment];

/// The error accumulated by showing one vector.
#[derive(Clone, Debug)]
struct VectorSum {
    seq: DrSeq,
    /// Identifies the sum; never 0, and used again only when no pair refers to it.
    mark: u8,
    /// Whether any receiver showed the vector at this look.
    is_used: bool,
    line: LinearPath,
    /// The first exported vector with a sum up to it.
    first: DrSeq,
    /// The sums up to the generation of `first` and of each vector after it.
    sums: Vec<f64>,
    /// The sum up to the last look, and up to now.
    before: f64,
    now: f64,
}

/// A linear vector: its generation, position and velocity.
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

    /// [`DrVector::project`].
    #[inline]
    fn project(&self, at: SessionTime) -> Vec3 {
        self.position + self.velocity * (at - self.generated).as_secs_f64()
    }
}

/// The growth shared by receivers that show the same vector.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedGrowth {
    /// The mark of the sum; 0: none.
    pub(super) mark: u8,
    pub(super) place: u8,
    /// The start of the future interval: the place of the sum plus one; 0 if nothing is newer.
    pub(super) start: u32,
    /// The sum up to now, and its growth since the last look.
    pub(super) now: f64,
    pub(super) grown: f64,
}

/// The sums of one entity.
#[derive(Clone, Debug, Default)]
pub(super) struct VectorSums {
    all: Vec<VectorSum>,
    marks: u8,
    /// The newest exported vector at the last look, and its generation.
    reached: Option<(DrSeq, SessionTime)>,
}

/// A time before now, as an exported vector and the seconds since.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) place: usize,
    /// The number of the exported vector.
    seq: DrSeq,
    /// Seconds since its generation.
    pub(super) after: f64,
}

impl End {
    /// The end at a time, unless that is before the first exported vector.
    pub(super) fn new(path: Exports<'_>, at: SessionTime) -> Option<Self> {
        let place = path.iter().rposition(|stretch| stretch.vector.generated <= at)?;
        let PathSegment { seq, vector, .. } = &path[place];
        Some(Self { place, seq: *seq, after: (at - vector.generated).as_secs_f64() })
    }
}

impl VectorSums {
    /// Begins a look, and drops sums that were not used at the last one.
    pub(super) fn begin(&mut self, path: Exports<'_>, seen: &mut [SeenPair], now: SessionTime) {
        let (first, PathSegment { seq: newest, vector, .. }) = (path[0].seq, &path[path.len() - 1]);
        let (newest, made) = (*newest, vector.generated);
        // An entity with the same id may have begun a new life, which reuses numbers.
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
        // Occasionally receivers show many different vectors. That memory is released, or every entity would hold it eventually.
        if self.all.capacity() > 2 * self.all.len() + SUMS_SPARE {
            self.all.shrink_to(self.all.len() + SUMS_SPARE / 2);
        }
        for sum in &mut self.all {
            sum.is_used = false;
            sum.go_on(path, now);
        }
    }

    pub(super) fn clear(&mut self, seen: &mut [SeenPair]) {
        self.all.drain(..).for_each(|sum| sum.leave(seen));
    }

    /// The vector of a sum, and the growth shared by receivers that show it, if it is not the newest.
    pub(super) fn card(&self, place: usize) -> (DrSeq, SharedGrowth) {
        let VectorSum { seq, mark, before, now, .. } = self.all[place];
        let start = 1 + place as u32;
        (seq, SharedGrowth { mark, place: place as u8, start, now, grown: now - before })
    }

    /// Marks sums as used, a bit for each place.
    pub(super) fn note_used(&mut self, places: u32) {
        for (place, sum) in self.all.iter_mut().enumerate() {
            sum.is_used |= places >> place & 1 == 1;
        }
    }

    /// The difference of the newest vector from that of a sum, now.
    pub(super) fn apart(&self, place: usize, front: &NewestNow) -> Start {
        let line = &self.all[place].line;
        Start::new(front.position - line.project(front.now), front.velocity - line.velocity)
    }

    /// The sum with this mark, up to now.
    #[cfg(test)]
    pub(super) fn sum_with_mark(&self, mark: u8) -> f64 {
        self.all.iter().find(|sum| sum.mark == mark).map_or(f64::NAN, |sum| sum.now)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The error of a pair at the last look; NaN if there was none.
    pub(super) fn last(&self, look: &UnpackedPair) -> f64 {
        if look.error_mark == 0 {
            return look.error;
        }
        let sum = self.all.iter().find(|sum| sum.mark == look.error_mark);
        sum.map_or(f64::NAN, |sum| look.base + sum.before)
    }

    /// The place of a vector's sum, which is opened if there is none. `None` if there is no room, or the vector is not linear: the
    /// path that is kept may be linear while a receiver still shows an older vector that turns.
    #[inline]
    pub(super) fn find(
        &mut self,
        path: Exports<'_>,
        now: SessionTime,
        seq: DrSeq,
        vector: impl FnOnce() -> Option<DrVector>,
    ) -> Option<usize> {
        let known = self.all.iter().position(|sum| sum.seq == seq);
        known.or_else(|| self.open(path, now, seq, vector()?))
    }

    fn open(&mut self, path: Exports<'_>, now: SessionTime, seq: DrSeq, vector: DrVector) -> Option<usize> {
        if self.all.len() >= SUMS_MAX || vector.kind != MotionKind::Linear {
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
        Some(self.all.len() - 1)
    }

    #[inline]
    pub(super) fn mark(&self, place: usize) -> u8 {
        self.all[place].mark
    }

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
        let (position, velocity) = self.piece_from(path, place, end);
        Some(before + linear::integral(position, velocity, end.after))
    }

    /// The sum up to the last exported vector before an end, and whether there is a piece from there on; `None` if that
    /// sum is no longer kept.
    #[inline]
    pub(super) fn before(&self, place: usize, end: End) -> Option<(f64, bool)> {
        let sum = &self.all[place];
        let before = sum.sums.get(end.seq.0.wrapping_sub(sum.first.0) as usize)?;
        Some((*before, end.seq != sum.seq && end.after > 0.0))
    }

    /// The differences of position and velocity at the start of the piece before an end.
    #[inline]
    pub(super) fn piece_from(&self, path: Exports<'_>, place: usize, end: End) -> (Vec3, Vec3) {
        let exported = &path[end.place].vector;
        self.all[place].apart(exported, exported.generated)
    }
}

/// The newest vector of an entity now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NewestNow {
    pub(super) seq: DrSeq,
    pub(super) now: SessionTime,
    position: Vec3,
    velocity: Vec3,
}

impl NewestNow {
    pub(super) fn new((seq, newest): (DrSeq, &DrVector), now: SessionTime) -> Self {
        Self { seq, now, position: newest.project(now), velocity: newest.state.velocity }
    }
}

/// Makes room for a few more: doubling would waste too much memory.
fn grow<T>(all: &mut Vec<T>) {
    if all.len() == all.capacity() {
        all.reserve_exact(1 + all.len() / 4);
    }
}

impl VectorSum {
    /// Detaches all pairs before the sum is dropped.
    fn leave(&self, seen: &mut [SeenPair]) {
        for seen in seen {
            seen.leave(self.mark, self.now);
        }
    }

    /// Drops sums up to vectors before `first`. Returns whether any is left.
    fn trim(&mut self, first: DrSeq) -> bool {
        let old = first.0.saturating_sub(self.first.0) as usize;
        if old > self.sums.len() / 2 {
            self.sums.drain(..old.min(self.sums.len()));
            self.first = first;
        }
        !self.sums.is_empty()
    }

    /// Extends the sums to the newest vector of a path, and to now.
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

    /// The piece from the generation of an exported vector on.
    fn piece(&self, PathSegment { seq, vector: exported, .. }: &PathSegment, until: SessionTime) -> f64 {
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

    fn path(from: i64, count: u32) -> Vec<PathSegment> {
        let at = |number: u32| SessionTime::from_nanos(0) + Span::from_millis(from + 100 * i64::from(number));
        let state = |number: u32| MotionState {
            position: Vec3::xy(f64::from(number) + from as f64, 0.0),
            ..MotionState::default()
        };
        let vector = |number| DrVector::generate(at(number), &state(number), MotionKind::Linear);
        (0..count).map(|number| PathSegment::new(DrSeq(number), vector(number))).collect()
    }

    #[test]
    fn a_new_life_with_reused_numbers_drops_the_old_sums() {
        let now = SessionTime::from_nanos(0) + Span::from_secs(60);
        for count in [1, 3, 5, 6, 20] {
            let (before, anew) = (path(0, 5), path(10_000, count));
            let mut sums = VectorSums::default();
            sums.begin(&before, &mut [], now);
            sums.find(&before, now, DrSeq(1), || Some(before[1].vector)).expect("there is room");
            sums.begin(&before, &mut [], now);
            assert_eq!(sums.all.len(), 1, "a sum in use is kept");
            sums.begin(&anew, &mut [], now);
            assert!(sums.all.is_empty(), "{count}");
        }
    }
}
