//! Whether a clock was stepped by less than the hulls can tell.
//!
//! A step that is smaller than the least round trip leaves a feasible line, but a wrong one. What gives it away is that
//! both bounds move the same way: after a step of `+d` the greatest b is higher by `d`, as if the way back had become
//! shorter, and all the a's are higher by `d`, as if the way there had become longer by the same. One is a change of
//! the path; both at once, to a hair, and with no exchange in between that is as it was, are not.
//!
//! To find a shift where there is none only costs accuracy, since the exchanges after it are certified on their own.

use std::collections::VecDeque;

use super::exchange::Exchange;
use crate::time::Span;

/// So many exchanges must have moved, and of the older ones, so many of eight may be as far out by chance. The
/// probability of being wrong is the share to the power of the number: about one in a million.
const TESTS: [(usize, usize); 2] = [(16, 3), (48, 6)];
/// There must be so many older exchanges to compare with.
const OLDER_MIN: usize = 32;
/// Older exchanges count for so long: 200 ppm of it are well below [`SHIFT_MIN`].
const OLDER_MAX: Span = Span::from_secs(10);
/// Smaller shifts are not looked for: what the clock can slew, it need not step.
const SHIFT_MIN: Span = Span::from_millis(5);
/// How much of a shift may be hidden by different rates of the clocks over the time of the test.
const TOLERANCE: Span = Span::from_millis(3);

/// Whether the newest exchanges are all shifted against those before them.
pub(super) fn has_shifted(exchanges: &VecDeque<Exchange>) -> bool {
    TESTS.iter().any(|(recent, eighths)| is_shifted(exchanges, *recent, *eighths))
}

fn is_shifted(exchanges: &VecDeque<Exchange>, recent: usize, eighths: usize) -> bool {
    if exchanges.len() < recent + OLDER_MIN {
        return false;
    }
    let newest = || exchanges.iter().rev().take(recent);
    let Some(first) = newest().map(|exchange| exchange.sent).min() else { return false };
    // What was under way when the first of the newest was sent may have been stepped over.
    let older = || {
        let older =
            exchanges.iter().rev().skip(recent).skip_while(move |exchange| exchange.returned >= first);
        older.take_while(move |exchange| exchange.sent > first - OLDER_MAX)
    };
    let Some(((a, b), (a_old, b_old))) = extremes(newest()).zip(extremes(older())) else { return false };
    let (up, down) = (b - b_old, a_old - a);
    if up <= SHIFT_MIN && down <= SHIFT_MIN {
        return false;
    }
    let count = older().count();
    let is_rare = |beyond: usize| count >= OLDER_MIN && beyond * 8 <= count * eighths;
    let rose = up > SHIFT_MIN && {
        let least = a_old + up - TOLERANCE;
        a >= least && is_rare(older().filter(|exchange| exchange.upper() >= least).count())
    };
    let fell = down > SHIFT_MIN && {
        let most = b_old - down + TOLERANCE;
        b <= most && is_rare(older().filter(|exchange| exchange.lower() <= most).count())
    };
    rose || fell
}

/// The least a and the greatest b.
fn extremes<'a>(exchanges: impl Iterator<Item = &'a Exchange>) -> Option<(Span, Span)> {
    exchanges
        .map(|exchange| (exchange.upper(), exchange.lower()))
        .reduce(|(a, b), (upper, lower)| (a.min(upper), b.max(lower)))
}
