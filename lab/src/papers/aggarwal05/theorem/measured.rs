//! What the theorem speaks of, taken from a run at its triggers.
//!
//! Symbols: `A` is the error that a vector really caused at a receiver, `S` the one that was estimated when its schedule
//! was made, `R = A - S`. Just before a trigger everything has arrived, and a receiver's accumulated error is the sum of
//! `A`; once the next vector has been sent and while its feedback is on its way, what the sender's ledger expects is
//! that sum plus `S`.

use evenkeel_core::Span;
use evenkeel_dr::Threshold;
use evenkeel_link::LinkFaults;

use crate::dr::{RunFigures, RunSample, Sampling};
use crate::scenario::{Motion, Scenario};
use crate::stats::{mean, population_sd};

/// Triggers are so far apart; there are no others.
const APART: Span = Span::from_secs(4);
/// Feedback is on its way for so long.
const FEEDBACK: Span = Span::from_secs(2);
const EVERY: Span = Span::from_millis(500);
const PER_TRIGGER: usize = 8;
/// A second after a trigger its vector has been sent to everybody, if the assumptions are met.
const SENT: usize = 2;
/// A second later each of them should have arrived, and no feedback has.
const EXPECTED: usize = 4;

/// What is sent later than three seconds after its trigger may arrive after the next vector is made.
const OVERTAKEN: usize = 6;

/// The theorem's assumptions, as far as a scenario can meet them.
pub(super) fn under_assumptions(scenario: Scenario) -> Scenario {
    let mut receivers = scenario.receivers;
    for receiver in &mut receivers {
        receiver.back = LinkFaults::constant(FEEDBACK);
    }
    let motion = match scenario.motion {
        // Several tanks have triggers at several times, and who dies has others: one tank in its first life.
        Motion::Recorded(mut cursors) => {
            cursors.retain_mut(|tank| tank.sample(0.0).is_some());
            cursors.truncate(1);
            Motion::Recorded(cursors)
        }
        motion @ Motion::Driven(_) => motion,
    };
    let threshold = Threshold { distance: 1e6, time: Some(APART) };
    Scenario { threshold, receivers, motion, ..scenario }
}

/// So long, and a little longer, the recorded tank lives that is there from the start: that long is every row beyond the
/// paper.
pub(super) const FIRST_LIFE: Span = Span::from_secs(68);

/// How a run is looked at. The first trigger after the introduction is at 4 s.
pub(super) fn sampling(scenario: &Scenario) -> Sampling {
    Sampling { from: APART, until: scenario.duration, every: EVERY, ledger: true }
}

/// The samples just before each trigger but the first, when everything has arrived.
pub(super) fn instants(run: &RunFigures) -> impl Iterator<Item = &RunSample> {
    run.samples.chunks(PER_TRIGGER).skip(1).map(|samples| &samples[0])
}

/// Whether between two looks everybody was sent one vector.
fn is_sent(before: &RunSample, after: &RunSample) -> bool {
    before.known.iter().zip(&after.known).all(|((_, before), (_, after))| *after == before + 1)
}

/// The theorem's sums at a trigger.
pub(super) struct Sums {
    /// Their spread relative to their mean.
    pub(super) spread: f64,
    /// Whether an earlier vector was flushed, or all but flushed: the next one may have overtaken it.
    pub(super) is_after_flush: bool,
}

/// What became of the vector of a trigger.
pub(super) enum Trigger {
    /// It was sent to everybody within a second, after one whose feedback had come: the assumptions are met but for
    /// what was flushed before.
    Sent(Sums),
    /// It was sent to everybody, but it or the one before it so late that feedback may have been missing.
    Late,
    /// The next one was made before it was sent to everybody.
    Flushed,
}

/// What became of every trigger's vector, with the theorem's sums. A vector that is flushed breaks the assumptions for
/// good: whoever was sent it has used up its R, although the others have not come up to it. So does one that is overtaken.
pub(super) fn triggers(run: &RunFigures) -> impl Iterator<Item = Trigger> {
    let chunks: Vec<&[RunSample]> = run.samples.chunks(PER_TRIGGER).collect();
    let (mut is_after_flush, mut was_late) = (false, false);
    let pairs: Vec<_> = chunks.windows(2).map(|pair| (pair[0], &pair[1][0])).collect();
    pairs.into_iter().map(move |(samples, next)| {
        let is_late = !is_sent(&samples[0], &samples[SENT]);
        let feedback_is_late = core::mem::replace(&mut was_late, is_late);
        is_after_flush |= !is_sent(&samples[0], &samples[OVERTAKEN]);
        if !is_sent(&samples[0], next) {
            return Trigger::Flushed;
        }
        if is_late || feedback_is_late {
            return Trigger::Late;
        }
        let sums: Vec<f64> = samples[EXPECTED].known.iter().map(|(error, _)| *error).collect();
        Trigger::Sent(Sums { spread: relative_spread(&sums), is_after_flush })
    })
}

/// The theorem's sums where they can be told.
pub(super) fn sums(run: &RunFigures) -> impl Iterator<Item = Sums> {
    triggers(run).filter_map(|trigger| if let Trigger::Sent(sums) = trigger { Some(sums) } else { None })
}

/// How many vectors were flushed.
pub(super) fn flushed(run: &RunFigures) -> usize {
    triggers(run).filter(|trigger| matches!(trigger, Trigger::Flushed)).count()
}

/// The spread relative to the mean.
pub(super) fn relative_spread(errors: &[f64]) -> f64 {
    let mean = mean(errors);
    if mean > 0.0 { population_sd(errors) / mean } else { 0.0 }
}

/// Everybody's error less the mean; taken from the first, so that those of equal errors are exactly nought.
pub(super) fn differences(errors: &[f64]) -> Vec<f64> {
    let to_first: Vec<f64> = errors.iter().map(|error| error - errors[0]).collect();
    let mean = mean(&to_first);
    to_first.into_iter().map(|difference| difference - mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_errors_differ_by_nothing() {
        assert_eq!(differences(&[0.1 + 0.2; 3]), [0.0; 3]);
        assert_eq!(differences(&[1.0, 2.0, 6.0]), [-2.0, -1.0, 3.0]);
    }
}
