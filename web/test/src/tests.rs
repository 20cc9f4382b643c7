//! The tests, by what they are about.

mod arena;
mod arena_controls;
mod example;
mod guards;
mod live;
mod unit;

use crate::Test;

/// All of them, in the order in which they are run: what everything else rests on first.
pub(crate) fn all() -> Vec<Test> {
    [guards::TESTS, unit::TESTS, live::TESTS, example::TESTS, arena::TESTS, arena_controls::TESTS]
        .into_iter()
        .flatten()
        .copied()
        .collect()
}
