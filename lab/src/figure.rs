//! A figure: its frames, the table behind it, and the claims made about it.

use crate::claims::Claim;

/// A curve with its uncertainty.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// The points, in order of x.
    pub points: Vec<CurvePoint>,
}

/// One point of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurvePoint {
    /// Its x value.
    pub x: f64,
    /// Mean over the runs.
    pub y: f64,
    /// Standard deviation over the runs; 0 for a single run.
    pub spread: f64,
}

/// A group of bars, or of marks in rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Bars {
    /// Name in the legend.
    pub name: String,
    /// One value per category; NaN where there is none.
    pub heights: Vec<f64>,
}

/// Points of one series.
#[derive(Clone, PartialEq, Debug)]
pub struct Cloud {
    /// Name in the legend.
    pub name: String,
    /// The points.
    pub points: Vec<NamedPoint>,
    /// Whether a line joins them.
    pub is_joined: bool,
}

/// A point with a name.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedPoint {
    /// Its label; may be empty.
    pub name: String,
    /// Its x value.
    pub x: f64,
    /// Its y value.
    pub y: f64,
}

/// A horizontal line across a frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// Its label.
    pub name: String,
    /// Its height.
    pub y: f64,
}

/// The contents of one frame.
#[derive(Clone, PartialEq, Debug)]
pub enum Drawing {
    /// Curves over a common axis.
    Curves(Vec<Curve>),
    /// Groups of bars over these categories.
    Bars {
        /// Labels below the axis.
        categories: Vec<String>,
        /// The groups, side by side in each category.
        groups: Vec<Bars>,
    },
    /// Marks in rows, over a common axis.
    Dots {
        /// Row labels.
        rows: Vec<String>,
        /// The groups, with one mark in each row.
        groups: Vec<Bars>,
        /// A highlighted value, if any.
        mark: Option<f64>,
    },
    /// Named points over two axes; the vertical one is logarithmic.
    Points {
        /// The points.
        clouds: Vec<Cloud>,
        /// Horizontal lines.
        levels: Vec<Level>,
        /// Points beyond this x are drawn at the edge, with their value.
        x_max: f64,
    },
}

/// One frame of a figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Title above the frame.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub x_label: String,
    /// Label of the vertical axis, with its unit.
    pub y_label: String,
    /// The contents.
    pub drawing: Drawing,
}

/// A table of numbers.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Table {
    /// Column headings, with units.
    pub head: Vec<String>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

/// A re-run figure of a paper.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// The paper's key and the figure's number, for example `banavar05/fig3.19`.
    pub key: String,
    /// A title that states the finding.
    pub title: String,
    /// The setting and the seeds.
    pub caption: String,
    /// The frames.
    pub plots: Vec<Plot>,
    /// How many frames stand side by side.
    pub columns: usize,
    /// The numbers behind the frames.
    pub table: Table,
    /// The paper's claims about it, with verdicts.
    pub claims: Vec<Claim>,
}

impl Figure {
    /// Returns the stem of its file names.
    #[must_use]
    pub fn file_stem(&self) -> String {
        self.key.replace('/', "-")
    }
}

impl Plot {
    /// Returns the plot as CSV rows, without a header.
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
