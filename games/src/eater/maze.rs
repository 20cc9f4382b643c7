//! The maze: carved depth first, then opened in some more places so that there is more than one way (3.1.1).

use evenkeel_core::{Draws, Seed};

use super::CELL_PIXELS;
use super::walker::Pixel;

/// A direction along the maze.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// Up the screen.
    North,
    /// To the right.
    East,
    /// Down the screen.
    South,
    /// To the left.
    West,
}

impl Way {
    /// All of them, clockwise.
    pub const ALL: [Self; 4] = [Self::North, Self::East, Self::South, Self::West];

    /// Returns the opposite direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::North => Self::South,
            Self::East => Self::West,
            Self::South => Self::North,
            Self::West => Self::East,
        }
    }

    /// Returns the step to the right and down.
    #[must_use]
    pub const fn delta(self) -> (i32, i32) {
        match self {
            Self::North => (0, -1),
            Self::East => (1, 0),
            Self::South => (0, 1),
            Self::West => (-1, 0),
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A cell of the maze.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cell {
    /// Its column, from the left.
    pub column: u16,
    /// Its row, from the top.
    pub row: u16,
}

impl Cell {
    /// Returns the pixel in its middle.
    #[must_use]
    pub fn centre(self) -> Pixel {
        let middle = |index: u16| i32::from(index) * CELL_PIXELS + CELL_PIXELS / 2;
        Pixel { x: middle(self.column), y: middle(self.row) }
    }

    /// Returns how many cells lie between, ignoring walls.
    #[must_use]
    pub fn distance(self, other: Self) -> u32 {
        u32::from(self.column.abs_diff(other.column)) + u32::from(self.row.abs_diff(other.row))
    }
}

/// A maze of cells with walls between them. Every cell can be reached from every other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Maze {
    columns: u16,
    rows: u16,
    /// For each cell, row by row, a bit for each way that is open.
    open: Vec<u8>,
}

impl Maze {
    /// Limit on columns and rows.
    pub const SIDE_MAX: u16 = 128;
    /// The share of cells at which one more wall is removed.
    const OPENED: u64 = 10;

    /// Carves a maze; the same seed gives the same maze everywhere.
    ///
    /// # Panics
    /// If a side is shorter than 2 or longer than [`SIDE_MAX`](Self::SIDE_MAX).
    #[must_use]
    pub fn new(seed: Seed, columns: u16, rows: u16) -> Self {
        let sides = 2..=Self::SIDE_MAX;
        assert!(sides.contains(&columns) && sides.contains(&rows), "no maze has {columns} x {rows} cells");
        let cells = usize::from(columns) * usize::from(rows);
        let mut maze = Self { columns, rows, open: vec![0; cells] };
        let mut draws = seed.draws();
        maze.carve(&mut draws);
        for _ in 0..cells as u64 / Self::OPENED {
            let cell = maze.draw_cell(&mut draws);
            let walls: Vec<Way> = maze.ways(cell, |maze, _, way| !maze.is_open(cell, way));
            maze.knock_down(cell, &walls, &mut draws);
        }
        maze
    }

    /// Walks from the top left corner to random cells that nobody has been to, and back where there are none.
    fn carve(&mut self, draws: &mut Draws) {
        let mut trail = vec![Cell::default()];
        while let Some(cell) = trail.last().copied() {
            let unvisited = self.ways(cell, |maze, next, _| maze.open[maze.index(next)] == 0);
            match self.knock_down(cell, &unvisited, draws) {
                Some(next) => trail.push(next),
                None => {
                    trail.pop();
                }
            }
        }
    }

    /// The ways to neighbours within the maze of which this is true.
    fn ways(&self, cell: Cell, is_so: impl Fn(&Self, Cell, Way) -> bool) -> Vec<Way> {
        let next = |way: &Way| self.next(cell, *way).is_some_and(|next| is_so(self, next, *way));
        Way::ALL.into_iter().filter(next).collect()
    }

    /// Removes the wall in one of these ways and returns the cell behind it.
    fn knock_down(&mut self, cell: Cell, ways: &[Way], draws: &mut Draws) -> Option<Cell> {
        if ways.is_empty() {
            return None;
        }
        let way = ways[draws.below(ways.len() as u64) as usize];
        let next = self.next(cell, way)?;
        let (here, there) = (self.index(cell), self.index(next));
        self.open[here] |= way.bit();
        self.open[there] |= way.opposite().bit();
        Some(next)
    }

    fn index(&self, cell: Cell) -> usize {
        usize::from(cell.row) * usize::from(self.columns) + usize::from(cell.column)
    }

    /// Returns the number of columns.
    #[must_use]
    pub const fn columns(&self) -> u16 {
        self.columns
    }

    /// Returns the number of rows.
    #[must_use]
    pub const fn rows(&self) -> u16 {
        self.rows
    }

    /// Returns whether the cell exists.
    #[must_use]
    pub const fn contains(&self, cell: Cell) -> bool {
        cell.column < self.columns && cell.row < self.rows
    }

    /// Returns the neighbour in this direction, whether or not a wall is between.
    #[must_use]
    pub fn next(&self, cell: Cell, way: Way) -> Option<Cell> {
        let (right, down) = way.delta();
        let column = u16::try_from(i32::from(cell.column) + right).ok()?;
        let row = u16::try_from(i32::from(cell.row) + down).ok()?;
        Some(Cell { column, row }).filter(|next| self.contains(*next))
    }

    /// Returns whether there is no wall in this direction.
    #[must_use]
    pub fn is_open(&self, cell: Cell, way: Way) -> bool {
        self.contains(cell) && self.open[self.index(cell)] & way.bit() != 0
    }

    /// Returns the neighbours that can be walked to.
    pub fn neighbours(&self, cell: Cell) -> impl Iterator<Item = (Way, Cell)> {
        let open = Way::ALL.into_iter().filter(move |way| self.is_open(cell, *way));
        open.filter_map(move |way| Some((way, self.next(cell, way)?)))
    }

    /// Returns the cell around a pixel; that nearest to it if it is outside.
    #[must_use]
    pub fn cell_at(&self, pixel: Pixel) -> Cell {
        let index = |pixel: i32, count: u16| {
            u16::try_from((pixel / CELL_PIXELS).max(0)).unwrap_or(u16::MAX).min(count - 1)
        };
        Cell { column: index(pixel.x, self.columns), row: index(pixel.y, self.rows) }
    }

    /// Draws a cell.
    pub(crate) fn draw_cell(&self, draws: &mut Draws) -> Cell {
        let column = draws.below(u64::from(self.columns)) as u16;
        Cell { column, row: draws.below(u64::from(self.rows)) as u16 }
    }
}
