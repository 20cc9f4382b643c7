//! The tests, by subject.

mod arena;
mod arena_controls;
mod arena_duels;
mod arena_story;
mod eater;
mod example;
mod guards;
mod live;
mod unit;

use crate::Test;

/// Returns the tests of a program with peer-to-peer play.
pub(crate) fn p2p() -> Vec<Test> {
    eater::TESTS.to_vec()
}

/// Returns all tests in the order in which they run: those that others build on first.
pub(crate) fn all() -> Vec<Test> {
    [
        guards::TESTS,
        unit::TESTS,
        live::TESTS,
        example::TESTS,
        arena::TESTS,
        arena_controls::TESTS,
        arena_duels::TESTS,
        arena_story::TESTS,
    ]
    .into_iter()
    .flatten()
    .copied()
    .collect()
}
