//! The line that a session clock shows: it runs towards the estimate at a bounded rate, then along with it.
//!
//! It is two pieces in whole nanoseconds, each `shown + run + floor(run * rate)`: non-decreasing, and with an exact
//! inverse, the earliest local time that shows at least so much.

use super::band::{drift, run_for};
use crate::time::{LocalTime, SessionTime, Span};

/// The most that the session's time gains or loses against the local clock, and against the estimate, in parts per
/// billion: 500 ppm. Since the estimate's own rate may be 200 ppm, an error shrinks by 300 ppm at least.
pub const SLEW_PPB_MAX: i64 = 500_000;

/// What the session clock shows from some time on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slewed {
    slewing: Piece,
    /// From its beginning on.
    following: Piece,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    from: LocalTime,
    shown: SessionTime,
    ppb: i64,
}

impl Slewed {
    /// Shows this time now, and follows a rate.
    pub(super) const fn start(from: LocalTime, shown: SessionTime, ppb: i64) -> Self {
        let piece = Piece { from, shown, ppb };
        Self { slewing: piece, following: piece }
    }

    /// Goes on without a jump towards a clock that shows `target` now and has this rate.
    pub(super) fn aim(&mut self, now: LocalTime, target: SessionTime, ppb: i64) {
        let shown = self.session(now);
        let lacking = target - shown;
        let rate = if lacking > Span::ZERO {
            SLEW_PPB_MAX.min(ppb + SLEW_PPB_MAX)
        } else {
            (-SLEW_PPB_MAX).max(ppb - SLEW_PPB_MAX)
        };
        // Rounded down, so that it does not overshoot.
        let needed = i128::from(lacking.as_nanos()) * 1_000_000_000 / i128::from(rate - ppb);
        let until = now + Span::from_nanos(i64::try_from(needed).unwrap_or(i64::MAX));
        self.slewing = Piece { from: now, shown, ppb: rate };
        self.following = Piece { from: until, shown: self.slewing.session(until), ppb };
    }

    /// What is shown at a local time.
    pub(super) fn session(&self, now: LocalTime) -> SessionTime {
        if now < self.following.from { self.slewing.session(now) } else { self.following.session(now) }
    }

    /// The earliest local time at which at least this is shown.
    pub(super) fn local(&self, at: SessionTime) -> LocalTime {
        if at <= self.following.shown { self.slewing.local(at) } else { self.following.local(at) }
    }
}

impl Piece {
    fn session(&self, now: LocalTime) -> SessionTime {
        let run = now - self.from;
        self.shown + run + drift(run, self.ppb)
    }

    fn local(&self, at: SessionTime) -> LocalTime {
        self.from + run_for(at - self.shown, self.ppb)
    }
}
