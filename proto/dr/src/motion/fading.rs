//! An acceleration that turns along with the velocity and dies away: what [`Damped`](crate::MotionKind::Damped) vectors
//! have beyond circular ones.
//!
//! Nobody speeds up for ever, and nobody turns while the thrust keeps its direction. So the velocity turns at the rate `w`, and
//! the speed changes by an acceleration of which 1/e is left after [`DAMPING`] seconds. With the plane as complex numbers,
//! τ = `DAMPING`, λ = iw - 1/τ, S(t) the way that a unit velocity goes while it turns, and D(t) = (e^(λt) - 1) / λ:
//!
//! | what a unit acceleration makes | in the plane | up and down (w = 0) |
//! | --- | --- | --- |
//! | what is left of it | e^(λt) | e^(-t/τ) |
//! | velocity | τ (e^(iwt) - e^(λt)) | τ (1 - e^(-t/τ)) |
//! | way | τ (S - D) | τ (t - τ (1 - e^(-t/τ))) |
//!
//! Where S and D are nearly alike the way is summed up as a power series, so that its relative error is below 1e-13
//! however short the time. A path that is cut anywhere goes on as the path of what it is there, which is what the
//! integration of distances rests on.

use evenkeel_core::Vec3;

use crate::vector::half_angle;

/// Of an acceleration 1/e is left after so many seconds. Where a tank is 0.8 s later is foreseen best with 1.0 to 1.6, and
/// 1.2 s later with 0.7: the course between them is flat.
pub const DAMPING: f64 = 1.0;

/// Before the vector was made, an acceleration was larger. But a receiver whose clock is behind looks back by
/// milliseconds, not by more than so many seconds: beyond, it stays as it is.
pub const BACK_MAX: f64 = 2.0;

/// Below this size of λt the series is used.
const SERIES_RANGE: f64 = 0.1;
/// Terms of it: the next one is below 1e-17.
const TERMS: u32 = 10;

/// What becomes of a unit acceleration: a complex number in the plane, and a factor for up and down.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fading {
    along: f64,
    aside: f64,
    up: f64,
}

impl Fading {
    /// The same for an acceleration that is not of unit length.
    #[inline]
    pub(crate) fn of(self, acceleration: Vec3) -> Vec3 {
        let plane = acceleration.turned(self.along, self.aside);
        Vec3::new(plane.x, plane.y, acceleration.z * self.up)
    }

    /// What one makes more than another.
    pub(crate) fn less(self, other: Self) -> Self {
        Self { along: self.along - other.along, aside: self.aside - other.aside, up: self.up - other.up }
    }
}

/// What is left of a unit acceleration after `t` seconds.
pub(crate) fn left(turn_rate: f64, t: f64) -> Fading {
    turning(turn_rate, t, libm::exp(-t.max(-BACK_MAX) / DAMPING))
}

/// The velocity that it has made by then.
pub(crate) fn velocity(turn_rate: f64, t: f64) -> Fading {
    turning(turn_rate, t, -DAMPING * libm::expm1(-t.max(-BACK_MAX) / DAMPING))
}

fn turning(turn_rate: f64, t: f64, size: f64) -> Fading {
    let (sin, cos) = libm::sincos(turn_rate * t);
    Fading { along: size * cos, aside: size * sin, up: size }
}

/// The way that it has added by then.
pub(crate) fn way(turn_rate: f64, t: f64) -> Fading {
    way_by(half_angle(turn_rate * t.max(-BACK_MAX)), turn_rate, t)
}

/// The same where sine, cosine and sinc of half of the angle are at hand.
pub(crate) fn way_by((sin, cos, sinc): (f64, f64, f64), turn_rate: f64, t: f64) -> Fading {
    let t = t.max(-BACK_MAX);
    if (1.0 / DAMPING + turn_rate.abs()) * t.abs() < SERIES_RANGE {
        return short_way(turn_rate, t);
    }
    let lost = libm::expm1(-t / DAMPING);
    let kept = 1.0 + lost;
    // e^(λt) - 1, and by what it is divided.
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

/// The way in a short time: t² times the sum of h(n) / (n + 2)!, where h(n) is the sum of all products of n factors that are
/// iwt or λt. Nothing cancels.
fn short_way(turn_rate: f64, t: f64) -> Fading {
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
