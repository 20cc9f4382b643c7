//! NetGames'05 made consistent: the same idea without its hidden assumption that one vector has arrived before the
//! next is made.
//!
//! Deviation: it compares absolute accumulated errors, takes what is in flight at its estimated arrival, and counts up
//! to the arrival of the vector in question, not to its sending.

use super::scheduling::hold_until;
use super::{FairnessPolicy, Review, SendPlan};
use crate::ledger::Flight;

/// The consistent form of NetGames'05.
#[derive(Clone, Copy, Debug, Default)]
pub struct Netgames05Consistent;

impl FairnessPolicy for Netgames05Consistent {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        let now = review.now();
        let at_arrival = |pair: &super::Pair<'_>| pair.accumulated_at(now + pair.delay(), Flight::Estimated);
        let largest = review.pairs().map(|pair| at_arrival(&pair)).fold(0.0, f64::max);
        for pair in review.pairs() {
            let due = if !pair.is_known() || at_arrival(&pair) >= largest {
                Some(now)
            } else {
                let arrival = pair.reaches(largest, pair.expires() + pair.delay(), Flight::Estimated);
                arrival.map(|arrival| (arrival - pair.delay()).max(now))
            };
            hold_until(plan, &pair, due);
        }
    }
}
