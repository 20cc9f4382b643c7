//! The thesis' two scheduling algorithms (3.3.3 and 3.3.4).
//!
//! The receiver with the largest accumulated error gets the vector at once, every other one when its own error has grown to
//! the largest. When the next vector is made, #1 drops a vector that is still held; #2 sends it.

use evenkeel_core::SessionTime;

use super::{FairnessPolicy, Pair, Review, SendPlan};
use crate::ledger::Flight;

/// The fate of a held vector at the next trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leftover {
    /// Dropped: scheduling algorithm #1.
    Dropped,
    /// Sent: scheduling algorithm #2.
    Sent,
    /// Replaced by the newest, which is sent.
    Newest,
}

/// Scheduling by accumulated export error.
#[derive(Clone, Debug)]
pub struct Scheduling {
    leftover: Leftover,
    flight: Flight,
    errors: Vec<f64>,
}

impl Scheduling {
    /// `flight` says how long vectors in flight are assumed to travel: no time in the thesis' text, the estimate in its option.
    #[must_use]
    pub const fn new(leftover: Leftover, flight: Flight) -> Self {
        Self { leftover, flight, errors: Vec::new() }
    }
}

impl FairnessPolicy for Scheduling {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        let (now, flight, leftover) = (review.now(), self.flight, self.leftover);
        // Held vectors are sent before errors are compared.
        let pairs = || {
            review.pairs().map(|pair| match (pair.held(), leftover) {
                (Some(held), Leftover::Sent) => pair.once_sent(held.seq),
                _ => pair,
            })
        };
        self.errors.clear();
        self.errors.extend(pairs().map(|pair| pair.accumulated_at(now, flight)));
        let largest = self.errors.iter().copied().fold(0.0, f64::max);
        for (pair, error) in pairs().zip(&self.errors) {
            match (pair.held(), leftover) {
                (Some(held), Leftover::Sent) => plan.send_vector(&pair, held.seq, now),
                (Some(_), Leftover::Newest) => {
                    plan.send(&pair, now);
                    continue;
                }
                _ => {}
            }
            // A receiver that has not reported yet has no error to compare.
            let due = if !pair.is_known() || *error >= largest {
                Some(now)
            } else {
                pair.reaches(largest, pair.horizon(), flight)
            };
            hold_until(plan, &pair, due);
        }
    }
}

/// Sends when due. If the time threshold makes the next vector first, holds this one, so that the next plan sees it as held.
pub(super) fn hold_until(plan: &mut SendPlan, pair: &Pair<'_>, due: Option<SessionTime>) {
    let at = due.filter(|at| *at < pair.horizon()).unwrap_or(SessionTime::MAX);
    plan.send(pair, at);
}
