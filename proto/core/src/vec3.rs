//! Vectors in space. Plane motion keeps `z = 0`, and adding zeros changes no bit of its results.

use core::ops::{Add, Mul, Neg, Sub};

/// A position, velocity or acceleration in world units.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Vec3 {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
    /// Up.
    pub z: f64,
}

impl Vec3 {
    /// The zero vector.
    pub const ZERO: Self = Self::new(0.0, 0.0, 0.0);

    /// Makes a vector from its coordinates.
    #[must_use]
    #[inline]
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// Makes a vector in the plane.
    #[must_use]
    #[inline]
    pub const fn xy(x: f64, y: f64) -> Self {
        Self::new(x, y, 0.0)
    }

    /// Returns the dot product.
    #[must_use]
    #[inline]
    pub fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Returns the cross product.
    #[must_use]
    #[inline]
    pub fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    /// Returns the square of the length.
    #[must_use]
    #[inline]
    pub fn length_squared(self) -> f64 {
        self.dot(self)
    }

    /// Returns the length.
    #[must_use]
    #[inline]
    pub fn length(self) -> f64 {
        self.length_squared().sqrt()
    }

    /// Returns the distance to another point.
    #[must_use]
    #[inline]
    pub fn distance(self, other: Self) -> f64 {
        (self - other).length()
    }

    /// Rotates the vector about the vertical axis by the angle with this cosine and sine, to the left if
    /// positive.
    #[must_use]
    #[inline]
    pub fn turned(self, cos: f64, sin: f64) -> Self {
        Self::new(self.x * cos - self.y * sin, self.x * sin + self.y * cos, self.z)
    }

    /// Returns whether every coordinate is finite and at most `limit` in size.
    #[must_use]
    #[inline]
    pub fn within(self, limit: f64) -> bool {
        // Comparisons with NaN are false, so NaN is never within.
        self.x.abs() <= limit && self.y.abs() <= limit && self.z.abs() <= limit
    }
}

impl Add for Vec3 {
    type Output = Self;
    #[inline]
    fn add(self, o: Self) -> Self {
        Self::new(self.x + o.x, self.y + o.y, self.z + o.z)
    }
}

impl Sub for Vec3 {
    type Output = Self;
    #[inline]
    fn sub(self, o: Self) -> Self {
        Self::new(self.x - o.x, self.y - o.y, self.z - o.z)
    }
}

impl Neg for Vec3 {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z)
    }
}

impl Mul<f64> for Vec3 {
    type Output = Self;
    #[inline]
    fn mul(self, k: f64) -> Self {
        Self::new(self.x * k, self.y * k, self.z * k)
    }
}
