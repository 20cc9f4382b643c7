//! Reports on rooms and their players, for the API and the metrics.

mod sync;

pub use sync::SyncReport;

use std::collections::BTreeMap;

use evenkeel_core::{LocalTime, PeerId, SessionClock, Span};
use evenkeel_dr::DrConfig;
use serde::{Deserialize, Serialize};

use crate::budget_watch::BudgetVerdict;
use crate::game::ServedRoom;

/// The state of a room.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RoomReport {
    /// The current policy.
    pub policy: String,
    /// Its budget: a bandwidth per player, DR vectors per trigger, or a percentage of the receivers.
    pub budget: String,
    /// The order in which the game gets actions; absent without a game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Whether everybody sees the game's updates at the same time; absent without a game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_out: Option<bool>,
    /// The share of an entity's receivers that a trigger may reach on average; 1 if everything goes to everybody.
    pub share: f64,
    /// Dead reckoning's kbit/s to the average player, with the headers of the datagrams.
    pub kbit_per_s: f64,
    /// The mean distance threshold of the entities.
    pub threshold: f64,
    /// The mean distance between an entity's exported path and a player's copy, over the last ten seconds.
    pub error_seen: f64,
    /// Whether that is more than the threshold, and the budget does not let everything through.
    pub is_starved: bool,
    /// The mean of the players' accumulated export errors since each joined.
    pub mean_aee: f64,
    /// Their standard deviation, which measures unfairness. It compares players that joined at about the same time.
    pub std_aee: f64,
    /// The mean of the players' export errors per second since each joined.
    pub mean_aee_per_s: f64,
    /// Their standard deviation, which compares players whenever they joined.
    pub std_aee_per_s: f64,
    /// DR vectors sent per second to the present players, each since it joined.
    pub sent_per_s: f64,
    /// DR vectors sent since the room was created, including to former players.
    pub sent: u64,
    /// Datagrams dropped because too many were queued for a player.
    pub crowded_out: u64,
    /// Vectors and births beyond the players' quotas, treated as if lost in the network.
    pub over_quota: u64,
    /// Errors estimated because the truth came too late.
    pub estimated: u64,
    /// The present players in joining order.
    pub players: Vec<PlayerReport>,
}

/// The state of a player.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PlayerReport {
    /// Its name.
    pub name: String,
    /// Its number in the room, part of its entities' ids.
    pub player: u32,
    /// Its accumulated export error since it joined, settled up to about a round trip ago.
    pub aee: f64,
    /// The delay from the relay to it in milliseconds: the certain part, which the policy compensates, and the delay that
    /// its reports claim. Zero before its first report.
    pub delay_ms: [f64; 2],
    /// DR vectors sent to it since it joined.
    pub sent: u64,
    /// The entities that it sees: those of the others.
    #[serde(default)]
    pub entities_seen: u64,
    /// Its implausible reports, including how often its claimed delay was capped.
    pub clamped: u64,
    /// Its messages that were rejected: malformed, or beyond the room's limits.
    pub rejected: u64,
    /// Its datagrams that were dropped: beyond its allowance, or because the relay was overloaded.
    pub dropped: u64,
    /// Reliable messages sent to it since it joined.
    pub reliable_sent: u64,
    /// Reliable messages received from it since it joined.
    pub reliable_received: u64,
    /// Seconds since it joined.
    pub present_s: f64,
    /// How fairly its actions are served; absent without a game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncReport>,
    /// The game's own counts for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tallies: BTreeMap<String, u64>,
}

impl RoomReport {
    /// Completes the players' reports with what the room's machine knows. Runs on the crank's thread.
    pub(crate) fn of<R: ServedRoom>(
        room: &R,
        now: LocalTime,
        config: &DrConfig,
        verdict: BudgetVerdict,
        players: Vec<(PeerId, PlayerReport)>,
    ) -> Self {
        let machine = room.dr();
        debug_assert!(machine.clock().session(now).is_some(), "a relay always has a session time");
        let ledger = machine.ledger();
        let (mut entities, mut owned, mut threshold) = (0, BTreeMap::<PeerId, u64>::new(), 0.0);
        for entity in machine.entities() {
            entities += 1;
            threshold += entity.threshold.distance;
            *owned.entry(entity.owner).or_default() += 1;
        }
        let millis = |span: Span| span.as_secs_f64() * 1e3;
        let players: Vec<PlayerReport> = players
            .into_iter()
            .map(|(peer, counted)| {
                let (low, high) = ledger.delay(peer).unwrap_or_default();
                PlayerReport {
                    aee: ledger.settled(peer).unwrap_or(0.0),
                    delay_ms: [millis(low), millis(high)],
                    sent: ledger.sent_to(peer),
                    entities_seen: entities - owned.get(&peer).copied().unwrap_or(0),
                    clamped: ledger.clamped(peer),
                    sync: SyncReport::of(room, peer),
                    tallies: room.tallies(peer).into_iter().map(|(name, of)| (name.to_owned(), of)).collect(),
                    ..counted
                }
            })
            .collect();
        let (mean_aee, std_aee) = mean_and_deviation(players.iter().map(|player| player.aee));
        let per_second = |of: f64, player: &PlayerReport| of / player.present_s.max(1e-3);
        let (mean_aee_per_s, std_aee_per_s) =
            mean_and_deviation(players.iter().map(|player| per_second(player.aee, player)));
        let sent_per_s = sum(players.iter().map(|player| per_second(player.sent as f64, player)));
        Self {
            policy: config.policy.to_string(),
            budget: config.budget.to_string(),
            order: room.sync().map(|sync| sync.order().to_string()),
            sync_out: room.sync().map(evenkeel_sync_ms::Sms::is_sync_out),
            share: machine.share(),
            kbit_per_s: machine.bits_per_second() / 1e3,
            threshold: threshold / entities.max(1) as f64,
            error_seen: verdict.error_seen,
            is_starved: verdict.is_starved,
            mean_aee,
            std_aee,
            mean_aee_per_s,
            std_aee_per_s,
            sent_per_s,
            sent: ledger.sent(),
            crowded_out: machine.crowded_out(),
            over_quota: machine.over_quota(),
            estimated: ledger.estimated(),
            players,
        }
    }
}

/// Sums values from 0.0: the standard library's sum of nothing is -0.0.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

/// Returns the mean and the population standard deviation; zeros without values.
fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = sum(values.clone()) / count;
    let variance = sum(values.map(|value| (value - mean) * (value - mean))) / count;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_no_values_is_positive_zero() {
        let (mean, deviation) = mean_and_deviation(std::iter::empty());
        assert!(mean == 0.0 && mean.is_sign_positive() && deviation == 0.0 && deviation.is_sign_positive());
    }
}
