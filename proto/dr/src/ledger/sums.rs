//! Errors that are settled and not yet added to what their accounts have. Integrals are much cheaper when many are done at once, so those
//! of all reports in a message are gathered here first.

use evenkeel_core::SessionTime;

use super::Slot;
use crate::divergence::{export_error, linear_divergence};
use crate::linear::bulk::Pieces;
use crate::vector::DrVector;

/// With so many it is time to add them up. The last account may have put down as many more as a path has vectors.
const ERRORS_MAX: usize = 512;

/// Errors, in order, and whose they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// What is to be integrated.
    pieces: Pieces,
    errors: Vec<f64>,
    /// What is known without that, of the account whose turn it is.
    known: f64,
    owed: Vec<Owed>,
    /// How many of the pieces are owed.
    end: usize,
}

/// What an account is owed: what is known, and all integrals up to one.
#[derive(Clone, Copy, Debug)]
struct Owed {
    slot: Slot,
    known: f64,
    end: usize,
}

impl Sums {
    /// One more error of the account whose turn it is.
    #[inline]
    pub(super) fn add(&mut self, error: f64) {
        self.known += error;
    }

    /// The same, of an interval in which one vector is exported and another is shown.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        exported: &DrVector,
        shown: &DrVector,
        from: SessionTime,
        to: SessionTime,
    ) {
        match linear_divergence(exported, shown, from) {
            Some((position, velocity)) => self.pieces.push(position, velocity, (to - from).as_secs_f64()),
            None => self.count_turning(exported, shown, from, to),
        }
    }

    /// The same where a path turns.
    #[inline(never)]
    fn count_turning(&mut self, exported: &DrVector, shown: &DrVector, from: SessionTime, to: SessionTime) {
        self.add(export_error(exported, shown, from, to));
    }

    /// What was added since the last call is the account's in a slot.
    #[inline]
    pub(super) fn owe(&mut self, slot: Slot) {
        let end = self.pieces.len();
        if end > self.end || self.known != 0.0 {
            self.owed.push(Owed { slot, known: core::mem::take(&mut self.known), end });
            self.end = end;
        }
    }

    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.owed.len() + self.pieces.len() >= ERRORS_MAX
    }

    /// Gives everybody's errors to whoever adds them up. Then there are none.
    #[inline]
    pub(super) fn pay(&mut self, mut add: impl FnMut(Slot, f64)) {
        if self.owed.is_empty() {
            return;
        }
        let Self { pieces, errors, owed, end, .. } = self;
        pieces.integrate(errors);
        let mut place = 0;
        for Owed { slot, mut known, end } in owed.drain(..) {
            while place < end {
                known += errors[place];
                place += 1;
            }
            add(slot, known);
        }
        *end = 0;
        pieces.clear();
    }
}
