//! Export error between two linear paths, exactly: the integral of `|P + V t|` over [0, h], and its inverse.
//!
//! Symbols: `P`, `V` differences of position and velocity at the interval's start; `h` its length;
//! `P0 = P`, `P1 = P + V h`; `R = |P0| + |P1|`; `Pm` their middle; `C = (P x V) h`; `q = |V| h / R`.
//! In the code, `c` is `(C / R)^2` and `x` is `q^2`.
//!
//! Deviation: the closed forms that the papers print are wrong (section 4.3 of NetGames'05 has 1/(2b) for b/2, the
//! thesis' equation 3.3 swaps a and b), and the code of the thesis' appendix B gives NaN where the paths are collinear
//! or meet. The form used here,
//!
//! ```text
//! I = h/2 [ R/2 + 2 |Pm|^2 / R + 2 C^2 / R^3 g(q^2) ],   g(x) = (atanh(sqrt x)/sqrt x - 1)/x = 1/3 + x/5 + x^2/7 + ...
//! ```
//!
//! is a sum of terms that are never negative, with no division by |V| and no branch for collinear paths.

pub mod bulk;
pub(crate) mod sift;

use evenkeel_core::Vec3;

/// The integral of `|p + v t|` over [0, `h`] seconds, in units x seconds; `h` below zero counts as zero.
///
/// The relative error is below 1e-14. The result is never NaN or negative for finite input of sane size.
#[must_use]
pub fn integral(p: Vec3, v: Vec3, h: f64) -> f64 {
    if h <= 0.0 {
        return 0.0;
    }
    let p1 = p + v * h;
    let middle = (p + p1) * 0.5;
    // Both ends are zero if the receiver has the newest vector: keep the divisions defined.
    let r = p.length() + p1.length();
    let (inverse, squared) = (1.0 / r.max(f64::MIN_POSITIVE), h * h);
    let c = p.cross(v).length_squared() * squared * inverse * inverse;
    // Collinear crossings reach q = 1, where g has a pole and c is 0.
    let x = (v.length_squared() * squared * inverse * inverse).min(1.0 - f64::EPSILON / 2.0);
    0.5 * h * (0.5 * r + 2.0 * (middle.length_squared() + c * g(x)) * inverse)
}

/// g(x) = (atanh(sqrt x)/sqrt x - 1)/x for x in [0, 1).
///
/// Range reduction by the half-argument formula of atanh: with r = 1 + sqrt(1 - x),
/// `g(x) = 1/r^2 + 2/r^3 g(x/r^2)`. Every term is positive, so nothing cancels. Five rounds suffice for any x.
fn g(mut x: f64) -> f64 {
    let (mut sum, mut factor) = (0.0, 1.0);
    while x > SERIES_RANGE {
        let inverse = 1.0 / (1.0 + (1.0 - x).sqrt());
        let squared = inverse * inverse;
        sum += factor * squared;
        factor *= 2.0 * inverse * squared;
        x *= squared;
    }
    sum + factor * series(x)
}

/// Up to here the series is exact to a rounding.
const SERIES_RANGE: f64 = 0.09;

/// 1/3 + x/5 + x^2/7 + ... to the 14th power, in four chains that a processor computes side by side.
fn series(x: f64) -> f64 {
    const fn k(power: u32) -> f64 {
        1.0 / (2 * power + 3) as f64
    }
    let y = x * x;
    let z = y * y;
    let c0 = k(0) + z * (k(4) + z * (k(8) + z * k(12)));
    let c1 = k(1) + z * (k(5) + z * (k(9) + z * k(13)));
    let c2 = k(2) + z * (k(6) + z * (k(10) + z * k(14)));
    let c3 = k(3) + z * (k(7) + z * k(11));
    (c0 + x * c1) + y * (c2 + x * c3)
}

/// The earliest time at which the integral of `|p + v t|` reaches `error`, if it does so by `h`.
///
/// Newton's method within a bracket; the derivative is the distance itself. The start `2E / (D0 + sqrt(D0^2 + 2 |V| E))` never
/// overshoots, since the distance grows by at most |V|.
#[must_use]
pub fn inverse(p: Vec3, v: Vec3, error: f64, h: f64) -> Option<f64> {
    if error <= 0.0 {
        return Some(0.0);
    }
    if integral(p, v, h) < error {
        return None;
    }
    let d0 = p.length();
    let start = 2.0 * error / (d0 + (d0 * d0 + 2.0 * v.length() * error).sqrt());
    Some(solve(start.min(h), h, error, 2.0 * f64::EPSILON, |t| (integral(p, v, t), (p + v * t).length())))
}

/// Finds t in [`low`, `high`] with f(t) = `target`, for a function that does not decrease, also returns its derivative, and
/// reaches `target` in the interval. Ends when t moves, or the function misses, by at most `tolerance` of itself.
pub(crate) fn solve(
    mut low: f64,
    mut high: f64,
    target: f64,
    tolerance: f64,
    f: impl Fn(f64) -> (f64, f64),
) -> f64 {
    let mut t = low;
    for _ in 0..STEPS_MAX {
        let (value, slope) = f(t);
        if (target - value).abs() <= tolerance * target {
            return t;
        }
        if value >= target {
            high = high.min(t);
        } else {
            low = low.max(t);
        }
        let newton = t + (target - value) / slope;
        // Newton leaves the bracket at a near-zero distance, or by rounding.
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - t).abs() <= tolerance * next.abs() || high - low <= tolerance * high {
            return next;
        }
        t = next;
    }
    t
}

/// Enough for plain bisection to reach the last bit; Newton needs three to five.
const STEPS_MAX: u32 = 100;
