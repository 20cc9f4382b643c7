//! Groups of bars.

use core::fmt::Write as _;

use super::super::axis::Axis;
use super::{Frame, draw_base, draw_grid, escape, style};
use crate::figure::Bars;

/// The least width of a bar with a horizontal number above it; on narrower bars the number is vertical.
const UPRIGHT_MIN: f64 = 24.0;
/// The height of a vertical number.
const TURNED: f64 = 34.0;

/// Decimals that the numbers above the bars need.
fn decimals(groups: &[Bars]) -> usize {
    let heights = || groups.iter().flat_map(|group| &group.heights).copied();
    match heights().fold(0.0, f64::max) {
        100.0.. => 0,
        _ if heights().all(|height| height.fract() == 0.0) => 0,
        3.0.. => 1,
        0.1.. => 2,
        0.01.. => 3,
        _ => 4,
    }
}

pub(super) fn draw(
    svg: &mut String,
    categories: &[String],
    groups: &[Bars],
    names: &[&str],
    frame: Frame,
    named_at_end: bool,
) {
    let Frame { x0, x1, y0, y1, .. } = frame;
    let slot = (x1 - x0) / categories.len().max(1) as f64;
    let bar = 0.84 * slot / groups.len().max(1) as f64;
    let is_turned = bar < UPRIGHT_MIN;
    let room = if is_turned { 1.0 + TURNED / (y0 - y1) } else { 1.0 };
    let values = groups.iter().flat_map(|group| group.heights.iter().map(|height| room * height));
    let up = Axis::over(values.chain([0.0]), (y0 - y1) / 56.0, true).between(y0, y1);
    draw_grid(svg, &up, x0, x1);
    let decimals = decimals(groups);
    let number = |height: f64| format!("{height:.decimals$}");
    for (category, name) in categories.iter().enumerate() {
        let start = x0 + slot * category as f64 + 0.08 * slot;
        for (index, group) in groups.iter().enumerate() {
            let height = group.heights.get(category).copied().unwrap_or(0.0);
            let (x, top) = (start + bar * index as f64, up.pixel(height));
            let _ = write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" fill=\"var({})\"/>",
                x + 1.0,
                bar - 2.0,
                up.pixel(0.0) - top,
                style(names, &group.name).colour,
            );
            let size = if bar < 32.0 { 10 } else { 12 };
            let middle = x + 0.5 * bar;
            let _ = if is_turned {
                write!(
                    svg,
                    "<text class=\"q\" font-size=\"{size}\" transform=\"translate({:.1} {:.1}) rotate(-90)\">{}</text>",
                    middle + 3.5,
                    top - 4.0,
                    number(height)
                )
            } else {
                write!(
                    svg,
                    "<text class=\"q\" font-size=\"{size}\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    top - 5.0,
                    number(height)
                )
            };
        }
        let _ = write!(
            svg,
            "<text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            start + 0.42 * slot,
            y0 + 16.0,
            escape(name)
        );
    }
    if named_at_end {
        for (row, group) in groups.iter().enumerate() {
            let at = y1 + 20.0 + 20.0 * row as f64;
            let _ = write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"var({})\"/>\
                 <text x=\"{:.1}\" y=\"{at:.1}\">{}</text>",
                x1 + 8.0,
                at - 10.0,
                style(names, &group.name).colour,
                x1 + 26.0,
                escape(&group.name)
            );
        }
    }
    draw_base(svg, up.pixel(0.0), x0, x1);
}
