//! Named points over two axes, some of them joined, and levels.

use core::fmt::Write as _;

use super::super::axis::Axis;
use super::dots::draw_mark;
use super::palette::fixed;
use super::{Frame, draw_columns, draw_grid, escape, style};
use crate::figure::{Cloud, Level};

/// Values are far apart from this ratio on.
const FAR_APART: f64 = 100.0;
const SIZE: f64 = 11.0;
/// Approximate width of a letter of that size.
const LETTER: f64 = 6.1;
/// Space reserved on each side of a mark.
const MARK: f64 = 6.0;
/// Step by which a name without room moves away from its mark, and the most steps.
const STEP: f64 = 4.0;
const AWAY_MAX: u32 = 40;

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy)]
struct Rect(f64, f64, f64, f64);

impl Rect {
    fn meets(self, other: Self) -> bool {
        self.0 < other.2 && other.0 < self.2 && self.1 < other.3 && other.1 < self.3
    }
}

pub(super) fn draw(
    svg: &mut String,
    clouds: &[Cloud],
    (levels, x_max): (&[Level], f64),
    names: &[&str],
    frame: Frame,
) {
    let Frame { x0, x1, y0, y1, .. } = frame;
    let points = || clouds.iter().flat_map(|cloud| &cloud.points);
    let across = Axis::over(points().map(|point| point.x.min(x_max)).chain([0.0]), (x1 - x0) / 60.0, true);
    let across = across.between(x0, x1);
    let heights = points().map(|point| point.y).chain(levels.iter().map(|level| level.y));
    let (low, high) = heights.clone().fold((f64::INFINITY, 0.0_f64), |(l, h), y| (l.min(y), h.max(y)));
    // Values many powers of ten apart need sparse ticks.
    let up = if high > FAR_APART * low { Axis::of_ratios(heights) } else { Axis::of_close_ratios(heights) };
    let up = up.between(y0, y1);
    draw_grid(svg, &up, x0, x1);
    draw_columns(svg, &across, y0, y1);
    let mut taken = Vec::new();
    for level in levels {
        draw_level(svg, level, up.pixel(level.y), frame, &mut taken);
    }
    let pixels = |cloud: &Cloud| -> Vec<(f64, f64)> {
        cloud.points.iter().map(|point| (across.pixel(point.x.min(x_max)), up.pixel(point.y))).collect()
    };
    for cloud in clouds {
        let colour = style(names, &cloud.name).colour;
        if cloud.is_joined {
            let line: String = pixels(cloud).iter().map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
            let line = line.trim_end();
            let _ = write!(svg, "<polyline class=\"l\" stroke=\"var({colour})\" points=\"{line}\"/>");
            taken.extend(pixels(cloud).windows(2).flat_map(|ends| along(ends[0], ends[1])));
        }
        taken.extend(pixels(cloud).into_iter().map(|(x, y)| Rect(x - MARK, y - MARK, x + MARK, y + MARK)));
    }
    for cloud in clouds {
        for (point, (x, y)) in cloud.points.iter().zip(pixels(cloud)) {
            let far = if point.x > x_max { format!(" ({:.1} →)", point.x) } else { String::new() };
            draw_name(svg, &format!("{}{far}", point.name), (x, y), frame, &mut taken);
        }
    }
    for cloud in clouds {
        let look = style(names, &cloud.name);
        for (point, (x, y)) in cloud.points.iter().zip(pixels(cloud)) {
            // A policy has its own colour; the shape says which cloud it is in.
            let colour = fixed(&point.name).map_or(look.colour, |policy| policy.colour);
            let _ = draw_mark(svg, (colour, look.shape), x, y);
        }
    }
}

/// Covers a line with small rectangles.
fn along(from: (f64, f64), to: (f64, f64)) -> impl Iterator<Item = Rect> {
    const PIECES: u32 = 12;
    (0..=PIECES).map(move |piece| {
        let part = f64::from(piece) / f64::from(PIECES);
        let (x, y) = (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1));
        Rect(x - 3.0, y - 2.0, x + 3.0, y + 2.0)
    })
}

/// Draws a horizontal line with its name above its right end, or below it if that is taken.
fn draw_level(svg: &mut String, level: &Level, y: f64, frame: Frame, taken: &mut Vec<Rect>) {
    let Frame { x0, x1, .. } = frame;
    let _ = write!(
        svg,
        "<line x1=\"{x0:.1}\" x2=\"{x1:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--quiet)\" stroke-dasharray=\"5 4\"/>"
    );
    let wide = LETTER * level.name.chars().count() as f64;
    let at = |base: f64| Rect(x1 - wide, base - SIZE, x1, base + 2.0);
    let base = if taken.iter().any(|room| room.meets(at(y - 4.0))) { y + SIZE + 2.0 } else { y - 4.0 };
    taken.push(at(base));
    let _ = write!(
        svg,
        "<text class=\"q\" font-size=\"{SIZE}\" x=\"{x1:.1}\" y=\"{base:.1}\" text-anchor=\"end\">{}</text>",
        escape(&level.name)
    );
}

/// Draws a name beside its mark where there is room; if it had to move away, a line connects them.
fn draw_name(svg: &mut String, name: &str, (x, y): (f64, f64), frame: Frame, taken: &mut Vec<Rect>) {
    let wide = LETTER * name.chars().count() as f64;
    let room = |left: f64, base: f64| Rect(left, base - SIZE, left + wide, base + 2.0);
    let inside = |Rect(left, top, right, bottom): Rect| {
        left > frame.x0 + 2.0 && right < frame.x1 && top > frame.y1 && bottom < frame.y0
    };
    let free = |(left, base): &(f64, f64)| {
        let room = room(*left, *base);
        inside(room) && !taken.iter().any(|other| other.meets(room))
    };
    let places = (0..AWAY_MAX).flat_map(|away| {
        let away = STEP * f64::from(away);
        [-away, away].into_iter().flat_map(move |down| {
            let base = y + 4.0 + down;
            [x + 9.0, x - 9.0 - wide, x - 0.5 * wide, x + 9.0 + away].map(|left| (left, base))
        })
    });
    let (left, base) = places.into_iter().find(free).unwrap_or((x + 9.0, y + 4.0));
    taken.push(room(left, base));
    let middle = base - 4.0;
    if (middle - y).abs() > 1.4 * SIZE || left > x + 12.0 {
        let end = x.clamp(left, left + wide);
        let _ = write!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{end:.1}\" y1=\"{y:.1}\" y2=\"{middle:.1}\" stroke=\"var(--quiet)\" stroke-width=\".6\"/>"
        );
    }
    let _ = write!(svg, "<text font-size=\"{SIZE}\" x=\"{left:.1}\" y=\"{base:.1}\">{}</text>", escape(name));
}
