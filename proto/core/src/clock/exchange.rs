//! An exchange of a probe and its echo, and the interface of estimators that combine many of them.
//!
//! Symbols, as in `docs/WIRE.md`: `t0` is `sent`, `t1` is `arrived`, `t2` is `left`, `t3` is `returned`.
//! Nothing arrives before it was sent, so the offset is at most `a = t1 - t0` when the probe leaves and at
//! least `b = t2 - t3` when the echo returns.

use super::band::{Band, drift};
use super::frame::ClockFrame;
use crate::time::{LocalTime, SessionTime, Span};

/// Offsets beyond this (36 years) are rejected, which keeps all differences within 64 bits.
const OFFSET_MAX: Span = Span::from_nanos(1 << 60);
/// How much faster than the asker's clock the answerer's may run: both may be off by 200 ppm.
const HELD_PPB_MAX: i64 = 400_000;
/// Rounding error of reading two clocks in whole nanoseconds.
const ROUNDING: Span = Span::from_nanos(2);

/// The four timestamps of a probe and its echo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// t0: when the probe left, by the asker's clock.
    pub sent: LocalTime,
    /// t1: when it arrived, by the answerer's clock.
    pub arrived: SessionTime,
    /// t2: when the echo left, by the answerer's clock.
    pub left: SessionTime,
    /// t3: when it returned, by the asker's clock.
    pub returned: LocalTime,
}

impl Exchange {
    /// Returns the exchange that this echo completes, or `None` if no honest answerer could have sent it.
    #[must_use]
    pub fn complete(echo: &ClockFrame, returned: LocalTime) -> Option<Self> {
        let ClockFrame::Echo { probe, arrived, held } = *echo else { return None };
        let elapsed = returned - probe;
        if elapsed < Span::ZERO
            || held < Span::ZERO
            || held > elapsed + drift(elapsed, HELD_PPB_MAX) + ROUNDING
        {
            return None;
        }
        let exchange = Self { sent: probe, arrived, left: arrived + held, returned };
        let is_in_range = |nanos: i64| nanos.saturating_abs() <= OFFSET_MAX.as_nanos();
        let times = [probe.as_nanos(), arrived.as_nanos(), exchange.left.as_nanos(), returned.as_nanos()];
        let bounds = [exchange.upper().as_nanos(), exchange.lower().as_nanos()];
        times.into_iter().chain(bounds).all(is_in_range).then_some(exchange)
    }

    /// a: upper bound of the offset when the probe left.
    #[must_use]
    pub const fn upper(&self) -> Span {
        Span::from_nanos(self.arrived.as_nanos().saturating_sub(self.sent.as_nanos()))
    }

    /// b: lower bound of the offset when the echo returned.
    #[must_use]
    pub const fn lower(&self) -> Span {
        Span::from_nanos(self.left.as_nanos().saturating_sub(self.returned.as_nanos()))
    }

    /// Returns the travel time of both ways together.
    #[must_use]
    pub fn round_trip(&self) -> Span {
        self.upper() - self.lower()
    }
}

/// What an estimator did with an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observed {
    /// The exchange was used.
    Taken,
    /// The exchange began before the last break and carries no information.
    Ignored,
    /// The exchange contradicts earlier ones, so a clock was stepped (a break). The estimator dropped
    /// everything before.
    Broke,
}

/// Estimates the offset to one peer from exchanges. Clocks are generic over it, so that the lab can compare
/// estimators.
pub trait OffsetEstimator: Default {
    /// Adds an exchange. Exchanges are added in the order of their return.
    fn observe(&mut self, exchange: &Exchange) -> Observed;
    /// Returns the current bounds and estimate, or `None` before the first exchange.
    fn band(&self) -> Option<Band>;
}
