//! Error growth from settlements. It is gathered here first, so that the integrals of all reports in a message are computed with
//! SIMD.

use evenkeel_core::SessionTime;

use super::Slot;
use crate::motion::divergence::{export_error, linear_divergence};
use crate::motion::linear::bulk::{Intervals, Start};
use crate::motion::vector::DrVector;

/// The most settlements and integrals gathered, apart from those of the last account.
const GATHERED_MAX: usize = 512;

/// Pieces of error not yet added to their accounts.
///
/// The order of addition decides the last bits, so it is fixed: first an account's shared and turning pieces, then its own linear
/// ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Growth {
    /// The sum of the current account's shared pieces.
    shared: f64,
    /// The linear pieces of all accounts.
    starts: Vec<Start>,
    intervals: Intervals,
    owed: Vec<PendingGrowth>,
    errors: Vec<f64>,
}

/// The growth of one account: the sum of its shared pieces, and the end of its integrals.
#[derive(Clone, Copy, Debug)]
struct PendingGrowth {
    slot: Slot,
    shared: f64,
    end: usize,
}

impl Growth {
    #[inline]
    pub(super) fn add_shared(&mut self, error: f64) {
        self.shared += error;
    }

    /// Adds the piece of the current account in which one vector is exported and another is shown.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        exported: &DrVector,
        shown: &DrVector,
        from: SessionTime,
        until: SessionTime,
    ) {
        match linear_divergence(exported, shown, from) {
            Some((position, velocity)) => {
                self.starts.push(Start::new(position, velocity));
                self.intervals.lengths.push((until - from).as_secs_f64());
            }
            None => self.add_shared(export_error(exported, shown, from, until)),
        }
    }

    /// Assigns the pieces added since the last call to an account.
    #[inline]
    pub(super) fn owe(&mut self, slot: Slot) {
        let shared = core::mem::take(&mut self.shared);
        self.owed.push(PendingGrowth { slot, shared, end: self.starts.len() });
    }

    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.owed.len() + self.starts.len() >= GATHERED_MAX
    }

    /// Passes each account's growth to `add`, and is empty afterwards.
    #[inline]
    pub(super) fn pay(&mut self, mut add: impl FnMut(Slot, f64)) {
        if self.owed.is_empty() {
            return;
        }
        let Self { owed, starts, intervals, errors, .. } = self;
        intervals.starts.extend(0..starts.len() as u32);
        intervals.integrate(starts, errors);
        starts.clear();
        intervals.truncate(0);
        let mut begin = 0;
        for PendingGrowth { slot, shared, end } in owed.drain(..) {
            add(slot, errors[begin..end].iter().fold(shared, |sum, error| sum + error));
            begin = end;
        }
    }
}
