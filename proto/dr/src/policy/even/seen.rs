//! The state per pair that error looks keep.

use crate::ledger::PairState;

/// A pair as the last look saw it.
// Packed, because there is one for every pair.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub(super) struct SeenPair {
    /// Its error, unless a sum gives it; NaN before the first look.
    error: f64,
    /// Its error minus the sum shared by all receivers that show the same vector.
    base: f64,
    /// The mark of that sum, with [`GIVES_ERROR`].
    sum: u8,
    /// [`PairState::breaks`] when the base was taken; if it differs, the base is void.
    breaks: u8,
}

/// A [`SeenPair`], unpacked.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnpackedPair {
    pub(super) error: f64,
    pub(super) base: f64,
    /// The mark of the sum that the base refers to; 0: none.
    pub(super) sum: u8,
    /// The mark of the sum that gives the error at the last look, as that sum plus `base`; 0: none.
    pub(super) error_mark: u8,
}

/// The end of the marks of sums.
pub(super) const MARKS_END: u8 = 0x40;
/// Set in [`SeenPair::sum`] if that sum gives the error at the last look.
const GIVES_ERROR: u8 = 0x40;

impl Default for SeenPair {
    fn default() -> Self {
        Self { error: f64::NAN, base: 0.0, sum: 0, breaks: 0 }
    }
}

impl SeenPair {
    #[inline]
    pub(super) const fn unpack(&self, state: &PairState) -> UnpackedPair {
        let mark = self.sum & (MARKS_END - 1);
        UnpackedPair {
            error: self.error,
            base: self.base,
            sum: if self.breaks == state.breaks() { mark } else { 0 },
            error_mark: if self.sum & GIVES_ERROR == 0 { 0 } else { mark },
        }
    }

    /// Whether nothing is in flight, the base refers to the sum with this mark, and that sum gave the error at the last look.
    #[inline]
    pub(super) const fn takes_error_from(&self, state: &PairState, mark: u8) -> bool {
        let is_valid = (self.sum == mark | GIVES_ERROR) & (self.breaks == state.breaks());
        state.is_calm() & is_valid & (mark > 0)
    }

    /// Whether nothing is in flight, and the base refers to the sum with this mark.
    #[inline]
    pub(super) const fn goes_with(&self, state: &PairState, mark: u8) -> bool {
        state.is_calm() && self.sum & !GIVES_ERROR == mark && self.breaks == state.breaks()
    }

    /// Notes an error that no sum gives.
    #[inline]
    pub(super) const fn note_error(&mut self, state: &PairState, error: f64) {
        self.error = error;
        self.sum = if self.breaks == state.breaks() { self.sum & !GIVES_ERROR } else { 0 };
    }

    /// Packs a pair. If a sum gives the error, it is the one that the base refers to.
    #[inline]
    pub(super) fn note(
        &mut self,
        state: &PairState,
        UnpackedPair { error, base, sum, error_mark }: UnpackedPair,
    ) {
        debug_assert!(error_mark == 0 || error_mark == sum);
        *self = Self {
            error,
            base,
            sum: sum | if error_mark == 0 { 0 } else { GIVES_ERROR },
            breaks: state.breaks(),
        };
    }

    #[inline]
    pub(super) const fn is_looked_at(&self) -> bool {
        !self.error.is_nan()
    }

    /// Detaches from the sum with this mark, which is dropped at this value.
    #[inline]
    pub(super) fn leave(&mut self, mark: u8, sum: f64) {
        if self.sum & (MARKS_END - 1) == mark {
            if self.sum & GIVES_ERROR != 0 {
                self.error = self.base + sum;
            }
            self.sum = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_seen_pair_takes_20_bytes() {
        assert_eq!(size_of::<super::SeenPair>(), 20);
    }
}
