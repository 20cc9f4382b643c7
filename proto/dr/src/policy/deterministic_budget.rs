//! The deterministic budget algorithm (NetGames'05 section 5.2, thesis 3.4.2): its frequencies are those of the probabilistic
//! one, but each receiver's next vector is fixed in advance, and the rounding is kept as credit.

use super::frequency::Weights;
use super::{ClosedPairs, FairnessPolicy, PairColumn, Review, SendPlan};

/// The longest wait, in multiples of the wait with equal shares. Deviation: the papers' rule has no bound; once a receiver's
/// frequency is zero, as under PI without instantaneous error, it is never sent anything again.
pub const PATIENCE: f64 = 4.0;

/// The longest wait in triggers; matters with tiny budgets.
const INTERVAL_MAX: f64 = 10_000.0;

#[derive(Clone, Copy, Debug, Default)]
struct Schedule {
    /// The trigger at which the receiver is sent its next vector.
    due: Option<u64>,
    credit: f64,
}

impl Schedule {
    /// Schedules the dispatch after the one at `trigger`. `equal` is the frequency with equal shares.
    fn advance(&mut self, trigger: u64, frequency: f64, equal: f64) {
        let wanted = (1.0 / frequency).min(PATIENCE / equal).min(INTERVAL_MAX) - self.credit;
        // An interval of 3 that rounding has made 3.0000000000000004 must not become 4.
        let interval = (wanted - 1e-9).ceil().max(1.0);
        self.credit = interval - wanted;
        self.due = Some(trigger + interval as u64);
    }
}

/// Sends by a schedule that follows the frequencies.
#[derive(Clone, Debug)]
pub struct DeterministicBudget {
    weights: Weights,
    schedules: PairColumn<Schedule>,
    frequencies: Vec<f64>,
}

impl DeterministicBudget {
    /// A schedule by these weights.
    #[must_use]
    pub fn new(weights: Weights) -> Self {
        Self { weights, schedules: PairColumn::default(), frequencies: Vec::new() }
    }
}

impl FairnessPolicy for DeterministicBudget {
    fn on_closed(&mut self, closed: &ClosedPairs) {
        self.schedules.close(closed);
    }

    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        let count = review.pairs().count();
        let equal = (review.budget() / count as f64).min(1.0);
        let mut any = false;
        for pair in review.pairs() {
            let schedule = self.schedules.at(&pair);
            if schedule.due.is_none() {
                // Its introduction, one trigger ago, was the first dispatch.
                schedule.advance(pair.trigger() - 1, equal, equal);
            }
            any |= schedule.due <= Some(pair.trigger());
        }
        if !any {
            return;
        }
        self.weights.frequencies(review, &mut self.frequencies);
        for (pair, frequency) in review.pairs().zip(&self.frequencies) {
            let schedule = self.schedules.at(&pair);
            if schedule.due <= Some(pair.trigger()) {
                plan.send(&pair, review.now());
                schedule.advance(pair.trigger(), *frequency, equal);
            }
        }
    }
}
