//! The curve between two recorded rows: Hermite's cubic, which matches position and velocity at both ends.
//!
//! The acceleration is the curve's, however large. BZFlag changes a tank's velocity from one frame to the
//! next, so between rows a few milliseconds apart it reaches thousands of units per second squared.

use core::f64::consts::PI;

use evenkeel_core::Vec3;

use crate::motion::MotionState;

/// Below this speed (units per second) a recorded tank's turn rate counts as 0, because its direction is
/// noise.
pub const SPEED_SLOW: f64 = 0.5;

/// Limit on the turn rate of a recorded tank (rad/s, either side). It is sixteen times what a tank can do, so
/// it only affects turns made up by the rounding of rows.
pub const TRACE_TURN_RATE_MAX: f64 = 4.0 * PI;

/// Position and velocity at one end of the curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurveEnd {
    pub(super) position: Vec3,
    pub(super) velocity: Vec3,
}

/// Returns the motion at `part` (0 to 1) of the curve from `a` to `b`, which takes `seconds`, more than zero.
pub(super) fn motion(a: CurveEnd, b: CurveEnd, seconds: f64, part: f64) -> MotionState {
    let (s, s2, s3) = (part, part * part, part * part * part);
    // The results are exact at both ends, where every factor is 0 or 1.
    let position = a.position * (2.0 * s3 - 3.0 * s2 + 1.0)
        + a.velocity * ((s3 - 2.0 * s2 + s) * seconds)
        + b.position * (3.0 * s2 - 2.0 * s3)
        + b.velocity * ((s3 - s2) * seconds);
    let path = b.position - a.position;
    let velocity = path * ((6.0 * s - 6.0 * s2) / seconds)
        + a.velocity * (3.0 * s2 - 4.0 * s + 1.0)
        + b.velocity * (3.0 * s2 - 2.0 * s);
    let derivative = path * ((6.0 - 12.0 * s) / (seconds * seconds))
        + a.velocity * ((6.0 * s - 4.0) / seconds)
        + b.velocity * ((6.0 * s - 2.0) / seconds);
    let turn_rate = turn_rate(velocity, derivative);
    let centripetal = Vec3::xy(-velocity.y, velocity.x) * turn_rate;
    MotionState {
        position,
        velocity,
        // Subtracted before the turn rate is limited, so that a made-up turn does not become a sideways
        // thrust.
        acceleration: derivative - centripetal,
        turn_rate: turn_rate.clamp(-TRACE_TURN_RATE_MAX, TRACE_TURN_RATE_MAX),
    }
}

/// Returns how fast the direction of travel turns in the plane; 0 at low speed.
fn turn_rate(velocity: Vec3, derivative: Vec3) -> f64 {
    let speed_squared = velocity.x * velocity.x + velocity.y * velocity.y;
    if speed_squared < SPEED_SLOW * SPEED_SLOW {
        return 0.0;
    }
    (velocity.x * derivative.y - velocity.y * derivative.x) / speed_squared
}
