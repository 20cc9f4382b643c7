//! Errors that are settled and not yet added to what their accounts have. Integrals are much cheaper when many are done at once, so those
//! of all reports in a message are gathered here first. They are added in the order in which they came: the bits are those of errors that
//! are added one at a time.

use evenkeel_core::{SessionTime, Vec3};

use super::Slot;
use crate::divergence::{export_error, linear_divergence};
use crate::linear::bulk::Pieces;
use crate::vector::DrVector;

/// With so many it is time to add them up.
const ERRORS_MAX: usize = 512;

/// Errors, in order, and whose they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// What is to be integrated for each of them.
    pieces: Pieces,
    /// Those that are known without that, and which ones they are.
    known: Vec<(usize, f64)>,
    errors: Vec<f64>,
    /// Whose they are, up to which of them.
    owed: Vec<(Slot, usize)>,
}

impl Sums {
    /// One more error of the account whose turn it is.
    #[inline]
    pub(super) fn add(&mut self, error: f64) {
        self.known.push((self.pieces.len(), error));
        self.pieces.push(Vec3::ZERO, Vec3::ZERO, 0.0);
    }

    /// The same, of an interval in which one vector is exported and another is shown.
    #[inline]
    pub(super) fn count(
        &mut self,
        exported: &DrVector,
        shown: &DrVector,
        from: SessionTime,
        to: SessionTime,
    ) {
        match linear_divergence(exported, shown, from) {
            Some((position, velocity)) => self.pieces.push(position, velocity, (to - from).as_secs_f64()),
            None => self.add(export_error(exported, shown, from, to)),
        }
    }

    /// What was added since the last call is the account's in a slot.
    #[inline]
    pub(super) fn owe(&mut self, slot: Slot) {
        if self.owed.last().map_or(0, |(_, end)| *end) < self.pieces.len() {
            self.owed.push((slot, self.pieces.len()));
        }
    }

    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.pieces.len() >= ERRORS_MAX
    }

    /// Gives everybody's errors to whoever adds them up, in the order in which they came. Then there are none.
    #[inline]
    pub(super) fn pay(&mut self, mut add: impl FnMut(Slot, &[f64])) {
        if self.owed.is_empty() {
            return;
        }
        self.pieces.integrate(&mut self.errors);
        for (place, error) in self.known.drain(..) {
            self.errors[place] = error;
        }
        let mut from = 0;
        for (slot, end) in self.owed.drain(..) {
            add(slot, &self.errors[from..end]);
            from = end;
        }
        self.pieces.clear();
    }
}
