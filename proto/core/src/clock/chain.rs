//! The lower convex hull of a set of points, in exact arithmetic.
//!
//! A line lies below all the points if and only if it lies below the corners of their lower hull, and those
//! are few: only they are kept. Coordinates are below 2^62, so a cross product fits 128 bits and every
//! comparison is exact.

/// A point: time and height in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Corner {
    pub(super) at: i64,
    pub(super) height: i64,
}

/// A slope as an exact fraction; `run` is positive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    pub(super) rise: i64,
    pub(super) run: i64,
}

impl Slope {
    pub(super) const fn negated(self) -> Self {
        Self { rise: -self.rise, run: self.run }
    }

    pub(super) fn is_below(self, other: Self) -> bool {
        i128::from(self.rise) * i128::from(other.run) < i128::from(other.rise) * i128::from(self.run)
    }

    /// The height of a corner above the line of this slope through the origin, times `run`.
    pub(super) fn excess(self, corner: Corner) -> i128 {
        i128::from(corner.height) * i128::from(self.run) - i128::from(self.rise) * i128::from(corner.at)
    }
}

/// The corners from left to right; the chain turns left at each.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    corners: Vec<Corner>,
}

impl Chain {
    pub(super) fn clear(&mut self) {
        self.corners.clear();
    }

    /// Adds a point at any position.
    pub(super) fn insert(&mut self, point: Corner) {
        let mut place = self.corners.partition_point(|corner| corner.at < point.at);
        if let Some(there) = self.corners.get(place).filter(|corner| corner.at == point.at) {
            if there.height <= point.height {
                return;
            }
            self.corners.remove(place);
        }
        if place > 0
            && place < self.corners.len()
            && !turns_left(self.corners[place - 1], point, self.corners[place])
        {
            return;
        }
        while place >= 2 && !turns_left(self.corners[place - 2], self.corners[place - 1], point) {
            self.corners.remove(place - 1);
            place -= 1;
        }
        while place + 1 < self.corners.len()
            && !turns_left(point, self.corners[place], self.corners[place + 1])
        {
            self.corners.remove(place);
        }
        self.corners.insert(place, point);
    }

    /// Returns the corner that a rising line of this slope touches first, or `None` for an empty chain.
    pub(super) fn touched(&self, slope: Slope) -> Option<Corner> {
        self.corners.iter().copied().min_by_key(|corner| slope.excess(*corner))
    }
}

fn turns_left(a: Corner, b: Corner, c: Corner) -> bool {
    let (run_b, rise_b) = (i128::from(b.at - a.at), i128::from(b.height - a.height));
    let (run_c, rise_c) = (i128::from(c.at - a.at), i128::from(c.height - a.height));
    run_b * rise_c > rise_b * run_c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::Seed;

    #[test]
    fn the_corners_touch_every_line_that_the_points_touch() {
        for seed in 0..200 {
            let mut draws = Seed::new(seed).draws();
            let mut draw = |bound| draws.below(bound) as i64;
            let points: Vec<_> = (0..40).map(|_| Corner { at: draw(50), height: draw(50) - 25 }).collect();
            let mut chain = Chain::default();
            for (count, point) in points.iter().enumerate() {
                chain.insert(*point);
                let slope = Slope { rise: draw(9) - 4, run: 1 + draw(5) };
                let least = points[..=count].iter().map(|point| slope.excess(*point)).min();
                assert_eq!(chain.touched(slope).map(|corner| slope.excess(corner)), least);
                assert!(chain.corners.windows(3).all(|c| turns_left(c[0], c[1], c[2])), "{chain:?}");
            }
        }
    }
}
