//! Recorded tanks: real motion from a game's dead-reckoning updates.
//!
//! A recording is sparse. While a tank is alive its rows are joined by cubic Hermite curves; a death or a gap of more
//! than [`GAP_MAX`] ends a life, and the next alive row begins another. A life is at least two rows at different times:
//! a single one says nothing about motion and is dropped. A tank is there from the first to the last row of a life, both
//! included.
//!
//! A recording repeats for ever: time is taken modulo the last time stamp of the whole file, the same for all its
//! tanks, and each repetition consists of new lives. Times are whole nanoseconds, so the modulus is exact.

mod error;
mod hermite;
mod parse;

use std::sync::Arc;

use evenkeel_core::Span;

use crate::motion::Sample;
pub use error::{FieldProblem, TraceError};
use hermite::End;
pub use hermite::{SPEED_SLOW, TRACE_TURN_RATE_MAX};
pub use parse::{BYTES_MAX, COORDINATE_MAX, ROWS_MAX, TIME_MAX};

/// The longest time between two rows of one life.
pub const GAP_MAX: Span = Span::from_secs(2);

/// How many rows a cursor passes one by one before it searches.
const WALK_MAX: usize = 8;

/// An alive row; those of one tank are in order of time.
#[derive(Clone, Copy, Debug)]
struct Row {
    at: Span,
    end: End,
    /// Which life of one repetition, from 0.
    life: u64,
}

/// A recording of one or more tanks.
#[derive(Clone, Debug)]
pub struct Trace {
    numbers: Vec<u32>,
    /// In the order of the numbers.
    tanks: Vec<TankTrace>,
}

impl Trace {
    /// Reads a recording from the text of a CSV file.
    ///
    /// The first line names the columns, in any order; needed are `t_s`, `tank`, `status` (bit 0: alive), `x`, `y`, `z`,
    /// `vx`, `vy`, `vz` and `turn_rate_rad_s`, and others are ignored. The recorded turn rate has to be a number but
    /// is not used: a tank's state is that of the curve it moves on.
    ///
    /// # Errors
    /// [`TraceError`] with the line, the column and what is wrong there.
    pub fn parse(csv: &str) -> Result<Self, TraceError> {
        parse::trace(csv, ROWS_MAX)
    }

    /// The numbers of the tanks that live at least once, in ascending order.
    #[must_use]
    pub fn tanks(&self) -> &[u32] {
        &self.numbers
    }

    /// The tank with this number; `None` if it never lives in this recording.
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
    /// How many lives it has in one repetition of the recording.
    #[must_use]
    pub fn lives(&self) -> u64 {
        self.rows[self.rows.len() - 1].life + 1
    }

    /// How long the recording is; after that it repeats.
    #[must_use]
    pub const fn length(&self) -> Span {
        self.length
    }

    /// The motion at this many seconds, to the nearest nanosecond, since the recording began; `None` where the tank is
    /// dead, and before the beginning. Searches anew each time; a [`Cursor`] does not.
    #[must_use]
    pub fn sample(&self, seconds: f64) -> Option<Sample> {
        let (at, repetition) = self.place(Span::from_secs_f64(seconds))?;
        self.motion(self.search(at)?, at, repetition)
    }

    /// A cursor at the beginning of the recording.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        Cursor { tank: self.clone(), row: 0 }
    }

    /// The time within the recording, and how many repetitions are over.
    fn place(&self, since_start: Span) -> Option<(Span, u64)> {
        let nanos = u64::try_from(since_start.as_nanos()).ok()?;
        let length = self.length.as_nanos().unsigned_abs();
        let within = i64::try_from(nanos % length).ok()?;
        Some((Span::from_nanos(within), nanos / length))
    }

    /// The last row that is not after this time.
    fn search(&self, at: Span) -> Option<usize> {
        self.rows.partition_point(|row| row.at <= at).checked_sub(1)
    }

    /// The motion at a time of which `index` is the last row that is not after it.
    fn motion(&self, index: usize, at: Span, repetition: u64) -> Option<Sample> {
        let row = self.rows[index];
        let joined = |next: &&Row| next.life == row.life;
        let (a, b) = match self.rows.get(index + 1).filter(joined) {
            Some(next) => (row, *next),
            // The last row of a life belongs to it, and the time after it does not.
            None if at == row.at => (self.rows[index - 1], row),
            None => return None,
        };
        let seconds = (b.at - a.at).as_secs_f64();
        let part = (at - a.at).as_secs_f64() / seconds;
        let state = hermite::motion(a.end, b.end, seconds, part);
        // Each life takes a nanosecond or more, so this number stays below that of the nanoseconds passed.
        Some(Sample { life: repetition * self.lives() + row.life, state })
    }
}

/// Samples a tank at times that mostly do not decrease, in constant time each: it starts where it was and passes the
/// rows in between. Any other time is found by a search, with the same result.
#[derive(Clone, Debug)]
pub struct Cursor {
    tank: TankTrace,
    /// The last row that was not after the last sample's time, or the first row.
    row: usize,
}

impl Cursor {
    /// The motion at this many seconds since the recording began, exactly as [`TankTrace::sample`] has it.
    pub fn sample(&mut self, seconds: f64) -> Option<Sample> {
        self.sample_at(Span::from_secs_f64(seconds))
    }

    pub(crate) fn sample_at(&mut self, since_start: Span) -> Option<Sample> {
        let (at, repetition) = self.tank.place(since_start)?;
        self.row = match self.walk(at) {
            Some(row) => row,
            None => self.tank.search(at)?,
        };
        self.tank.motion(self.row, at, repetition)
    }

    /// The last row that is not after this time, if it is near.
    fn walk(&self, at: Span) -> Option<usize> {
        let rows = &self.tank.rows[self.row..];
        if rows[0].at > at {
            return None;
        }
        let passed = rows.iter().skip(1).take(WALK_MAX).take_while(|row| row.at <= at).count();
        (passed < WALK_MAX).then_some(self.row + passed)
    }
}
