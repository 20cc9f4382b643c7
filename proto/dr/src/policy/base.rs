//! The base cases: every vector to every receiver, every k-th, or each receiver with probability 1/k.

use core::num::NonZeroU32;

use super::{FairnessPolicy, Review, SendPlan};

/// Every k-th trigger to every receiver at once; k = 1 is the papers' base case.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    /// k.
    pub every: NonZeroU32,
}

impl FairnessPolicy for Base {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        for exported in review.entities() {
            if exported.trigger() % u64::from(self.every.get()) == 0 {
                plan.send_to_all(&exported, review.now());
            }
        }
    }

    fn asks_instantaneous(&self) -> bool {
        false
    }

    fn wants_settlements(&self) -> bool {
        false
    }
}

/// At each trigger each receiver with probability 1/k, independently (thesis, 3.4.1.5).
#[derive(Clone, Copy, Debug)]
pub struct Probabilistic {
    /// k.
    pub every: NonZeroU32,
}

impl FairnessPolicy for Probabilistic {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        for pair in review.pairs() {
            if review.unit(&pair) * f64::from(self.every.get()) < 1.0 {
                plan.send(&pair, review.now());
            }
        }
    }

    fn asks_instantaneous(&self) -> bool {
        false
    }

    fn wants_settlements(&self) -> bool {
        false
    }
}
