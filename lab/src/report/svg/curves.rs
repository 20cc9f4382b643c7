//! Curves with their bands.

use core::fmt::Write as _;

use super::super::axis::Axis;
use super::{Frame, NAME_HEIGHT, SeriesStyle, draw_base, draw_grid, escape, style};
use crate::figure::Curve;

pub(super) fn draw(svg: &mut String, curves: &[Curve], names: &[&str], frame: Frame, named_at_end: bool) {
    let Frame { x0, x1, y0, y1, .. } = frame;
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let across = Axis::over(points().map(|p| p.x), (x1 - x0) / 70.0, false).between(x0, x1);
    let values = points().map(|p| p.y + p.spread).chain([0.0]);
    let up = Axis::over(values, (y0 - y1) / 56.0, true).between(y0, y1);
    draw_grid(svg, &up, x0, x1);
    for (at, label) in across.ticks() {
        let _ = write!(
            svg,
            "<text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            across.pixel(at),
            y0 + 16.0
        );
    }
    for curve in curves {
        draw_curve(svg, curve, style(names, &curve.name), &across, &up);
    }
    if named_at_end {
        name_at_end(svg, curves, names, (&up, y0), x1 + 8.0);
    }
    draw_base(svg, up.pixel(0.0), x0, x1);
}

fn draw_curve(svg: &mut String, curve: &Curve, look: SeriesStyle, across: &Axis, up: &Axis) {
    let SeriesStyle { colour, dash, .. } = look;
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
        let _ = write!(svg, "<polygon class=\"b\" fill=\"var({colour})\" points=\"{}\"/>", band.trim_end());
    }
    let mut line = String::new();
    for point in points() {
        let _ = write!(line, "{:.1},{:.1} ", across.pixel(point.x), up.pixel(point.y));
    }
    let _ = write!(
        svg,
        "<polyline class=\"l\" stroke=\"var({colour})\" stroke-dasharray=\"{dash}\" points=\"{}\"/>",
        line.trim_end()
    );
}

/// Draws names at the ends of the lines, pushed apart where they would overlap, and up where they would fall below
/// the axis.
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
        let SeriesStyle { colour, dash, .. } = style(names, name);
        let _ = write!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"var({colour})\" \
             stroke-width=\"2\" stroke-dasharray=\"{dash}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 18.0,
            x + 24.0,
            at + 4.0,
            escape(name)
        );
    }
}
