//! Orientation in space, and turning about any axis, as values of fields.
//!
//! Dead reckoning turns a velocity about the vertical axis only. A game in space declares its objects `spatial`, observes turns
//! as acceleration, and gives them a [`Spin`]: where the object's axes point, and how they turn from there. Owner and receivers
//! project it by the same function of session time.

use evenkeel_core::{Malformed, Reader, SessionTime, Vec3, Wire};

use crate::field::Field;

/// The unit in which the three smaller parts of a rotation travel: 15 bits for each.
const PART: f64 = 1.0 / (16_383.0 * core::f64::consts::SQRT_2);
/// The unit of rates of turn, in radians per second.
const RATE: f64 = 1.0 / 256.0;

/// A rotation, as a unit quaternion. It travels in 6 bytes, at most 0.01 degrees off.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Orientation {
    /// The cosine of half the angle.
    pub w: f64,
    /// The axis times the sine of half the angle.
    pub axis: Vec3,
}

impl Default for Orientation {
    fn default() -> Self {
        Self { w: 1.0, axis: Vec3::ZERO }
    }
}

impl Orientation {
    /// A turn about an axis by its length, in radians.
    #[must_use]
    pub fn turned(by: Vec3) -> Self {
        let angle = by.length();
        if angle < 1e-12 {
            return Self::default();
        }
        let (sin, cos) = libm::sincos(0.5 * angle);
        Self { w: cos, axis: by * (sin / angle) }
    }

    /// This rotation, then another.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self {
            w: next.w * self.w - next.axis.dot(self.axis),
            axis: self.axis * next.w + next.axis * self.w + next.axis.cross(self.axis),
        }
    }

    /// A direction of the object, in the room.
    #[must_use]
    pub fn applied_to(self, direction: Vec3) -> Vec3 {
        let double = self.axis.cross(direction) * 2.0;
        direction + double * self.w + self.axis.cross(double)
    }

    /// The angle between two orientations, in radians.
    #[must_use]
    pub fn angle_to(self, other: Self) -> f64 {
        let dot = self.w * other.w + self.axis.dot(other.axis);
        2.0 * libm::acos(dot.abs().min(1.0))
    }

    const fn parts(self) -> [f64; 4] {
        [self.w, self.axis.x, self.axis.y, self.axis.z]
    }
}

impl Field for Orientation {
    fn describe(text: &mut String) {
        text.push_str("orientation");
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        let parts = self.parts();
        let largest = (0..4).max_by(|a, b| parts[*a].abs().total_cmp(&parts[*b].abs())).unwrap_or(0);
        let sign = if parts[largest] < 0.0 { -1.0 } else { 1.0 };
        let mut bits = largest as u64;
        for (place, part) in parts.iter().enumerate() {
            if place != largest {
                let number = (sign * part / PART).clamp(-16_383.0, 16_383.0);
                bits = bits << 15 | (libm::round(number) as i64 + 16_384) as u64;
            }
        }
        bytes.extend_from_slice(&bits.to_le_bytes()[..6]);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut word = [0; 8];
        word[..6].copy_from_slice(reader.take(6)?);
        let bits = u64::from_le_bytes(word);
        let largest = (bits >> 45) as usize;
        if largest > 3 {
            return Err(Malformed::Field);
        }
        let mut parts = [0.0; 4];
        let mut shift = 45;
        for (place, part) in parts.iter_mut().enumerate() {
            if place != largest {
                shift -= 15;
                let number = (bits >> shift & 0x7fff) as i64;
                *part = (number - 16_384) as f64 * PART;
                if number == 0 {
                    return Err(Malformed::Field);
                }
            }
        }
        let rest = 1.0 - parts.iter().map(|part| part * part).sum::<f64>();
        if rest < 0.0 {
            return Err(Malformed::Field);
        }
        parts[largest] = rest.sqrt();
        let [w, x, y, z] = parts;
        Ok(Self { w, axis: Vec3::new(x, y, z) })
    }
}

/// An orientation that turns about an axis at a constant rate from a time on.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spin {
    /// The orientation at that time.
    pub from: Orientation,
    /// The axis, as long as the rate in radians per second.
    pub rate: Vec3,
    /// That time.
    pub at: SessionTime,
}

impl Spin {
    /// The orientation at a time.
    #[must_use]
    pub fn project(&self, at: SessionTime) -> Orientation {
        self.from.then(Orientation::turned(self.rate * (at - self.at).as_secs_f64()))
    }
}

impl Field for Spin {
    fn describe(text: &mut String) {
        text.push_str("spin");
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        self.from.emit(bytes);
        for rate in [self.rate.x, self.rate.y, self.rate.z] {
            let number = libm::round(rate / RATE).clamp(f64::from(i16::MIN), f64::from(i16::MAX));
            Wire::emit(&(number as i16), bytes);
        }
        Wire::emit(&self.at, bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let from = Orientation::parse(reader)?;
        let mut rate = || reader.read::<i16>().map(|number| f64::from(number) * RATE);
        let rate = Vec3::new(rate()?, rate()?, rate()?);
        Ok(Self { from, rate, at: reader.read()? })
    }
}
