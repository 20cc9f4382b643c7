//! Extracts the theorem's quantities from a run at its triggers.
//!
//! Symbols: `A` is the actual error of a vector at a receiver, `S` the error estimated when its schedule was made,
//! and `R` is `A - S`. Just before a trigger every vector has arrived, and a receiver's accumulated error is the sum
//! of `A`. Once the next vector has been sent and while its feedback is in flight, the sender's ledger expects that
//! sum plus `S`.

use evenkeel_core::Span;
use evenkeel_dr::Threshold;
use evenkeel_link::LinkFaults;

use crate::dr::{RunFigures, RunSample, Sampling};
use crate::scenario::{Motion, Scenario};
use crate::stats::{mean, population_sd};

/// The time between triggers; there are no others.
const TRIGGER_INTERVAL: Span = Span::from_secs(4);
/// How long feedback travels.
const FEEDBACK_DELAY: Span = Span::from_secs(2);
const SAMPLE_INTERVAL: Span = Span::from_millis(500);
const SAMPLES_PER_TRIGGER: usize = 8;
/// A second after a trigger, its vector has been sent to every receiver if the assumptions are met.
const SENT_SAMPLE: usize = 2;
/// A second later, every copy should have arrived, but no feedback has.
const EXPECTED_SAMPLE: usize = 4;

/// A vector sent more than three seconds after its trigger may arrive after the next vector is made.
const OVERTAKEN_SAMPLE: usize = 6;

/// Changes a scenario to meet the theorem's assumptions as far as it can.
pub(super) fn under_assumptions(scenario: Scenario) -> Scenario {
    let mut receivers = scenario.receivers;
    for receiver in &mut receivers {
        receiver.back = LinkFaults::constant(FEEDBACK_DELAY);
    }
    let motion = match scenario.motion {
        // Several tanks trigger at different times, and a respawn adds triggers: use one tank in its first life.
        Motion::Recorded(mut cursors) => {
            cursors.retain_mut(|tank| tank.sample(0.0).is_some());
            cursors.truncate(1);
            Motion::Recorded(cursors)
        }
        motion @ Motion::Driven(_) => motion,
    };
    let threshold = Threshold { distance: 1e6, time: Some(TRIGGER_INTERVAL) };
    Scenario { threshold, receivers, motion, ..scenario }
}

/// The first life of the recorded tank that is there from the start lasts slightly longer than this. Every row beyond
/// the paper has this duration.
pub(super) const FIRST_LIFE: Span = Span::from_secs(68);

/// Returns how a run is sampled. The first trigger after the introduction is at 4 s.
pub(super) fn sampling(scenario: &Scenario) -> Sampling {
    Sampling { from: TRIGGER_INTERVAL, until: scenario.duration, every: SAMPLE_INTERVAL, ledger: true }
}

/// Returns the samples just before each trigger but the first, when every vector has arrived.
pub(super) fn instants(run: &RunFigures) -> impl Iterator<Item = &RunSample> {
    run.samples.chunks(SAMPLES_PER_TRIGGER).skip(1).map(|samples| &samples[0])
}

/// Returns whether every receiver was sent exactly one vector between two samples.
fn is_sent(before: &RunSample, after: &RunSample) -> bool {
    before.known.iter().zip(&after.known).all(|((_, before), (_, after))| *after == before + 1)
}

/// The theorem's sums at a trigger.
pub(super) struct Sums {
    /// Their spread relative to their mean.
    pub(super) spread: f64,
    /// Whether an earlier vector was flushed, or sent so late that the next one may have overtaken it.
    pub(super) is_after_flush: bool,
}

/// The fate of a trigger's vector.
pub(super) enum Trigger {
    /// It was sent to every receiver within a second, after one whose feedback had arrived: the assumptions are met
    /// except for earlier flushes.
    Sent(Sums),
    /// It was sent to every receiver, but it or the one before it so late that feedback may have been missing.
    Late,
    /// The next vector was made before this one was sent to every receiver.
    Flushed,
}

/// Returns the fate of every trigger's vector, with the theorem's sums. A flushed vector breaks the assumptions for
/// good: a receiver that was sent it has used up its R, although the others have not caught up with it. So does a
/// vector that is overtaken.
pub(super) fn triggers(run: &RunFigures) -> impl Iterator<Item = Trigger> {
    let chunks: Vec<&[RunSample]> = run.samples.chunks(SAMPLES_PER_TRIGGER).collect();
    let (mut is_after_flush, mut was_late) = (false, false);
    let pairs: Vec<_> = chunks.windows(2).map(|pair| (pair[0], &pair[1][0])).collect();
    pairs.into_iter().map(move |(samples, next)| {
        let is_late = !is_sent(&samples[0], &samples[SENT_SAMPLE]);
        let feedback_is_late = core::mem::replace(&mut was_late, is_late);
        is_after_flush |= !is_sent(&samples[0], &samples[OVERTAKEN_SAMPLE]);
        if !is_sent(&samples[0], next) {
            return Trigger::Flushed;
        }
        if is_late || feedback_is_late {
            return Trigger::Late;
        }
        let sums: Vec<f64> = samples[EXPECTED_SAMPLE].known.iter().map(|(error, _)| *error).collect();
        Trigger::Sent(Sums { spread: relative_spread(&sums), is_after_flush })
    })
}

/// Returns the theorem's sums at the triggers where they can be observed.
pub(super) fn sums(run: &RunFigures) -> impl Iterator<Item = Sums> {
    triggers(run).filter_map(|trigger| if let Trigger::Sent(sums) = trigger { Some(sums) } else { None })
}

/// Counts the flushed vectors.
pub(super) fn flushed(run: &RunFigures) -> usize {
    triggers(run).filter(|trigger| matches!(trigger, Trigger::Flushed)).count()
}

/// Returns the spread relative to the mean.
pub(super) fn relative_spread(errors: &[f64]) -> f64 {
    let mean = mean(errors);
    if mean > 0.0 { population_sd(errors) / mean } else { 0.0 }
}

/// Returns each error minus the mean. It works on differences to the first error, so that equal errors give exactly
/// 0.
pub(super) fn differences(errors: &[f64]) -> Vec<f64> {
    let to_first: Vec<f64> = errors.iter().map(|error| error - errors[0]).collect();
    let mean = mean(&to_first);
    to_first.into_iter().map(|difference| difference - mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_equal_errors_are_exactly_zero() {
        assert_eq!(differences(&[0.1 + 0.2; 3]), [0.0; 3]);
        assert_eq!(differences(&[1.0, 2.0, 6.0]), [-2.0, -1.0, 3.0]);
    }
}
