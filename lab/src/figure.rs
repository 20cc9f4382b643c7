//! A figure: what it shows, its curves or bars, the table behind it, and the claims that are made about it.

use crate::claims::Claim;

/// A curve with its uncertainty.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// What the legend says.
    pub name: String,
    /// x, mean over the runs, and standard deviation over the runs.
    pub points: Vec<CurvePoint>,
}

/// One point of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurvePoint {
    /// Where.
    pub x: f64,
    /// Mean over the runs.
    pub y: f64,
    /// Standard deviation over the runs; 0 for a single run.
    pub spread: f64,
}

/// A group of bars.
#[derive(Clone, PartialEq, Debug)]
pub struct Bars {
    /// What the legend says.
    pub name: String,
    /// One bar for each category; not a number where there is none.
    pub heights: Vec<f64>,
}

/// Points that belong together.
#[derive(Clone, PartialEq, Debug)]
pub struct Cloud {
    /// What the legend says.
    pub name: String,
    /// The points.
    pub points: Vec<NamedPoint>,
    /// They are joined by a line.
    pub is_joined: bool,
}

/// A point with a name.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedPoint {
    /// What stands beside it; nothing if it is empty.
    pub name: String,
    /// Where.
    pub x: f64,
    /// Where.
    pub y: f64,
}

/// A line across a frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// What stands beside it.
    pub name: String,
    /// How high it is.
    pub y: f64,
}

/// What is drawn in one frame.
#[derive(Clone, PartialEq, Debug)]
pub enum Drawing {
    /// Curves over a common axis.
    Curves(Vec<Curve>),
    /// Groups of bars over these categories.
    Bars {
        /// Below the axis.
        categories: Vec<String>,
        /// Side by side in each category.
        groups: Vec<Bars>,
    },
    /// Marks in rows, over a common axis.
    Dots {
        /// What each row is called.
        rows: Vec<String>,
        /// One mark in each row.
        groups: Vec<Bars>,
        /// A value that is pointed out, if any.
        mark: Option<f64>,
    },
    /// Named points over two axes, the upright one logarithmic.
    Points {
        /// The points.
        clouds: Vec<Cloud>,
        /// Lines across.
        levels: Vec<Level>,
        /// What is farther to the right stands at the edge, with its number.
        x_max: f64,
    },
}

/// One frame of a figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Above the frame.
    pub title: String,
    /// With its unit.
    pub x_label: String,
    /// With its unit.
    pub y_label: String,
    /// What is in it.
    pub drawing: Drawing,
}

/// Numbers in rows.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Table {
    /// Column heads, with units.
    pub head: Vec<String>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

/// A figure of a paper, re-run.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// The key of the paper and the figure's number: `banavar05/fig3.19`.
    pub key: String,
    /// A title that says what it shows.
    pub title: String,
    /// Setting and seeds.
    pub caption: String,
    /// The frames.
    pub plots: Vec<Plot>,
    /// How many frames stand side by side.
    pub columns: usize,
    /// The figures in numbers.
    pub table: Table,
    /// What the paper says about it, and whether that holds.
    pub claims: Vec<Claim>,
}

impl Figure {
    /// A name for its files.
    #[must_use]
    pub fn file_stem(&self) -> String {
        self.key.replace('/', "-")
    }
}

impl Plot {
    /// The plot as rows of comma-separated values, with a head.
    #[must_use]
    pub fn csv_rows(&self) -> Vec<Vec<String>> {
        let number = |value: f64| if value.is_finite() { format!("{value}") } else { String::new() };
        let plot = if self.title.is_empty() { &self.y_label } else { &self.title };
        match &self.drawing {
            Drawing::Curves(curves) => curves
                .iter()
                .flat_map(|curve| {
                    curve.points.iter().map(move |point| {
                        let CurvePoint { x, y, spread } = *point;
                        vec![plot.clone(), curve.name.clone(), number(x), number(y), number(spread)]
                    })
                })
                .collect(),
            Drawing::Points { clouds, levels, .. } => {
                let points = clouds.iter().flat_map(|cloud| {
                    cloud.points.iter().map(move |point| {
                        let name = format!("{}: {}", cloud.name, point.name);
                        vec![plot.clone(), name, number(point.x), number(point.y), String::new()]
                    })
                });
                let levels = levels.iter().map(|level| {
                    vec![plot.clone(), level.name.clone(), String::new(), number(level.y), String::new()]
                });
                points.chain(levels).collect()
            }
            Drawing::Bars { categories, groups } | Drawing::Dots { rows: categories, groups, .. } => groups
                .iter()
                .flat_map(|group| {
                    group.heights.iter().zip(categories).map(move |(height, category)| {
                        let name = group.name.clone();
                        vec![plot.clone(), name, category.clone(), number(*height), String::new()]
                    })
                })
                .collect(),
        }
    }
}
