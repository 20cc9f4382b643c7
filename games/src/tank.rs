//! BZFlag's tank: it drives forwards and backwards along its heading, and turns in place or in motion.
//!
//! Integration over a step of length h, from speed s0 and turn rate w0:
//! 1. speed and turn rate approach the controls, limited by their accelerations times h, and become s1 and
//!    w1;
//! 2. the heading turns by (w0 + w1) / 2 * h;
//! 3. the position moves by (s0 + s1) / 2 * h along the heading of the middle of the step.
//!
//! With the heading of the middle, the positions of a steady turn are the corners of a regular polygon and
//! stay on one circle for ever. With the heading of either end they would spiral.

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

/// What a tank can do.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TankLimits {
    /// Top speed forwards, in units per second.
    pub speed: f64,
    /// Top speed backwards, in units per second.
    pub speed_backwards: f64,
    /// Top turn rate to either side, in rad/s.
    pub turn_rate: f64,
    /// How fast the speed may change, in units per second squared.
    pub acceleration: f64,
    /// How fast the turn rate may change, in rad/s squared.
    pub angular_acceleration: f64,
}

impl TankLimits {
    /// BZFlag's tank.
    pub const BZFLAG: Self = Self {
        speed: SPEED_MAX,
        speed_backwards: SPEED_BACKWARDS_MAX,
        turn_rate: TURN_RATE_MAX,
        acceleration: ACCELERATION_MAX,
        angular_acceleration: ANGULAR_ACCELERATION_MAX,
    };
}

/// The controls of a tank. Values beyond the tank's limits count as the limit, and NaN as 0.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Controls {
    /// Speed along the heading, negative to drive backwards.
    pub speed: f64,
    /// Turn rate in rad/s, positive to the left.
    pub turn_rate: f64,
}

/// A tank in a horizontal plane.
#[derive(Clone, PartialEq, Debug)]
pub struct Tank {
    limits: TankLimits,
    position: Vec3,
    heading: f64,
    speed: f64,
    turn_rate: f64,
    /// Mean change of speed over the last step.
    acceleration: f64,
}

impl Tank {
    /// Makes BZFlag's tank, standing here with this heading (radians from east, positive to the left).
    #[must_use]
    pub const fn standing(position: Vec3, heading: f64) -> Self {
        let limits = TankLimits::BZFLAG;
        Self { limits, position, heading, speed: 0.0, turn_rate: 0.0, acceleration: 0.0 }
    }

    /// Gives the tank other limits.
    #[must_use]
    pub const fn with_limits(self, limits: TankLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns its heading in radians from east.
    #[must_use]
    pub const fn heading(&self) -> f64 {
        self.heading
    }

    /// Returns its speed along the heading, negative when it drives backwards.
    #[must_use]
    pub const fn speed(&self) -> f64 {
        self.speed
    }

    /// Returns its turn rate in rad/s.
    #[must_use]
    pub const fn turn_rate(&self) -> f64 {
        self.turn_rate
    }

    /// Returns its change of speed over the last step, in units per second squared.
    #[must_use]
    pub const fn acceleration(&self) -> f64 {
        self.acceleration
    }

    /// Drives for a step with these controls, as the module's documentation describes. A step of no or
    /// negative length does nothing.
    pub fn step(&mut self, controls: Controls, dt: Span) {
        if dt <= Span::ZERO {
            return;
        }
        let seconds = dt.as_secs_f64();
        let (limits, speed, turn_rate) = (self.limits, self.speed, self.turn_rate);
        let speed_wanted = within(controls.speed, -limits.speed_backwards, limits.speed);
        let turn_wanted = within(controls.turn_rate, -limits.turn_rate, limits.turn_rate);
        self.speed = towards(speed, speed_wanted, limits.acceleration * seconds);
        self.turn_rate = towards(turn_rate, turn_wanted, limits.angular_acceleration * seconds);
        // Rounding may carry the quotient past the limit by its last bit.
        self.acceleration = within((self.speed - speed) / seconds, -limits.acceleration, limits.acceleration);

        let turn = 0.5 * (turn_rate + self.turn_rate) * seconds;
        let distance = 0.5 * (speed + self.speed) * seconds;
        self.position = self.position + direction(self.heading + 0.5 * turn) * distance;
        self.heading = wrapped(self.heading + turn);
    }

    /// Returns its heading as a unit vector.
    #[must_use]
    pub fn direction(&self) -> Vec3 {
        direction(self.heading)
    }

    /// Keeps it on a field after a step of this length. It slides along an obstacle, and its speed becomes
    /// what is left along its heading.
    pub fn stay_on(&mut self, field: &Field, dt: Span) {
        let free = field.nearest_free(self.position);
        let pushed = free - self.position;
        if pushed.length_squared() == 0.0 || dt <= Span::ZERO {
            return;
        }
        self.position = free;
        let speed = self.speed + pushed.dot(self.direction()) / dt.as_secs_f64();
        // An obstacle does not throw it back.
        self.speed =
            if self.speed >= 0.0 { speed.clamp(0.0, self.speed) } else { speed.clamp(self.speed, 0.0) };
        self.acceleration = 0.0;
    }

    /// Returns its motion after the last step, as its owner knows it.
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

/// The value within limits; 0 for NaN.
fn within(value: f64, low: f64, high: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(low, high) }
}

/// Moves `value` towards `target` by at most `change`, and arrives exactly.
fn towards(value: f64, target: f64, change: f64) -> f64 {
    if (target - value).abs() <= change {
        target
    } else if target > value {
        value + change
    } else {
        value - change
    }
}

/// The heading within half a turn of east, so that hours of turning cost no precision.
fn wrapped(heading: f64) -> f64 {
    if heading.abs() > PI { heading - 2.0 * PI * (heading / (2.0 * PI)).round() } else { heading }
}
