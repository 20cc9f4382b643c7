//! Double-double arithmetic (Dekker 1971): numbers of about 32 digits as sums of two floating-point numbers.

use core::ops::{Add, Div, Mul, Neg, Sub};

/// A number of about 32 digits: `high + low`, where `low` is at most half an ulp of `high`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Dd {
    high: f64,
    low: f64,
}

/// The sum of two numbers and its rounding error.
fn two_sum(a: f64, b: f64) -> Dd {
    let high = a + b;
    let b_part = high - a;
    Dd { high, low: (a - (high - b_part)) + (b - b_part) }
}

/// The product of two numbers and its rounding error.
fn two_product(a: f64, b: f64) -> Dd {
    const SPLITTER: f64 = 134_217_729.0; // 2^27 + 1
    let split = |x: f64| {
        let c = SPLITTER * x;
        let high = c - (c - x);
        (high, x - high)
    };
    let high = a * b;
    let ((a1, a2), (b1, b2)) = (split(a), split(b));
    Dd { high, low: ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2 }
}

impl Dd {
    pub(crate) const ZERO: Self = Self { high: 0.0, low: 0.0 };

    pub(crate) const fn to_f64(self) -> f64 {
        self.high
    }

    /// The square root: one Newton step from the machine's.
    pub(crate) fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return Self::ZERO;
        }
        let root = Self::from(self.high.sqrt());
        (root + self / root) * Self::from(0.5)
    }
}

impl From<f64> for Dd {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Add for Dd {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        let (high, low) = (two_sum(self.high, o.high), two_sum(self.low, o.low));
        let sum = two_sum(high.high, high.low + low.high);
        two_sum(sum.high, sum.low + low.low)
    }
}

impl Neg for Dd {
    type Output = Self;
    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for Dd {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        self + -o
    }
}

impl Mul for Dd {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        let product = two_product(self.high, o.high);
        two_sum(product.high, product.low + (self.high * o.low + self.low * o.high))
    }
}

impl Div for Dd {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let first = Self::from(self.high / o.high);
        let rest = self - first * o;
        let second = Self::from(rest.high / o.high);
        let rest = rest - second * o;
        first + second + Self::from(rest.high / o.high)
    }
}
