//! How often each receiver is sent a vector: the first two steps of the budget algorithms (NetGames'05 section 5, thesis 3.4.1.2
//! and 3.4.1.3).

use super::{Pair, Review};

/// The weights of the three measures. They sum to one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weights {
    /// PA: accumulated export error.
    pub accumulated: f64,
    /// PI: export error since the generation of the vector in use.
    pub instantaneous: f64,
    /// PT: time since the last sending.
    pub time: f64,
}

impl Weights {
    /// PA alone.
    pub const PA: Self = Self { accumulated: 1.0, instantaneous: 0.0, time: 0.0 };
    /// PI alone.
    pub const PI: Self = Self { accumulated: 0.0, instantaneous: 1.0, time: 0.0 };
    /// PT alone.
    pub const PT: Self = Self { accumulated: 0.0, instantaneous: 0.0, time: 1.0 };

    /// The frequencies, in vectors per trigger, of the pairs of a review, in their order.
    pub fn frequencies(&self, review: &Review<'_>, frequencies: &mut Vec<f64>) {
        let pairs: Vec<Pair<'_>> = review.pairs().collect();
        frequencies.clear();
        frequencies.resize(pairs.len(), 0.0);
        let now = review.now();
        let since = |pair: &Pair<'_>| pair.last_sent().map_or(0.0, |sent| (now - sent.sent).as_secs_f64());
        add_shares(self.accumulated, &pairs, |pair| pair.accumulated(), frequencies);
        add_shares(self.instantaneous, &pairs, |pair| pair.instantaneous(), frequencies);
        add_shares(self.time, &pairs, since, frequencies);
        for frequency in frequencies.iter_mut() {
            *frequency *= review.budget();
        }
        cap(frequencies);
    }
}

/// Adds each pair's share of a measure; equal shares if all are zero. A receiver that has not reported yet counts as the average
/// of the others, because its error is unknown.
fn add_shares(weight: f64, pairs: &[Pair<'_>], measure: impl Fn(&Pair<'_>) -> f64, shares: &mut [f64]) {
    if weight == 0.0 || pairs.is_empty() {
        return;
    }
    let known = pairs.iter().filter(|pair| pair.is_known());
    let (sum, count) = known.fold((0.0, 0u32), |(sum, count), pair| (sum + measure(pair), count + 1));
    let average = if count == 0 { 0.0 } else { sum / f64::from(count) };
    let value = |pair: &Pair<'_>| if pair.is_known() { measure(pair) } else { average };
    let total = average * pairs.len() as f64;
    for (share, pair) in shares.iter_mut().zip(pairs) {
        *share += weight * if total > 0.0 { value(pair) / total } else { 1.0 / pairs.len() as f64 };
    }
}

/// Caps frequencies at one vector per trigger. The surplus goes in equal parts to those below, until none is above.
pub fn cap(frequencies: &mut [f64]) {
    loop {
        let mut surplus = 0.0;
        for frequency in frequencies.iter_mut().filter(|frequency| **frequency > 1.0) {
            surplus += *frequency - 1.0;
            *frequency = 1.0;
        }
        let below = frequencies.iter().filter(|frequency| **frequency < 1.0).count();
        if surplus <= 0.0 || below == 0 {
            return;
        }
        for frequency in frequencies.iter_mut().filter(|frequency| **frequency < 1.0) {
            *frequency += surplus / below as f64;
        }
    }
}
