//! Recorded delays for [`Jitter::Trace`](crate::Jitter::Trace): a CSV text with the columns `t_s` and `delay_ms`.

use evenkeel_core::Span;

/// The most rows of a trace.
pub const ROWS_MAX: usize = 1_000_000;
/// The latest time of a row, in seconds.
pub const TIME_MAX_S: f64 = 86_400.0;
/// The longest delay, in milliseconds.
pub const DELAY_MAX_MS: f64 = 60_000.0;

const HEADER: [&str; 2] = ["t_s", "delay_ms"];

/// Why a text is no recording of delays.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A line is not as it should be.
    #[error("line {line}: {what}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// There are more rows than a trace may have.
    #[error("line {line}: more than {ROWS_MAX} rows")]
    TooLong {
        /// The first line too many.
        line: usize,
    },
    /// There is no row.
    #[error("no rows; expected a first line \"t_s,delay_ms\" and rows below it")]
    Empty,
}

/// Parses rows of time and delay, in order of time.
///
/// # Errors
/// [`TraceError`] names the line and what is wrong.
pub fn parse(text: &str) -> Result<Vec<(Span, Span)>, TraceError> {
    let filled = |(_, line): &(usize, &str)| !line.trim().is_empty();
    let mut lines = (1_usize..).zip(text.lines()).filter(filled);
    let wrong = |line, what| TraceError::Line { line, what };
    let (line, header) = lines.next().ok_or(TraceError::Empty)?;
    if !header.split(',').map(str::trim).eq(HEADER) {
        return Err(wrong(line, "the first line is not \"t_s,delay_ms\""));
    }
    let mut rows: Vec<(Span, Span)> = Vec::new();
    for (line, row) in lines {
        let (at, delay) = row.split_once(',').ok_or(wrong(line, "a row has two numbers, t_s,delay_ms"))?;
        if delay.contains(',') {
            return Err(wrong(line, "a row has two numbers, t_s,delay_ms"));
        }
        let at = number(at, TIME_MAX_S).ok_or(wrong(line, "t_s is not a number from 0 to 86400"))?;
        let delay =
            number(delay, DELAY_MAX_MS).ok_or(wrong(line, "delay_ms is not a number from 0 to 60000"))?;
        let row = (Span::from_secs_f64(at), Span::from_millis_f64(delay));
        if rows.last().is_some_and(|(before, _)| *before >= row.0) {
            return Err(wrong(line, "t_s is not later than in the row before it"));
        }
        if rows.len() == ROWS_MAX {
            return Err(TraceError::TooLong { line });
        }
        rows.push(row);
    }
    if rows.is_empty() { Err(TraceError::Empty) } else { Ok(rows) }
}

fn number(text: &str, max: f64) -> Option<f64> {
    text.trim().parse().ok().filter(|number| (0.0..=max).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_spans() {
        let rows = parse("t_s,delay_ms\n0,5\n\n 1.5 , 20\n").expect("the text is well formed");
        let span = Span::from_millis;
        assert_eq!(rows, [(span(0), span(5)), (span(1500), span(20))]);
    }

    #[test]
    fn invalid_rows_are_named_by_line() {
        let message = |text| parse(text).expect_err("the text is invalid").to_string();
        assert_eq!(message("t_s,delay_ms\n0,5\n1,nan\n"), "line 3: delay_ms is not a number from 0 to 60000");
        assert_eq!(message("t_s,delay_ms\n2,5\n2,6\n"), "line 3: t_s is not later than in the row before it");
        assert_eq!(message("t_s,delay_ms\n2\n"), "line 2: a row has two numbers, t_s,delay_ms");
        assert_eq!(message("t_s,delay_ms\n\n2,3,4\n"), "line 3: a row has two numbers, t_s,delay_ms");
        assert_eq!(message("time,delay\n"), "line 1: the first line is not \"t_s,delay_ms\"");
        assert!(message("").starts_with("no rows"));
    }
}
