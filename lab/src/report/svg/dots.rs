//! Marks in rows.

use core::fmt::Write as _;

use super::super::axis::Axis;
use super::{Frame, draw_columns, escape, place};
use crate::figure::Bars;

/// The height of a row.
pub(super) const ROW: f64 = 24.0;
const RADIUS: f64 = 5.0;
/// If some are so many times as large as the mark, the axis is logarithmic, or the others would lie on each other.
const WIDE: f64 = 8.0;

pub(super) fn draw(
    svg: &mut String,
    rows: &[String],
    groups: &[Bars],
    (names, mark): (&[&str], f64),
    frame: Frame,
) {
    let Frame { x, x0, x1, y0, y1 } = frame;
    let values = || groups.iter().flat_map(|group| group.heights.iter().copied()).chain([mark]);
    let is_wide = values().all(|value| value > 0.0) && values().any(|value| value > WIDE * mark);
    let across = if is_wide {
        Axis::of_ratios(values())
    } else {
        Axis::over(values().chain([0.0]), (x1 - x0) / 60.0, true)
    };
    let across = across.between(x0, x1);
    draw_columns(svg, &across, y0, y1);
    let pixel = across.pixel(mark);
    let _ = write!(
        svg,
        "<line x1=\"{pixel:.1}\" x2=\"{pixel:.1}\" y1=\"{y1:.1}\" y2=\"{y0:.1}\" stroke=\"var(--quiet)\"/>"
    );
    for (index, row) in rows.iter().enumerate() {
        let y = y1 + ROW * (index as f64 + 0.5);
        let _ = write!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 4.0, y + 4.0, escape(row));
        for group in groups {
            let Some(value) = group.heights.get(index).filter(|value| value.is_finite()) else { continue };
            let _ = draw_mark(svg, place(names, &group.name), across.pixel(*value), y);
        }
    }
}

/// Told apart by shape as well as by colour.
pub(super) fn draw_mark(svg: &mut String, index: usize, x: f64, y: f64) -> core::fmt::Result {
    let r = RADIUS;
    match index % 4 {
        0 => write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"var(--c{index})\"/>"),
        1 => write!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"var(--c{index})\"/>",
            x - r + 0.5,
            y - r + 0.5,
            2.0 * r - 1.0,
            2.0 * r - 1.0
        ),
        2 => write!(
            svg,
            "<path d=\"M{x:.1} {:.1}l{:.1} {:.1}h{:.1}z\" fill=\"var(--c{index})\"/>",
            y - r,
            r,
            2.0 * r - 1.0,
            -2.0 * r
        ),
        _ => write!(
            svg,
            "<path d=\"M{x:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}z\" fill=\"var(--c{index})\"/>",
            y - r
        ),
    }
}
