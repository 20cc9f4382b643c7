//! What the looks at everybody's error keep of each pair.

use crate::ledger::PairState;

/// A pair as the last look saw it.
// Packed: there are very many.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub(super) struct SeenPair {
    /// Its error, unless a sum tells it; NaN before the first look.
    error: f64,
    /// Its error above the sum of everybody who shows the same vector.
    base: f64,
    /// The mark of that sum, and whether the sum tells the error.
    sum: u8,
    /// [`PairState::breaks`] when the base was taken; with another one, the base is void.
    breaks: u8,
}

/// What was seen of a pair, unpacked.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnpackedPair {
    pub(super) error: f64,
    pub(super) base: f64,
    /// The mark of the sum that the base is above; 0: none.
    pub(super) sum: u8,
    /// The mark of the sum that tells the error at the last look: the error was `base` above it. 0: none.
    pub(super) error_mark: u8,
}

/// Marks of sums are smaller.
pub(super) const MARKS_END: u8 = 0x40;
/// The flag of a sum that tells the error at the last look.
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

    /// Whether nothing is in flight, and the base is above the sum with a mark, which told the error at the last look.
    #[inline]
    pub(super) const fn takes_error_from(&self, state: &PairState, mark: u8) -> bool {
        let is_valid = (self.sum == mark | GIVES_ERROR) & (self.breaks == state.breaks());
        state.is_calm() & is_valid & (mark > 0)
    }

    /// Whether nothing is in flight, and the base is above the sum with a mark.
    #[inline]
    pub(super) const fn goes_with(&self, state: &PairState, mark: u8) -> bool {
        state.is_calm() && self.sum & !GIVES_ERROR == mark && self.breaks == state.breaks()
    }

    /// Notes an error that no sum tells.
    #[inline]
    pub(super) const fn note_error(&mut self, state: &PairState, error: f64) {
        self.error = error;
        self.sum = if self.breaks == state.breaks() { self.sum & !GIVES_ERROR } else { 0 };
    }

    /// Notes what is seen. If a sum tells the error, it is the one that the base is above.
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

    /// Leaves the sum with a mark, which is dropped at this value.
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
