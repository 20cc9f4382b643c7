//! Node clocks with an offset, a wrong rate and steps.
//!
//! Without steps, a clock shows `t + offset + floor(t * skew)`; from its time on, a step adds to that. A
//! monotonic clock never runs backwards, so a node reads the largest value shown so far: after a backward
//! step the clock stands still until it has caught up. The reading is a non-decreasing integer function of
//! true time. Its exact inverse, the earliest true time that shows at least some value, sets timers to the
//! nanosecond.

use evenkeel_core::{LocalTime, Span};

use crate::error::{LinkFaultError, ascending};
use crate::time::TrueTime;

const BILLION: i64 = 1_000_000_000;

/// The faults of a clock. The default has none and shows the true time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClockFaults {
    /// The reading at true time zero.
    pub offset: Span,
    /// How much too fast the clock runs, in parts per million (rounded to parts per billion); at most
    /// [`SKEW_PPM_MAX`](Self::SKEW_PPM_MAX) in size.
    pub skew_ppm: f64,
    /// Steps in order of time.
    pub steps: Vec<ClockStep>,
}

/// A step of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockStep {
    /// When the clock steps.
    pub at: TrueTime,
    /// How far it steps: forward, or backward if negative, in which case it stands still until it has caught
    /// up.
    pub by: Span,
}

impl ClockFaults {
    /// The largest skew: half or one and a half times the true rate.
    pub const SKEW_PPM_MAX: f64 = 500_000.0;

    /// Checks the options.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first invalid field.
    pub fn validate(&self) -> Result<(), LinkFaultError> {
        if !(-Self::SKEW_PPM_MAX..=Self::SKEW_PPM_MAX).contains(&self.skew_ppm) {
            return Err(LinkFaultError::Number { field: "skew_ppm", value: self.skew_ppm });
        }
        ascending("steps", self.steps.iter().map(|step| step.at))
    }
}

/// A clock with faults.
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
    /// The offset of a clock without other faults, which can be read without a search or a division.
    plain: Option<Span>,
    skew_ppb: i64,
    pieces: Vec<Piece>,
}

/// The clock between two steps.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: i64,
    /// The offset plus all steps so far.
    shift: i64,
    /// The largest value shown before this piece.
    shown: i64,
}

impl Default for NodeClock {
    fn default() -> Self {
        Self::new(&ClockFaults::default())
    }
}

impl NodeClock {
    /// Makes a clock with these faults.
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

    /// Returns what the clock shows at a true time. Never decreases.
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

    /// Returns the earliest true time at which the clock shows at least `local`.
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
        // The first piece that reaches this reading before it ends.
        let piece = &self.pieces[self.pieces[1..].partition_point(|piece| piece.shown < local)];
        TrueTime::from_nanos(unskewed(local.saturating_sub(piece.shift), self.skew_ppb).max(piece.from))
    }
}

impl Piece {
    fn reading(&self, at: i64, skew_ppb: i64) -> i64 {
        skewed(at, skew_ppb).saturating_add(self.shift).max(self.shown)
    }
}

/// `t + floor(t * ppb / 10^9)`, exactly. Whole seconds are computed separately so that no product exceeds 64
/// bits.
fn skewed(t: i64, ppb: i64) -> i64 {
    let (secs, nanos) = (t.div_euclid(BILLION), t.rem_euclid(BILLION));
    t.saturating_add(secs * ppb + (nanos * ppb).div_euclid(BILLION))
}

/// The smallest `t` with `skewed(t) >= reading`: `ceil(reading * 10^9 / (10^9 + ppb))`, computed like
/// `skewed`.
fn unskewed(reading: i64, ppb: i64) -> i64 {
    let rate = BILLION + ppb;
    let (secs, rest) = (reading.div_euclid(rate), reading.rem_euclid(rate));
    secs.saturating_mul(BILLION).saturating_add((rest * BILLION + rate - 1) / rate)
}
