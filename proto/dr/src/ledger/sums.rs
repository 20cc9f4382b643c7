//! Errors that are settled and not yet added to what their accounts have. Integrals are much cheaper when many are done at once, so those
//! of all reports in a message are gathered here first. They are added in the order in which they came: the bits are those of errors that
//! are added one at a time.

use evenkeel_core::SessionTime;

use super::Slot;
use crate::divergence::{export_error, linear_divergence};
use crate::linear::bulk::Pieces;
use crate::vector::DrVector;

/// With so many it is time to add them up.
const TERMS_MAX: usize = 512;

/// Errors, in order, and whose they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    terms: Vec<f64>,
    /// What is still to be integrated, and where among the terms it belongs.
    pieces: Pieces,
    places: Vec<usize>,
    errors: Vec<f64>,
    /// Whose the terms are, up to which of them.
    owed: Vec<(Slot, usize)>,
}

impl Sums {
    /// One more error of the account whose turn it is.
    #[inline]
    pub(super) fn add(&mut self, error: f64) {
        self.terms.push(error);
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
        let Some((position, velocity)) = linear_divergence(exported, shown, from) else {
            return self.add(export_error(exported, shown, from, to));
        };
        self.places.push(self.terms.len());
        self.pieces.push(position, velocity, (to - from).as_secs_f64());
        self.add(0.0);
    }

    /// What was added since the last call is the account's in a slot.
    #[inline]
    pub(super) fn owe(&mut self, slot: Slot) {
        if self.owed.last().map_or(0, |(_, end)| *end) < self.terms.len() {
            self.owed.push((slot, self.terms.len()));
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.terms.len() >= TERMS_MAX
    }

    /// Gives everybody's errors to whoever adds them up, in the order in which they came. Then there are none.
    #[inline]
    pub(super) fn pay(&mut self, mut add: impl FnMut(Slot, &[f64])) {
        self.pieces.integrate(&mut self.errors);
        for (place, error) in self.places.drain(..).zip(&self.errors) {
            self.terms[place] = *error;
        }
        let mut from = 0;
        for (slot, end) in self.owed.drain(..) {
            add(slot, &self.terms[from..end]);
            from = end;
        }
        self.terms.clear();
        self.pieces.clear();
    }
}
