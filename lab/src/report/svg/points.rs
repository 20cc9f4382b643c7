//! Named points over two axes, some of them joined, and levels.

use core::fmt::Write as _;

use super::super::axis::Axis;
use super::dots::draw_mark;
use super::{Frame, draw_grid, escape, place};
use crate::figure::{Cloud, Level};

const SIZE: f64 = 11.0;
/// About the width of a letter of that size.
const LETTER: f64 = 5.7;
/// A mark takes so much room to each side.
const MARK: f64 = 6.0;

/// Some room: left, top, right, bottom.
#[derive(Clone, Copy)]
struct Room(f64, f64, f64, f64);

impl Room {
    fn meets(self, other: Self) -> bool {
        self.0 < other.2 && other.0 < self.2 && self.1 < other.3 && other.1 < self.3
    }
}

pub(super) fn draw(svg: &mut String, clouds: &[Cloud], levels: &[Level], names: &[&str], frame: Frame) {
    let Frame { x0, x1, y0, y1, .. } = frame;
    let points = || clouds.iter().flat_map(|cloud| &cloud.points);
    let across = Axis::over(points().map(|point| point.x).chain([0.0]), (x1 - x0) / 60.0, true);
    let across = across.between(x0, x1);
    let heights = points().map(|point| point.y).chain(levels.iter().map(|level| level.y));
    let up = Axis::of_close_ratios(heights).between(y0, y1);
    draw_grid(svg, &up, x0, x1);
    for (at, label) in across.ticks() {
        let pixel = across.pixel(at);
        let _ = write!(
            svg,
            "<line class=\"g\" x1=\"{pixel:.1}\" x2=\"{pixel:.1}\" y1=\"{y1:.1}\" y2=\"{y0:.1}\"/>\
             <text class=\"q\" x=\"{pixel:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            y0 + 16.0
        );
    }
    let mut taken = Vec::new();
    for level in levels {
        draw_level(svg, level, up.pixel(level.y), frame, &mut taken);
    }
    let pixels = |cloud: &Cloud| -> Vec<(f64, f64)> {
        cloud.points.iter().map(|point| (across.pixel(point.x), up.pixel(point.y))).collect()
    };
    for cloud in clouds {
        let index = place(names, &cloud.name);
        if cloud.is_joined {
            let line: String = pixels(cloud).iter().map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
            let line = line.trim_end();
            let _ = write!(svg, "<polyline class=\"l\" stroke=\"var(--c{index})\" points=\"{line}\"/>");
        }
        for (x, y) in pixels(cloud) {
            let _ = draw_mark(svg, index, x, y);
            taken.push(Room(x - MARK, y - MARK, x + MARK, y + MARK));
        }
    }
    for cloud in clouds {
        for (point, (x, y)) in cloud.points.iter().zip(pixels(cloud)) {
            draw_name(svg, &point.name, x, y, frame, &mut taken);
        }
    }
}

/// A line across, named above its right end.
fn draw_level(svg: &mut String, level: &Level, y: f64, frame: Frame, taken: &mut Vec<Room>) {
    let Frame { x0, x1, .. } = frame;
    let _ = write!(
        svg,
        "<line x1=\"{x0:.1}\" x2=\"{x1:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--quiet)\" stroke-dasharray=\"5 4\"/>"
    );
    let wide = LETTER * level.name.chars().count() as f64;
    let at = |base: f64| Room(x1 - wide, base - SIZE, x1, base + 2.0);
    let base = if taken.iter().any(|room| room.meets(at(y - 4.0))) { y + SIZE + 2.0 } else { y - 4.0 };
    taken.push(at(base));
    let _ = write!(
        svg,
        "<text class=\"q\" font-size=\"{SIZE}\" x=\"{x1:.1}\" y=\"{base:.1}\" text-anchor=\"end\">{}</text>",
        escape(&level.name)
    );
}

/// The name beside its mark, where there is room.
fn draw_name(svg: &mut String, name: &str, x: f64, y: f64, frame: Frame, taken: &mut Vec<Room>) {
    if name.is_empty() {
        return;
    }
    let wide = LETTER * name.chars().count() as f64;
    let room = |left: f64, base: f64| Room(left, base - SIZE, left + wide, base + 2.0);
    let shifts = [0.0, -11.0, 11.0, -22.0, 22.0, -33.0, 33.0, -44.0, 44.0, -55.0, 55.0, -66.0, 66.0];
    let beside = shifts.iter().flat_map(|shift| {
        [(x + 9.0, y + 4.0 + shift), (x - 9.0 - wide, y + 4.0 + shift), (x - 0.5 * wide, y + 4.0 + shift)]
    });
    let inside = |Room(left, top, right, bottom): Room| {
        left > frame.x0 + 2.0 && right < frame.x1 && top > frame.y1 && bottom < frame.y0
    };
    let free = |(left, base): &(f64, f64)| {
        let room = room(*left, *base);
        inside(room) && !taken.iter().any(|other| other.meets(room))
    };
    let (left, base) = beside.clone().find(free).unwrap_or((x + 9.0, y + 4.0));
    taken.push(room(left, base));
    // Where the name had to go away from its mark, a line leads to it.
    let middle = base - 4.0;
    if (middle - y).abs() > 12.0 {
        let end = if left > x { left - 1.0 } else { (left + wide + 1.0).min(x) };
        let _ =
            write!(svg, "<line class=\"g\" x1=\"{x:.1}\" x2=\"{end:.1}\" y1=\"{y:.1}\" y2=\"{middle:.1}\"/>");
    }
    let _ = write!(svg, "<text font-size=\"{SIZE}\" x=\"{left:.1}\" y=\"{base:.1}\">{}</text>", escape(name));
}
