//! The hybrid dead reckoning of the Eater game (3.1.3).
//!
//! Going straight on leads through walls, and A* alone guesses the wrong stone and keeps guessing it. The thesis combines
//! them: go straight on, except in the middle of a cell with a wall ahead; then turn as A* would.

use super::forager::guess;
use super::maze::Maze;
use super::stones::Stones;
use super::walker::{Pixel, Walker};

/// Guesses are made for this many steps at most; then the eater stands.
const STEPS_MAX: u32 = 200;

/// Where an eater probably is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reckoning {
    walker: Walker,
    step: u32,
    known: u32,
}

impl Reckoning {
    /// Starts from an eater as it was at this step.
    #[must_use]
    pub const fn from(walker: Walker, step: u32) -> Self {
        Self { walker, step, known: step }
    }

    /// Guesses on up to this step.
    pub fn advance(&mut self, maze: &Maze, stones: &Stones, step: u32) {
        let until = step.min(self.known.saturating_add(STEPS_MAX));
        while self.step < until {
            self.step += 1;
            let turn = match (self.walker.centred(maze), self.walker.way()) {
                (Some(cell), Some(way)) if !maze.is_open(cell, way) => guess(maze, stones, cell),
                _ => None,
            };
            self.walker.step(maze, turn);
        }
    }

    /// Returns the place.
    #[must_use]
    pub const fn at(&self) -> Pixel {
        self.walker.at()
    }

    /// Returns the eater.
    #[must_use]
    pub const fn walker(&self) -> &Walker {
        &self.walker
    }

    /// Returns the step from which on this is a guess.
    #[must_use]
    pub const fn known(&self) -> u32 {
        self.known
    }
}
