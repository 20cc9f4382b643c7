//! Recorded delays for `jitter = { kind = "trace", file }`: a CSV file with the columns `t_s` and `delay_ms`.

use csv::{ReaderBuilder, StringRecord, Trim};
use evenkeel_core::Span;

use super::limits::{DELAY_MAX_MS, DURATION_MAX_S};

/// The most rows of a file.
const ROWS_MAX: usize = 1_000_000;

/// Why a text is no recording of delays.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum DelayTraceError {
    #[error("line {line}: {what}")]
    Line { line: u64, what: String },
    #[error("no rows; expected a first line \"t_s,delay_ms\" and rows below it")]
    Empty,
}

/// Parses rows of time and delay, in order of time.
pub(super) fn parse(text: &str) -> Result<Vec<(Span, Span)>, DelayTraceError> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let wrong = |line: u64, what: &str| DelayTraceError::Line { line, what: what.to_owned() };
    let header = reader.headers().map_err(|error| wrong(1, &error.to_string()))?;
    if header.is_empty() {
        return Err(DelayTraceError::Empty);
    }
    if header != ["t_s", "delay_ms"].as_slice() {
        return Err(wrong(1, "the first line is not \"t_s,delay_ms\""));
    }
    let mut rows: Vec<(Span, Span)> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(1, csv::Position::line);
            wrong(line, "a row has two numbers, t_s,delay_ms")
        })?;
        let line = record.position().map_or(1, csv::Position::line);
        let at = number(&record, 0, DURATION_MAX_S)
            .ok_or_else(|| wrong(line, "t_s is not a number from 0 to 86400"))?;
        let delay = number(&record, 1, DELAY_MAX_MS)
            .ok_or_else(|| wrong(line, "delay_ms is not a number from 0 to 60000"))?;
        let row = (Span::from_secs_f64(at), Span::from_millis_f64(delay));
        if rows.last().is_some_and(|(before, _)| *before >= row.0) {
            return Err(wrong(line, "t_s is not later than in the row before it"));
        }
        if rows.len() == ROWS_MAX {
            return Err(wrong(line, &format!("more than {ROWS_MAX} rows")));
        }
        rows.push(row);
    }
    if rows.is_empty() { Err(DelayTraceError::Empty) } else { Ok(rows) }
}

fn number(record: &StringRecord, index: usize, max: f64) -> Option<f64> {
    record.get(index)?.parse().ok().filter(|number| (0.0..=max).contains(number))
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
        assert_eq!(message("time,delay\n"), "line 1: the first line is not \"t_s,delay_ms\"");
        assert!(message("").starts_with("no rows"));
    }
}
