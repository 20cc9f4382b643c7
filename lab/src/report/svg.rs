//! Figures as SVG: one file that reads in light, in dark and on paper.
//!
//! Lines are told apart by colour and by dash, and named at their end where there is room; otherwise in a legend.

use core::fmt::Write as _;

use super::axis::Axis;
use crate::figure::{Curve, Drawing, Figure, Plot};

const STYLE: &str = "\
svg{--ink:#17202a;--quiet:#5b6670;--grid:#dfe4e8;--ground:#fff;--c0:#c2410c;--c1:#0b6e99;--c2:#15803d;--c3:#6d28d9;\
--c4:#a16207;--c5:#be185d;font:12px system-ui,sans-serif;background:var(--ground)}\
@media(prefers-color-scheme:dark){svg{--ink:#e6eaed;--quiet:#9aa5ae;--grid:#323a41;--ground:#14191d;--c0:#fb923c;\
--c1:#56b4dd;--c2:#4ade80;--c3:#b794f6;--c4:#eab308;--c5:#f472b6}}\
@media print{svg{--ink:#000;--quiet:#444;--grid:#ccc;--ground:#fff;--c0:#c2410c;--c1:#0b6e99;--c2:#15803d;\
--c3:#6d28d9;--c4:#a16207;--c5:#be185d}}\
text{fill:var(--ink);font-variant-numeric:tabular-nums}.q{fill:var(--quiet)}.g{stroke:var(--grid)}\
.t{font-weight:600}.l{fill:none;stroke-width:2;stroke-linejoin:round}.b{opacity:.16}";

const DASHES: [&str; 6] = ["none", "7 3", "2 3", "9 3 2 3", "4 4", "1 4"];

/// Where a frame is and how much room it leaves around its drawing.
#[derive(Clone, Copy)]
struct Frame {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    right: f64,
    top: f64,
}

const LEFT: f64 = 62.0;
const BOTTOM: f64 = 44.0;

/// The figure as an SVG document.
#[must_use]
pub fn draw(figure: &Figure) -> String {
    let columns = figure.columns.max(1);
    let rows = figure.plots.len().div_ceil(columns);
    let wide = columns == 1;
    let (width, height) = match columns {
        1 => (760.0, 380.0),
        2 => (480.0, 340.0),
        _ => (330.0, 230.0),
    };
    let legend = if wide { 0.0 } else { 26.0 };
    let (full_width, full_height) = (width * columns as f64, height * rows as f64 + legend);
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {full_width} {full_height}\" role=\"img\" \
         aria-label=\"{}\"><style>{STYLE}</style>",
        escape(&figure.title)
    );
    let names = names(&figure.plots);
    if !wide {
        draw_legend(&mut svg, &names, LEFT, 16.0);
    }
    for (index, plot) in figure.plots.iter().enumerate() {
        let (column, row) = ((index % columns) as f64, (index / columns) as f64);
        let frame = Frame {
            x: column * width,
            y: legend + row * height,
            width,
            height,
            right: if wide { 170.0 } else { 16.0 },
            top: if plot.title.is_empty() { 14.0 } else { 30.0 },
        };
        draw_plot(&mut svg, plot, &names, frame, wide);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Every name in the figure, once. Its place gives its colour and dash, the same in every frame.
fn names(plots: &[Plot]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for plot in plots {
        let here: Vec<&str> = match &plot.drawing {
            Drawing::Curves(curves) => curves.iter().map(|curve| curve.name.as_str()).collect(),
            Drawing::Bars { groups, .. } => groups.iter().map(|group| group.name.as_str()).collect(),
        };
        for name in here {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

fn place(names: &[&str], name: &str) -> usize {
    names.iter().position(|known| *known == name).unwrap_or(0)
}

fn draw_plot(svg: &mut String, plot: &Plot, names: &[&str], frame: Frame, named_at_end: bool) {
    let Frame { x, y, width, height, right, top } = frame;
    let (x0, x1, y0, y1) = (x + LEFT, x + width - right, y + height - BOTTOM, y + top);
    let vertical = |values: Vec<f64>| {
        Axis::over(values.into_iter().chain([0.0]), (y0 - y1) / 56.0, true).between(y0, y1)
    };
    if !plot.title.is_empty() {
        let _ = write!(svg, "<text class=\"t\" x=\"{x0}\" y=\"{}\">{}</text>", y + 18.0, escape(&plot.title));
    }
    let axis = match &plot.drawing {
        Drawing::Curves(curves) => {
            let points = || curves.iter().flat_map(|curve| &curve.points);
            let across = Axis::over(points().map(|p| p.x), (x1 - x0) / 70.0, false).between(x0, x1);
            let up = vertical(points().map(|p| p.y + p.spread).collect());
            draw_grid(svg, &up, x0, x1);
            for (at, label) in across.ticks() {
                let pixel = across.pixel(at);
                let _ = write!(
                    svg,
                    "<text class=\"q\" x=\"{pixel:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                    y0 + 16.0
                );
            }
            draw_curves(svg, curves, names, &across, &up);
            if named_at_end {
                name_at_end(svg, curves, names, (&up, y0), x1 + 8.0);
            }
            up
        }
        Drawing::Bars { categories, groups } => {
            let up = vertical(groups.iter().flat_map(|group| group.heights.clone()).collect());
            draw_grid(svg, &up, x0, x1);
            let heights: Vec<&[f64]> = groups.iter().map(|group| group.heights.as_slice()).collect();
            draw_bars(svg, categories, &heights, &up, (x0, x1, y0));
            if named_at_end {
                for (index, group) in groups.iter().enumerate() {
                    let at = y1 + 20.0 + 20.0 * index as f64;
                    let _ = write!(
                        svg,
                        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"var(--c{index})\"/>\
                         <text x=\"{:.1}\" y=\"{at:.1}\">{}</text>",
                        x1 + 8.0,
                        at - 10.0,
                        x1 + 26.0,
                        escape(&group.name)
                    );
                }
            }
            up
        }
    };
    let base = axis.pixel(0.0);
    let _ = write!(
        svg,
        "<line x1=\"{x0}\" x2=\"{x1}\" y1=\"{base:.1}\" y2=\"{base:.1}\" stroke=\"var(--quiet)\"/>"
    );
    let _ = write!(
        svg,
        "<text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text class=\"q\" transform=\"translate({:.1} {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        0.5 * (x0 + x1),
        y0 + 36.0,
        escape(&plot.x_label),
        x + 14.0,
        0.5 * (y0 + y1),
        escape(&plot.y_label)
    );
}

fn draw_grid(svg: &mut String, up: &Axis, x0: f64, x1: f64) {
    for (at, label) in up.ticks() {
        let pixel = up.pixel(at);
        let _ = write!(
            svg,
            "<line class=\"g\" x1=\"{x0}\" x2=\"{x1}\" y1=\"{pixel:.1}\" y2=\"{pixel:.1}\"/>\
             <text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            x0 - 7.0,
            pixel + 4.0
        );
    }
}

fn draw_curves(svg: &mut String, curves: &[Curve], names: &[&str], across: &Axis, up: &Axis) {
    for curve in curves {
        let index = place(names, &curve.name);
        let points = || curve.points.iter().filter(|point| point.y.is_finite());
        if points().any(|point| point.spread > 0.0) {
            let mut band = String::new();
            for point in points() {
                let _ = write!(band, "{:.1},{:.1} ", across.pixel(point.x), up.pixel(point.y + point.spread));
            }
            for point in points().rev() {
                let low = (point.y - point.spread).max(0.0);
                let _ = write!(band, "{:.1},{:.1} ", across.pixel(point.x), up.pixel(low));
            }
            let _ =
                write!(svg, "<polygon class=\"b\" fill=\"var(--c{index})\" points=\"{}\"/>", band.trim_end());
        }
        let mut line = String::new();
        for point in points() {
            let _ = write!(line, "{:.1},{:.1} ", across.pixel(point.x), up.pixel(point.y));
        }
        let _ = write!(
            svg,
            "<polyline class=\"l\" stroke=\"var(--c{index})\" stroke-dasharray=\"{}\" points=\"{}\"/>",
            DASHES[index % DASHES.len()],
            line.trim_end()
        );
    }
}

/// Between two names, one below the other.
const NAME_HEIGHT: f64 = 17.0;

/// Names at the lines' ends, pushed apart where they would overlap, and up where they would go below the axis.
fn name_at_end(svg: &mut String, curves: &[Curve], names: &[&str], (up, lowest): (&Axis, f64), x: f64) {
    let mut ends: Vec<(&str, f64)> = curves
        .iter()
        .filter_map(|curve| curve.points.last().map(|point| (curve.name.as_str(), up.pixel(point.y))))
        .collect();
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut above = f64::NEG_INFINITY;
    for (_, at) in &mut ends {
        above = at.max(above + NAME_HEIGHT);
        *at = above;
    }
    let mut below = lowest + NAME_HEIGHT;
    for (_, at) in ends.iter_mut().rev() {
        below = at.min(below - NAME_HEIGHT);
        *at = below;
    }
    for (name, at) in ends {
        let index = place(names, name);
        let _ = write!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"var(--c{index})\" \
             stroke-width=\"2\" stroke-dasharray=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 18.0,
            DASHES[index % DASHES.len()],
            x + 24.0,
            at + 4.0,
            escape(name)
        );
    }
}

fn draw_bars(svg: &mut String, categories: &[String], groups: &[&[f64]], up: &Axis, frame: (f64, f64, f64)) {
    let (x0, x1, y0) = frame;
    let slot = (x1 - x0) / categories.len().max(1) as f64;
    let bar = 0.76 * slot / groups.len().max(1) as f64;
    for (category, name) in categories.iter().enumerate() {
        let start = x0 + slot * category as f64 + 0.12 * slot;
        for (index, heights) in groups.iter().enumerate() {
            let height = heights.get(category).copied().unwrap_or(0.0);
            let (x, top) = (start + bar * index as f64, up.pixel(height));
            let _ = write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" fill=\"var(--c{index})\"/>\
                 <text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{height:.0}</text>",
                x + 1.5,
                bar - 3.0,
                up.pixel(0.0) - top,
                x + 0.5 * bar,
                top - 5.0
            );
        }
        let _ = write!(
            svg,
            "<text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            start + 0.38 * slot,
            y0 + 16.0,
            escape(name)
        );
    }
}

fn draw_legend(svg: &mut String, names: &[&str], x: f64, y: f64) {
    let mut at = x;
    for (index, name) in names.iter().enumerate() {
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"var(--c{index})\" stroke-width=\"2\" \
             stroke-dasharray=\"{}\"/><text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            at + 22.0,
            y - 4.0,
            y - 4.0,
            DASHES[index % DASHES.len()],
            at + 28.0,
            escape(name)
        );
        at += 52.0 + 7.2 * name.chars().count() as f64;
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
