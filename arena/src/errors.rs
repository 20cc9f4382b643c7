//! Each player's accumulated error, counted so that players can be compared.
//!
//! Each player sees a different set of tanks: all but its own. A player whose own tank is hard to follow would look better
//! off than the others, who have to follow it. To compare players over the same tanks, a player is charged for its own
//! tank the mean of what the others suffer from it.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{PeerId, SessionClock, SessionTime};
use evenkeel_dr::DrRelay;
use evenkeel_dr::ledger::Life;

/// An owner and a receiver of its entities.
pub(crate) type OwnerReceiver = (PeerId, PeerId);

/// The errors in a room at one time.
#[derive(Clone, Debug, Default)]
pub struct ErrorSnapshot {
    /// Per life and receiver: the life's owner and the accumulated error.
    lives: BTreeMap<(Life, PeerId), (PeerId, f64)>,
    /// The accumulated error under the baseline, while the policy computes it.
    baseline: BTreeMap<OwnerReceiver, f64>,
}

impl ErrorSnapshot {
    /// Reads the errors between `players` from the relay's ledger.
    #[must_use]
    pub fn take<C: SessionClock>(relay: &DrRelay<C>, now: SessionTime, players: &[PeerId]) -> Self {
        let lives = relay
            .ledger()
            .pairs(now)
            .filter_map(|pair| Some(((pair.life, pair.receiver), (pair.owner?, pair.error))));
        let pairs = players.iter().flat_map(|owner| players.iter().map(|receiver| (*owner, *receiver)));
        let baseline = pairs.filter_map(|pair| Some((pair, relay.without(pair.0, pair.1)?)));
        Self { lives: lives.collect(), baseline: baseline.collect() }
    }

    /// The growth of each pair's error since `before`. The error of a life that has ended since is not subtracted.
    fn growth_since(&self, before: &Self) -> BTreeMap<OwnerReceiver, f64> {
        let mut growth = BTreeMap::new();
        for (key, (owner, error)) in &self.lives {
            let known = before.lives.get(key).map_or(0.0, |(_, error)| *error);
            *growth.entry((*owner, key.1)).or_default() += error - known;
        }
        growth
    }

    /// The growth of each pair's error under the baseline since `before`.
    fn baseline_growth_since(&self, before: &Self) -> BTreeMap<OwnerReceiver, f64> {
        let growth =
            |(pair, error): (&OwnerReceiver, &f64)| Some((*pair, error - before.baseline.get(pair)?));
        self.baseline.iter().filter_map(growth).collect()
    }
}

/// A player's accumulated error per tank, in units x seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PlayerError {
    /// Under the policy that decides.
    pub error: f64,
    /// Under the baseline, if the policy computes it.
    pub baseline: Option<f64>,
}

/// The errors of all present players, accumulated from snapshot to snapshot.
#[derive(Debug, Default)]
pub struct ErrorTotals {
    last: Option<ErrorSnapshot>,
    totals: BTreeMap<PeerId, PlayerError>,
}

impl ErrorTotals {
    /// The total of each player.
    #[must_use]
    pub const fn totals(&self) -> &BTreeMap<PeerId, PlayerError> {
        &self.totals
    }

    /// Adds the growth since the last snapshot, and forgets players that are not among `players`.
    pub fn add(&mut self, snapshot: ErrorSnapshot, players: &[PeerId]) -> &BTreeMap<PeerId, PlayerError> {
        let present: BTreeSet<PeerId> = players.iter().copied().collect();
        self.totals.retain(|player, _| present.contains(player));
        let before = self.last.take().unwrap_or_else(|| snapshot.clone());
        let growth = per_tank(&snapshot.growth_since(&before), players);
        let baseline = snapshot.baseline_growth_since(&before);
        let has_baseline = !baseline.is_empty();
        let baseline = per_tank(&baseline, players);
        for player in players {
            let total = self.totals.entry(*player).or_default();
            total.error += growth[player];
            total.baseline = has_baseline.then(|| total.baseline.unwrap_or(0.0) + baseline[player]);
        }
        self.last = Some(snapshot);
        &self.totals
    }
}

/// Each player's error per tank; for its own tank it is charged the mean over the other receivers.
pub(crate) fn per_tank(pairs: &BTreeMap<OwnerReceiver, f64>, players: &[PeerId]) -> BTreeMap<PeerId, f64> {
    let at = |owner: &PeerId, receiver: &PeerId| pairs.get(&(*owner, *receiver)).copied().unwrap_or(0.0);
    let count = players.len().max(1) as f64;
    let others = |player: PeerId| players.iter().filter(move |other| **other != player);
    let error = |player: &PeerId| {
        let seen: f64 = others(*player).map(|owner| at(owner, player)).sum();
        let own: f64 =
            others(*player).map(|receiver| at(player, receiver)).sum::<f64>() / (count - 1.0).max(1.0);
        (*player, (seen + own) / count)
    };
    players.iter().map(error).collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_dr::{DrSeq, EntityId};

    use super::*;

    const PLAYERS: [PeerId; 3] = [PeerId(1), PeerId(2), PeerId(3)];

    /// One tank per player; `error` gives the error per second of an owner's tank at a receiver.
    fn snapshot(time: f64, error: impl Fn(u32, u32) -> f64) -> ErrorSnapshot {
        let mut snapshot = ErrorSnapshot::default();
        for owner in PLAYERS {
            for receiver in PLAYERS.into_iter().filter(|receiver| *receiver != owner) {
                let life = Life { entity: EntityId::of(owner, 0), first: DrSeq(0) };
                snapshot.lives.insert((life, receiver), (owner, time * error(owner.0, receiver.0)));
                let baseline = 100.0 + 2.0 * time * error(owner.0, receiver.0);
                snapshot.baseline.insert((owner, receiver), baseline);
            }
        }
        snapshot
    }

    fn totals(error: impl Fn(u32, u32) -> f64) -> Vec<PlayerError> {
        let mut totals = ErrorTotals::default();
        totals.add(snapshot(1.0, &error), &PLAYERS);
        totals.add(snapshot(3.0, &error), &PLAYERS).values().copied().collect()
    }

    #[test]
    fn players_who_see_the_same_tanks_equally_well_have_equal_errors() {
        for total in totals(|owner, _| f64::from(owner)) {
            assert!((total.error - 2.0 * 2.0).abs() < 1e-12, "{total:?}");
            assert!((total.baseline.expect("it is computed") - 2.0 * 4.0).abs() < 1e-12, "{total:?}");
        }
    }

    #[test]
    fn a_farther_player_has_a_larger_error() {
        let totals = totals(|_, receiver| f64::from(receiver));
        assert!(totals[0].error < totals[1].error && totals[1].error < totals[2].error, "{totals:?}");
        assert!((totals[1].error - 2.0 * 2.0).abs() < 1e-12);
    }

    #[test]
    fn an_ended_life_keeps_its_error_and_the_next_life_starts_at_zero() {
        let mut totals = ErrorTotals::default();
        totals.add(snapshot(0.0, |_, _| 1.0), &PLAYERS);
        totals.add(snapshot(5.0, |_, _| 1.0), &PLAYERS);
        totals.add(ErrorSnapshot::default(), &PLAYERS);
        let totals = totals.add(snapshot(1.0, |_, _| 1.0), &PLAYERS);
        assert!((totals[&PLAYERS[0]].error - 6.0).abs() < 1e-12, "{totals:?}");
    }

    #[test]
    fn a_player_who_leaves_is_forgotten_and_a_new_one_starts_at_zero() {
        let mut totals = ErrorTotals::default();
        totals.add(snapshot(0.0, |_, _| 1.0), &PLAYERS[..2]);
        totals.add(snapshot(4.0, |_, _| 1.0), &PLAYERS);
        assert_eq!(totals.add(snapshot(4.0, |_, _| 1.0), &PLAYERS[1..]).len(), 2);
        let totals = totals.add(snapshot(4.0, |_, _| 1.0), &PLAYERS);
        assert_eq!(totals[&PLAYERS[0]].error, 0.0);
    }
}
