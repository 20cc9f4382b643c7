//! The clock of a crank, and of whoever stamps arrivals for it.

use std::time::{Duration, Instant, SystemTime};

use evenkeel_core::{LocalTime, Span};

/// 2020-01-01 00:00 UTC in seconds since 1970: the origin of a crank's local time.
const ORIGIN_UNIX_SECONDS: u64 = 1_577_836_800;

/// A monotonic clock: nanoseconds since 2020 when it was started, and from then on what the system's monotonic clock
/// adds. It never runs backwards, whatever happens to the system's time. Copies show the same time.
#[derive(Clone, Copy, Debug)]
pub struct LocalClock {
    start: Instant,
    start_at: LocalTime,
}

impl LocalClock {
    /// Starts a clock.
    #[must_use]
    pub fn start() -> Self {
        let origin = SystemTime::UNIX_EPOCH + Duration::from_secs(ORIGIN_UNIX_SECONDS);
        let since = SystemTime::now().duration_since(origin).unwrap_or_default();
        Self { start: Instant::now(), start_at: LocalTime::default() + span(since) }
    }

    /// What it shows.
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

/// A span as the standard library has it; a negative one is zero.
#[inline]
pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_from_2020_and_never_backwards() {
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
