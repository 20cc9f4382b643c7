//! The clock of a crank and of the tasks that timestamp arrivals for it.

use std::time::{Duration, Instant, SystemTime};

use evenkeel_core::{LocalTime, Span};

/// 2020-01-01 00:00 UTC in Unix seconds: the origin of a crank's local time.
const ORIGIN_UNIX_SECONDS: u64 = 1_577_836_800;

/// A monotonic clock. It starts at the system's time since 2020 and then follows the system's monotonic clock, so it never
/// runs backwards. Copies show the same time.
#[derive(Clone, Copy, Debug)]
pub struct LocalClock {
    start: Instant,
    start_at: LocalTime,
}

impl LocalClock {
    /// Starts a clock.
    #[must_use]
    pub fn start() -> Self {
        Self::start_since(ORIGIN_UNIX_SECONDS)
    }

    /// Starts a clock that counts from another origin, in Unix seconds.
    #[must_use]
    pub fn start_since(origin_unix_seconds: u64) -> Self {
        let origin = SystemTime::UNIX_EPOCH + Duration::from_secs(origin_unix_seconds);
        let since = SystemTime::now().duration_since(origin).unwrap_or_default();
        Self { start: Instant::now(), start_at: LocalTime::default() + span(since) }
    }

    /// Returns the current time.
    #[must_use]
    #[inline]
    pub fn now(&self) -> LocalTime {
        self.start_at + span(self.start.elapsed())
    }
}

#[inline]
fn span(duration: Duration) -> Span {
    Span::from_nanos(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}

/// Converts a span; a negative one becomes zero.
#[inline]
pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_counts_from_2020_and_never_backwards() {
        let clock = LocalClock::start();
        let mut last = clock.now();
        assert!(last.as_nanos() > Span::from_secs(6 * 365 * 86_400).as_nanos());
        for _ in 0..1_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
