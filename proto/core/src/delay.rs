//! A running estimate of a delay, computed like TCP's round-trip time (RFC 6298).

use crate::time::Span;

/// Exponential average (gain 1/8) and mean deviation (gain 1/4) of a delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayEstimate {
    mean: Span,
    deviation: Span,
    samples: u64,
}

impl DelayEstimate {
    /// Adds a sample. The first one becomes the average.
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

    /// Returns the average, or zero before the first sample.
    #[must_use]
    #[inline]
    pub const fn mean(&self) -> Span {
        self.mean
    }

    /// Returns the mean deviation from the average.
    #[must_use]
    #[inline]
    pub const fn deviation(&self) -> Span {
        self.deviation
    }

    /// Returns the number of samples so far.
    #[must_use]
    #[inline]
    pub const fn samples(&self) -> u64 {
        self.samples
    }
}
