//! How an eater moves: 3 pixels a step, along the corridors, turning at the centres of cells.

use super::maze::{Cell, Maze, Way};
use super::{CELL_PIXELS, STEP_PIXELS};

/// A place on the screen, from its top left corner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Pixel {
    /// To the right.
    pub x: i32,
    /// Down.
    pub y: i32,
}

impl Pixel {
    /// Returns the straight distance.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        let (x, y) = (f64::from(self.x - other.x), f64::from(self.y - other.y));
        (x * x + y * y).sqrt()
    }

    /// Returns how far one must walk at least, since one walks along the axes only.
    #[must_use]
    pub const fn walk(self, other: Self) -> u32 {
        self.x.abs_diff(other.x).saturating_add(self.y.abs_diff(other.y))
    }
}

/// An eater's place and direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walker {
    at: Pixel,
    way: Option<Way>,
}

impl Walker {
    /// An eater that stands in the middle of a cell.
    #[must_use]
    pub fn standing(cell: Cell) -> Self {
        Self { at: cell.centre(), way: None }
    }

    /// An eater at a place in a corridor of this maze; `None` if nobody could be there.
    #[must_use]
    pub fn found(maze: &Maze, at: Pixel, way: Option<Way>) -> Option<Self> {
        let (width, height) = (i32::from(maze.columns()) * CELL_PIXELS, i32::from(maze.rows()) * CELL_PIXELS);
        if !(0..width).contains(&at.x) || !(0..height).contains(&at.y) {
            return None;
        }
        let centre = maze.cell_at(at).centre();
        let (right, down) = (at.x - centre.x, at.y - centre.y);
        let off = match (right.signum(), down.signum()) {
            (0, 0) => return Some(Self { at, way }),
            (0, -1) => Way::North,
            (0, _) => Way::South,
            (1, 0) => Way::East,
            (-1, 0) => Way::West,
            _ => return None,
        };
        let is_along = way.is_none_or(|way| way == off || way == off.opposite());
        let is_on_grid = right % STEP_PIXELS == 0 && down % STEP_PIXELS == 0;
        (is_along && is_on_grid && maze.is_open(maze.cell_at(at), off)).then_some(Self { at, way })
    }

    /// Returns where it is.
    #[must_use]
    pub const fn at(&self) -> Pixel {
        self.at
    }

    /// Returns where it is going; `None` if it stands.
    #[must_use]
    pub const fn way(&self) -> Option<Way> {
        self.way
    }

    /// Returns the cell that it is in the middle of, if it is. Only there it can turn.
    #[must_use]
    pub fn centred(&self, maze: &Maze) -> Option<Cell> {
        let cell = maze.cell_at(self.at);
        (cell.centre() == self.at).then_some(cell)
    }

    /// Moves by a step. It turns as wished if no wall is in the way, goes straight on otherwise, and stops at walls.
    pub fn step(&mut self, maze: &Maze, wish: Option<Way>) {
        match self.centred(maze) {
            Some(cell) => {
                let is_open = |way: &Way| maze.is_open(cell, *way);
                self.way = wish.filter(is_open).or(self.way.filter(is_open));
            }
            None if self.way.is_none() || wish == self.way.map(Way::opposite) => {
                // Between two cells one can only turn round. One that was found standing there goes to its cell.
                self.way = wish.filter(|way| self.is_along(maze, *way)).or(self.way);
            }
            None => {}
        }
        let Some((right, down)) = self.way.map(Way::delta) else { return };
        self.at = Pixel { x: self.at.x + right * STEP_PIXELS, y: self.at.y + down * STEP_PIXELS };
    }

    fn is_along(&self, maze: &Maze, way: Way) -> bool {
        let centre = maze.cell_at(self.at).centre();
        match way {
            Way::North | Way::South => centre.x == self.at.x,
            Way::East | Way::West => centre.y == self.at.y,
        }
    }
}
