//! The arena: tanks that shoot at each other on a field with blocks. All motion is dead-reckoned.
//!
//! Each player moves its own tank and shots and publishes their motion. The relay ([`ArenaRoom`]) has a
//! referee, who decides from these reports who is hit and where players spawn. Rules and bots are
//! deterministic and do no I/O.

mod bot;
mod field;
mod message;
mod pilot;
mod referee;
mod room;

pub use bot::{ArenaBot, ArenaBotConfig};
pub use field::{Block, Field, HULL_RADIUS};
pub use message::{ArenaMessage, Score, TAG};
pub use pilot::{Choice, Opponent, Pilot};
pub use referee::{HIT_RADIUS, Referee, is_tank};
pub use room::ArenaRoom;

use evenkeel_core::Span;

/// Speed of shots, in units per second.
pub const SHOT_SPEED: f64 = 60.0;
/// How long a shot flies at most.
pub const SHOT_LIFE: Span = Span::from_millis(1_400);
/// Time to reload the gun.
pub const RELOAD: Span = Span::from_millis(1_600);
/// Distance from a tank's centre to the origin of its shots.
pub const MUZZLE: f64 = 4.2;
/// Limit on one player's shots in flight. Their entities are numbered from 1; the tank is 0.
pub const SHOTS_MAX: u32 = 2;
