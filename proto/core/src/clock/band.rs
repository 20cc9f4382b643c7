//! What is known of an offset: a lower and an upper line, and the truth between them.
//!
//! The offset is `remote - local`, a function of the local clock. Between exchanges each bound runs on at the steepest
//! rate that the exchanges so far allow, so the band widens by itself and needs no update to stay true.

use crate::time::{LocalTime, Span};

/// The greatest difference of two clocks' rates that is believed, in parts per billion: 200 ppm.
pub const SKEW_PPB_MAX: i64 = 200_000;

const BILLION: i64 = 1_000_000_000;

/// The certified interval of an offset and the best estimate in it, around some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Band {
    /// When the bounds below hold.
    pub at: LocalTime,
    /// The offset is not less.
    pub low: Span,
    /// The offset is not more.
    pub high: Span,
    /// How fast the lower bound runs, in parts per billion; at most [`SKEW_PPB_MAX`] either way, like the other.
    pub low_ppb: i64,
    /// How fast the upper bound runs.
    pub high_ppb: i64,
    /// The estimate, which lies between the bounds.
    pub best: Span,
    /// How fast the estimate runs.
    pub best_ppb: i64,
}

impl Band {
    /// An offset that is taken for exact, by an estimator that knows no bounds.
    #[must_use]
    pub const fn exact(at: LocalTime, offset: Span) -> Self {
        Self { at, low: offset, high: offset, low_ppb: 0, high_ppb: 0, best: offset, best_ppb: 0 }
    }

    /// The lower bound at a time.
    #[must_use]
    pub fn low(&self, now: LocalTime) -> Span {
        let run = now - self.at;
        self.low + drift(run, self.low_ppb).min(drift(run, self.high_ppb))
    }

    /// The upper bound at a time.
    #[must_use]
    pub fn high(&self, now: LocalTime) -> Span {
        let run = now - self.at;
        // Drifts are rounded down, and an upper bound must be rounded up.
        self.high + drift(run, self.low_ppb).max(drift(run, self.high_ppb)) + Span::from_nanos(1)
    }

    /// The estimate at a time.
    #[must_use]
    pub fn best(&self, now: LocalTime) -> Span {
        self.best + drift(now - self.at, self.best_ppb)
    }

    /// How far the estimate may be from the truth at a time.
    #[must_use]
    pub fn error_max(&self, now: LocalTime) -> Span {
        let best = self.best(now);
        (self.high(now) - best).max(best - self.low(now))
    }
}

/// How much a clock that is so much too fast gains over a span, rounded down. Whole seconds are split off so that no
/// product needs more than 64 bits.
pub(super) fn drift(run: Span, ppb: i64) -> Span {
    let (secs, nanos) = (run.as_nanos().div_euclid(BILLION), run.as_nanos().rem_euclid(BILLION));
    Span::from_nanos(secs.saturating_mul(ppb).saturating_add((nanos * ppb).div_euclid(BILLION)))
}

/// The shortest run after which a clock that is so much too fast has advanced by at least `advance`.
pub(super) fn run_for(advance: Span, ppb: i64) -> Span {
    let rate = BILLION + ppb;
    let (secs, rest) = (advance.as_nanos().div_euclid(rate), advance.as_nanos().rem_euclid(rate));
    Span::from_nanos(secs.saturating_mul(BILLION).saturating_add((rest * BILLION + rate - 1) / rate))
}
