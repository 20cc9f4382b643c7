//! The paper's estimate of delays and of the time between actions (section 6.1.3).

use evenkeel_core::{DelayEstimate, SessionTime, Span};

/// How far above the mean the estimate lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DelayMargin {
    /// 1, 2 or 4 mean deviations, by how far off the newest sample was: Sync-in.
    Adaptive,
    /// 4 mean deviations: Sync-out.
    Widest,
}

/// An exponential average with a margin of some mean deviations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MarginEstimate {
    estimate: DelayEstimate,
    /// The paper's N for the newest sample.
    scale: i64,
}

impl MarginEstimate {
    pub(crate) fn sample(&mut self, value: Span) {
        // N compares the newest deviation with the average before it.
        let (deviation, newest) = (self.estimate.deviation(), (value - self.estimate.mean()).abs());
        self.scale = match newest {
            _ if self.estimate.samples() == 0 => 1,
            newest if newest > deviation => 4,
            newest if newest.times(2) >= deviation => 2,
            _ => 1,
        };
        self.estimate.sample(value);
    }

    fn margin(&self, margin: DelayMargin) -> Span {
        let scale = match margin {
            DelayMargin::Adaptive => self.scale,
            DelayMargin::Widest => 4,
        };
        self.estimate.deviation().times(scale)
    }

    /// The mean, once there is a sample.
    pub(crate) fn mean(&self) -> Option<Span> {
        (self.estimate.samples() > 0).then(|| self.estimate.mean())
    }

    /// The mean plus the margin, once there is a sample.
    pub(crate) fn high(&self, margin: DelayMargin) -> Option<Span> {
        (self.estimate.samples() > 0).then(|| self.estimate.mean() + self.margin(margin))
    }

    /// The mean minus the margin, once there is a sample.
    pub(crate) fn low(&self, margin: DelayMargin) -> Option<Span> {
        (self.estimate.samples() > 0).then(|| self.estimate.mean() - self.margin(margin))
    }
}

/// A delay that falls at once and rises slowly, so that nobody makes the others wait by a sudden claim.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RisingDelay {
    delay: Span,
    at: Option<SessionTime>,
}

impl RisingDelay {
    /// The delay now, where this one is wanted, and it rises by so much in a second at most.
    pub(crate) fn at(&mut self, now: SessionTime, wanted: Span, rise: Span) -> Span {
        let elapsed = self.at.replace(now).map_or(Span::ZERO, |at| now - at).clamp(Span::ZERO, SECOND);
        let by = i128::from(rise.as_nanos()) * i128::from(elapsed.as_nanos()) / i128::from(SECOND.as_nanos());
        self.delay = wanted.min(self.delay + Span::from_nanos(by as i64)).max(Span::ZERO);
        self.delay
    }
}

const SECOND: Span = Span::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_follows_the_newest_sample() {
        let millis = Span::from_millis;
        let mut estimate = MarginEstimate::default();
        assert_eq!(estimate.high(DelayMargin::Widest), None);
        estimate.sample(millis(10));
        assert_eq!(estimate.high(DelayMargin::Adaptive), Some(millis(10)));
        // 8 ms off: the deviation becomes 2 ms, the mean 11 ms. 8 is more than the deviation before: N = 4.
        estimate.sample(millis(18));
        assert_eq!(estimate.high(DelayMargin::Adaptive), Some(millis(11 + 4 * 2)));
        // 1 ms off, exactly half of the deviation: N = 2; the deviation becomes 1.75 ms.
        estimate.sample(millis(12));
        let mean = Span::from_nanos(11_125_000);
        assert_eq!(estimate.high(DelayMargin::Adaptive), Some(mean + Span::from_nanos(3_500_000)));
        assert_eq!(estimate.high(DelayMargin::Widest), Some(mean + millis(7)));
        assert_eq!(estimate.low(DelayMargin::Widest), Some(mean - millis(7)));
        // Not off at all: N = 1.
        estimate.sample(mean);
        assert_eq!(estimate.high(DelayMargin::Adaptive), Some(mean + Span::from_nanos(1_312_500)));
    }

    #[test]
    fn a_delay_that_is_made_up_for_rises_slowly_and_falls_at_once() {
        let (at, millis) = (|millis: i64| SessionTime::from_nanos(millis * 1_000_000), Span::from_millis);
        let mut rising = RisingDelay::default();
        let mut delay = |now: i64, wanted: i64| rising.at(at(now), millis(wanted), millis(10));
        assert_eq!(delay(0, 80), Span::ZERO);
        assert_eq!([delay(500, 80), delay(1_000, 80), delay(1_100, 3)], [millis(5), millis(10), millis(3)]);
        assert_eq!(delay(60_000, 80), millis(13), "a pause does not count for more than a second");
    }
}
