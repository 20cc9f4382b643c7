//! The exported path of one life, from the oldest vector that some receiver's error still depends on.
//!
//! At the owner the path is complete. At a relay, vectors may be lost or overtaken by newer ones. There the path is
//! exactly known only up to the last vector before the first hole, and never beyond the newest vector, because the
//! owner may have made another since.

mod segment;

use core::mem::offset_of;

use evenkeel_core::SessionTime;

pub use segment::PathSegment;

use crate::motion::{DrSeq, DrVector, MotionKind};
use crate::prefetch::{CACHE_LINE, prefetch};

/// Vectors kept of one life. Beyond, the older half is given up, and receivers whose error depends on it are settled by
/// estimate.
pub const PATH_MAX: usize = 2048;

/// Vectors that may be missing before one that is accepted. Beyond, its owner must introduce the entity anew.
pub const HOLE_MAX: usize = 256;

/// Segments that settling an acknowledgment usually visits, at most.
const USUAL_SEGMENTS: usize = 3;

/// The effect of a vector on the exported path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// It is the newest now.
    Newest,
    /// It is in a hole.
    Filled,
    /// None, because it is known, too old, or contradicts its neighbours.
    Ignored,
}

/// The exported path of one life: its vectors, by number. Holes take no memory, however large a hostile owner makes
/// them.
// Field order matters: what every acknowledgment needs fills a cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct ExportedPath {
    segments: Vec<PathSegment>,
    /// The numbers of the first and the last segment.
    first: DrSeq,
    last: DrSeq,
    contiguous: DrSeq,
    complete: bool,
    ended: Option<(SessionTime, DrSeq)>,
    /// Older vectors that some receivers still show.
    shown: Vec<(DrSeq, DrVector)>,
}

const _: () = assert!(offset_of!(ExportedPath, shown) == CACHE_LINE, "hot fields fill a cache line");

impl ExportedPath {
    /// A path that begins with this vector. It is `complete` at the owner, where no vector can be missing.
    #[must_use]
    pub fn new(seq: DrSeq, vector: DrVector, complete: bool) -> Self {
        let (segments, shown) = (vec![PathSegment::new(seq, vector)], Vec::new());
        Self { segments, first: seq, last: seq, shown, contiguous: seq, complete, ended: None }
    }

    /// The newest vector, with its number.
    #[must_use]
    pub fn newest(&self) -> (DrSeq, &DrVector) {
        let newest = self.segments.last().expect("a path is never empty");
        (self.last, &newest.vector)
    }

    /// The number of the newest vector. Unlike [`newest`](Self::newest), it does not touch the vectors' memory.
    #[inline]
    pub(crate) const fn newest_number(&self) -> DrSeq {
        self.last
    }

    /// The n-th newest vector, counting from 1.
    #[must_use]
    pub fn nth_newest(&self, n: usize) -> Option<&DrVector> {
        let place = self.segments.len().checked_sub(n)?;
        self.segments.get(place).map(|segment| &segment.vector)
    }

    /// Whether no vector is missing between the first and the last.
    #[inline]
    const fn is_gapless(&self) -> bool {
        ((self.last.0 - self.first.0) as usize) < self.segments.len()
    }

    /// The index of a vector, or the index at which it would be inserted.
    #[inline]
    pub(crate) fn place(&self, seq: DrSeq) -> Result<usize, usize> {
        let place = seq.0.wrapping_sub(self.first.0) as usize;
        if self.is_gapless() && place < self.segments.len() {
            return Ok(place);
        }
        self.search(seq)
    }

    /// The slow path of [`place`](Self::place): there are holes, or the vector is not kept.
    #[cold]
    #[inline(never)]
    fn search(&self, seq: DrSeq) -> Result<usize, usize> {
        if seq < self.first {
            return Err(0);
        }
        self.segments.binary_search_by_key(&seq, |segment| segment.seq)
    }

    /// A vector by its number, if it is known and kept.
    #[must_use]
    #[inline]
    pub fn vector(&self, seq: DrSeq) -> Option<&DrVector> {
        self.segments.get(self.place(seq).ok()?).map(|segment| &segment.vector)
    }

    /// A vector that some receiver shows, whether it is still part of the path or not.
    #[must_use]
    #[inline]
    pub fn shown(&self, seq: DrSeq) -> Option<&DrVector> {
        self.vector(seq).or_else(|| self.older(seq))
    }

    #[inline(never)]
    fn older(&self, seq: DrSeq) -> Option<&DrVector> {
        let place = self.shown.binary_search_by_key(&seq, |(known, _)| *known).ok()?;
        Some(&self.shown[place].1)
    }

    /// Keeps the vectors that some receivers show, given in order, even if they are [trimmed](Self::trim) off the
    /// path. Forgets those that were kept before.
    pub fn keep_shown(&mut self, shown: &[DrSeq]) {
        self.shown = shown.iter().filter_map(|seq| self.shown(*seq).map(|vector| (*seq, *vector))).collect();
    }

    /// The number of the vector that is exported at a time, as far as known, or of the first one that is kept.
    #[must_use]
    pub fn exported_at(&self, at: SessionTime) -> DrSeq {
        let made = self.segments.partition_point(|segment| segment.vector.generated <= at);
        self.segments[made.saturating_sub(1)].seq
    }

    /// The first known vector after a number.
    #[must_use]
    pub fn after(&self, seq: DrSeq) -> Option<(DrSeq, &DrVector)> {
        let next = self.place(seq).map_or_else(|before| before, |place| place + 1);
        self.segments.get(next).map(|segment| (segment.seq, &segment.vector))
    }

    /// The generation time of the newest vector after a number that was generated no later than `to`.
    #[must_use]
    pub fn last_until(&self, seq: DrSeq, to: SessionTime) -> Option<SessionTime> {
        let after = self.segments.iter().rev().take_while(|segment| segment.seq > seq);
        after.map(|segment| segment.vector.generated).find(|generated| *generated <= to)
    }

    pub(crate) fn path(&self) -> &[PathSegment] {
        &self.segments
    }

    #[inline]
    pub(crate) fn prefetch_newest(&self) {
        let newest = self.segments.iter().rev().take(USUAL_SEGMENTS);
        self.segments.first().into_iter().chain(newest).for_each(prefetch::<2, _>);
    }

    /// Prefetches a vector that some receiver shows.
    #[inline]
    pub(crate) fn prefetch(&self, seq: DrSeq) {
        let place = seq.0.wrapping_sub(self.first.0) as usize;
        if let Some(segment) = self.segments.get(place) {
            prefetch::<1, _>(segment);
        } else if let Some(older) = self.shown.first() {
            prefetch::<2, _>(older);
        }
    }

    /// Prefetches what settling from a vector on needs. Errors are cached only for whole segments, so not for the first.
    #[inline]
    pub(crate) fn prefetch_from(&self, seq: DrSeq) {
        let place = seq.0.wrapping_sub(self.first.0) as usize;
        // Prefetching the last segment several times is cheaper than counting them.
        let segment = |place: usize| &self.segments[place.min(self.segments.len() - 1)];
        prefetch::<1, _>(segment(place));
        (1..USUAL_SEGMENTS).for_each(|later| prefetch::<2, _>(segment(place.saturating_add(later))));
    }

    /// The segments that are kept, if there are no holes and all are linear.
    pub(crate) fn gapless_linear(&self) -> Option<&[PathSegment]> {
        let is_linear = |segment: &PathSegment| segment.vector.kind == MotionKind::Linear;
        (self.is_gapless() && self.segments.iter().all(is_linear)).then_some(&self.segments)
    }

    /// The number of the oldest vector that is kept.
    #[must_use]
    pub const fn first(&self) -> DrSeq {
        self.first
    }

    /// The last vector before the first hole.
    #[must_use]
    pub const fn contiguous(&self) -> DrSeq {
        self.contiguous
    }

    /// How many vectors are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Always false: a path begins with a vector.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Adds a vector.
    pub fn record(&mut self, seq: DrSeq, vector: DrVector) -> Recorded {
        let (newest, newest_vector) = self.newest();
        if self.ended.is_some_and(|(at, last)| seq > last || vector.generated > at) {
            return Recorded::Ignored;
        }
        if seq > newest {
            let missing = (seq.0 - newest.0 - 1) as usize;
            if vector.generated <= newest_vector.generated || missing >= HOLE_MAX {
                return Recorded::Ignored;
            }
            if self.segments.len() == self.segments.capacity() {
                // There are very many paths: doubling the capacity would waste too much memory.
                self.segments.reserve_exact(1 + self.segments.len() / 4);
            }
            self.segments.push(PathSegment::new(seq, vector));
            self.last = seq;
            self.close_holes();
            return Recorded::Newest;
        }
        let Err(place) = self.place(seq) else { return Recorded::Ignored };
        if seq <= self.contiguous || place == 0 {
            return Recorded::Ignored;
        }
        let fits = self.segments[place - 1].vector.generated < vector.generated
            && vector.generated < self.segments[place].vector.generated;
        if !fits {
            return Recorded::Ignored;
        }
        self.segments.insert(place, PathSegment::new(seq, vector));
        self.segments[place - 1].forget_errors();
        self.close_holes();
        Recorded::Filled
    }

    fn close_holes(&mut self) {
        while self.vector(self.contiguous.next()).is_some() {
            self.contiguous = self.contiguous.next();
        }
    }

    /// Restarts the path at this vector, whatever is missing before it. Returns false if it is not newer than the
    /// newest.
    pub fn restart(&mut self, seq: DrSeq, vector: DrVector) -> bool {
        let (newest, newest_vector) = self.newest();
        if seq <= newest || vector.generated <= newest_vector.generated {
            return false;
        }
        let shown = core::mem::take(&mut self.shown);
        *self = Self { ended: self.ended, shown, ..Self::new(seq, vector, self.complete) };
        true
    }

    /// Ends the life. `last` is the number of its last vector.
    pub fn end(&mut self, last: DrSeq, at: SessionTime) {
        let (newest, vector) = self.newest();
        self.ended.get_or_insert((at.max(vector.generated), last.max(newest)));
    }

    /// When the life ended; `None` if it has not.
    #[must_use]
    pub fn ended(&self) -> Option<SessionTime> {
        self.ended.map(|(at, _)| at)
    }

    /// The time up to which the exported path is exactly known.
    #[must_use]
    pub fn exact_until(&self) -> SessionTime {
        if self.complete {
            return SessionTime::MAX;
        }
        let (newest, vector) = self.newest();
        if self.ended.is_some_and(|(_, last)| self.contiguous >= last) {
            return SessionTime::MAX;
        }
        if self.contiguous == newest {
            return vector.generated;
        }
        self.vector(self.contiguous).map_or(SessionTime::MIN, |v| v.generated)
    }

    /// The newest vector that was generated before a time, unless it is the first one that is kept.
    #[must_use]
    pub fn newest_before(&self, at: SessionTime) -> Option<(DrSeq, SessionTime)> {
        let old = self.segments.iter().skip(1).map(|segment| (segment.seq, segment.vector.generated));
        old.take_while(|(_, generated)| *generated < at).last()
    }

    /// The number of the vector in the middle of the path.
    #[must_use]
    pub fn middle(&self) -> DrSeq {
        self.segments[self.segments.len() / 2].seq
    }

    /// Drops every vector before a number, but never the newest.
    pub fn trim(&mut self, before: DrSeq) {
        let old = self.segments.partition_point(|segment| segment.seq < before);
        let old = old.min(self.segments.len() - 1);
        self.segments.drain(..old);
        self.first = self.segments[0].seq;
        if self.segments.capacity() > 4 * self.segments.len() {
            self.segments.shrink_to(2 * self.segments.len());
        }
        self.contiguous = self.contiguous.max(self.first());
        self.close_holes();
    }
}
