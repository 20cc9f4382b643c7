//! Sums over updates: mean, deviation and quantiles without keeping every one.

/// Width of a bin of the histogram, in milliseconds, and the number of bins. Beyond, everything is in the last one.
const BIN_MS: f64 = 1.0;
const BINS: usize = 4_096;

/// The distribution of a delay, in milliseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct DelayTally {
    count: u64,
    sum: f64,
    squares: f64,
    bins: Vec<u32>,
}

impl DelayTally {
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
        if self.bins.is_empty() {
            self.bins.resize(BINS, 0);
        }
        let bin = (value.max(0.0) / BIN_MS) as usize;
        self.bins[bin.min(BINS - 1)] += 1;
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The mean; 0 of nothing.
    pub(crate) fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    /// The population's standard deviation.
    pub(crate) fn sd(&self) -> f64 {
        (self.squares / self.count.max(1) as f64 - self.mean().powi(2)).max(0.0).sqrt()
    }

    /// The value that this share does not exceed, to within a millisecond.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (bin, count) in self.bins.iter().enumerate() {
            below += u64::from(*count);
            if below >= rank {
                return (bin as f64 + 0.5) * BIN_MS;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tally_has_mean_deviation_and_quantiles() {
        let mut tally = DelayTally::default();
        (0..100).for_each(|value| tally.add(f64::from(value)));
        assert_eq!((tally.count(), tally.mean()), (100, 49.5));
        assert!((tally.sd() - 28.866).abs() < 0.001);
        assert!((tally.quantile(0.99) - 98.5).abs() < 1e-9);
        assert_eq!((DelayTally::default().mean(), DelayTally::default().quantile(0.5)), (0.0, 0.0));
    }
}
