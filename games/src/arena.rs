//! The arena: tanks that shoot at each other on a field with blocks. All motion is dead-reckoned.
//!
//! Each player moves its own tank and shots and publishes their motion. The relay ([`ArenaRoom`]) has a
//! referee, who decides from these reports who is hit and where players spawn. Firing is an action: whose shot counts
//! first is decided by the order in which actions are served. Every few seconds there is a quick draw: a beacon lights
//! up, and the first to fire wins. Rules and bots are deterministic and do no I/O.

mod bot;
mod draw;
mod duel;
mod field;
mod message;
mod pilot;
mod reaction;
mod referee;
mod room;
mod shots;

pub(crate) use draw::Gunfighter;

pub use bot::{ArenaBot, ArenaBotConfig};
pub use duel::{Duel, DuelShot, PullTimes};
pub use field::{Block, Field, HULL_RADIUS};
pub use message::{ArenaMessage, Light, Score, Trigger};
pub use pilot::{Choice, Opponent, Pilot};
pub use reaction::ReactionTimes;
pub use referee::{Referee, is_tank};
pub use room::ArenaRoom;
pub use shots::HIT_RADIUS;

use core::f64::consts::PI;

use evenkeel_core::Span;

use crate::tank::TankLimits;

/// What the arena's tanks can do. They are more agile than BZFlag's: a player 200 ms away sees them about a tank's length
/// from where they are.
pub const TANK: TankLimits = TankLimits {
    speed: 45.0,
    speed_backwards: 22.5,
    turn_rate: 0.8 * PI,
    acceleration: 90.0,
    angular_acceleration: 12.0,
};

/// Speed of shots, in units per second.
pub const SHOT_SPEED: f64 = 90.0;
/// How long a shot flies at most.
pub const SHOT_LIFE: Span = Span::from_millis(1_000);
/// Time to reload the gun.
pub const RELOAD: Span = Span::from_millis(1_600);
/// Distance from a tank's centre to the origin of its shots.
pub const MUZZLE: f64 = 4.2;
/// Limit on one player's shots in flight. Their entities are numbered from 1; the tank is 0.
pub const SHOTS_MAX: u32 = 2;
