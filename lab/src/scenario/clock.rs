//! The clocks of a scenario file and their faults.
//!
//! The relay's clock has none: it defines the session's time, so its faults would not be errors.

use evenkeel_core::Span;
use evenkeel_link::{ClockFaults, ClockStep, TrueTime};

use super::document::{Field, Section};
use super::limits::{CLOCK_MAX_MS, SKEW_MAX_PPM};
use super::parse::seconds;
use super::{ScenarioClock, ScenarioError, ScenarioTopology};
use crate::clock::Filter;

const OFFSET: &str = "an offset is -86400000 to 86400000 ms, a day either way";
const SKEW: &str = "a skew is -1000 to 1000 ppm";
const STEPS: &str = "the steps of a clock are a list of { at_s, by_ms } in order of time";
const RELAY: &str = "a session clock needs a relay: set topology to \"relay\", or this to \"synchronized\"";
const UNUSED: &str = "synchronized clocks have no faults: remove it, or set clock to \"session\" at the top";

/// Parses the kind of clock.
pub(super) fn clock(root: &Section<'_>, topology: ScenarioTopology) -> Result<ScenarioClock, ScenarioError> {
    let Some(field) = root.field("clock") else { return Ok(ScenarioClock::Synchronized) };
    match (field.word(&["synchronized", "session"])?, topology) {
        (0, _) => Ok(ScenarioClock::Synchronized),
        (_, ScenarioTopology::Direct) => Err(field.wrong(RELAY)),
        (_, ScenarioTopology::Relay { .. }) => Ok(ScenarioClock::Session(Filter::Hull)),
    }
}

/// Parses the faults of the owner's clock.
pub(super) fn owner(
    root: &Section<'_>,
    clock: ScenarioClock,
    duration: Span,
) -> Result<ClockFaults, ScenarioError> {
    let section = root.field("owner").map(|field| field.section(&["clock"])).transpose()?;
    section.map_or(Ok(ClockFaults::default()), |section| faults(&section, clock, duration))
}

/// Parses the clock faults in the section of the owner or a receiver.
pub(super) fn faults(
    section: &Section<'_>,
    clock: ScenarioClock,
    duration: Span,
) -> Result<ClockFaults, ScenarioError> {
    let Some(field) = section.field("clock") else { return Ok(ClockFaults::default()) };
    let section = field.section(&["offset_ms", "skew_ppm", "steps"])?;
    if clock == ScenarioClock::Synchronized {
        return Err(field.wrong(UNUSED));
    }
    let offset = section.number("offset_ms", 0.0, -CLOCK_MAX_MS..=CLOCK_MAX_MS, OFFSET)?;
    Ok(ClockFaults {
        offset: Span::from_millis_f64(offset),
        skew_ppm: section.number("skew_ppm", 0.0, -SKEW_MAX_PPM..=SKEW_MAX_PPM, SKEW)?,
        steps: section.field("steps").map_or(Ok(Vec::new()), |field| steps(&field, duration))?,
    })
}

fn steps(field: &Field<'_>, duration: Span) -> Result<Vec<ClockStep>, ScenarioError> {
    let mut steps: Vec<ClockStep> = Vec::new();
    for entry in field.entries(STEPS)? {
        let section = entry.section(&["at_s", "by_ms"])?;
        let what = format!("a step is at 0 to {} s (the duration)", duration.as_secs_f64());
        let at_field = section.required("at_s", &what)?;
        let at = TrueTime::default() + seconds(&at_field, Span::ZERO..=duration, &what)?;
        if steps.last().is_some_and(|before| before.at >= at) {
            return Err(at_field.wrong("a step is later than the one before it"));
        }
        let by = section.required("by_ms", OFFSET)?.number(-CLOCK_MAX_MS..=CLOCK_MAX_MS, OFFSET)?;
        steps.push(ClockStep { at, by: Span::from_millis_f64(by) });
    }
    Ok(steps)
}
