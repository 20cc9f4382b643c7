//! What a delay has been lately: the exponential average of TCP's round-trip estimate, with its deviation.

use crate::time::Span;

/// Exponential average (gain 1/8) and mean deviation (gain 1/4) of a delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayEstimate {
    mean: Span,
    deviation: Span,
    samples: u64,
}

impl DelayEstimate {
    /// Takes a new sample into account. The first one is taken as it is.
    #[inline]
    pub fn sample(&mut self, delay: Span) {
        if self.samples == 0 {
            self.mean = delay;
        } else {
            let error = delay - self.mean;
            self.deviation += (error.abs() - self.deviation).part(4);
            self.mean += error.part(8);
        }
        self.samples = self.samples.saturating_add(1);
    }

    /// The average; zero before the first sample.
    #[must_use]
    #[inline]
    pub const fn mean(&self) -> Span {
        self.mean
    }

    /// The mean deviation from the average.
    #[must_use]
    #[inline]
    pub const fn deviation(&self) -> Span {
        self.deviation
    }

    /// How many samples it has seen.
    #[must_use]
    #[inline]
    pub const fn samples(&self) -> u64 {
        self.samples
    }
}
