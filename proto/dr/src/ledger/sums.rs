//! Errors that are settled and not yet added to what their accounts have. Integrals are much cheaper when many are done at once, so those
//! of all reports in a message are gathered here first. They are added in the order in which they came: the bits are those of errors that
//! are added one at a time.

use core::ops::Range;

use evenkeel_core::SessionTime;

use super::Slot;
use crate::divergence::{export_error, linear_divergence};
use crate::linear::bulk::Pieces;
use crate::vector::DrVector;

/// With so many it is time to add them up.
const ERRORS_MAX: usize = 512;

/// Errors, in order, and whose they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// What is to be integrated for some of them.
    pieces: Pieces,
    /// Those that are known without that, each behind so many of these.
    known: Vec<(u32, f64)>,
    errors: Vec<f64>,
    owed: Vec<Owed>,
    /// How many there are of either that are owed.
    ends: (u32, u32),
}

/// Whose errors they are, up to which of the integrated ones and of those that are known.
#[derive(Clone, Copy, Debug)]
struct Owed {
    slot: Slot,
    pieces: u32,
    known: u32,
}

/// The errors of one account: some of those that were integrated, and what is known between them.
#[derive(Debug)]
pub(super) struct Errors<'a> {
    integrated: &'a [f64],
    places: Range<usize>,
    known: &'a [(u32, f64)],
}

impl Errors<'_> {
    /// The sum of a number and all of them, added in their order. There are one or two.
    #[inline]
    pub(super) fn added_to(self, number: f64) -> f64 {
        let Self { integrated, places: Range { start: mut place, end }, known } = self;
        let mut sum = number;
        let mut add_up_to = |sum: &mut f64, end: usize| {
            while place < end {
                *sum += integrated[place];
                place += 1;
            }
        };
        for (behind, error) in known {
            add_up_to(&mut sum, *behind as usize);
            sum += error;
        }
        add_up_to(&mut sum, end);
        sum
    }
}

impl Sums {
    /// One more error of the account whose turn it is.
    #[inline]
    pub(super) fn add(&mut self, error: f64) {
        self.known.push((self.pieces.len() as u32, error));
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
        let (pieces, known) = (self.pieces.len() as u32, self.known.len() as u32);
        if self.ends != (pieces, known) {
            self.ends = (pieces, known);
            self.owed.push(Owed { slot, pieces, known });
        }
    }

    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.pieces.len() + self.known.len() >= ERRORS_MAX
    }

    /// Gives everybody's errors to whoever adds them up, in the order in which they came. Then there are none.
    #[inline]
    pub(super) fn pay(&mut self, mut add: impl FnMut(Slot, Errors<'_>)) {
        if self.owed.is_empty() {
            return;
        }
        let Self { pieces, known, errors, owed, ends } = self;
        pieces.integrate(errors);
        let (mut place, mut known_place) = (0, 0);
        for Owed { slot, pieces, known: known_end } in owed.drain(..) {
            let (places, known) = (place..pieces as usize, &known[known_place..known_end as usize]);
            (place, known_place) = (places.end, known_end as usize);
            add(slot, Errors { integrated: errors, places, known });
        }
        *ends = (0, 0);
        known.clear();
        pieces.clear();
    }
}
