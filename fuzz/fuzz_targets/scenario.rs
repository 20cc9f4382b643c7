//! Any text parses as a scenario, which keeps its limits and whose motion is finite, or is rejected with its place.
//!
//! The recording that a scenario may name follows after a line of three dashes.

#![no_main]

use evenkeel_core::Span;
use evenkeel_fuzz::motion::check_cursor;
use evenkeel_lab::scenario::limits::{POLICIES_MAX, RECEIVERS_MAX, SEEDS_MAX, TANKS_MAX};
use evenkeel_lab::scenario::{Motion, Scenario, ScenarioError, parse};
use libfuzzer_sys::fuzz_target;

const NAME: &str = "my.toml";

/// An error names the file, then the line, then the key, then what would be right.
fn check_error(text: &str, error: &ScenarioError) {
    let words = error.to_string();
    let rest = words.strip_prefix(NAME).and_then(|rest| rest.strip_prefix(':'));
    let mut rest = rest.unwrap_or_else(|| panic!("{words}"));
    if let Some(line) = error.at_line() {
        assert!((1..=1 + text.matches('\n').count()).contains(&line), "{words}");
        rest = rest.strip_prefix(&format!("{line}:")).unwrap_or_else(|| panic!("{words}"));
    }
    assert!(error.at_key().is_none_or(|key| rest.contains(key)), "{words}");
    assert!(!rest.trim().is_empty(), "{words}");
}

fn check_limits(scenario: &Scenario) {
    let day = Span::from_secs(86_400);
    assert!(scenario.duration > Span::ZERO && scenario.duration <= day);
    assert!(scenario.tick > Span::ZERO && scenario.tick <= scenario.duration);
    assert!(scenario.warmup >= Span::ZERO && scenario.warmup < scenario.duration);
    assert!((1..=SEEDS_MAX).contains(&scenario.seeds.len()));
    assert!((1..=POLICIES_MAX).contains(&scenario.policies.len()));
    assert!((1..=RECEIVERS_MAX).contains(&scenario.receivers.len()));
    for receiver in &scenario.receivers {
        assert!(receiver.delay() >= Span::ZERO && receiver.delay() <= Span::from_secs(60));
        assert!(receiver.absence.joins < scenario.duration);
        assert!(receiver.absence.leaves.is_none_or(|leaves| leaves > receiver.absence.joins));
    }
}

fuzz_target!(|text: &str| {
    let (text, recording) = text.split_once("\n---\n").unwrap_or((text, ""));
    let mut scenario = match parse(text, NAME, |_| Ok(recording.to_owned())) {
        Ok(scenario) => scenario,
        Err(error) => return check_error(text, &error),
    };
    check_limits(&scenario);
    if let Motion::Recorded(cursors) = &mut scenario.motion {
        assert!((1..=TANKS_MAX).contains(&cursors.len()));
        cursors.iter_mut().for_each(check_cursor);
    }
});
