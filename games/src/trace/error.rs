//! Errors in recordings, worded so that a person can repair the file.

use super::parse::{BYTES_MAX, REQUIRED};

/// Why a text is not a recording. Lines count from 1, the header's included.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TraceError {
    /// The text is too long.
    #[error("the trace has {bytes} bytes, at most {BYTES_MAX} are allowed")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// There are too many rows.
    #[error("line {line}: a trace has at most {rows_max} rows")]
    TooManyRows {
        /// The line of the first row beyond the limit.
        line: usize,
        /// The limit.
        rows_max: usize,
    },
    /// The text contains a character that no text file has.
    #[error("line {line}: {character:?} does not belong in a text file; is this a CSV file?")]
    NotText {
        /// Its line.
        line: usize,
        /// The character.
        character: char,
    },
    /// The text has no header.
    #[error("the trace is empty; its first line must name the columns {}", REQUIRED.join(","))]
    Empty,
    /// The header lacks a column.
    #[error("line {line}: the header has no column {column}; the required columns are {}", REQUIRED.join(","))]
    MissingColumn {
        /// The header's line.
        line: usize,
        /// The column's name.
        column: &'static str,
    },
    /// The header has a required column twice.
    #[error("line {line}: the header has column {column} twice")]
    RepeatedColumn {
        /// The header's line.
        line: usize,
        /// The column's name.
        column: &'static str,
    },
    /// A row ends before one of the required columns.
    #[error("line {line}, column {column}: missing; the line has {found} fields and the header {expected}")]
    MissingField {
        /// The row's line.
        line: usize,
        /// The first required column that it lacks.
        column: &'static str,
        /// Number of fields in the row.
        found: usize,
        /// Number of fields in the header.
        expected: usize,
    },
    /// A row has more fields than the header, so their columns are ambiguous.
    #[error("line {line}: {found} fields, but the header has {expected}")]
    ExtraField {
        /// The row's line.
        line: usize,
        /// Number of fields in the row.
        found: usize,
        /// Number of fields in the header.
        expected: usize,
    },
    /// A field does not hold what its column requires.
    #[error("line {line}, column {column}: {text:?} is {problem}")]
    Field {
        /// The row's line.
        line: usize,
        /// The column's name.
        column: &'static str,
        /// The field's text, cut after 40 characters.
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
        /// The time of the tank's previous row.
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
    /// It is not a number.
    #[error("not a number")]
    NotANumber,
    /// It is NaN or infinite.
    #[error("not a finite number")]
    NotFinite,
    /// It is not a whole number, or out of range.
    #[error("not a whole number from 0 to {max}")]
    NotWhole {
        /// The largest allowed value.
        max: u32,
    },
    /// It is out of range.
    #[error("not between {min} and {max}")]
    OutOfRange {
        /// The smallest allowed value.
        min: f64,
        /// The largest allowed value.
        max: f64,
    },
}
