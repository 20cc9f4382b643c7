//! The reference: receivers' errors under a 1/m base that sends as many messages as the budget allows.
//!
//! It is simulated, not sent. The error under it is a smooth function of the delay alone, so it is computed for a few delays and
//! interpolated, at the same cost for three receivers as for a thousand.

use std::collections::VecDeque;

use evenkeel_core::{SessionTime, Span};

use crate::motion::divergence::export_error;
use crate::motion::vector::DrVector;

/// The grid of delays, in milliseconds.
const DELAYS_MS: [i64; GRID] =
    [0, 10, 20, 40, 60, 80, 100, 130, 160, 200, 250, 300, 400, 500, 650, 800, 1000, 1300, 1600];
const GRID: usize = 19;
/// The most vectors in flight to the farthest delay; with more, the oldest counts as arrived.
const SENT_MAX: usize = 256;

/// The simulated 1/m base of one entity.
#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    exported: Option<DrVector>,
    /// The time up to which errors are counted.
    at: SessionTime,
    /// Vectors sent, and when. The first has arrived everywhere.
    sent: VecDeque<(SessionTime, DrVector)>,
    /// The fraction of a message saved up.
    saved: f64,
    /// Growth of the errors at each delay since the last [`take`](Self::take).
    grown: [f64; GRID],
    has_grown: bool,
}

/// A delay's position in the grid: the index of the next larger delay, and the fraction of the way there.
#[derive(Clone, Copy, Debug)]
pub(super) struct GridPosition {
    above: usize,
    part: f64,
}

impl Shadow {
    /// Notes a new vector; `share` of a message may be sent to each receiver.
    pub(super) fn trigger(&mut self, vector: &DrVector, share: f64, now: SessionTime) {
        if self.exported.is_none() {
            self.at = vector.generated;
            self.send(SessionTime::MIN, vector);
        }
        self.count_to(vector.generated);
        self.exported = Some(*vector);
        self.saved = (self.saved + share).min(2.0);
        if self.saved >= 1.0 {
            self.saved -= 1.0;
            self.send(now, vector);
        }
        let farthest = Span::from_millis(DELAYS_MS[GRID - 1]);
        while self.sent.len() > SENT_MAX
            || self.sent.get(1).is_some_and(|(sent, _)| *sent + farthest <= self.at)
        {
            self.sent.pop_front();
        }
    }

    fn send(&mut self, at: SessionTime, vector: &DrVector) {
        if self.sent.len() == self.sent.capacity() {
            // Doubling would waste too much memory.
            self.sent.reserve_exact(1 + self.sent.len() / 2);
        }
        self.sent.push_back((at, *vector));
    }

    fn count_to(&mut self, to: SessionTime) {
        let Some(exported) = &self.exported else { return };
        self.has_grown = true;
        for (grown, millis) in self.grown.iter_mut().zip(DELAYS_MS) {
            let arrival = |sent: SessionTime| (sent + Span::from_millis(millis)).min(to);
            let mut at = self.at;
            for (index, (_, placed)) in self.sent.iter().enumerate() {
                let until = self.sent.get(index + 1).map_or(to, |(sent, _)| arrival(*sent));
                if until > at && placed != exported {
                    *grown += export_error(exported, placed, at, until);
                }
                at = at.max(until);
            }
        }
        self.at = self.at.max(to);
    }

    /// The position of a delay in the grid.
    pub(super) fn grid_position(delay: Span) -> GridPosition {
        let delay = delay.as_millis_f64();
        let above = DELAYS_MS.iter().position(|millis| *millis as f64 > delay).unwrap_or(GRID - 1).max(1);
        let (low, high) = (DELAYS_MS[above - 1] as f64, DELAYS_MS[above] as f64);
        GridPosition { above, part: ((delay - low) / (high - low)).max(0.0) }
    }

    /// The growth of a receiver's error, interpolated.
    #[inline]
    pub(super) fn grown(&self, &GridPosition { above, part }: &GridPosition) -> f64 {
        let (near, far) = (self.grown[above - 1], self.grown[above]);
        near + (far - near) * part
    }

    pub(super) const fn has_grown(&self) -> bool {
        self.has_grown
    }

    pub(super) fn take(&mut self) {
        if core::mem::take(&mut self.has_grown) {
            self.grown = [0.0; GRID];
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Vec3;

    use super::*;
    use crate::motion::vector::{MotionKind, MotionState};

    fn at(millis: i64) -> SessionTime {
        SessionTime::from_nanos(0) + Span::from_millis(millis)
    }

    /// Vectors at rest, each one unit from the last.
    fn vector(number: i64) -> DrVector {
        let state = MotionState { position: Vec3::xy(number as f64, 0.0), ..MotionState::default() };
        DrVector::generate(at(number * 100), &state, MotionKind::Linear)
    }

    fn run(share: f64, vectors: i64) -> Shadow {
        let mut shadow = Shadow::default();
        (0..=vectors).for_each(|number| shadow.trigger(&vector(number), share, at(number * 100)));
        shadow
    }

    fn grown(shadow: &Shadow, millis: i64) -> f64 {
        shadow.grown(&Shadow::grid_position(Span::from_millis(millis)))
    }

    #[test]
    fn with_every_vector_sent_the_error_comes_from_the_delay() {
        let shadow = run(1.0, 100);
        // One unit for as long as each vector is under way.
        for millis in [10, 60, 100] {
            let grown = grown(&shadow, millis);
            let expected = 0.1 * millis as f64;
            assert!((grown - expected).abs() < 0.01 * expected + 0.11, "{grown} at {millis} ms");
        }
        // Between two delays of the grid.
        assert!((grown(&shadow, 50) - 5.0).abs() < 0.2);
    }

    #[test]
    fn skipped_vectors_add_to_the_error() {
        // Without delay: zero, one and two units for a tenth of a second each.
        let grown = grown(&run(1.0 / 3.0, 99), 0);
        assert!((grown - 10.0).abs() < 0.5, "{grown}");
    }

    #[test]
    fn take_resets_the_growth() {
        let mut shadow = run(0.5, 50);
        assert!(grown(&shadow, 300) > 0.0);
        shadow.take();
        assert_eq!(grown(&shadow, 300), 0.0);
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut shadow = Shadow::default();
        for number in 0..20_000 {
            let mut vector = vector(number);
            vector.generated = at(number);
            shadow.trigger(&vector, 1.0, at(number));
        }
        assert!(shadow.sent.len() <= SENT_MAX);
    }
}
