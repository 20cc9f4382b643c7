//! The arena: tanks on a field with blocks, who shoot at each other. Everything that moves is dead-reckoned.
//!
//! Each player moves its own tank and its own shots and tells of them; the relay ([`ArenaRoom`]) has the referee, who decides by
//! what it was told who is hit, and sends everybody in. Rules and bots are deterministic and do no I/O.

mod bot;
mod field;
mod message;
mod pilot;
mod referee;
mod room;

pub use bot::{ArenaBot, ArenaBotConfig};
pub use field::{Block, Field, HULL};
pub use message::{News, Score, TAG};
pub use pilot::{Choice, Pilot, Seen};
pub use referee::{HIT_RADIUS, Referee, is_tank};
pub use room::ArenaRoom;

use evenkeel_core::Span;

/// How fast shots are, in units per second.
pub const SHOT_SPEED: f64 = 60.0;
/// How long one flies at most.
pub const SHOT_LIFE: Span = Span::from_millis(1_400);
/// How long it takes to load the next one.
pub const RELOAD: Span = Span::from_millis(1_600);
/// So far in front of a tank's middle a shot begins.
pub const MUZZLE: f64 = 4.2;
/// So many shots of one player fly at once; their entities have the numbers from 1 on, the tank has 0.
pub const SHOTS: u32 = 2;
