//! One exchange of a probe and its echo, and who makes an estimate of many.
//!
//! Symbols, as in `docs/WIRE.md`: `t0` is `sent`, `t1` is `arrived`, `t2` is `left`, `t3` is `returned`; the offset is
//! not more than `a = t1 - t0` when the probe leaves and not less than `b = t2 - t3` when the echo returns, since
//! nothing arrives before it was sent.

use super::band::{Band, drift};
use super::frame::ClockFrame;
use crate::time::{LocalTime, SessionTime, Span};

/// Clocks that are farther apart (36 years) are no clocks, and bounding them keeps all differences in 64 bits.
const OFFSET_MAX: Span = Span::from_nanos(1 << 60);
/// How much faster than the asker's an answerer's clock may run: both may be 200 ppm off.
const HELD_PPB_MAX: i64 = 400_000;
/// What reading two clocks in whole nanoseconds may hide.
const ROUNDING: Span = Span::from_nanos(2);

/// A probe and its echo, by both clocks.
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
    /// The exchange that this echo completes; `None` if no honest answerer could have sent it, or if it is no echo.
    #[must_use]
    pub fn complete(echo: &ClockFrame, returned: LocalTime) -> Option<Self> {
        let ClockFrame::Echo { probe, arrived, held } = *echo else { return None };
        let away = returned - probe;
        if away < Span::ZERO || held < Span::ZERO || held > away + drift(away, HELD_PPB_MAX) + ROUNDING {
            return None;
        }
        let exchange = Self { sent: probe, arrived, left: arrived + held, returned };
        let is_in_range = |nanos: i64| nanos.saturating_abs() <= OFFSET_MAX.as_nanos();
        let times = [probe.as_nanos(), arrived.as_nanos(), exchange.left.as_nanos(), returned.as_nanos()];
        let bounds = [exchange.upper().as_nanos(), exchange.lower().as_nanos()];
        times.into_iter().chain(bounds).all(is_in_range).then_some(exchange)
    }

    /// a: the offset when the probe left is not more.
    #[must_use]
    pub const fn upper(&self) -> Span {
        Span::from_nanos(self.arrived.as_nanos().saturating_sub(self.sent.as_nanos()))
    }

    /// b: the offset when the echo returned is not less.
    #[must_use]
    pub const fn lower(&self) -> Span {
        Span::from_nanos(self.left.as_nanos().saturating_sub(self.returned.as_nanos()))
    }

    /// How long both ways took together.
    #[must_use]
    pub fn round_trip(&self) -> Span {
        self.upper() - self.lower()
    }
}

/// What an estimator did with an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observed {
    /// It was taken into account.
    Taken,
    /// It began before the last break, so it says nothing.
    Ignored,
    /// It contradicts what came before: a clock was stepped. All that came before is forgotten.
    Broke,
}

/// Makes an estimate of the offset to one peer out of exchanges. A clock is generic over it, so that the lab can
/// compare ours with others.
pub trait OffsetEstimator: Default {
    /// Takes an exchange into account. They come in the order of their return.
    fn observe(&mut self, exchange: &Exchange) -> Observed;
    /// What is known of the offset; `None` before the first exchange.
    fn band(&self) -> Option<Band>;
}
