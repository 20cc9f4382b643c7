//! What a delay has been lately: the exponential average of TCP's round-trip estimate, with its deviation.

use crate::time::Span;

/// Exponential average (gain 1/8) and mean deviation (gain 1/4) of a delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayEstimate {
    mean: Span,
    deviation: Span,
    samples: u64,
}

/// Below so many nanoseconds, 36 years, nothing of an estimate comes near the end of all numbers.
const TAME: u64 = 1 << 60;

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

    /// The same sample comes so many times. `seen` is told the average and the deviation after each.
    #[inline]
    pub fn sample_again(&mut self, delay: Span, count: u32, mut seen: impl FnMut(Span, Span)) {
        let (delay, mut mean, mut deviation) =
            (delay.as_nanos(), self.mean.as_nanos(), self.deviation.as_nanos());
        if self.samples == 0 || [delay, mean, deviation].iter().any(|nanos| nanos.unsigned_abs() >= TAME) {
            for _ in 0..count {
                self.sample(Span::from_nanos(delay));
                seen(self.mean, self.deviation);
            }
            return;
        }
        // The average stays between what it is and the delay, and the deviation between what it is and their distance.
        for _ in 0..count {
            let error = delay - mean;
            deviation += (error.abs() - deviation) / 4;
            mean += error / 8;
            seen(Span::from_nanos(mean), Span::from_nanos(deviation));
        }
        (self.mean, self.deviation) = (Span::from_nanos(mean), Span::from_nanos(deviation));
        self.samples = self.samples.saturating_add(count.into());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_sample_many_times_over_counts_as_if_it_came_one_at_a_time() {
        let delays = [5, -7, 900_000_000, 0, i64::MAX, i64::MIN, 3, 40_000_000, 41_000_000];
        for start in 0..delays.len() {
            let (mut all, mut each) = (DelayEstimate::default(), DelayEstimate::default());
            for (count, delay) in (0..).zip(delays[start..].iter().map(|delay| Span::from_nanos(*delay))) {
                let (mut seen, mut known) = (Vec::new(), Vec::new());
                all.sample_again(delay, count, |mean, deviation| seen.push((mean, deviation)));
                (0..count).for_each(|_| {
                    each.sample(delay);
                    known.push((each.mean(), each.deviation()));
                });
                assert_eq!((seen, all.samples()), (known, each.samples()));
            }
        }
    }
}
