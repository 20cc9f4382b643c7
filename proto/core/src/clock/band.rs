//! Bounds on a clock offset: a lower line, an upper line, and the true offset in between.
//!
//! The offset is `remote - local` as a function of the local clock. After an exchange each bound continues at
//! the steepest rate that the exchanges allow, so the band widens with time and stays valid without updates.

use crate::time::{LocalTime, Span};

/// The largest difference in rate between two clocks that is considered possible, in parts per billion: 200
/// ppm.
pub const SKEW_PPB_MAX: i64 = 200_000;

const BILLION: i64 = 1_000_000_000;

/// The certified interval of an offset and the best estimate within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Band {
    /// The time at which the bounds below hold.
    pub at: LocalTime,
    /// Lower bound of the offset.
    pub low: Span,
    /// Upper bound of the offset.
    pub high: Span,
    /// Rate of the lower bound in parts per billion, at most [`SKEW_PPB_MAX`] in size.
    pub low_ppb: i64,
    /// Rate of the upper bound.
    pub high_ppb: i64,
    /// The estimate, which lies between the bounds.
    pub best: Span,
    /// Rate of the estimate.
    pub best_ppb: i64,
}

impl Band {
    /// A band without width, for estimators that do not compute bounds.
    #[must_use]
    pub const fn exact(at: LocalTime, offset: Span) -> Self {
        Self { at, low: offset, high: offset, low_ppb: 0, high_ppb: 0, best: offset, best_ppb: 0 }
    }

    /// Returns the lower bound at a time.
    #[must_use]
    pub fn low(&self, now: LocalTime) -> Span {
        let run = now - self.at;
        self.low + drift(run, self.low_ppb).min(drift(run, self.high_ppb))
    }

    /// Returns the upper bound at a time.
    #[must_use]
    pub fn high(&self, now: LocalTime) -> Span {
        let run = now - self.at;
        // Drift is rounded down, so the upper bound needs one more nanosecond.
        self.high + drift(run, self.low_ppb).max(drift(run, self.high_ppb)) + Span::from_nanos(1)
    }

    /// Returns the estimate at a time.
    #[must_use]
    pub fn best(&self, now: LocalTime) -> Span {
        self.best + drift(now - self.at, self.best_ppb)
    }

    /// Returns how far the estimate may be from the true offset at a time.
    #[must_use]
    pub fn error_max(&self, now: LocalTime) -> Span {
        let best = self.best(now);
        (self.high(now) - best).max(best - self.low(now))
    }
}

/// How much a clock that is fast by `ppb` gains over a span, rounded down. Whole seconds are computed
/// separately so that no product exceeds 64 bits.
pub(super) fn drift(run: Span, ppb: i64) -> Span {
    let (secs, nanos) = (run.as_nanos().div_euclid(BILLION), run.as_nanos().rem_euclid(BILLION));
    Span::from_nanos(secs.saturating_mul(ppb).saturating_add((nanos * ppb).div_euclid(BILLION)))
}

/// The shortest span over which a clock that is fast by `ppb` advances by at least `advance`.
pub(super) fn run_for(advance: Span, ppb: i64) -> Span {
    let rate = BILLION + ppb;
    let (secs, rest) = (advance.as_nanos().div_euclid(rate), advance.as_nanos().rem_euclid(rate));
    Span::from_nanos(secs.saturating_mul(BILLION).saturating_add((rest * BILLION + rate - 1) / rate))
}
