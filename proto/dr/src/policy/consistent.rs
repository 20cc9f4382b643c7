//! NetGames'05 without its hidden assumption that one vector has arrived before the next is made.
//!
//! Deviation: it compares absolute accumulated errors, assumes that vectors in flight arrive as estimated, and counts up to the
//! arrival of the vector in question, not to its sending.

use super::scheduling::hold_until;
use super::{FairnessPolicy, Pair, Review, SendPlan};
use crate::ledger::Flight;

/// The consistent form of NetGames'05.
#[derive(Clone, Debug, Default)]
pub struct Netgames05Consistent {
    errors: Vec<f64>,
}

impl FairnessPolicy for Netgames05Consistent {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        let now = review.now();
        let at_arrival = |pair: Pair<'_>| pair.accumulated_at(now + pair.delay(), Flight::Estimated);
        self.errors.clear();
        self.errors.extend(review.pairs().map(at_arrival));
        let largest = self.errors.iter().copied().fold(0.0, f64::max);
        for (pair, error) in review.pairs().zip(&self.errors) {
            // A receiver that has not reported yet has no error to compare.
            let due = if !pair.is_known() || *error >= largest {
                Some(now)
            } else {
                let arrival = pair.reaches(largest, pair.horizon() + pair.delay(), Flight::Estimated);
                arrival.map(|arrival| (arrival - pair.delay()).max(now))
            };
            hold_until(plan, &pair, due);
        }
    }
}
