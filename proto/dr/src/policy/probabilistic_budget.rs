//! The probabilistic budget algorithm (NetGames'05 section 5.1, thesis 3.4.1).

use super::frequency::Weights;
use super::{FairnessPolicy, Review, SendPlan};

/// Draws the receivers of each vector by their frequencies.
#[derive(Clone, Debug)]
pub struct ProbabilisticBudget {
    weights: Weights,
    pick_one: bool,
    frequencies: Vec<f64>,
}

impl ProbabilisticBudget {
    /// Draws each receiver independently as the thesis does, or picks exactly one as NetGames'05 does.
    #[must_use]
    pub const fn new(weights: Weights, pick_one: bool) -> Self {
        Self { weights, pick_one, frequencies: Vec::new() }
    }
}

impl FairnessPolicy for ProbabilisticBudget {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        self.weights.frequencies(review, &mut self.frequencies);
        let chosen = review.pairs().zip(&self.frequencies);
        if !self.pick_one {
            for (pair, frequency) in chosen {
                if review.unit(&pair) < *frequency {
                    plan.send(&pair, review.now());
                }
            }
            return;
        }
        let Some(first) = review.pairs().next() else { return };
        let total: f64 = self.frequencies.iter().sum();
        let mut left = review.unit(&first) * total;
        for (pair, frequency) in chosen {
            left -= frequency;
            if left < 0.0 {
                plan.send(&pair, review.now());
                return;
            }
        }
    }
}
