//! The thesis' two scheduling algorithms (3.3.3 and 3.3.4).
//!
//! The receiver with the largest accumulated error gets the vector at once, each other when its own error will have
//! grown to that. They differ in what happens to a vector that is still held when the next one is made: #1 drops it,
//! #2 sends it then.

use evenkeel_core::SessionTime;

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
#[derive(Clone, Debug)]
pub struct Scheduling {
    leftover: Leftover,
    flight: Flight,
    errors: Vec<f64>,
}

impl Scheduling {
    /// A schedule that treats leftovers in this way. `flight`: how long what is in flight is taken to travel; not at
    /// all in the thesis' text, the estimate as its option.
    #[must_use]
    pub const fn new(leftover: Leftover, flight: Flight) -> Self {
        Self { leftover, flight, errors: Vec::new() }
    }
}

impl Leftover {
    /// The pair once its leftover has been sent.
    fn flushed(self, pair: Pair<'_>) -> Pair<'_> {
        match (pair.held(), self) {
            (Some(held), Self::Sent) => pair.once_sent(held.seq),
            _ => pair,
        }
    }
}

impl FairnessPolicy for Scheduling {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        let (now, flight, leftover) = (review.now(), self.flight, self.leftover);
        // What is sent anyway is sent before errors are compared.
        let pairs = || review.pairs().map(|pair| leftover.flushed(pair));
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
            // Who has not reported yet has no error to compare, and misses nothing meanwhile.
            let due = if !pair.is_known() || *error >= largest {
                Some(now)
            } else {
                pair.reaches(largest, pair.horizon(), flight)
            };
            hold_until(plan, &pair, due);
        }
    }
}

/// Sends at the time at which an error is reached; if that is not before the time threshold makes the next vector,
/// holds it until then, so that the next plan sees it as held.
pub(super) fn hold_until(plan: &mut SendPlan, pair: &Pair<'_>, due: Option<SessionTime>) {
    let at = due.filter(|at| *at < pair.horizon()).unwrap_or(SessionTime::MAX);
    plan.send(pair, at);
}
