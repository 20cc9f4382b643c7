//! Marks in rows.

use core::fmt::Write as _;

use super::super::axis::Axis;
use super::{Frame, draw_columns, escape, style};
use crate::figure::Bars;

/// The height of a row.
pub(super) const ROW: f64 = 24.0;
const RADIUS: f64 = 5.0;
/// The axis is logarithmic if the largest value is more than this many times the highlighted value, or the median of
/// a group: on a linear axis the other marks would overlap.
const ABOVE_MARK: f64 = 8.0;
const ABOVE_GROUP: f64 = 20.0;

/// Returns whether these are drawn on a logarithmic axis.
pub(super) fn is_logarithmic(groups: &[Bars], mark: Option<f64>) -> bool {
    let (low, high) = values(groups, mark)
        .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    let is_small = |group: &Bars| median(values(core::slice::from_ref(group), None)) < high / ABOVE_GROUP;
    let is_large = mark.is_some_and(|mark| high > ABOVE_MARK * mark);
    low > 0.0 && (is_large || groups.iter().any(is_small))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::INFINITY)
}

fn values(groups: &[Bars], mark: Option<f64>) -> impl Iterator<Item = f64> {
    groups.iter().flat_map(|group| &group.heights).copied().chain(mark).filter(|value| value.is_finite())
}

pub(super) fn draw(
    svg: &mut String,
    rows: &[String],
    groups: &[Bars],
    (names, mark): (&[&str], Option<f64>),
    frame: Frame,
) {
    let Frame { x, x0, x1, y0, y1 } = frame;
    let across = if is_logarithmic(groups, mark) {
        Axis::of_ratios(values(groups, mark))
    } else {
        Axis::over(values(groups, mark).chain([0.0]), (x1 - x0) / 60.0, true)
    };
    let across = across.between(x0, x1);
    draw_columns(svg, &across, y0, y1);
    if let Some(pixel) = mark.map(|mark| across.pixel(mark)) {
        let _ = write!(
            svg,
            "<line x1=\"{pixel:.1}\" x2=\"{pixel:.1}\" y1=\"{y1:.1}\" y2=\"{y0:.1}\" stroke=\"var(--quiet)\"/>"
        );
    }
    for (index, row) in rows.iter().enumerate() {
        let y = y1 + ROW * (index as f64 + 0.5);
        let _ = write!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 4.0, y + 4.0, escape(row));
        for group in groups {
            let Some(value) = group.heights.get(index).filter(|value| value.is_finite()) else { continue };
            let look = style(names, &group.name);
            let _ = draw_mark(svg, (look.colour, look.shape), across.pixel(*value), y);
        }
    }
}

/// Draws a mark. Marks differ in shape as well as in colour.
pub(super) fn draw_mark(
    svg: &mut String,
    (colour, shape): (&str, usize),
    x: f64,
    y: f64,
) -> core::fmt::Result {
    let r = RADIUS;
    match shape {
        0 => write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"var({colour})\"/>"),
        1 => write!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"var({colour})\"/>",
            x - r + 0.5,
            y - r + 0.5,
            2.0 * r - 1.0,
            2.0 * r - 1.0
        ),
        2 => write!(
            svg,
            "<path d=\"M{x:.1} {:.1}l{:.1} {:.1}h{:.1}z\" fill=\"var({colour})\"/>",
            y - r,
            r,
            2.0 * r - 1.0,
            -2.0 * r
        ),
        3 => write!(
            svg,
            "<path d=\"M{x:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}z\" fill=\"var({colour})\"/>",
            y - r
        ),
        // A ring.
        _ => write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"var(--ground)\" stroke=\"var({colour})\" stroke-width=\"2\"/>",
            r - 1.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(heights: &[f64]) -> Bars {
        Bars { name: "a policy".to_owned(), heights: heights.to_vec() }
    }

    #[test]
    fn axis_is_logarithmic_only_if_marks_would_overlap() {
        let near = group(&[0.8, 0.9, 1.1]);
        assert!(!is_logarithmic(core::slice::from_ref(&near), Some(1.0)));
        assert!(!is_logarithmic(&[near.clone(), group(&[0.002, 0.9, 1.0])], Some(1.0)), "one outlier");
        assert!(is_logarithmic(&[near.clone(), group(&[1.0, 2.0, 9.0])], Some(1.0)), "some are far above");
        assert!(is_logarithmic(&[near, group(&[0.002, 0.01, f64::NAN])], Some(1.0)), "a group is small");
    }
}
