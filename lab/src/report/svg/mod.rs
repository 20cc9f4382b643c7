//! Draws figures as SVG: one file for light mode, dark mode and paper.
//!
//! Lines differ in colour and dash ([`palette`]), and are named at their ends where there is room, otherwise in a
//! legend.

mod bars;
mod curves;
mod dots;
mod palette;
mod points;

use core::fmt::Write as _;

use crate::figure::{Drawing, Figure, Plot};
use palette::{SeriesStyle, style};

const STYLE: &str = "\
text{fill:var(--ink);font-variant-numeric:tabular-nums}.q{fill:var(--quiet)}.g{stroke:var(--grid)}\
.t{font-weight:600}.l{fill:none;stroke-width:2;stroke-linejoin:round}.b{opacity:.14}";

/// Returns the style sheet of a drawing.
fn style_sheet() -> String {
    let (light, dark) = (palette::declarations(false), palette::declarations(true));
    format!(
        "svg{{--ink:#17202a;--quiet:#5b6670;--grid:#dfe4e8;--ground:#fff;{light}font:12px system-ui,sans-serif;background:var(--ground)}}\
         @media(prefers-color-scheme:dark){{svg{{--ink:#e6eaed;--quiet:#9aa5ae;--grid:#323a41;--ground:#14191d;{dark}}}}}\
         @media print{{svg{{--ink:#000;--quiet:#444;--grid:#ccc;--ground:#fff;{light}}}}}{STYLE}"
    )
}

/// Space above a frame's drawing, with a title and without.
const TOP: (f64, f64) = (30.0, 14.0);
/// Space below it, for the axis' numbers and label.
const BOTTOM: f64 = 44.0;
/// Distance between two names, one below the other.
const NAME_HEIGHT: f64 = 17.0;
/// Approximate width of a letter.
const LETTER: f64 = 6.6;

/// Space right of a frame without names at the line ends.
const MARGIN: f64 = 16.0;

/// Width of a bold letter relative to a regular one.
const BOLD: f64 = 1.2;

/// Returns the approximate width of a text.
fn width_of(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

/// The available width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// A page.
    Wide,
    /// A phone: one frame below the other.
    Narrow,
}

/// The position of a frame and of its drawing.
#[derive(Clone, Copy)]
struct Frame {
    x: f64,
    x0: f64,
    x1: f64,
    /// Bottom of the drawing.
    y0: f64,
    /// Top of the drawing.
    y1: f64,
}

/// Draws the figure as an SVG document.
#[must_use]
pub fn draw(figure: &Figure, layout: Layout) -> String {
    let (body, width, height) = drawn(figure, layout);
    document(figure, &body, width, height)
}

/// Draws the figure for a file of its own, with its caption as a description and a note at the foot.
pub(super) fn file(figure: &Figure, note: &str) -> String {
    let (body, width, height) = drawn(figure, Layout::Wide);
    let foot = format!(
        "<desc>{}</desc>{body}<text class=\"q\" x=\"12\" y=\"{:.0}\">{}</text>",
        escape(&figure.caption),
        height + 12.0,
        escape(note)
    );
    document(figure, &foot, width, height + 22.0)
}

fn document(figure: &Figure, body: &str, width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" role=\"img\" \
         aria-label=\"{}\"><style>{}</style>{body}</svg>\n",
        escape(&figure.title),
        style_sheet()
    )
}

/// Returns the drawing, its width and its height.
fn drawn(figure: &Figure, layout: Layout) -> (String, f64, f64) {
    let columns = if layout == Layout::Narrow { 1 } else { figure.columns.max(1) };
    // Marks in rows have no line end to place a name at.
    let has_rows =
        figure.plots.iter().any(|plot| matches!(plot.drawing, Drawing::Dots { .. } | Drawing::Points { .. }));
    let named_at_end = layout == Layout::Wide && columns == 1 && !has_rows;
    let names = names(&figure.plots);
    let width = match (layout, columns) {
        (Layout::Narrow, _) => 360.0,
        (_, 1) => 800.0,
        (_, 2) => 480.0,
        _ => 330.0,
    };
    let full_width = width * columns as f64;
    let mut body = String::new();
    let mut y =
        if named_at_end { 0.0 } else { draw_legend(&mut body, &names, full_width, figure.plots.first()) };
    for row in figure.plots.chunks(columns) {
        let height = row.iter().map(|plot| height(plot, layout, columns)).fold(0.0, f64::max);
        for (column, plot) in row.iter().enumerate() {
            let x = column as f64 * width;
            let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64;
            let right = if named_at_end { 34.0 + LETTER * longest } else { MARGIN };
            let left = match &plot.drawing {
                Drawing::Dots { rows, .. } => {
                    14.0 + LETTER * rows.iter().map(|row| row.chars().count()).max().unwrap_or(0) as f64
                }
                _ => 62.0,
            };
            let top = if plot.title.is_empty() { TOP.1 } else { TOP.0 };
            let frame =
                Frame { x, x0: x + left, x1: x + width - right, y0: y + height - BOTTOM, y1: y + top };
            draw_plot(&mut body, plot, &names, frame, named_at_end);
        }
        y += height;
    }
    (body, full_width, y)
}

fn height(plot: &Plot, layout: Layout, columns: usize) -> f64 {
    match (&plot.drawing, layout, columns) {
        (Drawing::Dots { rows, .. }, ..) => TOP.0 + BOTTOM + dots::ROW * rows.len() as f64,
        (Drawing::Points { .. }, ..) => 440.0,
        (_, Layout::Narrow, _) => 310.0,
        (_, _, 1) => 380.0,
        (_, _, 2) => 340.0,
        _ => 230.0,
    }
}

/// Returns every name in the figure once, in order.
fn names(plots: &[Plot]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for plot in plots {
        let here: Vec<&str> = match &plot.drawing {
            Drawing::Curves(curves) => curves.iter().map(|curve| curve.name.as_str()).collect(),
            Drawing::Bars { groups, .. } | Drawing::Dots { groups, .. } => {
                groups.iter().map(|group| group.name.as_str()).collect()
            }
            Drawing::Points { clouds, .. } => clouds.iter().map(|cloud| cloud.name.as_str()).collect(),
        };
        for name in here {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

fn draw_plot(svg: &mut String, plot: &Plot, names: &[&str], frame: Frame, named_at_end: bool) {
    let Frame { x, x0, x1, y0, y1 } = frame;
    if !plot.title.is_empty() {
        let _ = write!(
            svg,
            "<text class=\"t\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x0.min(x1 + MARGIN - BOLD * width_of(&plot.title)).max(x + 4.0),
            y1 - 12.0,
            escape(&plot.title)
        );
    }
    match &plot.drawing {
        Drawing::Curves(drawn) => curves::draw(svg, drawn, names, frame, named_at_end),
        Drawing::Bars { categories, groups } => {
            bars::draw(svg, categories, groups, names, frame, named_at_end)
        }
        Drawing::Points { clouds, levels, x_max } => {
            points::draw(svg, clouds, (levels, *x_max), names, frame);
        }
        Drawing::Dots { rows, groups, mark } => dots::draw(svg, rows, groups, (names, *mark), frame),
    }
    let is_logarithmic = matches!(&plot.drawing,
        Drawing::Dots { groups, mark, .. } if dots::is_logarithmic(groups, *mark));
    let scale = if is_logarithmic { " (logarithmic)" } else { "" };
    let label = format!("{}{scale}", plot.x_label);
    // Centred on the axis, or as close to that as there is room.
    let middle = (0.5 * (x0 + x1)).min(x1 + MARGIN - 0.5 * width_of(&label));
    let _ = write!(
        svg,
        "<text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        middle.max(x + 4.0 + 0.5 * width_of(&label)),
        y0 + 36.0,
        escape(&label)
    );
    if !plot.y_label.is_empty() {
        let _ = write!(
            svg,
            "<text class=\"q\" transform=\"translate({:.1} {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            x + 14.0,
            0.5 * (y0 + y1),
            escape(&plot.y_label)
        );
    }
}

/// Draws names with their lines or marks in as many rows as needed, and returns the height.
fn draw_legend(svg: &mut String, names: &[&str], width: f64, plot: Option<&Plot>) -> f64 {
    let (mut x, mut y) = (12.0, 16.0);
    for name in names {
        let SeriesStyle { colour, dash, shape } = style(names, name);
        let wide = 46.0 + width_of(name);
        if x + wide > width && x > 12.0 {
            (x, y) = (12.0, y + NAME_HEIGHT + 3.0);
        }
        let _ = match plot.map(|plot| &plot.drawing) {
            Some(Drawing::Dots { .. } | Drawing::Points { .. }) => {
                dots::draw_mark(svg, (colour, shape), x + 16.0, y - 4.0)
            }
            Some(Drawing::Bars { .. }) => write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"var({colour})\"/>",
                x + 10.0,
                y - 10.0
            ),
            _ => write!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"var({colour})\" stroke-width=\"3\" \
                 stroke-dasharray=\"{dash}\"/>",
                x + 22.0,
                y - 4.0,
                y - 4.0,
            ),
        };
        let _ = write!(svg, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", x + 28.0, escape(name));
        x += wide;
    }
    y + 10.0
}

/// Draws the vertical axis' grid lines and numbers.
fn draw_grid(svg: &mut String, up: &super::axis::Axis, x0: f64, x1: f64) {
    for (at, label) in up.ticks() {
        let pixel = up.pixel(at);
        let _ = write!(
            svg,
            "<line class=\"g\" x1=\"{x0:.1}\" x2=\"{x1:.1}\" y1=\"{pixel:.1}\" y2=\"{pixel:.1}\"/>\
             <text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            x0 - 7.0,
            pixel + 4.0
        );
    }
}

/// Draws the horizontal axis' grid lines and numbers.
fn draw_columns(svg: &mut String, across: &super::axis::Axis, y0: f64, y1: f64) {
    for (at, label) in across.ticks() {
        let pixel = across.pixel(at);
        let _ = write!(
            svg,
            "<line class=\"g\" x1=\"{pixel:.1}\" x2=\"{pixel:.1}\" y1=\"{y1:.1}\" y2=\"{y0:.1}\"/>\
             <text class=\"q\" x=\"{pixel:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            y0 + 16.0
        );
    }
}

/// Draws the base line.
fn draw_base(svg: &mut String, y: f64, x0: f64, x1: f64) {
    let _ = write!(
        svg,
        "<line x1=\"{x0:.1}\" x2=\"{x1:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--quiet)\"/>"
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
