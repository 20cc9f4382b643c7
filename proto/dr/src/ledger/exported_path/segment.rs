//! Segments of an exported path, and the errors along them, which many receivers share.
//!
//! Receivers that show the same vector along a whole segment have the same error there, so it is integrated for the
//! first of them and cached for the others.

use core::cell::Cell;
use core::mem::offset_of;

use crate::motion::{DrSeq, DrVector, MotionState};
use crate::prefetch::CACHE_LINE;

/// Errors cached per segment: for receivers that show one of this many vectors before the exported one.
const CACHED_ERRORS: usize = 3;

/// The errors of one segment, by how much older the shown vector is. NaN if not computed yet.
type SegmentErrors = [Cell<f64>; CACHED_ERRORS];

const fn no_errors() -> SegmentErrors {
    [const { Cell::new(f64::NAN) }; CACHED_ERRORS]
}

/// A segment of an exported path: a vector, which is exported until the next one. What a linear path needs is in the
/// first cache line, everything else in the second.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct PathSegment {
    /// The vector.
    pub vector: DrVector,
    /// Its number.
    pub seq: DrSeq,
    errors: SegmentErrors,
}

const _: () = assert!(
    size_of::<PathSegment>() == 2 * CACHE_LINE && offset_of!(MotionState, acceleration) == CACHE_LINE - 16
);

impl PathSegment {
    /// The segment that begins with this vector.
    #[must_use]
    pub const fn new(seq: DrSeq, vector: DrVector) -> Self {
        Self { vector, seq, errors: no_errors() }
    }

    /// The error along the segment while a vector is shown that is `older` vectors older. Calls `compute` unless it
    /// is cached. Returns `None` if errors of such old vectors are not cached.
    #[inline]
    pub(crate) fn piece(&self, older: u32, compute: impl FnOnce() -> f64) -> Option<f64> {
        let cached = self.errors.get((older as usize).checked_sub(1)?)?;
        if cached.get().is_nan() {
            cached.set(compute());
        }
        Some(cached.get())
    }

    pub(super) const fn forget_errors(&mut self) {
        self.errors = no_errors();
    }
}
