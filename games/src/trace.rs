//! Recorded tanks: real motion from a game's dead-reckoning updates.
//!
//! A recording is sparse. Cubic Hermite curves join the rows of a tank while it is alive. A death, or a gap
//! of more than [`GAP_MAX`], ends a life, and the next alive row begins another. A life needs at least two
//! rows at different times; a single one says nothing about motion and is dropped. A tank exists from the
//! first to the last row of a life, both included.
//!
//! A recording repeats for ever, with new lives in each repetition. The period is the last time stamp of the
//! whole file, for all of its tanks. Times are whole nanoseconds, so the repetition is exact.

mod error;
mod hermite;
mod parse;

use std::sync::Arc;

use evenkeel_core::Span;

use crate::motion::Sample;
pub use error::{FieldProblem, TraceError};
use hermite::CurveEnd;
pub use hermite::{SPEED_SLOW, TRACE_TURN_RATE_MAX};
pub use parse::{BYTES_MAX, COORDINATE_MAX, ROWS_MAX, TIME_MAX};

/// The longest time between two rows of one life.
pub const GAP_MAX: Span = Span::from_secs(2);

/// Number of rows that a cursor passes one by one before it searches.
const WALK_MAX: usize = 8;

/// An alive row. The rows of a tank are in order of time.
#[derive(Clone, Copy, Debug)]
struct Row {
    at: Span,
    end: CurveEnd,
    /// The number of its life within a repetition, from 0.
    life: u64,
}

/// A recording of one or more tanks.
#[derive(Clone, Debug)]
pub struct Trace {
    numbers: Vec<u32>,
    /// In the order of `numbers`.
    tanks: Vec<TankTrace>,
}

impl Trace {
    /// Parses a recording from the text of a CSV file.
    ///
    /// The first line names the columns, in any order. `t_s`, `tank`, `status` (bit 0: alive), `x`, `y`, `z`,
    /// `vx`, `vy`, `vz` and `turn_rate_rad_s` are required; others are ignored. The recorded turn rate must
    /// be a number but is not used, because a tank's state is that of the curve it moves on.
    ///
    /// # Errors
    /// [`TraceError`] with the line, the column and the problem.
    pub fn parse(csv: &str) -> Result<Self, TraceError> {
        parse::trace(csv, ROWS_MAX)
    }

    /// Returns the numbers of the tanks that live at least once, in ascending order.
    #[must_use]
    pub fn tanks(&self) -> &[u32] {
        &self.numbers
    }

    /// Returns the tank with this number, or `None` if it never lives in this recording.
    #[must_use]
    pub fn tank(&self, number: u32) -> Option<TankTrace> {
        let index = self.numbers.binary_search(&number).ok()?;
        Some(self.tanks[index].clone())
    }
}

/// One tank of a recording. Clones share the rows.
#[derive(Clone, Debug)]
pub struct TankTrace {
    /// Never empty.
    rows: Arc<[Row]>,
    length: Span,
}

impl TankTrace {
    /// Returns the number of its lives in one repetition.
    #[must_use]
    pub fn lives(&self) -> u64 {
        self.rows[self.rows.len() - 1].life + 1
    }

    /// Returns the length of the recording, after which it repeats.
    #[must_use]
    pub const fn length(&self) -> Span {
        self.length
    }

    /// Returns the motion at a time since the start, to the nearest nanosecond, or `None` while the tank is
    /// dead and before the start. Each call searches; a [`Cursor`] does not.
    #[must_use]
    pub fn sample(&self, seconds: f64) -> Option<Sample> {
        let (at, repetition) = self.wrap(Span::from_secs_f64(seconds))?;
        self.motion(self.search(at)?, at, repetition)
    }

    /// Returns a cursor at the start of the recording.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        Cursor { tank: self.clone(), row: 0 }
    }

    /// Splits a time into the time within the recording and the number of complete repetitions.
    fn wrap(&self, since_start: Span) -> Option<(Span, u64)> {
        let nanos = u64::try_from(since_start.as_nanos()).ok()?;
        let length = self.length.as_nanos().unsigned_abs();
        let within = i64::try_from(nanos % length).ok()?;
        Some((Span::from_nanos(within), nanos / length))
    }

    /// Returns the last row at or before this time.
    fn search(&self, at: Span) -> Option<usize> {
        self.rows.partition_point(|row| row.at <= at).checked_sub(1)
    }

    /// Returns the motion at a time, given the index of the last row at or before it.
    fn motion(&self, index: usize, at: Span, repetition: u64) -> Option<Sample> {
        let row = self.rows[index];
        let joined = |next: &&Row| next.life == row.life;
        let (a, b) = match self.rows.get(index + 1).filter(joined) {
            Some(next) => (row, *next),
            // The last row belongs to its life, but the time after it does not.
            None if at == row.at => (self.rows[index - 1], row),
            None => return None,
        };
        let seconds = (b.at - a.at).as_secs_f64();
        let part = (at - a.at).as_secs_f64() / seconds;
        let state = hermite::motion(a.end, b.end, seconds, part);
        // A life takes at least a nanosecond, so this number is below that of the nanoseconds passed and
        // cannot overflow.
        Some(Sample { life: repetition * self.lives() + row.life, state })
    }
}

/// Samples a tank in constant time, if times mostly do not decrease: it passes the rows since the last
/// sample. For any other time it searches, with the same result.
#[derive(Clone, Debug)]
pub struct Cursor {
    tank: TankTrace,
    /// The last row at or before the time of the last sample, or the first row.
    row: usize,
}

impl Cursor {
    /// Returns the motion at a time since the start, exactly like [`TankTrace::sample`].
    pub fn sample(&mut self, seconds: f64) -> Option<Sample> {
        self.sample_at(Span::from_secs_f64(seconds))
    }

    pub(crate) fn sample_at(&mut self, since_start: Span) -> Option<Sample> {
        let (at, repetition) = self.tank.wrap(since_start)?;
        self.row = match self.walk(at) {
            Some(row) => row,
            None => self.tank.search(at)?,
        };
        self.tank.motion(self.row, at, repetition)
    }

    /// Returns the last row at or before this time, if it is near.
    fn walk(&self, at: Span) -> Option<usize> {
        let rows = &self.tank.rows[self.row..];
        if rows[0].at > at {
            return None;
        }
        let passed = rows.iter().skip(1).take(WALK_MAX).take_while(|row| row.at <= at).count();
        (passed < WALK_MAX).then_some(self.row + passed)
    }
}
