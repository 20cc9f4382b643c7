//! Parses the text of a scenario file. Everything is checked before anything runs.

use std::ops::RangeInclusive;
use std::path::Path;

use evenkeel_core::Span;
use evenkeel_dr::{Budget, Compensation, Content, Placement, PolicyKind, Threshold};
use evenkeel_games::Driver;

use super::clock;
use super::document::{Field, ScenarioText, Section};
use super::limits::{self, DELAY_MAX_MS, DURATION_MAX_S, TRACE_BYTES_MAX};
use super::motion::motion;
use super::receiver::receiver;
use super::{Motion, Receiver, Scenario, ScenarioClock, ScenarioError, ScenarioTopology};

const KEYS: [&str; 13] = [
    "duration_s",
    "tick_ms",
    "seeds",
    "warmup_s",
    "topology",
    "uplink_ms",
    "clock",
    "owner",
    "motion",
    "threshold",
    "dr",
    "receiver",
    "policy",
];

const DURATION: &str = "a duration is more than 0 s and at most 86400 s";
const TICK: &str = "a tick is 1 to 1000 ms, and not longer than the duration";
const SEEDS: &str = "seeds are a list of 1 to 1000 whole numbers, not negative";
const RECEIVERS: &str = "a scenario has 1 to 1000 receivers, each under its own header [[receiver]]";
const TRACES: &str =
    "the recordings of a scenario have at most 67108864 bytes in total, counting every mention";
const NAMES: &str = "policy names are a list of strings";

/// Reads the file that a key names.
pub(super) type ReadFile<'a> = dyn FnMut(&Field<'_>) -> Result<String, ScenarioError> + 'a;

/// Parses a scenario. Errors name the file `name`; `read_trace` returns the text of a file that the scenario names, or why
/// it cannot be read.
///
/// # Errors
/// [`ScenarioError`] names file, line, key and what would be right.
pub fn parse(
    text: &str,
    name: &str,
    mut read_trace: impl FnMut(&Path) -> Result<String, String>,
) -> Result<Scenario, ScenarioError> {
    let source = ScenarioText { file: name, text };
    let document = source.document()?;
    let root = Section::root(source, &document, &KEYS)?;
    let mut left = TRACE_BYTES_MAX;
    let mut read = |field: &Field<'_>| {
        let path = field.text("the path of a file")?;
        let text = read_trace(Path::new(path)).map_err(|error| field.wrong(error))?;
        left = left.checked_sub(text.len() as u64).ok_or_else(|| field.wrong(TRACES))?;
        Ok(text)
    };
    scenario(&root, &mut read)
}

/// Parses a time in seconds within a range.
pub(super) fn seconds(
    field: &Field<'_>,
    range: RangeInclusive<Span>,
    what: &str,
) -> Result<Span, ScenarioError> {
    let (first, last) = (range.start().as_secs_f64(), range.end().as_secs_f64());
    field.number(first..=last, what).map(Span::from_secs_f64)
}

fn scenario(root: &Section<'_>, read: &mut ReadFile<'_>) -> Result<Scenario, ScenarioError> {
    let duration = match root.field("duration_s") {
        Some(field) => {
            let duration = Span::from_secs_f64(field.number(0.0..=DURATION_MAX_S, DURATION)?);
            if duration <= Span::ZERO { Err(field.wrong(DURATION)) } else { Ok(duration) }
        }
        None => Ok(Span::from_secs(300)),
    }?;
    let (kind, placement, compensation) = dead_reckoning(root)?;
    let (policies, budget) = policy(root)?;
    let topology = topology(root)?;
    let clock = clock::clock(root, topology)?;
    Ok(Scenario {
        duration,
        tick: tick(root, duration)?,
        warmup: warmup(root, duration)?,
        seeds: seeds(root)?,
        topology,
        clock,
        owner_clock: clock::owner(root, clock, duration)?,
        motion: root
            .field("motion")
            .map_or(Ok(Motion::Driven(Driver::Random)), |field| motion(&field, read))?,
        threshold: threshold(root)?,
        kind,
        placement,
        compensation,
        receivers: receivers(root, duration, clock, read)?,
        policies,
        budget,
    })
}

fn tick(root: &Section<'_>, duration: Span) -> Result<Span, ScenarioError> {
    let tick = Span::from_millis_f64(root.number("tick_ms", 20.0, 1.0..=1000.0, TICK)?);
    match root.field("tick_ms") {
        Some(field) if tick > duration => Err(field.wrong(TICK)),
        // The default shrinks to fit a short run.
        _ => Ok(tick.min(duration)),
    }
}

fn warmup(root: &Section<'_>, duration: Span) -> Result<Span, ScenarioError> {
    let Some(field) = root.field("warmup_s") else { return Ok(Span::ZERO) };
    let what = format!("a warm-up is 0 s or more, and less than {} s (the duration)", duration.as_secs_f64());
    let warmup = seconds(&field, Span::ZERO..=duration, &what)?;
    if warmup < duration { Ok(warmup) } else { Err(field.wrong(what)) }
}

fn seeds(root: &Section<'_>) -> Result<Vec<u64>, ScenarioError> {
    let Some(field) = root.field("seeds") else { return Ok(vec![1]) };
    let seeds =
        field.entries(SEEDS)?.iter().map(|entry| entry.whole(SEEDS)).collect::<Result<Vec<_>, _>>()?;
    limits::check_seeds(&seeds).map_err(|error| field.wrong(error))?;
    Ok(seeds)
}

fn topology(root: &Section<'_>) -> Result<ScenarioTopology, ScenarioError> {
    let uplink = root.number("uplink_ms", 0.0, 0.0..=DELAY_MAX_MS, "a delay is 0 to 60000 ms")?;
    let relay = root.field("topology").map_or(Ok(0), |field| field.word(&["direct", "relay"]))? == 1;
    match root.field("uplink_ms") {
        _ if relay => Ok(ScenarioTopology::Relay { uplink: Span::from_millis_f64(uplink) }),
        Some(field) if uplink > 0.0 => {
            Err(field.wrong("without a relay there is no uplink: set it to 0, or topology to \"relay\""))
        }
        _ => Ok(ScenarioTopology::Direct),
    }
}

fn threshold(root: &Section<'_>) -> Result<Threshold, ScenarioError> {
    let Some(field) = root.field("threshold") else { return Ok(Threshold::default()) };
    let section = field.section(&["distance", "time_s"])?;
    let mut threshold = Threshold::default();
    if let Some(field) = section.field("distance") {
        let what = "a distance is a finite number greater than 0";
        threshold.distance = field.number(f64::MIN_POSITIVE..=f64::MAX, what)?;
    }
    if let Some(field) = section.field("time_s") {
        let what = "a time is 0.001 to 86400 s, or 0 for no time threshold";
        let time = field.number(0.0..=DURATION_MAX_S, what)?;
        if time > 0.0 && time < 0.001 {
            return Err(field.wrong(what));
        }
        threshold.time = (time > 0.0).then(|| Span::from_secs_f64(time));
    }
    Ok(threshold)
}

fn dead_reckoning(root: &Section<'_>) -> Result<(Content, Placement, Option<Compensation>), ScenarioError> {
    let (mut kind, mut placement, mut compensation) = (Content::default(), Placement::default(), None);
    let Some(field) = root.field("dr") else { return Ok((kind, placement, compensation)) };
    let section = field.section(&["kind", "placement", "compensation_max_ms"])?;
    if let Some(field) = section.field("kind") {
        kind = Content::ALL[field.word(&Content::ALL.map(Content::name))?];
    }
    if let Some(field) = section.field("placement") {
        let placements = [Placement::Global, Placement::Local, Placement::OneWayDelay];
        placement = placements[field.word(&["global", "local", "one-way-delay"])?];
    }
    if let Some(field) = section.field("compensation_max_ms") {
        let most = field.number(0.0..=DELAY_MAX_MS, "a compensated delay is 0 to 60000 ms")?;
        compensation =
            Some(Compensation { delay_max: Span::from_millis_f64(most), ..Compensation::default() });
    }
    Ok((kind, placement, compensation))
}

fn receivers(
    root: &Section<'_>,
    duration: Span,
    clock: ScenarioClock,
    read: &mut ReadFile<'_>,
) -> Result<Vec<Receiver>, ScenarioError> {
    let field = root.required("receiver", RECEIVERS)?;
    let entries = field.entries(RECEIVERS)?;
    if !(1..=limits::RECEIVERS_MAX).contains(&entries.len()) {
        return Err(field.wrong(format!("{} receivers; {RECEIVERS}", entries.len())));
    }
    let mut receivers: Vec<Receiver> = Vec::with_capacity(entries.len());
    for entry in &entries {
        let receiver = receiver(entry, duration, clock, &receivers, read)?;
        receivers.push(receiver);
    }
    Ok(receivers)
}

fn read_budget(field: &Field<'_>) -> Result<Budget, ScenarioError> {
    let what = "a budget is more than 0 and at most 1000 DR vectors per trigger, or a share of the receivers, such as \"40%\"";
    let share = field.text(what).ok().map(str::parse::<Budget>);
    let budget = match share {
        Some(budget) => budget.ok().filter(|budget| budget.per_trigger(1) > 0.0),
        None => Budget::new(field.number(f64::MIN_POSITIVE..=limits::BUDGET_MAX, what)?),
    };
    budget.filter(|budget| budget.per_trigger(1) <= limits::BUDGET_MAX).ok_or_else(|| field.wrong(what))
}

/// Parses the policies and the budget. Without names, every policy is compared.
fn policy(root: &Section<'_>) -> Result<(Vec<PolicyKind>, Budget), ScenarioError> {
    let Some(field) = root.field("policy") else { return Ok((PolicyKind::all(), Budget::ONE)) };
    let section = field.section(&["names", "budget"])?;
    let budget = section.field("budget").map_or(Ok(Budget::ONE), |field| read_budget(&field))?;
    let Some(field) = section.field("names") else { return Ok((PolicyKind::all(), budget)) };
    let mut policies = Vec::new();
    for entry in field.entries(NAMES)? {
        let policy = entry.text(NAMES)?.parse::<PolicyKind>().map_err(|error| entry.wrong(error))?;
        if policies.contains(&policy) {
            return Err(entry.wrong(format!("the policy {policy} is listed twice")));
        }
        policies.push(policy);
    }
    limits::check_policies(&policies).map_err(|error| field.wrong(error))?;
    Ok((policies, budget))
}
