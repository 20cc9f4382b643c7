//! The field: its walls and blocks, which stop tanks and shots.

use evenkeel_core::Vec3;

/// Radius of a tank's hull against walls and blocks.
pub const HULL_RADIUS: f64 = 2.6;

/// A block with sides along the axes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Block {
    /// Its centre.
    pub middle: Vec3,
    /// Half of its extent, east and north.
    pub half: Vec3,
}

impl Block {
    const fn new(x: f64, y: f64, half_x: f64, half_y: f64) -> Self {
        Self { middle: Vec3::xy(x, y), half: Vec3::xy(half_x, half_y) }
    }

    /// Returns the point of the block nearest to a point.
    fn nearest(&self, point: Vec3) -> Vec3 {
        let (low, high) = (self.middle - self.half, self.middle + self.half);
        Vec3::xy(point.x.clamp(low.x, high.x), point.y.clamp(low.y, high.y))
    }

    /// Returns where a circle that overlaps the block is pushed to, or `None` if it does not overlap.
    fn push_out(&self, at: Vec3, radius: f64) -> Option<Vec3> {
        let nearest = self.nearest(at);
        let away = at - nearest;
        let distance = away.length();
        if distance >= radius {
            return None;
        }
        if distance > 1e-9 {
            return Some(nearest + away * (radius / distance));
        }
        // The centre is inside: push over the nearest side.
        let offset = at - self.middle;
        let (x, y) = (self.half.x - offset.x.abs(), self.half.y - offset.y.abs());
        let sign = |of: f64| if of < 0.0 { -1.0 } else { 1.0 };
        Some(if x < y {
            Vec3::xy(self.middle.x + sign(offset.x) * (self.half.x + radius), at.y)
        } else {
            Vec3::xy(at.x, self.middle.y + sign(offset.y) * (self.half.y + radius))
        })
    }

    /// Returns the fraction of a straight path at which it enters the block, if it does.
    fn entry(&self, from: Vec3, path: Vec3) -> Option<f64> {
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for (at, step, middle, half) in
            [(from.x, path.x, self.middle.x, self.half.x), (from.y, path.y, self.middle.y, self.half.y)]
        {
            let (low, high) = (middle - half - at, middle + half - at);
            if step.abs() < 1e-12 {
                if low > 0.0 || high < 0.0 {
                    return None;
                }
                continue;
            }
            let (first, last) =
                if step > 0.0 { (low / step, high / step) } else { (high / step, low / step) };
            (enter, leave) = (enter.max(first), leave.min(last));
        }
        (enter <= leave).then_some(enter)
    }
}

/// A field centred on the origin.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Half of its extent, east and north.
    pub half: Vec3,
    /// The blocks on it.
    pub blocks: Vec<Block>,
}

impl Default for Field {
    /// The arena's field.
    fn default() -> Self {
        Self {
            half: Vec3::xy(64.0, 44.0),
            blocks: vec![
                Block::new(-30.0, 20.0, 6.0, 5.0),
                Block::new(2.0, 26.0, 3.0, 9.0),
                Block::new(34.0, 16.0, 5.0, 4.0),
                Block::new(-8.0, -4.0, 4.0, 4.0),
                Block::new(26.0, -14.0, 7.0, 4.0),
                Block::new(-38.0, -18.0, 4.0, 8.0),
                Block::new(-2.0, -30.0, 8.0, 3.0),
            ],
        }
    }
}

impl Field {
    /// Returns the nearest place where a tank's hull is free.
    #[must_use]
    pub fn nearest_free(&self, at: Vec3) -> Vec3 {
        let room = self.half - Vec3::xy(HULL_RADIUS, HULL_RADIUS);
        let inside = |at: Vec3| Vec3::xy(at.x.clamp(-room.x, room.x), at.y.clamp(-room.y, room.y));
        let mut at = inside(at);
        // Gaps between blocks and walls are wider than a tank, so two rounds are enough.
        for _ in 0..2 {
            for block in &self.blocks {
                at = block.push_out(at, HULL_RADIUS).map_or(at, inside);
            }
        }
        at
    }

    /// Returns whether a tank's hull is free at a place.
    #[must_use]
    pub fn is_free(&self, at: Vec3) -> bool {
        let inside = at.x.abs() <= self.half.x - HULL_RADIUS && at.y.abs() <= self.half.y - HULL_RADIUS;
        inside && self.blocks.iter().all(|block| block.push_out(at, HULL_RADIUS).is_none())
    }

    /// Returns the fraction of a straight path at which a shot hits a wall or a block, if it does.
    #[must_use]
    pub fn first_hit(&self, from: Vec3, to: Vec3) -> Option<f64> {
        let path = to - from;
        let blocks = self.blocks.iter().filter_map(|block| block.entry(from, path));
        let walls = [(from.x, path.x, self.half.x), (from.y, path.y, self.half.y)].map(|(at, step, half)| {
            let ahead = if step > 0.0 { half - at } else { -half - at };
            (step.abs() > 1e-12).then(|| ahead / step).filter(|part| *part <= 1.0)
        });
        blocks.chain(walls.into_iter().flatten()).map(|part| part.max(0.0)).reduce(f64::min)
    }

    /// Returns whether nothing stands between two places.
    #[must_use]
    pub fn is_clear(&self, from: Vec3, to: Vec3) -> bool {
        self.first_hit(from, to).is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_leave_room_for_a_tank_between_them() {
        let field = Field::default();
        for (number, block) in field.blocks.iter().enumerate() {
            let to_wall = field.half - Vec3::xy(block.middle.x.abs(), block.middle.y.abs()) - block.half;
            assert!(to_wall.x > 2.0 * HULL_RADIUS && to_wall.y > 2.0 * HULL_RADIUS, "block {number}");
            for other in &field.blocks[..number] {
                let apart = block.middle - other.middle;
                let (x, y) = (
                    apart.x.abs() - block.half.x - other.half.x,
                    apart.y.abs() - block.half.y - other.half.y,
                );
                assert!(x.max(y) > 2.0 * HULL_RADIUS, "block {number}");
            }
        }
    }

    #[test]
    fn shots_end_at_walls_and_blocks() {
        let field = Field::default();
        let first_hit = |from: (f64, f64), to: (f64, f64)| {
            field.first_hit(Vec3::xy(from.0, from.1), Vec3::xy(to.0, to.1))
        };
        assert_eq!(first_hit((60.0, 0.0), (68.0, 0.0)), Some(0.5));
        assert_eq!(first_hit((60.0, 0.0), (63.0, 0.0)), None);
        assert_eq!(first_hit((-8.0, 10.0), (-8.0, -10.0)), Some(0.5), "the central block");
        assert_eq!(first_hit((-8.0, -4.0), (-8.0, -5.0)), Some(0.0), "from inside a block");
    }

    proptest! {
        #[test]
        fn nearest_free_always_finds_a_free_place(x in -200.0..200.0, y in -200.0..200.0) {
            let field = Field::default();
            let at = field.nearest_free(Vec3::xy(x, y));
            prop_assert!(field.is_free(Vec3::xy(at.x * (1.0 - 1e-12), at.y * (1.0 - 1e-12))) || field.nearest_free(at).distance(at) < 1e-9);
            let was_free = field.is_free(Vec3::xy(x, y));
            prop_assert!(!was_free || at.distance(Vec3::xy(x, y)) < 1e-12);
        }
    }
}
