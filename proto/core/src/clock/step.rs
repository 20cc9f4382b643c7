//! Whether a bound moved too suddenly to be trusted.
//!
//! A step of a clock that is smaller than the least round trip leaves a feasible line, but a wrong one. To the hulls it
//! looks as if one way had become shorter all of a sudden, which may also be true: a new route. In either case what came
//! before can be forgotten, since the exchanges after it are certified on their own, and in either case the estimate
//! has to move. So no difference is made, and nothing is lost but some accuracy after a new route.
//!
//! What is sudden depends on the jitter. The least delay so far is beaten now and then, at first by much and later by
//! less and less, but hardly ever by twice as much as delays differ from their mean on average. A step that is smaller
//! than that can stay hidden until the window has passed.

use std::collections::VecDeque;

use super::exchange::Exchange;
use crate::time::Span;

/// Smaller steps are not looked for.
const SUDDEN_MIN: Span = Span::from_millis(5);
/// So many exchanges must have come before.
const BEFORE_MIN: usize = 4;
/// The jitter is that of so many newest exchanges.
const BEFORE_MAX: usize = 32;

/// Whether a bound that was moved by so much, by the exchange that comes next after these, moved suddenly.
pub(super) fn is_sudden(before: &VecDeque<Exchange>, bound: fn(&Exchange) -> Span, moved: Span) -> bool {
    if moved <= SUDDEN_MIN || before.len() < BEFORE_MIN {
        return false;
    }
    let count = before.len().min(BEFORE_MAX) as i64;
    let bounds = || before.iter().rev().take(BEFORE_MAX).map(bound);
    // Differences to the first, so that sums stay small whatever the offset is.
    let first = bounds().next().unwrap_or_default();
    let mean = first + bounds().fold(Span::ZERO, |sum, bound| sum + (bound - first)).part(count);
    let deviation = bounds().fold(Span::ZERO, |sum, bound| sum + (bound - mean).abs()).part(count);
    moved > deviation.times(2)
}
