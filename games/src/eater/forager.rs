//! A bot: where it goes for its next stone (3.1.1).

use evenkeel_core::{Draws, Seed};

use super::maze::{Cell, Maze, Way};
use super::path::route;
use super::stones::{StoneId, Stones};
use super::walker::Walker;

/// How many of the nearest stones, ignoring walls, are considered.
const CONSIDERED: usize = 5;
/// The nearest stone is clearly nearest if the way to it is at most this share of that to the second.
const CLEARLY: (u32, u32) = (1, 2);

/// A bot. Of the five nearest stones, ignoring walls, it goes for the one with the shortest way if that is clearly the
/// shortest, and for a random one of them otherwise: so two bots in a cell do not follow each other for ever.
#[derive(Clone, Debug)]
pub struct Forager {
    draws: Draws,
    target: Option<StoneId>,
}

impl Forager {
    /// A bot whose choices depend on this seed.
    #[must_use]
    pub const fn new(seed: Seed) -> Self {
        Self { draws: seed.draws(), target: None }
    }

    /// Returns the stone that it goes for.
    #[must_use]
    pub const fn target(&self) -> Option<StoneId> {
        self.target
    }

    /// Returns where it wants to go. It decides in the middle of cells only.
    pub fn wish(&mut self, maze: &Maze, stones: &Stones, walker: &Walker) -> Option<Way> {
        let cell = walker.centred(maze)?;
        if self.target.is_none_or(|target| !stones.is_present(target)) {
            self.target = self.choose(maze, stones, cell);
        }
        route(maze, cell, stones.place(self.target?)).first
    }

    fn choose(&mut self, maze: &Maze, stones: &Stones, cell: Cell) -> Option<StoneId> {
        let mut ways = considered(stones, cell);
        ways.iter_mut().for_each(|(length, _, place)| *length = route(maze, cell, *place).length);
        ways.sort_unstable();
        let (share, whole) = CLEARLY;
        match &ways[..] {
            [] => None,
            [(_, only, _)] => Some(*only),
            [(first, nearest, _), (second, ..), ..] if first * whole <= second * share => Some(*nearest),
            _ => Some(ways[self.draws.below(ways.len() as u64) as usize].1),
        }
    }
}

/// The nearest stones, ignoring walls, with their distances.
fn considered(stones: &Stones, cell: Cell) -> Vec<(u32, StoneId, Cell)> {
    let mut near: Vec<_> =
        stones.present().map(|(stone, place)| (cell.distance(place), stone, place)).collect();
    near.sort_unstable();
    near.truncate(CONSIDERED);
    near
}

/// Returns the first step of the shortest way to a stone: where an eater probably turns.
pub(super) fn guess(maze: &Maze, stones: &Stones, cell: Cell) -> Option<Way> {
    let routes = considered(stones, cell).into_iter().map(|(_, stone, place)| {
        let route = route(maze, cell, place);
        (route.length, stone, route.first)
    });
    // A stone in this very cell is about to be eaten; it says nothing about the turn.
    routes.filter(|(_, _, first)| first.is_some()).min_by_key(|(length, stone, _)| (*length, *stone))?.2
}
