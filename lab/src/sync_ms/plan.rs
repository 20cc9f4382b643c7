//! When players act: the same sequence for all that are compared.

use evenkeel_core::{Seed, Span};

use super::setting::{GAP_MS, SyncSetting};

const ACTIONS: u64 = 1;

/// The time of each action after the player's first update.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ActionPlan {
    after_first: Vec<Vec<Span>>,
}

impl ActionPlan {
    /// Draws the actions of all players: gaps have an extreme-value distribution.
    pub(crate) fn new(setting: &SyncSetting, seed: u64) -> Self {
        let seed = Seed::new(seed).child(ACTIONS);
        let of_player = |player: usize| {
            let (mut draws, mut at, mut times) = (seed.child(player as u64).draws(), Span::ZERO, Vec::new());
            while at < setting.duration {
                at += Span::from_millis_f64(draws.extreme_value(GAP_MS.0, GAP_MS.1).max(0.0));
                times.push(at);
            }
            times
        };
        Self { after_first: (0..setting.players.len()).map(of_player).collect() }
    }

    /// When a player's action with this number follows its first update; `None` after the last.
    pub(crate) fn after_first(&self, player: usize, action: usize) -> Option<Span> {
        self.after_first[player].get(action).copied()
    }

    /// The actions of a player.
    pub(crate) fn actions(&self, player: usize) -> &[Span] {
        &self.after_first[player]
    }
}
