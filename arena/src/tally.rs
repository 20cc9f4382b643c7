//! How wrongly everybody sees the others, summed up so that players can be compared.
//!
//! Everybody sees another set of tanks: all but its own. A player whose own tank is hard to follow would seem to be better off than
//! the others, who have to follow it. So players are compared over the same tanks: for its own, a player is given the mean of
//! what the others suffer with it.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{PeerId, SessionTime};
use evenkeel_dr::DrRelay;
use evenkeel_dr::ledger::Life;

/// Somebody's entities at somebody else.
pub type Pair = (PeerId, PeerId);

/// What there is to see of a room at one time.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Of each life at each receiver: whose it is, and the accumulated error.
    lives: BTreeMap<(Life, PeerId), (PeerId, f64)>,
    /// Of each owner's entities at each receiver: the accumulated error without us, if it is reckoned.
    without: BTreeMap<Pair, f64>,
}

impl Seen {
    /// Looks at a room, in which these players are.
    #[must_use]
    pub fn of<C: evenkeel_core::SessionClock>(
        relay: &DrRelay<C>,
        now: SessionTime,
        players: &[PeerId],
    ) -> Self {
        let lives = relay
            .ledger()
            .pairs(now)
            .filter_map(|pair| Some(((pair.life, pair.receiver), (pair.owner?, pair.error))));
        let pairs = players.iter().flat_map(|owner| players.iter().map(|receiver| (*owner, *receiver)));
        let without = pairs.filter_map(|pair| Some((pair, relay.without(pair.0, pair.1)?)));
        Self { lives: lives.collect(), without: without.collect() }
    }

    /// By how much the error of each pair has grown since another time. What was gathered by a life that is over by now does
    /// not count back.
    fn grown_since(&self, before: &Self) -> BTreeMap<Pair, f64> {
        let mut grown = BTreeMap::new();
        for (key, (owner, error)) in &self.lives {
            let known = before.lives.get(key).map_or(0.0, |(_, error)| *error);
            *grown.entry((*owner, key.1)).or_default() += error - known;
        }
        grown
    }

    /// The same without us.
    fn grown_without(&self, before: &Self) -> BTreeMap<Pair, f64> {
        let grown = |(pair, error): (&Pair, &f64)| Some((*pair, error - before.without.get(pair)?));
        self.without.iter().filter_map(grown).collect()
    }
}

/// What a player has suffered, per tank.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sum {
    /// In units x seconds.
    pub error: f64,
    /// The same without us, if it is reckoned all the while.
    pub without: Option<f64>,
}

/// Everybody's sums.
#[derive(Debug, Default)]
pub struct Tally {
    before: Option<Seen>,
    sums: BTreeMap<PeerId, Sum>,
}

impl Tally {
    /// The sums.
    #[must_use]
    pub const fn sums(&self) -> &BTreeMap<PeerId, Sum> {
        &self.sums
    }

    /// Adds what has happened since the last time to the sums of those who are here.
    pub fn note(&mut self, seen: Seen, players: &[PeerId]) -> &BTreeMap<PeerId, Sum> {
        let here: BTreeSet<PeerId> = players.iter().copied().collect();
        self.sums.retain(|player, _| here.contains(player));
        let before = self.before.take().unwrap_or_else(|| seen.clone());
        let grown = per_tank(&seen.grown_since(&before), players);
        let without = seen.grown_without(&before);
        let is_reckoned = !without.is_empty();
        let without = per_tank(&without, players);
        for player in players {
            let sum = self.sums.entry(*player).or_default();
            sum.error += grown[player];
            sum.without = is_reckoned.then(|| sum.without.unwrap_or(0.0) + without[player]);
        }
        self.before = Some(seen);
        &self.sums
    }
}

/// Everybody's error per tank, its own included: with that, the mean of the others' counts.
fn per_tank(pairs: &BTreeMap<Pair, f64>, players: &[PeerId]) -> BTreeMap<PeerId, f64> {
    let at = |owner: &PeerId, receiver: &PeerId| pairs.get(&(*owner, *receiver)).copied().unwrap_or(0.0);
    let count = players.len().max(1) as f64;
    let others = |player: PeerId| players.iter().filter(move |other| **other != player);
    let sum = |player: &PeerId| {
        let seen: f64 = others(*player).map(|owner| at(owner, player)).sum();
        let own: f64 =
            others(*player).map(|receiver| at(player, receiver)).sum::<f64>() / (count - 1.0).max(1.0);
        (*player, (seen + own) / count)
    };
    players.iter().map(sum).collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_dr::{DrSeq, EntityId};

    use super::*;

    const PLAYERS: [PeerId; 3] = [PeerId(1), PeerId(2), PeerId(3)];

    /// Everybody's tank, seen by everybody else with an error that its owner and its receiver make up.
    fn seen(time: f64, error: impl Fn(u32, u32) -> f64) -> Seen {
        let mut seen = Seen::default();
        for owner in PLAYERS {
            for receiver in PLAYERS.into_iter().filter(|receiver| *receiver != owner) {
                let life = Life { entity: EntityId::of(owner, 0), first: DrSeq(0) };
                seen.lives.insert((life, receiver), (owner, time * error(owner.0, receiver.0)));
                seen.without.insert((owner, receiver), 100.0 + 2.0 * time * error(owner.0, receiver.0));
            }
        }
        seen
    }

    fn sums(error: impl Fn(u32, u32) -> f64) -> Vec<Sum> {
        let mut tally = Tally::default();
        tally.note(seen(1.0, &error), &PLAYERS);
        tally.note(seen(3.0, &error), &PLAYERS).values().copied().collect()
    }

    #[test]
    fn who_sees_the_same_tanks_equally_wrongly_is_equally_badly_off_whatever_its_own_does() {
        for sum in sums(|owner, _| f64::from(owner)) {
            assert!((sum.error - 2.0 * 2.0).abs() < 1e-12, "{sum:?}");
            assert!((sum.without.expect("it is reckoned") - 2.0 * 4.0).abs() < 1e-12, "{sum:?}");
        }
    }

    #[test]
    fn who_is_farther_away_is_worse_off() {
        let sums = sums(|_, receiver| f64::from(receiver));
        assert!(sums[0].error < sums[1].error && sums[1].error < sums[2].error, "{sums:?}");
        assert!((sums[1].error - 2.0 * 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_life_that_is_over_leaves_what_it_cost_and_the_next_begins_with_nothing() {
        let mut tally = Tally::default();
        tally.note(seen(0.0, |_, _| 1.0), &PLAYERS);
        tally.note(seen(5.0, |_, _| 1.0), &PLAYERS);
        tally.note(Seen::default(), &PLAYERS);
        let sums = tally.note(seen(1.0, |_, _| 1.0), &PLAYERS);
        assert!((sums[&PLAYERS[0]].error - 6.0).abs() < 1e-12, "{sums:?}");
    }

    #[test]
    fn who_goes_is_forgotten_and_who_comes_begins_with_nothing() {
        let mut tally = Tally::default();
        tally.note(seen(0.0, |_, _| 1.0), &PLAYERS[..2]);
        tally.note(seen(4.0, |_, _| 1.0), &PLAYERS);
        assert_eq!(tally.note(seen(4.0, |_, _| 1.0), &PLAYERS[1..]).len(), 2);
        let sums = tally.note(seen(4.0, |_, _| 1.0), &PLAYERS);
        assert_eq!(sums[&PLAYERS[0]].error, 0.0);
    }
}
