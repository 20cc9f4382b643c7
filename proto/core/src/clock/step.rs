//! Detects clock steps that are smaller than the round trip.
//!
//! Such a step leaves a feasible line, but a wrong one. To the hulls it looks as if one way had suddenly
//! become shorter, which may also be true after a change of route. Both are treated alike, because in both
//! cases the estimate has to move and the exchanges from then on are certified on their own. After a change
//! of route this costs some accuracy.
//!
//! What counts as sudden depends on the jitter. The minimum delay so far is beaten now and then, by less and
//! less, but hardly ever by twice the mean deviation of the delays. A smaller step can stay hidden until the
//! window has passed.

use std::collections::VecDeque;

use super::exchange::Exchange;
use crate::time::Span;

/// Smaller steps are not detected.
const STEP_MIN: Span = Span::from_millis(5);
/// Number of exchanges needed to judge the jitter.
const BEFORE_MIN: usize = 4;
/// Number of newest exchanges that the jitter is computed from.
const BEFORE_MAX: usize = 32;

/// Returns whether the next exchange, which moves a bound by `moved`, reveals a step. `before` are the
/// exchanges so far.
pub(super) fn is_step(before: &VecDeque<Exchange>, bound: fn(&Exchange) -> Span, moved: Span) -> bool {
    if moved <= STEP_MIN || before.len() < BEFORE_MIN {
        return false;
    }
    let count = before.len().min(BEFORE_MAX) as i64;
    let bounds = || before.iter().rev().take(BEFORE_MAX).map(bound);
    // Sums differences to the first bound, which stay small at any offset.
    let first = bounds().next().unwrap_or_default();
    let mean = first + bounds().fold(Span::ZERO, |sum, bound| sum + (bound - first)).part(count);
    let deviation = bounds().fold(Span::ZERO, |sum, bound| sum + (bound - mean).abs()).part(count);
    moved > deviation.times(2)
}
