//! BZFlag's tank: it drives along its heading, forwards or backwards, and turns in place or in motion.
//!
//! Integration over a step of length h, from speed s0 and turn rate w0:
//! 1. speed and turn rate move towards the wish, by at most the limit of their acceleration times h, to s1 and w1;
//! 2. the heading turns by (w0 + w1) / 2 * h;
//! 3. the position moves by (s0 + s1) / 2 * h along the heading of the middle of the step.
//!
//! The middle's heading is what keeps a steady turn closed: the positions are the corners of a regular polygon and so
//! lie on one circle for ever. With the heading of either end, they would spiral.

use core::f64::consts::PI;

use evenkeel_core::{Span, Vec3};

use crate::arena::Field;
use crate::motion::MotionState;

/// Length of a tank in world units.
pub const LENGTH: f64 = 6.0;
/// Width of a tank in world units.
pub const WIDTH: f64 = 2.8;
/// Top speed forwards, in units per second.
pub const SPEED_MAX: f64 = 25.0;
/// Top speed backwards, in units per second.
pub const SPEED_BACKWARDS_MAX: f64 = 12.5;
/// Top turn rate to either side, in rad/s.
pub const TURN_RATE_MAX: f64 = PI / 4.0;
/// How fast the speed may change, in units per second squared.
pub const ACCELERATION_MAX: f64 = 20.0;
/// How fast the turn rate may change, in rad/s squared.
pub const ANGULAR_ACCELERATION_MAX: f64 = 1.0;

/// What a driver asks of its tank. A wish beyond the tank's limits is taken as the limit, and NaN as 0.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Wish {
    /// Speed along the heading, negative to drive backwards.
    pub speed: f64,
    /// Turn rate in rad/s, positive to the left.
    pub turn_rate: f64,
}

/// A tank on the plane z = 0 or wherever it was put.
#[derive(Clone, PartialEq, Debug)]
pub struct Tank {
    position: Vec3,
    heading: f64,
    speed: f64,
    turn_rate: f64,
    /// Mean change of speed over the last step.
    acceleration: f64,
}

impl Tank {
    /// A tank that stands here with this heading (radians from east, to the left when positive).
    #[must_use]
    pub const fn standing(position: Vec3, heading: f64) -> Self {
        Self { position, heading, speed: 0.0, turn_rate: 0.0, acceleration: 0.0 }
    }

    /// Where its front points, in radians from east.
    #[must_use]
    pub const fn heading(&self) -> f64 {
        self.heading
    }

    /// Its speed along the heading, negative when it drives backwards.
    #[must_use]
    pub const fn speed(&self) -> f64 {
        self.speed
    }

    /// Its turn rate in rad/s.
    #[must_use]
    pub const fn turn_rate(&self) -> f64 {
        self.turn_rate
    }

    /// Its change of speed over the last step, in units per second squared.
    #[must_use]
    pub const fn acceleration(&self) -> f64 {
        self.acceleration
    }

    /// Drives for a step of this length under a wish; see the module's text for the rule. A step that is not longer
    /// than zero does nothing.
    pub fn step(&mut self, wish: Wish, dt: Span) {
        if dt <= Span::ZERO {
            return;
        }
        let seconds = dt.as_secs_f64();
        let (speed, turn_rate) = (self.speed, self.turn_rate);
        let speed_wish = within(wish.speed, -SPEED_BACKWARDS_MAX, SPEED_MAX);
        let turn_wish = within(wish.turn_rate, -TURN_RATE_MAX, TURN_RATE_MAX);
        self.speed = towards(speed, speed_wish, ACCELERATION_MAX * seconds);
        self.turn_rate = towards(turn_rate, turn_wish, ANGULAR_ACCELERATION_MAX * seconds);
        // Rounding may carry the quotient past the limit by its last bit.
        self.acceleration = within((self.speed - speed) / seconds, -ACCELERATION_MAX, ACCELERATION_MAX);

        let turn = 0.5 * (turn_rate + self.turn_rate) * seconds;
        let distance = 0.5 * (speed + self.speed) * seconds;
        self.position = self.position + direction(self.heading + 0.5 * turn) * distance;
        self.heading = wrapped(self.heading + turn);
    }

    /// Where its front points, as a vector of length 1.
    #[must_use]
    pub fn direction(&self) -> Vec3 {
        direction(self.heading)
    }

    /// Keeps it on a field after a step of this length: it slides along what it has run into, and is as fast as it got
    /// on.
    pub fn stay_on(&mut self, field: &Field, dt: Span) {
        let free = field.free(self.position);
        let pushed = free - self.position;
        if pushed.length_squared() == 0.0 || dt <= Span::ZERO {
            return;
        }
        self.position = free;
        let speed = self.speed + pushed.dot(self.direction()) / dt.as_secs_f64();
        // It is not thrown back by what it runs into.
        self.speed =
            if self.speed >= 0.0 { speed.clamp(0.0, self.speed) } else { speed.clamp(self.speed, 0.0) };
        self.acceleration = 0.0;
    }

    /// Its motion as its owner knows it after the last step.
    #[must_use]
    pub fn state(&self) -> MotionState {
        let direction = direction(self.heading);
        MotionState {
            position: self.position,
            velocity: direction * self.speed,
            acceleration: direction * self.acceleration,
            turn_rate: self.turn_rate,
        }
    }
}

fn direction(heading: f64) -> Vec3 {
    let (sin, cos) = libm::sincos(heading);
    Vec3::xy(cos, sin)
}

/// The value itself, or the nearest limit; 0 for NaN.
fn within(value: f64, low: f64, high: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(low, high) }
}

/// From `value` towards `wish` by at most `change`; arrives exactly.
fn towards(value: f64, wish: f64, change: f64) -> f64 {
    if (wish - value).abs() <= change {
        wish
    } else if wish > value {
        value + change
    } else {
        value - change
    }
}

/// The same heading within half a turn of east, so that hours of turning cost no precision.
fn wrapped(heading: f64) -> f64 {
    if heading.abs() > PI { heading - 2.0 * PI * (heading / (2.0 * PI)).round() } else { heading }
}
