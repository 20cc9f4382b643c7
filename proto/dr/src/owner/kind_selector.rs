//! The choice of the kind that an owner exports, behind [`Content::Auto`](crate::Content::Auto).
//!
//! Each kind exports the entity on its own, by the owner's threshold, to simulated receivers. The best kind has small errors over
//! all delays and makes few vectors. It need not be the best kind for one receiver: in the papers' setting circular vectors are
//! best exported, and damped ones best shown.

use evenkeel_core::SessionTime;

use super::Threshold;
use super::simulated::{KINDS, MEMORY, SimulatedReceivers};
use crate::motion::{DrVector, MotionKind, MotionState};

/// The weight of the number of vectors, relative to the errors at all delays.
const VECTORS_WEIGHT: f64 = 0.5;
/// Receivers are sent one in this many of the vectors that a kind makes, as under a budget: a kind that makes few of
/// them leaves little to send.
const SENT_ONE_IN: u8 = 3;

/// Finds the kind of motion that serves an entity best.
#[derive(Clone, Debug)]
pub(super) struct KindSelector {
    threshold: Threshold,
    receivers: SimulatedReceivers,
    exported: [DrVector; KINDS],
    /// Vectors per second that each kind makes.
    rates: [f64; KINDS],
    observed: SessionTime,
}

impl KindSelector {
    pub(super) fn new(threshold: Threshold, state: &MotionState, now: SessionTime) -> Self {
        let mut receivers = SimulatedReceivers::new(threshold, SENT_ONE_IN);
        receivers.generate(state, [true; KINDS], now);
        let exported = MotionKind::ALL.map(|kind| DrVector::generate(now, state, kind));
        Self { threshold, receivers, exported, rates: [0.0; KINDS], observed: now }
    }

    pub(super) fn observe(&mut self, state: &MotionState, now: SessionTime) {
        let seconds = (now - self.observed).as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        self.observed = now;
        let strayed = self.exported.map(|vector| self.threshold.strayed(state, &vector, now));
        for (kind, strayed) in strayed.into_iter().enumerate() {
            if strayed {
                self.exported[kind] = DrVector::generate(now, state, MotionKind::ALL[kind]);
            }
            let rate = f64::from(u8::from(strayed)) / seconds;
            self.rates[kind] += (rate - self.rates[kind]) * (seconds / MEMORY).min(1.0);
        }
        if strayed.contains(&true) {
            self.receivers.generate(state, strayed, now);
        }
        self.receivers.observe(state.position, now);
    }

    pub(super) fn best(&self, current: MotionKind) -> MotionKind {
        let fewest = self.rates.into_iter().fold(f64::MAX, f64::min).max(1e-3);
        self.receivers.choose(current, |kind| {
            self.receivers.cost(kind) + VECTORS_WEIGHT * self.rates[kind as usize].max(1e-3) / fewest
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulated::tests::{at, turning};
    use super::*;

    #[test]
    fn the_kind_changes_only_on_evidence_of_a_gain() {
        let mut selector = KindSelector::new(Threshold::default(), &turning(0), at(0));
        for millis in (20..1_000).step_by(20) {
            selector.observe(&turning(millis), at(millis));
            assert_eq!(selector.best(MotionKind::Linear), MotionKind::Linear, "after {millis} ms");
        }
        for millis in (1_000..9_000).step_by(20) {
            selector.observe(&turning(millis), at(millis));
        }
        assert_eq!(selector.best(MotionKind::Linear), MotionKind::Circular);
        assert_eq!(selector.best(MotionKind::Damped), MotionKind::Damped, "damped is as good as circular");
    }

    #[test]
    fn time_that_stands_still_or_jumps_is_harmless() {
        let mut selector = KindSelector::new(Threshold::default(), &turning(0), at(0));
        for millis in [0, 0, 20, 20, 10, 3_600_000, 3_600_020, 0, i64::MAX / 1_000_000] {
            selector.observe(&turning(millis.min(10_000)), at(millis));
            let kind = selector.best(MotionKind::Linear);
            assert!(selector.receivers.cost(kind).is_finite());
        }
    }
}
