//! The thesis' two scheduling algorithms (3.3.3 and 3.3.4).
//!
//! The receiver with the largest accumulated error gets the vector at once, each other when its own error will have
//! grown to that. They differ in what happens to a vector that is still held when the next one is made: #1 drops it,
//! #2 sends it then.

use super::{FairnessPolicy, Pair, Review, SendPlan};
use crate::ledger::Flight;

/// What becomes of a held vector at the next trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leftover {
    /// It is dropped: scheduling algorithm #1.
    Dropped,
    /// It is sent then: scheduling algorithm #2.
    Sent,
    /// The newest is sent then in its place.
    Newest,
}

/// Scheduling by accumulated export error.
#[derive(Clone, Copy, Debug)]
pub struct Scheduling {
    /// What becomes of a held vector at the next trigger.
    pub leftover: Leftover,
    /// How long what is in flight is taken to travel: not at all in the thesis' text, the estimate as its option.
    pub flight: Flight,
}

impl FairnessPolicy for Scheduling {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        let now = review.now();
        let largest = review.pairs().map(|pair| pair.accumulated_at(now, self.flight)).fold(0.0, f64::max);
        for pair in review.pairs() {
            if let Some(held) = pair.held() {
                match self.leftover {
                    Leftover::Dropped => {}
                    Leftover::Sent => plan.send_vector(&pair, held.seq, now),
                    Leftover::Newest => {
                        plan.send(&pair, now);
                        continue;
                    }
                }
            }
            let horizon = pair.expires();
            let due = if !pair.is_known() || pair.accumulated_at(now, self.flight) >= largest {
                Some(now)
            } else {
                pair.reaches(largest, horizon, self.flight)
            };
            hold_until(plan, &pair, due);
        }
    }
}

/// Sends at the time at which an error is reached; if that is not before the time threshold makes the next vector,
/// holds it until then, so that the next plan sees it as held.
pub(super) fn hold_until(plan: &mut SendPlan, pair: &Pair<'_>, due: Option<evenkeel_core::SessionTime>) {
    let at = due.filter(|at| *at < pair.expires()).unwrap_or(evenkeel_core::SessionTime::MAX);
    plan.send(pair, at);
}
