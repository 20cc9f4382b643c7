//! What a room takes from its players.

use evenkeel_core::{PeerId, SessionTime, Vec3};

use crate::vector::{DrVector, EntityId, MAGNITUDE_MAX, TURN_RATE_MAX};

/// Players that a room can tell apart by their entities' names.
pub const PLAYERS_MAX: u32 = 1024;

impl EntityId {
    /// The `local`th entity of a player, by a name that no other player's entity has.
    #[must_use]
    pub const fn of(player: PeerId, local: u32) -> Self {
        Self(local.wrapping_mul(PLAYERS_MAX) + player.0 % PLAYERS_MAX)
    }

    /// The player that a name of this form belongs to.
    #[must_use]
    pub const fn player(self) -> PeerId {
        PeerId(self.0 % PLAYERS_MAX)
    }
}

/// The limits of a room: no honest vector is beyond the kinematic ones, so whoever sends one is not taken at its word; and
/// nobody may make the relay do more than the quotas say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// No coordinate may be larger.
    pub position_max: f64,
    /// Units per second.
    pub speed_max: f64,
    /// Units per second, per second.
    pub acceleration_max: f64,
    /// Radians per second.
    pub turn_rate_max: f64,
    /// Vectors that one player may send in a second; more are as good as lost on the way.
    pub vectors_per_second: f64,
    /// Entities that one player may begin in a second, once it has begun as many as it may have.
    pub births_per_second: f64,
    /// Whether players may use no other entities' names than [their own](EntityId::of).
    pub own_names: bool,
}

impl Default for Limits {
    /// Whatever can be computed with, as much as comes, and any name.
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
    /// Whether a vector of this owner's is within the limits.
    #[must_use]
    pub fn allow(&self, owner: PeerId, entity: EntityId, vector: &DrVector, now: SessionTime) -> bool {
        let state = &vector.state;
        let slower = |v: Vec3, max: f64| v.length_squared() <= max * max;
        (!self.own_names || entity.player() == owner)
            && state.position.within(self.position_max)
            && slower(state.velocity, self.speed_max)
            && slower(state.acceleration, self.acceleration_max)
            && state.turn_rate.abs() <= self.turn_rate_max
            // An old vector may be within the limits and yet lead anywhere; an honest one may have left the field a little.
            && vector.project(now).within(2.0 * self.position_max)
    }
}
