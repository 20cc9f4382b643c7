//! The `[[receiver]]` tables of a scenario file.
//!
//! Faults apply to the links both ways. Delay, jitter, steps and loss of the link back, which carries acknowledgments and
//! clock probes, can be set separately.

use evenkeel_core::Span;
use evenkeel_link::{DelayLaw, DelayStep, Jitter, LinkFaults, Loss, RateLimit, Reorder, TrueTime, trace};

use super::clock;
use super::document::{Field, Section};
use super::limits::{DELAY_MAX_MS, DURATION_MAX_S};
use super::parse::{ReadFile, seconds};
use super::{Absence, Receiver, ScenarioClock, ScenarioError};

const KEYS: [&str; 17] = [
    "name",
    "delay_ms",
    "delay_back_ms",
    "jitter",
    "jitter_back",
    "loss",
    "loss_back",
    "duplicate",
    "reorder",
    "rate",
    "joins_s",
    "leaves_s",
    "steps",
    "steps_back",
    "clock",
    "claims_extra_ms",
    "holds_acks_ms",
];

const DELAY: &str = "a delay is 0 to 60000 ms";
const PROBABILITY: &str = "a probability is 0 to 1";
const NAME: &str = "a name is a string of 1 to 64 characters on one line";
const LOSS: &str = "a loss is a probability from 0 to 1, or a table { kind = \"gilbert-elliott\", good_mean_s, \
                    bad_mean_s, loss_good, loss_bad }";
const STRETCH: &str = "the mean length of a period is 0.001 to 86400 s";
const STEPS: &str = "steps are a list of { at_s, delay_ms } in order of time";

/// Parses a receiver, whose name must differ from those before it.
pub(super) fn receiver(
    field: &Field<'_>,
    duration: Span,
    clock: ScenarioClock,
    before: &[Receiver],
    read: &mut ReadFile<'_>,
) -> Result<Receiver, ScenarioError> {
    let section = field.section(&KEYS)?;
    let base = millis(&section.required("delay_ms", DELAY)?)?;
    let jitter = section.field("jitter").map_or(Ok(Jitter::Constant), |field| jitter(&field, read))?;
    let lost = section.field("loss").map_or(Ok(Loss::None), |field| loss(&field))?;
    let forward = LinkFaults {
        delay: DelayLaw { base, jitter },
        steps: section.field("steps").map_or(Ok(Vec::new()), |field| steps(&field, duration))?,
        loss: lost,
        duplicate: section.number("duplicate", 0.0, 0.0..=1.0, PROBABILITY)?,
        reorder: section.field("reorder").map(|field| reorder(&field)).transpose()?,
        rate: section.field("rate").map(|field| rate(&field)).transpose()?,
    };
    forward.validate().map_err(|error| field.wrong(error))?;
    let back = back(&section, &forward, duration, read)?;
    back.validate().map_err(|error| field.wrong(error))?;
    Ok(Receiver {
        name: name(&section, before)?,
        back,
        forward,
        absence: absence(&section, duration)?,
        claims_extra: delay(&section, "claims_extra_ms")?,
        holds_acks: delay(&section, "holds_acks_ms")?,
        clock: clock::faults(&section, clock, duration)?,
    })
}

/// The faults of the link back: those of the link forward, except where set separately.
fn back(
    section: &Section<'_>,
    forward: &LinkFaults,
    duration: Span,
    read: &mut ReadFile<'_>,
) -> Result<LinkFaults, ScenarioError> {
    let mut back = forward.clone();
    if let Some(field) = section.field("delay_back_ms") {
        back.delay.base = millis(&field)?;
    }
    if let Some(field) = section.field("jitter_back") {
        back.delay.jitter = jitter(&field, read)?;
    }
    if let Some(field) = section.field("steps_back") {
        back.steps = steps(&field, duration)?;
    }
    if let Some(field) = section.field("loss_back") {
        back.loss = loss(&field)?;
    }
    Ok(back)
}

fn name(section: &Section<'_>, before: &[Receiver]) -> Result<String, ScenarioError> {
    let field = section.required("name", NAME)?;
    let name = field.text(NAME)?;
    let printable = !name.chars().any(char::is_control) && !name.trim().is_empty();
    if !printable || name.chars().count() > 64 {
        return Err(field.wrong(NAME));
    }
    if before.iter().any(|receiver| receiver.name == name) {
        return Err(field.wrong("another receiver has this name"));
    }
    Ok(name.to_owned())
}

/// An optional delay; 0 by default.
fn delay(section: &Section<'_>, key: &str) -> Result<Span, ScenarioError> {
    section.field(key).map_or(Ok(Span::ZERO), |field| millis(&field))
}

fn millis(field: &Field<'_>) -> Result<Span, ScenarioError> {
    field.number(0.0..=DELAY_MAX_MS, DELAY).map(Span::from_millis_f64)
}

fn jitter(field: &Field<'_>, read: &mut ReadFile<'_>) -> Result<Jitter, ScenarioError> {
    let (kind, section) = field.kinds(&[
        ("none", &[]),
        ("uniform", &["ms"]),
        ("normal", &["ms"]),
        ("exponential", &["ms"]),
        ("gamma", &["ms"]),
        ("lognormal", &["median_ms", "sigma"]),
        ("trace", &["file"]),
    ])?;
    let ms = |key| section.required(key, "a jitter is 0 to 60000 ms").and_then(|field| millis(&field));
    Ok(match kind {
        0 => Jitter::Constant,
        1 => Jitter::Uniform { half_width: ms("ms")? },
        2 => Jitter::Normal { sd: ms("ms")? },
        3 => Jitter::Exponential { mean: ms("ms")? },
        4 => Jitter::Gamma { sd: ms("ms")? },
        5 => {
            let what = "the standard deviation of the logarithm is 0 to 5";
            let sigma = section.required("sigma", what)?.number(0.0..=5.0, what)?;
            Jitter::LogNormal { median: ms("median_ms")?, sigma }
        }
        _ => {
            let file = section.required("file", "the path of a CSV file with the columns t_s,delay_ms")?;
            let text = read(&file)?;
            Jitter::Trace(trace::parse(&text).map_err(|error| file.wrong(error))?)
        }
    })
}

fn loss(field: &Field<'_>) -> Result<Loss, ScenarioError> {
    if !field.is_table() {
        let probability = field.number(0.0..=1.0, LOSS)?;
        return Ok(if probability == 0.0 { Loss::None } else { Loss::Independent { probability } });
    }
    const BURSTS: [&str; 4] = ["good_mean_s", "bad_mean_s", "loss_good", "loss_bad"];
    let (_, section) = field.kinds(&[("gilbert-elliott", &BURSTS)])?;
    let mean = |key| {
        let length = section.required(key, STRETCH)?.number(0.001..=DURATION_MAX_S, STRETCH)?;
        Ok(Span::from_secs_f64(length))
    };
    let share = |key| section.required(key, PROBABILITY)?.number(0.0..=1.0, PROBABILITY);
    Ok(Loss::GilbertElliott {
        good_mean: mean("good_mean_s")?,
        bad_mean: mean("bad_mean_s")?,
        loss_good: share("loss_good")?,
        loss_bad: share("loss_bad")?,
    })
}

fn reorder(field: &Field<'_>) -> Result<Reorder, ScenarioError> {
    let section = field.section(&["share", "extra_ms"])?;
    let share = section.required("share", PROBABILITY)?.number(0.0..=1.0, PROBABILITY)?;
    Ok(Reorder { share, extra: millis(&section.required("extra_ms", DELAY)?)? })
}

fn rate(field: &Field<'_>) -> Result<RateLimit, ScenarioError> {
    const BYTES: &str = "a rate is 1 to 1e12 bytes per second";
    const QUEUE: &str = "a queue holds 0 to 1e12 bytes";
    let section = field.section(&["bytes_per_s", "queue_bytes"])?;
    Ok(RateLimit {
        bytes_per_s: section.required("bytes_per_s", BYTES)?.number(1.0..=1e12, BYTES)?,
        queue_max_bytes: section.required("queue_bytes", QUEUE)?.number(0.0..=1e12, QUEUE)?,
    })
}

fn steps(field: &Field<'_>, duration: Span) -> Result<Vec<DelayStep>, ScenarioError> {
    let mut steps: Vec<DelayStep> = Vec::new();
    for entry in field.entries(STEPS)? {
        let section = entry.section(&["at_s", "delay_ms"])?;
        let what = format!("a step is at 0 to {} s (the duration)", duration.as_secs_f64());
        let at_field = section.required("at_s", &what)?;
        let at = TrueTime::default() + seconds(&at_field, Span::ZERO..=duration, &what)?;
        if steps.last().is_some_and(|before| before.at >= at) {
            return Err(at_field.wrong("a step is later than the one before it"));
        }
        steps.push(DelayStep { at, delay: millis(&section.required("delay_ms", DELAY)?)? });
    }
    Ok(steps)
}

fn absence(section: &Section<'_>, duration: Span) -> Result<Absence, ScenarioError> {
    let mut absence = Absence::default();
    let last = duration.as_secs_f64();
    if let Some(field) = section.field("joins_s") {
        let what = format!("a receiver joins at 0 s or later, and before {last} s (the duration)");
        absence.joins = seconds(&field, Span::ZERO..=duration, &what)?;
        if absence.joins >= duration {
            return Err(field.wrong(what));
        }
    }
    if let Some(field) = section.field("leaves_s") {
        let joins = absence.joins.as_secs_f64();
        let what = format!("a receiver leaves after {joins} s (when it joins) and at {last} s at the latest");
        let leaves = seconds(&field, Span::ZERO..=duration, &what)?;
        if leaves <= absence.joins {
            return Err(field.wrong(what));
        }
        absence.leaves = Some(leaves);
    }
    Ok(absence)
}
