//! What a node's clock shows: an offset, a wrong rate, and steps.
//!
//! Before steps, a clock shows `t + offset + floor(t * skew)`. A step adds to that from its time on. A
//! monotonic clock never runs backwards, so what a node reads is the greatest value shown so far: a backward
//! step makes its clock stand still until it has caught up. That reading is non-decreasing and computed in
//! integers, so it has an exact inverse, the earliest true time at which the clock shows at least some value;
//! timers are set by it and never fire a nanosecond early.

use evenkeel_core::{LocalTime, Span};

use crate::error::{LinkFaultError, ascending};
use crate::time::TrueTime;

const BILLION: i64 = 1_000_000_000;

/// What is wrong with a clock. By default nothing is: it shows the true time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClockFaults {
    /// What it shows at true time zero.
    pub offset: Span,
    /// How much too fast it runs, in parts per million (rounded to parts per billion); at most
    /// [`SKEW_PPM_MAX`](Self::SKEW_PPM_MAX) either way.
    pub skew_ppm: f64,
    /// Jumps, in order of time.
    pub steps: Vec<ClockStep>,
}

/// A jump of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockStep {
    /// When.
    pub at: TrueTime,
    /// How far: forward, or if negative, backward (the clock then stands still until it has caught up).
    pub by: Span,
}

impl ClockFaults {
    /// The greatest skew: a clock that runs at half or at one and a half times its rate.
    pub const SKEW_PPM_MAX: f64 = 500_000.0;

    /// Checks that the options make sense.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first field that does not.
    pub fn validate(&self) -> Result<(), LinkFaultError> {
        if !(-Self::SKEW_PPM_MAX..=Self::SKEW_PPM_MAX).contains(&self.skew_ppm) {
            return Err(LinkFaultError::Number { field: "skew_ppm", value: self.skew_ppm });
        }
        ascending("steps", self.steps.iter().map(|step| step.at))
    }
}

/// A clock with faults, ready to be read.
///
/// ```
/// use evenkeel_core::{LocalTime, Span};
/// use evenkeel_link::{ClockFaults, NodeClock, TrueTime};
///
/// let clock = NodeClock::new(&ClockFaults { skew_ppm: 100.0, ..ClockFaults::default() });
/// let second = TrueTime::from_nanos(1_000_000_000);
/// assert_eq!(clock.local(second), LocalTime::from_nanos(1_000_100_000));
/// assert_eq!(clock.true_time(LocalTime::from_nanos(1_000_100_000)), second);
/// ```
#[derive(Clone, Debug)]
pub struct NodeClock {
    /// Offset of a clock that has no other fault, which needs no search and no division.
    plain: Option<Span>,
    skew_ppb: i64,
    pieces: Vec<Piece>,
}

/// The clock between two steps.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: i64,
    /// Offset and all steps so far.
    shift: i64,
    /// The greatest value shown before this piece.
    shown: i64,
}

impl Default for NodeClock {
    fn default() -> Self {
        Self::new(&ClockFaults::default())
    }
}

impl NodeClock {
    /// A clock with these faults.
    ///
    /// # Panics
    /// If the faults do not [validate](ClockFaults::validate).
    #[must_use]
    pub fn new(faults: &ClockFaults) -> Self {
        faults.validate().unwrap_or_else(|error| panic!("clock faults {faults:?}: {error}"));
        let skew_ppb = (faults.skew_ppm * 1e3).round() as i64;
        let mut last = Piece { from: i64::MIN, shift: faults.offset.as_nanos(), shown: i64::MIN };
        let mut pieces = vec![last];
        for step in &faults.steps {
            let from = step.at.as_nanos();
            last = Piece {
                from,
                shift: last.shift.saturating_add(step.by.as_nanos()),
                shown: last.reading(from.saturating_sub(1), skew_ppb),
            };
            pieces.push(last);
        }
        let plain = (skew_ppb == 0 && faults.steps.is_empty()).then_some(faults.offset);
        Self { plain, skew_ppb, pieces }
    }

    /// What the clock shows at a true time. Never decreases.
    #[must_use]
    #[inline]
    pub fn local(&self, at: TrueTime) -> LocalTime {
        let at = at.as_nanos();
        match self.plain {
            Some(offset) => LocalTime::from_nanos(at) + offset,
            None => self.local_by_piece(at),
        }
    }

    fn local_by_piece(&self, at: i64) -> LocalTime {
        let piece = self.pieces[1..].partition_point(|piece| piece.from <= at);
        LocalTime::from_nanos(self.pieces[piece].reading(at, self.skew_ppb))
    }

    /// The earliest true time at which the clock shows at least `local`.
    #[must_use]
    #[inline]
    pub fn true_time(&self, local: LocalTime) -> TrueTime {
        let local = local.as_nanos();
        match self.plain {
            Some(offset) => TrueTime::from_nanos(local) - offset,
            None => self.true_time_by_piece(local),
        }
    }

    fn true_time_by_piece(&self, local: i64) -> TrueTime {
        // The first piece by whose end the clock has shown as much.
        let piece = &self.pieces[self.pieces[1..].partition_point(|piece| piece.shown < local)];
        TrueTime::from_nanos(unskewed(local.saturating_sub(piece.shift), self.skew_ppb).max(piece.from))
    }
}

impl Piece {
    fn reading(&self, at: i64, skew_ppb: i64) -> i64 {
        skewed(at, skew_ppb).saturating_add(self.shift).max(self.shown)
    }
}

/// `t + floor(t * ppb / 10^9)`, exactly; whole seconds are split off so that no product needs more than 64
/// bits.
fn skewed(t: i64, ppb: i64) -> i64 {
    let (secs, nanos) = (t.div_euclid(BILLION), t.rem_euclid(BILLION));
    t.saturating_add(secs * ppb + (nanos * ppb).div_euclid(BILLION))
}

/// The smallest `t` with `skewed(t) >= reading`: `ceil(reading * 10^9 / (10^9 + ppb))`, split up in the same
/// way.
fn unskewed(reading: i64, ppb: i64) -> i64 {
    let rate = BILLION + ppb;
    let (secs, rest) = (reading.div_euclid(rate), reading.rem_euclid(rate));
    secs.saturating_mul(BILLION).saturating_add((rest * BILLION + rate - 1) / rate)
}
