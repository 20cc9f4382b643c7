//! Accelerations that turn along with the velocity and decay: the part of [`Damped`](crate::MotionKind::Damped) vectors
//! that circular ones lack.
//!
//! No vehicle accelerates forever, and the thrust of a turning vehicle turns with it. So the velocity turns at the rate
//! `w`, and the acceleration drops to 1/e in [`DAMPING`] seconds. With the plane as complex numbers, τ = `DAMPING`,
//! λ = iw - 1/τ, S(t) the displacement of a unit velocity that turns, and D(t) = (e^(λt) - 1) / λ:
//!
//! | effect of a unit acceleration | in the plane | vertically (w = 0) |
//! | --- | --- | --- |
//! | remaining acceleration | e^(λt) | e^(-t/τ) |
//! | velocity | τ (e^(iwt) - e^(λt)) | τ (1 - e^(-t/τ)) |
//! | displacement | τ (S - D) | τ (t - τ (1 - e^(-t/τ))) |
//!
//! Where S and D nearly cancel, the displacement is summed as a power series instead, which keeps its relative error
//! below 1e-13 for any t. A damped path may be cut anywhere: the rest is the damped path of the state there. The
//! integration of distances relies on that.

use evenkeel_core::Vec3;

use super::vector::half_angle;

/// The time in which an acceleration drops to 1/e, in seconds. Recorded tanks are predicted best with 1.0 to 1.6 for
/// 0.8 s ahead and with 0.7 for 1.2 s ahead; the optimum is flat.
pub const DAMPING: f64 = 1.0;

/// How far back accelerations are extrapolated, in seconds; before that, they are constant. Backwards they grow
/// exponentially, and only a receiver whose clock is behind looks back, by milliseconds.
pub const BACK_MAX: f64 = 2.0;

/// The size of λt below which the series is used.
const SERIES_RANGE: f64 = 0.1;
/// Terms of the series; the next one would be below 1e-17.
const TERMS: u32 = 10;

/// The effect of a unit acceleration: a complex factor in the plane and a real one vertically.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fading {
    along: f64,
    aside: f64,
    up: f64,
}

impl Fading {
    /// The effect of this acceleration.
    #[inline]
    pub(crate) fn applied_to(self, acceleration: Vec3) -> Vec3 {
        let plane = acceleration.turned(self.along, self.aside);
        Vec3::new(plane.x, plane.y, acceleration.z * self.up)
    }

    /// The difference of two effects.
    pub(crate) fn minus(self, other: Self) -> Self {
        Self { along: self.along - other.along, aside: self.aside - other.aside, up: self.up - other.up }
    }
}

/// The part of a unit acceleration that remains after `t` seconds.
pub(crate) fn remaining(turn_rate: f64, t: f64) -> Fading {
    turning(turn_rate, t, libm::exp(-t.max(-BACK_MAX) / DAMPING))
}

/// The velocity that a unit acceleration adds in `t` seconds.
pub(crate) fn velocity(turn_rate: f64, t: f64) -> Fading {
    turning(turn_rate, t, -DAMPING * libm::expm1(-t.max(-BACK_MAX) / DAMPING))
}

fn turning(turn_rate: f64, t: f64, size: f64) -> Fading {
    let (sin, cos) = libm::sincos(turn_rate * t);
    Fading { along: size * cos, aside: size * sin, up: size }
}

/// The displacement that a unit acceleration adds in `t` seconds.
pub(crate) fn displacement(turn_rate: f64, t: f64) -> Fading {
    displacement_by(half_angle(turn_rate * t.max(-BACK_MAX)), turn_rate, t)
}

/// [`displacement`], given sine, cosine and sinc of half the angle turned.
pub(crate) fn displacement_by((sin, cos, sinc): (f64, f64, f64), turn_rate: f64, t: f64) -> Fading {
    let t = t.max(-BACK_MAX);
    if (1.0 / DAMPING + turn_rate.abs()) * t.abs() < SERIES_RANGE {
        return short_displacement(turn_rate, t);
    }
    let lost = libm::expm1(-t / DAMPING);
    let kept = 1.0 + lost;
    // D = (e^(λt) - 1) / λ: first its numerator, then its denominator.
    let (re, im) = (lost - kept * (2.0 * sin * sin), kept * (2.0 * sin * cos));
    let (lambda, inverse) = (-1.0 / DAMPING, 1.0 / (1.0 / (DAMPING * DAMPING) + turn_rate * turn_rate));
    let (d_along, d_aside) =
        ((re * lambda + im * turn_rate) * inverse, (im * lambda - re * turn_rate) * inverse);
    Fading {
        along: DAMPING * (t * sinc * cos - d_along),
        aside: DAMPING * (t * sinc * sin - d_aside),
        up: DAMPING * (t + DAMPING * lost),
    }
}

/// The displacement in a short time: t² times the sum of h(n) / (n + 2)!, where h(n) is the sum of all products of n
/// factors that are iwt or λt. Nothing cancels.
fn short_displacement(turn_rate: f64, t: f64) -> Fading {
    let (a, b) = (turn_rate * t, -t / DAMPING);
    let (mut sum, mut up) = ((0.0, 0.0), 0.0);
    // h(n); λt to the n-th; -t/τ to the n-th; 1 / (n + 2)!.
    let (mut h, mut power, mut fall, mut factor) = ((1.0, 0.0), (1.0, 0.0), 1.0, 0.5);
    for n in 0..TERMS {
        sum = (sum.0 + factor * h.0, sum.1 + factor * h.1);
        up += factor * fall;
        power = (power.0 * b - power.1 * a, power.0 * a + power.1 * b);
        h = (power.0 - h.1 * a, power.1 + h.0 * a);
        fall *= b;
        factor /= f64::from(n + 3);
    }
    let squared = t * t;
    Fading { along: sum.0 * squared, aside: sum.1 * squared, up: up * squared }
}
