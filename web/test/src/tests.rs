//! The tests, by what they are about.

mod example;
mod guards;
mod live;
mod unit;

use crate::Test;

/// All of them, in the order in which they are run: what everything else rests on first.
pub(crate) fn all() -> Vec<Test> {
    [guards::TESTS, unit::TESTS, live::TESTS, example::TESTS].into_iter().flatten().copied().collect()
}
