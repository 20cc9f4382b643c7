//! What can be wrong with a recording, told so that a person can mend the file.

use super::parse::{BYTES_MAX, REQUIRED};

/// Why a text is no recording. Lines count from 1, the header's included.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TraceError {
    /// More text than is read.
    #[error("{bytes} bytes are too much for a trace; at most {BYTES_MAX} are read")]
    TooLong {
        /// How long the text is.
        bytes: usize,
    },
    /// More rows than are read.
    #[error("line {line}: a trace has at most {rows_max} rows")]
    TooManyRows {
        /// The first line too many.
        line: usize,
        /// The limit.
        rows_max: usize,
    },
    /// A character that no text file holds.
    #[error("line {line}: {character:?} does not belong into a text file; is this a CSV file?")]
    NotText {
        /// Where it is.
        line: usize,
        /// What it is.
        character: char,
    },
    /// There is not even a header.
    #[error("the trace is empty; its first line has to name the columns {}", REQUIRED.join(","))]
    Empty,
    /// The header lacks a column.
    #[error("line {line}: the header has no column {column}; needed are {}", REQUIRED.join(","))]
    MissingColumn {
        /// The header's line.
        line: usize,
        /// The column's name.
        column: &'static str,
    },
    /// The header names a needed column twice.
    #[error("line {line}: the header has column {column} twice")]
    RepeatedColumn {
        /// The header's line.
        line: usize,
        /// The column's name.
        column: &'static str,
    },
    /// The row ends before one of the needed columns.
    #[error("line {line}, column {column}: missing; the line has {found} fields and the header {expected}")]
    MissingField {
        /// The row's line.
        line: usize,
        /// The first needed column that it lacks.
        column: &'static str,
        /// Fields of the row.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// The row has more fields than the header, so it is unclear which is which.
    #[error("line {line}: {found} fields, but the header has {expected}")]
    ExtraField {
        /// The row's line.
        line: usize,
        /// Fields of the row.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// A field that does not hold what its column demands.
    #[error("line {line}, column {column}: {text:?} is {problem}")]
    Field {
        /// The row's line.
        line: usize,
        /// The column's name.
        column: &'static str,
        /// What stands there, cut after 40 characters.
        text: String,
        /// What is wrong with it.
        problem: FieldProblem,
    },
    /// The rows of a tank are not in order of time.
    #[error("line {line}, column t_s: {t_s} s is before the {before_s} s of the row of tank {tank} above it")]
    TimeBackwards {
        /// The row's line.
        line: usize,
        /// The tank's number.
        tank: u32,
        /// The row's time in seconds.
        t_s: f64,
        /// The time of the same tank's row before.
        before_s: f64,
    },
    /// No row has the alive bit.
    #[error("column status: no row has bit 0 set, so no tank is ever alive")]
    NoAliveRow,
    /// All lives are single rows.
    #[error("no tank has two alive rows at most 2 s apart with no death between them, so none ever moves")]
    NoLife,
}

/// What is wrong with a field.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum FieldProblem {
    /// Not a number at all.
    #[error("not a number")]
    NotANumber,
    /// NaN, an infinity, or too large to be a number here.
    #[error("not a finite number")]
    NotFinite,
    /// Not a whole number, or one outside of its range.
    #[error("not a whole number from 0 to {max}")]
    NotWhole {
        /// The largest allowed.
        max: u32,
    },
    /// A number outside of its range.
    #[error("not between {min} and {max}")]
    OutOfRange {
        /// The smallest allowed.
        min: f64,
        /// The largest allowed.
        max: f64,
    },
}
