//! Any text parses as a recording of tanks or of delays, which can be played, or is rejected with its place.

#![no_main]

use evenkeel_fuzz::motion::check_cursor;
use evenkeel_games::{Trace, TraceError};
use evenkeel_lab::scenario::parse;
use libfuzzer_sys::fuzz_target;

/// A scenario with a recorded delay.
const DELAY: &str =
    "[[receiver]]\nname = \"a\"\ndelay_ms = 0\njitter = { kind = \"trace\", file = \"a.csv\" }\n";

/// Checks that the line an error names exists.
fn check_line(text: &str, words: &str) {
    assert!(!words.trim().is_empty());
    let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or("").parse().ok();
    let Some(line) = words.split("line ").skip(1).find_map(number) else { return };
    // CSV also ends lines at a lone carriage return.
    let lines: usize = 1 + text.matches(['\n', '\r']).count();
    assert!((1..=lines).contains(&line), "{words}");
}

fn check_tanks(text: &str) -> Result<(), TraceError> {
    let trace = Trace::parse(text)?;
    assert!(!trace.tanks().is_empty() && trace.tanks().is_sorted());
    for number in trace.tanks() {
        let tank = trace.tank(*number).expect("it is listed");
        let (mut cursor, seconds) = (tank.cursor(), tank.length().as_secs_f64());
        check_cursor(&mut cursor);
        for part in [0.0, 0.3, 0.6, 0.9, 1.2] {
            assert_eq!(cursor.sample(seconds * part), tank.sample(seconds * part), "tank {number}");
        }
    }
    Ok(())
}

fuzz_target!(|text: &str| {
    if let Err(error) = check_tanks(text) {
        check_line(text, &error.to_string());
    }
    if let Err(error) = parse(DELAY, "my.toml", |_| Ok(text.to_owned())) {
        assert_eq!((error.at_line(), error.at_key()), (Some(4), Some("receiver[0].jitter.file")), "{error}");
        check_line(text, error.to_string().split_once("a.csv").expect("it is named").1);
    }
});
