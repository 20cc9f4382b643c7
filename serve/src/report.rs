//! How rooms and their players are doing, as the API and the metrics tell it.

use std::collections::BTreeMap;

use evenkeel_core::{LocalTime, PeerId, SessionClock, Span};
use evenkeel_dr::DrConfig;
use serde::{Deserialize, Serialize};

use crate::game::ServedRoom;

/// How a room is doing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RoomReport {
    /// The policy in force.
    pub policy: String,
    /// Its budget: DR vectors per trigger, or a part of the receivers in per cent.
    pub budget: String,
    /// The mean of the players' accumulated export errors since each joined.
    pub mean_aee: f64,
    /// Their standard deviation: the measure of unfairness. It compares players that joined at about the same time.
    pub std_aee: f64,
    /// The mean of the players' export errors per second since each joined,
    pub mean_aee_per_s: f64,
    /// and their standard deviation, which compares players whenever they joined.
    pub std_aee_per_s: f64,
    /// DR vectors sent per second, to all players together, since each joined.
    pub sent_per_s: f64,
    /// DR vectors sent since there is the room, to players that have gone, too.
    pub sent: u64,
    /// Datagrams dropped because too many waited for their players.
    pub crowded_out: u64,
    /// Vectors and lives beyond what their players may send, left as if lost on the way.
    pub over_quota: u64,
    /// Times that the truth about an error could not be waited for.
    pub estimated: u64,
    /// In joining order.
    pub players: Vec<PlayerReport>,
}

/// How a player is doing.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PlayerReport {
    /// Its name,
    pub name: String,
    /// and its number in the room, which its entities' names are made of.
    pub player: u32,
    /// Its accumulated export error since it joined, as far as it is settled: as of about a round trip ago.
    pub aee: f64,
    /// The delay from the relay to it, in milliseconds: what the policy compensates, which is certain, and what its
    /// reports claim. Noughts before its first report.
    pub delay_ms: [f64; 2],
    /// DR vectors sent to it since it joined.
    pub sent: u64,
    /// Reports of it that could not be true, and how often the delay that it claims was cut.
    pub clamped: u64,
    /// Messages of it that were rejected: malformed, or beyond the room's limits.
    pub rejected: u64,
    /// Datagrams of it that were dropped: beyond its allowance, or because the relay could not keep up.
    pub dropped: u64,
    /// Reliable messages to it since it joined,
    pub reliable_sent: u64,
    /// and from it.
    pub reliable_received: u64,
    /// Seconds since it joined.
    pub present_s: f64,
    /// What the room's game counts of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tallies: BTreeMap<String, u64>,
}

impl RoomReport {
    /// What the machine of a room knows of its players. Runs on the crank's thread.
    pub(crate) fn of<R: ServedRoom>(
        room: &R,
        now: LocalTime,
        config: &DrConfig,
        roll: Vec<(PeerId, PlayerReport)>,
    ) -> Self {
        let machine = room.dr();
        debug_assert!(machine.clock().session(now).is_some(), "a relay always has a session time");
        let ledger = machine.ledger();
        let millis = |span: Span| span.as_secs_f64() * 1e3;
        let players: Vec<PlayerReport> = roll
            .into_iter()
            .map(|(peer, counted)| {
                let (low, high) = ledger.delay(peer).unwrap_or_default();
                PlayerReport {
                    aee: ledger.settled(peer).unwrap_or(0.0),
                    delay_ms: [millis(low), millis(high)],
                    sent: ledger.sent_to(peer),
                    clamped: ledger.clamped(peer),
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

/// The sum, from 0.0 on: the library's sum of nothing is -0.0.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

/// The mean and the population's standard deviation; noughts of nothing.
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
    fn the_mean_of_nobody_is_nought_and_not_below() {
        let (mean, deviation) = mean_and_deviation(std::iter::empty());
        assert!(mean == 0.0 && mean.is_sign_positive() && deviation == 0.0 && deviation.is_sign_positive());
    }
}
