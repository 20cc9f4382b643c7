//! The machine of a player, and its settings.

use evenkeel_core::Seed;
use evenkeel_core::clock::FollowerClock;
use evenkeel_dr::{Content, DrConfig, Threshold, Topology};
use evenkeel_game::{GameConfig, GamePlayer};

use crate::welcome::{RELAY, Welcome};

/// The machine of a player.
pub type PlayerMachine = GamePlayer<FollowerClock>;

/// Returns the machine of a player with these settings, as a recording of the player has it.
#[must_use]
pub fn player_machine(config: &GameConfig) -> PlayerMachine {
    GamePlayer::with_clock(config, RELAY, FollowerClock::new(RELAY))
}

/// Returns the settings of a player's motion in the room that welcomed it.
#[must_use]
pub fn player_config(welcome: &Welcome, threshold: Threshold, kind: Content) -> DrConfig {
    DrConfig {
        topology: Topology::Relay(RELAY),
        threshold,
        kind,
        tick: welcome.tick,
        seed: Seed::new(evenkeel_net::random()),
        ..DrConfig::default()
    }
}
