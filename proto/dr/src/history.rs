//! The exported path of one entity, as far back as some receiver's error is not settled.
//!
//! At the owner nothing can be missing. At a relay a vector may still be under way while a newer one is here; the
//! exported path is then known exactly only up to the last vector before the hole, and even without a hole only up to
//! the newest vector, because the owner may have made another since.

use core::cell::Cell;
use core::mem::offset_of;

use evenkeel_core::SessionTime;

use crate::prefetch::{LINE, prefetch};
use crate::vector::{DrSeq, DrVector, MotionKind, MotionState};

/// Vectors kept of one entity; when full, the oldest is given up and those who still needed it settle by estimate.
pub const HISTORY_MAX: usize = 2048;

/// Vectors that may be missing before one that is taken; beyond that, its owner must introduce the entity anew.
pub const HOLE_MAX: usize = 256;

/// The errors from one exported vector to the next are kept for those who show one of so many vectors before it.
const PIECES: usize = 3;

/// An acknowledgment mostly has not more vectors to walk along.
const WALKED: usize = 3;

/// The error from an exported vector to the next, by how much older the vector is that is shown. Not a number: nobody asked yet.
type KeptPieces = [Cell<f64>; PIECES];

const fn no_pieces() -> KeptPieces {
    [const { Cell::new(f64::NAN) }; PIECES]
}

/// A vector of an exported path, and the path up to the next one. What a linear path is and when it begins is in one line of memory,
/// everything else in the next one.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Stretch {
    /// The vector.
    pub vector: DrVector,
    /// Its number.
    pub seq: DrSeq,
    pieces: KeptPieces,
}

const _: () = assert!(size_of::<Stretch>() == 2 * LINE && offset_of!(MotionState, acceleration) == LINE - 16);

impl Stretch {
    /// A vector and its number.
    #[must_use]
    pub const fn new(seq: DrSeq, vector: DrVector) -> Self {
        Self { vector, seq, pieces: no_pieces() }
    }

    /// The error up to the next vector while one is shown that is so much older: counted only for the first who asks. `None` if that is so
    /// old that it is not kept.
    #[inline]
    pub(crate) fn piece(&self, older: u32, count: impl FnOnce() -> f64) -> Option<f64> {
        let kept = self.pieces.get((older as usize).checked_sub(1)?)?;
        if kept.get().is_nan() {
            kept.set(count());
        }
        Some(kept.get())
    }
}

/// What became of a vector that was offered to the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// It is the newest.
    Newest,
    /// It closes a hole.
    Filled,
    /// It is known, too old, or contradicts its neighbours; nothing changed.
    Ignored,
}

/// The vectors of one entity in order. One that is missing takes no room: a hostile owner may leave out as many as it
/// likes.
// In this order: what every acknowledgment needs fills a line of memory.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct History {
    vectors: Vec<Stretch>,
    /// The numbers of the first of them and of the last.
    first: DrSeq,
    last: DrSeq,
    contiguous: DrSeq,
    complete: bool,
    /// When it ended, and with which vector.
    ended: Option<(SessionTime, DrSeq)>,
    /// Older ones that somebody still shows.
    shown: Vec<(DrSeq, DrVector)>,
}

const _: () = assert!(offset_of!(History, shown) == LINE, "what is needed most fills a line");

impl History {
    /// A path that begins with this vector. `complete`: kept by the owner itself, so that nothing can be missing.
    #[must_use]
    pub fn new(seq: DrSeq, vector: DrVector, complete: bool) -> Self {
        let (vectors, shown) = (vec![Stretch::new(seq, vector)], Vec::new());
        Self { vectors, first: seq, last: seq, shown, contiguous: seq, complete, ended: None }
    }

    /// The newest vector and its number.
    #[must_use]
    pub fn newest(&self) -> (DrSeq, &DrVector) {
        let newest = self.vectors.last().expect("a history is never empty");
        (self.last, &newest.vector)
    }

    /// The number of the newest vector: that is at hand, the vector may be far away in memory.
    #[inline]
    pub(crate) const fn newest_number(&self) -> DrSeq {
        self.last
    }

    /// The n-th newest vector, if there are so many.
    #[must_use]
    pub fn nth_newest(&self, n: usize) -> Option<&DrVector> {
        let place = self.vectors.len().checked_sub(n)?;
        self.vectors.get(place).map(|stretch| &stretch.vector)
    }

    /// Whether no vector is missing between the first and the last.
    #[inline]
    const fn is_gapless(&self) -> bool {
        ((self.last.0 - self.first.0) as usize) < self.vectors.len()
    }

    /// Where a vector is, or would be.
    #[inline]
    pub(crate) fn place(&self, seq: DrSeq) -> Result<usize, usize> {
        let place = seq.0.wrapping_sub(self.first.0) as usize;
        if self.is_gapless() && place < self.vectors.len() {
            return Ok(place);
        }
        self.search(seq)
    }

    /// The same if something is missing, or if it was given up. Out of line, it is in nobody's way.
    #[cold]
    #[inline(never)]
    fn search(&self, seq: DrSeq) -> Result<usize, usize> {
        if seq < self.first {
            return Err(0);
        }
        self.vectors.binary_search_by_key(&seq, |stretch| stretch.seq)
    }

    /// A vector by its number, if it is known and still kept.
    #[must_use]
    #[inline]
    pub fn vector(&self, seq: DrSeq) -> Option<&DrVector> {
        self.vectors.get(self.place(seq).ok()?).map(|stretch| &stretch.vector)
    }

    /// A vector that somebody shows, whether it is still part of the path or not.
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

    /// These vectors, in order, are shown by somebody: whatever else is given up, they can be had. Others can't any more.
    pub fn keep_shown(&mut self, shown: &[DrSeq]) {
        self.shown = shown.iter().filter_map(|seq| self.shown(*seq).map(|vector| (*seq, *vector))).collect();
    }

    /// The number of the vector that is exported at a time, as far as is known; before the first that is kept, that one.
    #[must_use]
    pub fn exported_at(&self, at: SessionTime) -> DrSeq {
        let made = self.vectors.partition_point(|stretch| stretch.vector.generated <= at);
        self.vectors[made.saturating_sub(1)].seq
    }

    /// The first known vector after a number.
    #[must_use]
    pub fn after(&self, seq: DrSeq) -> Option<(DrSeq, &DrVector)> {
        let next = self.place(seq).map_or_else(|before| before, |place| place + 1);
        self.vectors.get(next).map(|stretch| (stretch.seq, &stretch.vector))
    }

    /// When the newest vector was generated that comes after a number and not later than a time; `None` if none does.
    #[must_use]
    pub fn last_until(&self, seq: DrSeq, to: SessionTime) -> Option<SessionTime> {
        let after = self.vectors.iter().rev().take_while(|stretch| stretch.seq > seq);
        after.map(|stretch| stretch.vector.generated).find(|generated| *generated <= to)
    }

    /// All that is kept.
    pub(crate) fn path(&self) -> &[Stretch] {
        &self.vectors
    }

    /// Prefetches the first vector and the newest ones.
    #[inline]
    pub(crate) fn prefetch_newest(&self) {
        self.vectors
            .first()
            .into_iter()
            .chain(self.vectors.iter().rev().take(WALKED))
            .for_each(prefetch::<2, _>);
    }

    /// A vector that somebody shows will be needed.
    #[inline]
    pub(crate) fn prefetch(&self, seq: DrSeq) {
        let place = seq.0.wrapping_sub(self.first.0) as usize;
        if let Some(stretch) = self.vectors.get(place) {
            prefetch::<1, _>(stretch);
        } else if let Some(older) = self.shown.first() {
            prefetch::<2, _>(older);
        }
    }

    /// What a walk from a vector on needs will be. It mostly begins in the midst of a stretch: only what is known of the next ones may be of use.
    #[inline]
    pub(crate) fn prefetch_from(&self, seq: DrSeq) {
        let place = seq.0.wrapping_sub(self.first.0) as usize;
        // To ask for the last one again costs less than to find out how many there are.
        let stretch = |place: usize| &self.vectors[place.min(self.vectors.len() - 1)];
        prefetch::<1, _>(stretch(place));
        (1..WALKED).for_each(|later| prefetch::<2, _>(stretch(place.saturating_add(later))));
    }

    /// All that is kept, if nothing is missing and all of it is linear.
    pub(crate) fn gapless_linear(&self) -> Option<&[Stretch]> {
        let is_linear = |stretch: &Stretch| stretch.vector.kind == MotionKind::Linear;
        (self.is_gapless() && self.vectors.iter().all(is_linear)).then_some(&self.vectors)
    }

    /// The number of the oldest vector that is kept.
    #[must_use]
    pub const fn first(&self) -> DrSeq {
        self.first
    }

    /// Every vector up to this number is known, or was before it was given up.
    #[must_use]
    pub const fn contiguous(&self) -> DrSeq {
        self.contiguous
    }

    /// How many vectors are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Never: a history begins with a vector.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// Takes in a vector.
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
            if self.vectors.len() == self.vectors.capacity() {
                // There are very many entities: room for twice as many would be too much.
                self.vectors.reserve_exact(1 + self.vectors.len() / 4);
            }
            self.vectors.push(Stretch::new(seq, vector));
            self.last = seq;
            self.close_holes();
            return Recorded::Newest;
        }
        let Err(place) = self.place(seq) else { return Recorded::Ignored };
        if seq <= self.contiguous || place == 0 {
            return Recorded::Ignored;
        }
        let fits = self.vectors[place - 1].vector.generated < vector.generated
            && vector.generated < self.vectors[place].vector.generated;
        if !fits {
            return Recorded::Ignored;
        }
        self.vectors.insert(place, Stretch::new(seq, vector));
        self.vectors[place - 1].pieces = no_pieces();
        self.close_holes();
        Recorded::Filled
    }

    fn close_holes(&mut self) {
        while self.vector(self.contiguous.next()).is_some() {
            self.contiguous = self.contiguous.next();
        }
    }

    /// The path starts anew with this vector, whatever is missing before it.
    pub fn restart(&mut self, seq: DrSeq, vector: DrVector) -> bool {
        let (newest, newest_vector) = self.newest();
        if seq <= newest || vector.generated <= newest_vector.generated {
            return false;
        }
        let shown = core::mem::take(&mut self.shown);
        *self = Self { ended: self.ended, shown, ..Self::new(seq, vector, self.complete) };
        true
    }

    /// The entity ceases to be; `last` is the number of its last vector.
    pub fn end(&mut self, last: DrSeq, at: SessionTime) {
        let (newest, vector) = self.newest();
        self.ended.get_or_insert((at.max(vector.generated), last.max(newest)));
    }

    /// When the entity ceased to be.
    #[must_use]
    pub fn ended(&self) -> Option<SessionTime> {
        self.ended.map(|(at, _)| at)
    }

    /// Up to when the exported path is known for certain.
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

    /// The newest known vector that was generated before a time, if it is not the first one that is kept.
    #[must_use]
    pub fn newest_before(&self, at: SessionTime) -> Option<(DrSeq, SessionTime)> {
        let old = self.vectors.iter().skip(1).map(|stretch| (stretch.seq, stretch.vector.generated));
        old.take_while(|(_, generated)| *generated < at).last()
    }

    /// The number in the middle of what is kept.
    #[must_use]
    pub fn middle(&self) -> DrSeq {
        self.vectors[self.vectors.len() / 2].seq
    }

    /// Gives up every vector before a number that is not the newest.
    pub fn trim(&mut self, before: DrSeq) {
        let old = self.vectors.partition_point(|stretch| stretch.seq < before);
        let old = old.min(self.vectors.len() - 1);
        self.vectors.drain(..old);
        self.first = self.vectors[0].seq;
        if self.vectors.capacity() > 4 * self.vectors.len() {
            self.vectors.shrink_to(2 * self.vectors.len());
        }
        self.contiguous = self.contiguous.max(self.first());
        self.close_holes();
    }
}
