//! The shortest way through the maze, by A* (3.1.1).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::maze::{Cell, Maze, Way};

/// A shortest way between two cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The first direction; `None` if one is there already.
    pub first: Option<Way>,
    /// The number of cells to walk.
    pub length: u32,
}

/// Finds a shortest way; the same one everywhere.
///
/// # Panics
/// If a cell is outside of the maze.
#[must_use]
pub fn route(maze: &Maze, from: Cell, to: Cell) -> Route {
    assert!(maze.contains(from) && maze.contains(to), "{from:?} or {to:?} is not in the maze");
    if from == to {
        return Route { first: None, length: 0 };
    }
    let index = |cell: Cell| usize::from(cell.row) * usize::from(maze.columns()) + usize::from(cell.column);
    let mut walked = vec![u32::MAX; usize::from(maze.columns()) * usize::from(maze.rows())];
    let mut heap = BinaryHeap::new();
    walked[index(from)] = 0;
    for (way, cell) in maze.neighbours(from) {
        walked[index(cell)] = 1;
        heap.push(Reverse((1 + cell.distance(to), cell, 1, way)));
    }
    while let Some(Reverse((_, cell, length, first))) = heap.pop() {
        if cell == to {
            return Route { first: Some(first), length };
        }
        if length > walked[index(cell)] {
            continue;
        }
        for (_, next) in maze.neighbours(cell) {
            let longer = length + 1;
            if longer < walked[index(next)] {
                walked[index(next)] = longer;
                heap.push(Reverse((longer + next.distance(to), next, longer, first)));
            }
        }
    }
    unreachable!("every cell of a maze can be reached");
}
