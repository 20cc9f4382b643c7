//! The limits of what a relay accepts from owners.

use evenkeel_core::{PeerId, SessionTime, Vec3};

use crate::motion::vector::{MAGNITUDE_MAX, TURN_RATE_MAX};
use crate::motion::{DrVector, EntityId};

/// The part by which a vector may exceed a limit: quantization rounds an honest one at the limit to either side.
const QUANTUM: f64 = 1.0 / 16_384.0;

/// Players that [`EntityId::of`] tells apart.
pub const PLAYERS_MAX: u32 = 1024;
/// The largest number of a player's entity.
pub const LOCAL_MAX: u32 = u32::MAX / PLAYERS_MAX;

impl EntityId {
    /// The `local`th entity of a player. No other player's entity gets the same id. Numbers beyond [`LOCAL_MAX`] wrap
    /// around: check what comes from outside.
    #[must_use]
    pub const fn of(player: PeerId, local: u32) -> Self {
        Self(local.wrapping_mul(PLAYERS_MAX) + player.0 % PLAYERS_MAX)
    }

    /// The player that an id made by [`EntityId::of`] belongs to.
    #[must_use]
    pub const fn player(self) -> PeerId {
        PeerId(self.0 % PLAYERS_MAX)
    }

    /// The number that its player gave the entity.
    #[must_use]
    pub const fn local(self) -> u32 {
        self.0 / PLAYERS_MAX
    }
}

/// The limits of a room. Messages with vectors beyond the kinematic limits are rejected, because no honest owner
/// sends them; vectors and lives beyond a quota are ignored.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// The largest coordinate of a position.
    pub position_max: f64,
    /// The highest speed, in units per second.
    pub speed_max: f64,
    /// The largest acceleration, in units per second, per second.
    pub acceleration_max: f64,
    /// The largest turn rate, in radians per second.
    pub turn_rate_max: f64,
    /// Vectors per second from one player. Beyond, they count as lost on the way.
    pub vectors_per_second: f64,
    /// New entities per second from one player, after a burst of as many as it may have.
    pub births_per_second: f64,
    /// Whether players may only use [their own](EntityId::of) entity ids.
    pub own_names: bool,
}

impl Default for Limits {
    /// Everything sane, in any number, with any id.
    fn default() -> Self {
        Self {
            position_max: MAGNITUDE_MAX,
            speed_max: 2.0 * MAGNITUDE_MAX,
            acceleration_max: 2.0 * MAGNITUDE_MAX,
            turn_rate_max: TURN_RATE_MAX,
            vectors_per_second: f64::INFINITY,
            births_per_second: f64::INFINITY,
            own_names: false,
        }
    }
}

impl Limits {
    /// Whether a vector from this owner is within the limits.
    #[must_use]
    pub fn allow(&self, owner: PeerId, entity: EntityId, vector: &DrVector, now: SessionTime) -> bool {
        let state = &vector.state;
        let up_to = |max: f64| max * (1.0 + QUANTUM);
        let slower = |v: Vec3, max: f64| v.length_squared() <= up_to(max) * up_to(max);
        (!self.own_names || entity.player() == owner)
            && state.position.within(up_to(self.position_max))
            && slower(state.velocity, self.speed_max)
            && slower(state.acceleration, self.acceleration_max)
            && state.turn_rate.abs() <= up_to(self.turn_rate_max)
            // An old vector may lead far away by now. An honest one may leave the field, but not by much.
            && vector.project(now).within(2.0 * self.position_max)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Seed;

    use super::*;
    use crate::motion::{MotionKind, MotionState};

    #[test]
    fn vectors_at_the_limits_are_allowed_however_they_are_quantized() {
        let limits = Limits {
            position_max: 400.0,
            speed_max: 25.0,
            acceleration_max: 20.0,
            turn_rate_max: 0.8,
            ..Limits::default()
        };
        let mut draws = Seed::new(1).draws();
        let now = SessionTime::from_nanos(0);
        let allowed = |times: f64, angle: f64| {
            let (sin, cos) = libm::sincos(angle);
            let around = |radius: f64| Vec3::xy(radius * cos, radius * sin);
            let state = MotionState {
                position: Vec3::xy(400.0 * times, 400.0 * times * cos),
                velocity: around(25.0 * times),
                acceleration: around(20.0 * times),
                turn_rate: 0.8 * times,
            };
            let vector = DrVector { generated: now, state, kind: MotionKind::Linear }.quantized();
            limits.allow(PeerId(1), EntityId(1), &vector, now)
        };
        for _ in 0..1_000 {
            let angle = draws.uniform(-4.0, 4.0);
            assert!(allowed(1.0, angle), "at {angle}");
            assert!(!allowed(1.001, angle), "at {angle}");
        }
    }
}
