//! The line that a session clock shows: it approaches the estimate at a bounded rate, then follows it.
//!
//! The line consists of two pieces in whole nanoseconds, each `shown + run + floor(run * rate)`. It never
//! decreases and has an exact inverse: the earliest local time that shows at least a given time.

use super::band::{drift, run_for};
use crate::time::{LocalTime, SessionTime, Span};

/// The largest rate of the session time against the local clock, in parts per billion: 500 ppm. The
/// estimate's own rate may be 200 ppm, so an error shrinks by at least 300 ppm.
pub const SLEW_PPB_MAX: i64 = 500_000;

/// What the session clock shows from some time on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slewed {
    slewing: Piece,
    /// Takes over where it begins.
    following: Piece,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    from: LocalTime,
    shown: SessionTime,
    ppb: i64,
}

impl Slewed {
    /// Shows `shown` at `from` and then follows a rate.
    pub(super) const fn start(from: LocalTime, shown: SessionTime, ppb: i64) -> Self {
        let piece = Piece { from, shown, ppb };
        Self { slewing: piece, following: piece }
    }

    /// Turns, without a jump, towards a clock that shows `target` now and runs at this rate.
    pub(super) fn aim(&mut self, now: LocalTime, target: SessionTime, ppb: i64) {
        let shown = self.session(now);
        let correction = target - shown;
        let rate = if correction > Span::ZERO {
            SLEW_PPB_MAX.min(ppb + SLEW_PPB_MAX)
        } else {
            (-SLEW_PPB_MAX).max(ppb - SLEW_PPB_MAX)
        };
        // Rounded down, so that the line does not overshoot.
        let needed = i128::from(correction.as_nanos()) * 1_000_000_000 / i128::from(rate - ppb);
        let until = now + Span::from_nanos(i64::try_from(needed).unwrap_or(i64::MAX));
        self.slewing = Piece { from: now, shown, ppb: rate };
        self.following = Piece { from: until, shown: self.slewing.session(until), ppb };
    }

    /// Returns the time shown at a local time.
    pub(super) fn session(&self, now: LocalTime) -> SessionTime {
        if now < self.following.from { self.slewing.session(now) } else { self.following.session(now) }
    }

    /// Returns the earliest local time that shows at least this session time.
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
