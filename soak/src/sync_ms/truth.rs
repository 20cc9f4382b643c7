//! What really happened, by one clock: when updates were shown, and in which order actions should have been served.

use std::collections::BTreeMap;

use super::traffic::{Log, Nanos, Noted};

const NANOS_PER_MS: f64 = 1e6;

/// An action that was served: whose, and how long before the latest of those served earlier its fair place is.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Placed {
    player: usize,
    behind: Nanos,
}

/// What happened while the service was measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth {
    pub(super) updates_sent: usize,
    pub(super) updates_missing: usize,
    pub(super) actions_sent: usize,
    pub(super) actions_missing: usize,
    /// How far apart the players saw each update, relative to its sending; sorted.
    pub(super) spreads_ms: Vec<f64>,
    /// From sending an update until a player got it; sorted.
    pub(super) shown_ms: Vec<f64>,
    served: Vec<Placed>,
}

impl Truth {
    /// Judges what was sent from `from` until `until`.
    pub(super) fn of(log: &Log, from: Nanos, until: Nanos) -> Self {
        let counts = |sent: Nanos| (from..until).contains(&sent);
        let sent = |all: &[(usize, u32, Nanos)]| all.iter().filter(|(_, _, sent)| counts(*sent)).count();
        let arrived = |all: &[Noted]| {
            let mut keys: Vec<_> = all
                .iter()
                .filter(|noted| counts(noted.sent))
                .map(|noted| (noted.player, noted.number))
                .collect();
            keys.sort_unstable();
            keys.dedup();
            keys.len()
        };
        let (updates_sent, actions_sent) = (sent(&log.updates_sent), sent(&log.actions_sent));
        let mut rounds: BTreeMap<u32, Vec<Nanos>> = BTreeMap::new();
        for shown in log.shown.iter().filter(|shown| counts(shown.sent)) {
            rounds.entry(shown.number).or_default().push(shown.arrived - shown.sent);
        }
        let mut shown_ms: Vec<f64> =
            rounds.values().flatten().map(|took| *took as f64 / NANOS_PER_MS).collect();
        let mut spreads_ms: Vec<f64> = rounds
            .values()
            .filter_map(|took| Some((took.iter().max()? - took.iter().min()?) as f64 / NANOS_PER_MS))
            .collect();
        shown_ms.sort_by(f64::total_cmp);
        spreads_ms.sort_by(f64::total_cmp);
        Self {
            updates_sent,
            updates_missing: updates_sent.saturating_sub(arrived(&log.shown)),
            actions_sent,
            actions_missing: actions_sent.saturating_sub(arrived(&log.served)),
            spreads_ms,
            shown_ms,
            served: served(log, &counts),
        }
    }

    pub(super) fn actions_served(&self) -> usize {
        self.served.len()
    }

    /// The share of updates whose spread is at most this.
    pub(super) fn share_within(&self, spread_ms: f64) -> f64 {
        let within = self.spreads_ms.partition_point(|spread| *spread <= spread_ms);
        within as f64 / self.spreads_ms.len().max(1) as f64
    }

    /// The share of actions served after one that is more than this later in fair order.
    pub(super) fn behind_share(&self, tie_ms: f64) -> f64 {
        share(self.served.iter(), tie_ms)
    }

    /// The same of the player with the largest share.
    pub(super) fn behind_worst(&self, tie_ms: f64) -> f64 {
        let players = self.served.iter().map(|placed| placed.player).max().map_or(0, |last| last + 1);
        let of = |player| share(self.served.iter().filter(|placed| placed.player == player), tie_ms);
        (0..players).map(of).fold(0.0, f64::max)
    }
}

fn share<'a>(placed: impl Iterator<Item = &'a Placed>, tie_ms: f64) -> f64 {
    let (mut all, mut behind) = (0_u64, 0_u64);
    for placed in placed {
        all += 1;
        behind += u64::from(placed.behind as f64 > tie_ms * NANOS_PER_MS);
    }
    behind as f64 / all.max(1) as f64
}

/// The actions in the order in which they were served. The fair place is the paper's virtual sending time; an action reacts
/// to the newest update that was there when it was sent.
fn served(log: &Log, counts: &impl Fn(Nanos) -> bool) -> Vec<Placed> {
    let mut shown: Vec<Vec<(Nanos, Nanos)>> = vec![Vec::new(); log.players];
    for noted in &log.shown {
        shown[noted.player].push((noted.arrived, noted.sent));
    }
    shown.iter_mut().for_each(|shown| shown.sort_unstable());
    let place = |action: &Noted| {
        let shown = &shown[action.player];
        let newest = shown.partition_point(|(arrived, _)| *arrived <= action.sent).checked_sub(1)?;
        let (arrived, sent) = shown[newest];
        Some(action.sent - (arrived - sent))
    };
    let (mut latest, mut placed) = (Nanos::MIN, Vec::new());
    for action in &log.served {
        let Some(at) = place(action) else { continue };
        latest = latest.max(at);
        if counts(action.sent) {
            placed.push(Placed { player: action.player, behind: latest - at });
        }
    }
    placed
}

/// The value below which this share of sorted values lies.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn noted(player: usize, number: u32, sent: Nanos, arrived: Nanos) -> Noted {
        Noted { player, number, sent: sent * MS, arrived: arrived * MS }
    }

    /// Updates at 0 and 100 ms; the players are 10 and 50 ms away. Each acts twice.
    fn log(served: Vec<Noted>) -> Log {
        Log {
            players: 2,
            updates_sent: vec![(0, 0, 0), (1, 0, 0), (0, 1, 100 * MS), (1, 1, 100 * MS)],
            actions_sent: vec![(0, 0, 60 * MS), (1, 0, 60 * MS), (0, 1, 90 * MS), (1, 1, 110 * MS)],
            shown: vec![noted(0, 0, 0, 10), noted(1, 0, 0, 50), noted(0, 1, 100, 110), noted(1, 1, 100, 150)],
            served,
        }
    }

    #[test]
    fn the_faster_reaction_comes_first() {
        // Player 0 reacts after 80 ms, player 1 after 60 ms, and sends 20 ms later.
        let (slow, fast) = (noted(0, 1, 90, 100), noted(1, 1, 110, 160));
        let fair = Truth::of(&log(vec![fast, slow]), 0, 200 * MS);
        assert_eq!((fair.behind_share(0.0), fair.behind_worst(0.0)), (0.0, 0.0));
        let by_arrival = Truth::of(&log(vec![slow, fast]), 0, 200 * MS);
        assert_eq!((by_arrival.behind_share(0.0), by_arrival.behind_worst(0.0)), (0.5, 1.0));
        assert_eq!(by_arrival.behind_share(20.0), 0.0, "a tie");
    }

    #[test]
    fn spreads_and_losses_are_counted() {
        let mut log = log(vec![noted(0, 1, 90, 100)]);
        log.shown.pop();
        let truth = Truth::of(&log, 0, 200 * MS);
        assert_eq!(truth.spreads_ms, [0.0, 40.0]);
        assert_eq!((truth.updates_missing, truth.updates_sent), (1, 4));
        assert_eq!((truth.actions_missing, truth.actions_sent), (3, 4));
        assert_eq!(truth.share_within(2.0), 0.5);
        let later = Truth::of(&log, 95 * MS, 200 * MS);
        assert_eq!((later.updates_sent, later.actions_sent), (2, 1), "what was sent before does not count");
    }

    #[test]
    fn quantiles_of_few_values() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 1.0), 3.0);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
