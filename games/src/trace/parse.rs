//! The CSV parser of recordings. It trusts nothing.
//!
//! Fields are numbers, so there is no quoting: a comma always ends a field. Blank lines, spaces around
//! fields, a byte order mark and Windows line ends are accepted.

use std::collections::BTreeMap;

use evenkeel_core::{Span, Vec3};

use super::error::{FieldProblem, TraceError};
use super::hermite::CurveEnd;
use super::{GAP_MAX, Row, TankTrace, Trace};

/// The longest text, in bytes.
pub const BYTES_MAX: usize = 1 << 30;
/// The largest number of rows.
pub const ROWS_MAX: usize = 10_000_000;
/// The latest time stamp, in seconds: eleven days. Recordings count from their own start, not from 1970.
pub const TIME_MAX: f64 = 1e6;
/// The largest coordinate of a position or velocity in size. It keeps every sample finite.
pub const COORDINATE_MAX: f64 = 1e9;

const TANK_MAX: u32 = 65_535;
/// Number of characters of an invalid field that an error shows.
const SHOWN_MAX: usize = 40;
const COLUMNS: usize = 10;

/// The required columns.
pub(super) const REQUIRED: [&str; COLUMNS] =
    ["t_s", "tank", "status", "x", "y", "z", "vx", "vy", "vz", "turn_rate_rad_s"];

/// Parses a recording of at most `rows_max` rows.
pub(super) fn trace(csv: &str, rows_max: usize) -> Result<Trace, TraceError> {
    if csv.len() > BYTES_MAX {
        return Err(TraceError::TooLong { bytes: csv.len() });
    }
    let text = csv.strip_prefix('\u{feff}').unwrap_or(csv);
    let mut lines = text.lines().enumerate().map(|(index, text)| Line { number: index + 1, text });
    let header = loop {
        let line = lines.next().ok_or(TraceError::Empty)?;
        line.check_text()?;
        if !line.is_blank() {
            break Header::parse(line)?;
        }
    };
    let mut tanks: BTreeMap<u32, Recording> = BTreeMap::new();
    let (mut rows, mut alive, mut length) = (0, false, Span::ZERO);
    for line in lines {
        line.check_text()?;
        if line.is_blank() {
            continue;
        }
        rows += 1;
        if rows > rows_max {
            return Err(TraceError::TooManyRows { line: line.number, rows_max });
        }
        let update = header.update(line)?;
        alive |= update.alive;
        length = length.max(update.at);
        tanks.entry(update.tank).or_default().take(update, line.number)?;
    }
    if !alive {
        return Err(TraceError::NoAliveRow);
    }
    let mut trace = Trace { numbers: Vec::new(), tanks: Vec::new() };
    for (number, mut recording) in tanks {
        recording.end_life();
        if !recording.rows.is_empty() {
            trace.numbers.push(number);
            trace.tanks.push(TankTrace { rows: recording.rows.into(), length });
        }
    }
    if trace.numbers.is_empty() { Err(TraceError::NoLife) } else { Ok(trace) }
}

#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    fn is_blank(self) -> bool {
        self.text.trim().is_empty()
    }

    fn check_text(self) -> Result<(), TraceError> {
        // Bytes that are not UTF-8 become replacement characters.
        let foreign = |c: &char| (c.is_control() && *c != '\t') || *c == char::REPLACEMENT_CHARACTER;
        match self.text.chars().find(foreign) {
            Some(character) => Err(TraceError::NotText { line: self.number, character }),
            None => Ok(()),
        }
    }
}

/// The positions of the required columns.
struct Header {
    places: [usize; COLUMNS],
    fields: usize,
}

/// A parsed row.
struct Update {
    at: Span,
    tank: u32,
    alive: bool,
    end: CurveEnd,
}

impl Header {
    fn parse(line: Line<'_>) -> Result<Self, TraceError> {
        let names: Vec<&str> = line.text.split(',').map(str::trim).collect();
        let mut places = [0; COLUMNS];
        for (place, column) in places.iter_mut().zip(REQUIRED) {
            let mut found = (0..names.len()).filter(|&i| names[i] == column);
            *place = found.next().ok_or(TraceError::MissingColumn { line: line.number, column })?;
            if found.next().is_some() {
                return Err(TraceError::RepeatedColumn { line: line.number, column });
            }
        }
        Ok(Self { places, fields: names.len() })
    }

    fn update(&self, line: Line<'_>) -> Result<Update, TraceError> {
        let mut fields = [None; COLUMNS];
        let mut found = 0;
        for (index, text) in line.text.split(',').enumerate() {
            found += 1;
            if let Some(column) = self.places.iter().position(|&place| place == index) {
                fields[column] = Some(text.trim());
            }
        }
        let expected = self.fields;
        if found > expected {
            return Err(TraceError::ExtraField { line: line.number, found, expected });
        }
        let field = |index: usize| {
            let column = REQUIRED[index];
            let missing = TraceError::MissingField { line: line.number, column, found, expected };
            fields[index].map(|text| CsvField { line: line.number, column, text }).ok_or(missing)
        };
        let coordinate = |index| field(index)?.number(-COORDINATE_MAX, COORDINATE_MAX);
        let vector =
            |index| Ok(Vec3::new(coordinate(index)?, coordinate(index + 1)?, coordinate(index + 2)?));
        let update = Update {
            at: Span::from_secs_f64(field(0)?.number(0.0, TIME_MAX)?),
            tank: field(1)?.whole(TANK_MAX)?,
            alive: field(2)?.whole(u32::MAX)? & 1 == 1,
            end: CurveEnd { position: vector(3)?, velocity: vector(6)? },
        };
        coordinate(9)?;
        Ok(update)
    }
}

#[derive(Clone, Copy)]
struct CsvField<'a> {
    line: usize,
    column: &'static str,
    text: &'a str,
}

impl CsvField<'_> {
    fn number(self, min: f64, max: f64) -> Result<f64, TraceError> {
        match self.text.parse::<f64>() {
            Err(_) => Err(self.wrong(FieldProblem::NotANumber)),
            Ok(number) if !number.is_finite() => Err(self.wrong(FieldProblem::NotFinite)),
            Ok(number) if number < min || number > max => {
                Err(self.wrong(FieldProblem::OutOfRange { min, max }))
            }
            Ok(number) => Ok(number),
        }
    }

    fn whole(self, max: u32) -> Result<u32, TraceError> {
        let number = self.text.parse().ok().filter(|number| *number <= max);
        number.ok_or_else(|| self.wrong(FieldProblem::NotWhole { max }))
    }

    fn wrong(self, problem: FieldProblem) -> TraceError {
        let text = self.text.chars().take(SHOWN_MAX).collect();
        TraceError::Field { line: self.line, column: self.column, text, problem }
    }
}

/// The rows of one tank so far.
#[derive(Default)]
struct Recording {
    /// The rows of finished lives, then those of the current one.
    rows: Vec<Row>,
    lives: u64,
    /// Index of the current life's first row.
    open: usize,
    last_at: Span,
}

impl Recording {
    fn take(&mut self, update: Update, line: usize) -> Result<(), TraceError> {
        let Update { at, tank, alive, end } = update;
        if at < self.last_at {
            let (t_s, before_s) = (at.as_secs_f64(), self.last_at.as_secs_f64());
            return Err(TraceError::TimeBackwards { line, tank, t_s, before_s });
        }
        if !alive || at - self.last_at > GAP_MAX {
            self.end_life();
        }
        self.last_at = at;
        if alive {
            // Of two rows at the same time the later one counts: no curve can join them.
            if self.rows.len() > self.open && self.rows[self.rows.len() - 1].at == at {
                self.rows.pop();
            }
            self.rows.push(Row { at, end, life: self.lives });
        }
        Ok(())
    }

    fn end_life(&mut self) {
        if self.rows.len() - self.open < 2 {
            self.rows.truncate(self.open);
        } else {
            self.lives += 1;
        }
        self.open = self.rows.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_after_the_last_allowed_one_is_named() {
        let header = REQUIRED.join(",");
        let csv = format!("{header}\n0,0,1,0,0,0,0,0,0,0\n1,0,1,0,0,0,0,0,0,0\n\n2,0,1,0,0,0,0,0,0,0\n");
        assert!(trace(&csv, 3).is_ok());
        let error = trace(&csv, 2).expect_err("three rows are one too many");
        assert_eq!(error.to_string(), "line 5: a trace has at most 2 rows");
    }
}
