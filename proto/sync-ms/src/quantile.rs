//! A high quantile, the least and the largest of the last samples.

use evenkeel_core::Span;

/// The last samples, in a ring.
#[derive(Clone, Debug)]
pub(crate) struct RecentSpans {
    ring: Vec<Span>,
    capacity: usize,
    next: usize,
}

/// Every so many samples, statistics are worth computing anew: they move slowly, and each visits the whole ring.
const REFRESH: usize = 8;

impl RecentSpans {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { ring: Vec::new(), capacity, next: 0 }
    }

    pub(crate) fn push(&mut self, sample: Span) {
        if self.ring.len() < self.capacity {
            self.ring.push(sample);
        } else {
            self.ring[self.next] = sample;
        }
        self.next = (self.next + 1) % self.capacity;
    }

    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether statistics should be computed anew after the last sample.
    pub(crate) fn is_due(&self) -> bool {
        self.next.is_multiple_of(REFRESH) || self.ring.len() < 4 * REFRESH
    }

    /// The sample that at most this part of the samples exceeds.
    pub(crate) fn high(&self, part_above: f64) -> Option<Span> {
        let last = self.ring.len().checked_sub(1)?;
        let above = (part_above * self.ring.len() as f64) as usize;
        let mut sorted = self.ring.clone();
        Some(*sorted.select_nth_unstable(last - above).1)
    }

    /// The mean of the last so many samples, the mean deviation from it, and the median one.
    pub(crate) fn spread_of_last(&self, count: usize) -> [Span; 3] {
        let back = |back: usize| self.ring.get((self.next + self.capacity - back) % self.capacity);
        let last: Vec<Span> = (1..=count.min(self.ring.len())).filter_map(back).copied().collect();
        let mean = mean(&last);
        let mut deviations: Vec<Span> = last.iter().map(|sample| (*sample - mean).abs()).collect();
        deviations.sort_unstable();
        let median = deviations.get(deviations.len() / 2).copied().unwrap_or(Span::ZERO);
        [mean, self::mean(&deviations), median]
    }

    pub(crate) fn least(&self) -> Option<Span> {
        self.ring.iter().copied().min()
    }

    pub(crate) fn largest(&self) -> Option<Span> {
        self.ring.iter().copied().max()
    }
}

fn mean(spans: &[Span]) -> Span {
    let sum: i128 = spans.iter().map(|span| i128::from(span.as_nanos())).sum();
    Span::from_nanos((sum / (spans.len() as i128).max(1)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_samples_count() {
        let (mut recent, nanos) = (RecentSpans::new(100), Span::from_nanos);
        assert_eq!((recent.high(0.01), recent.least()), (None, None));
        (0..250).for_each(|n| recent.push(nanos(n)));
        assert_eq!(
            (recent.least(), recent.largest(), recent.len()),
            (Some(nanos(150)), Some(nanos(249)), 100)
        );
        assert_eq!((recent.high(0.01), recent.high(0.0)), (Some(nanos(248)), Some(nanos(249))));
    }

    #[test]
    fn the_spread_is_that_of_the_last_samples() {
        let mut recent = RecentSpans::new(10);
        assert_eq!(recent.spread_of_last(4), [Span::ZERO; 3]);
        [90, 90, 1, 3, 2, 10].into_iter().for_each(|nanos| recent.push(Span::from_nanos(nanos)));
        assert_eq!(recent.spread_of_last(4), [4, 3, 3].map(Span::from_nanos));
        (0..9).for_each(|_| recent.push(Span::from_nanos(7)));
        assert_eq!(recent.spread_of_last(9), [7, 0, 0].map(Span::from_nanos));
    }
}
