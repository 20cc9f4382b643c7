//! The figures of quick draws: who won how many since the last switch, who would have won them without us, and who earned
//! them.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{PeerId, SessionTime};
use evenkeel_games::arena::{Duel, DuelShot};
use evenkeel_serve::{PlayerReport, SyncReport};

/// Duels that the shares cover at most.
const WINDOW: usize = 100;
/// Duels that the feed shows.
const FEED: usize = 4;

/// The last duels.
#[derive(Debug, Default)]
pub(crate) struct DuelBook {
    /// Those since the last switch.
    played: VecDeque<Duel>,
    feed: VecDeque<Duel>,
    /// The number of the newest one.
    newest: u32,
    /// When the room was switched.
    since: Option<SessionTime>,
    /// What had been counted of each player then.
    before: BTreeMap<u32, ActionCounts>,
    /// What has been counted until now.
    now: BTreeMap<u32, ActionCounts>,
}

/// What Sync-MS counts of a player's actions.
#[derive(Clone, Copy, Debug, Default)]
struct ActionCounts {
    actions: u64,
    ahead: u64,
    behind: u64,
}

impl ActionCounts {
    fn of(SyncReport { actions, ahead, behind, .. }: &SyncReport) -> Self {
        Self { actions: *actions, ahead: *ahead, behind: *behind }
    }
}

/// A player's part in the duels since the last switch. Shares are of all duels.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct DuelShares {
    /// Those that it won.
    pub(crate) won: f64,
    /// Those that it would have won if shots were served as they arrive.
    pub(crate) without: f64,
    /// Those in which it reacted fastest.
    pub(crate) earned: f64,
    /// How much later its shots were served than without us, on average, in milliseconds.
    pub(crate) adds_ms: Option<f64>,
    /// The share of all its shots that were served before earlier ones of others.
    pub(crate) ahead: f64,
    /// The share of those that were served after later ones of others.
    pub(crate) behind: f64,
}

impl DuelBook {
    /// The number of the newest duel that is known.
    pub(crate) const fn newest(&self) -> u32 {
        self.newest
    }

    /// Starts anew: the room was switched.
    pub(crate) fn restart(&mut self, now: Option<SessionTime>) {
        self.since = now;
        self.played.clear();
        self.before.clone_from(&self.now);
    }

    /// Adds what is new. A duel that had begun before the switch counts for neither side.
    pub(crate) fn add(&mut self, duels: Vec<Duel>, players: &[PlayerReport]) {
        for duel in duels {
            self.newest = duel.number;
            push(&mut self.feed, &duel, FEED);
            if self.since.is_none_or(|since| duel.lit >= since) {
                push(&mut self.played, &duel, WINDOW);
            }
        }
        let counts = |player: &PlayerReport| Some((player.player, ActionCounts::of(player.sync.as_ref()?)));
        self.now = players.iter().filter_map(counts).collect();
    }

    /// The number of duels that the shares cover.
    pub(crate) fn count(&self) -> usize {
        self.played.len()
    }

    /// The last duels, the newest first.
    pub(crate) fn feed(&self) -> impl Iterator<Item = &Duel> {
        self.feed.iter().rev()
    }

    /// The share of duels that the fastest won, and that it would have won without us.
    pub(crate) fn fair(&self) -> (f64, f64) {
        let duels = self.played.len().max(1) as f64;
        let share = |of: fn(&Duel) -> &DuelShot| {
            let fair = |duel: &&Duel| of(duel).player == duel.fastest().player;
            self.played.iter().filter(fair).count() as f64 / duels
        };
        (share(Duel::winner), share(Duel::first_unaided))
    }

    /// A player's part.
    pub(crate) fn shares(&self, player: u32) -> DuelShares {
        let duels = self.played.len().max(1) as f64;
        let share = |of: fn(&Duel) -> &DuelShot| {
            self.played.iter().filter(|duel| of(duel).player == PeerId(player)).count() as f64 / duels
        };
        let shots = self.played.iter().flat_map(|duel| &duel.shots);
        let added: Vec<f64> = shots
            .filter(|shot| shot.player == PeerId(player))
            .map(|shot| (shot.served - shot.unaided).as_millis_f64())
            .collect();
        let now = self.now.get(&player).copied().unwrap_or_default();
        // A player who came back is counted anew.
        let before = self.before.get(&player).filter(|before| before.actions <= now.actions);
        let before = before.copied().unwrap_or_default();
        let actions = now.actions.saturating_sub(before.actions).max(1) as f64;
        DuelShares {
            won: share(Duel::winner),
            without: share(Duel::first_unaided),
            earned: share(Duel::fastest),
            adds_ms: (!added.is_empty()).then(|| added.iter().sum::<f64>() / added.len() as f64),
            ahead: now.ahead.saturating_sub(before.ahead) as f64 / actions,
            behind: now.behind.saturating_sub(before.behind) as f64 / actions,
        }
    }
}

fn push(duels: &mut VecDeque<Duel>, duel: &Duel, most: usize) {
    if duels.len() == most {
        duels.pop_front();
    }
    duels.push_back(duel.clone());
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Span;

    use super::*;

    /// A duel that player 1 won although player 2 was 20 ms faster; without us, player 3 would have won.
    fn duel(number: u32) -> Duel {
        let shot = |player, reaction, unaided, served| DuelShot {
            player: PeerId(player),
            reaction: Span::from_millis(reaction),
            unaided: Span::from_millis(unaided),
            served: Span::from_millis(served),
        };
        let shots = vec![shot(1, 220, 260, 300), shot(2, 200, 600, 600), shot(3, 240, 250, 310)];
        Duel { number, lit: SessionTime::from_nanos(i64::from(number) * 1_000_000_000), shots }
    }

    fn report(actions: u64, behind: u64) -> Vec<PlayerReport> {
        let sync = Some(SyncReport { actions, behind, ..SyncReport::default() });
        vec![PlayerReport { player: 2, sync, ..PlayerReport::default() }]
    }

    #[test]
    fn shares_are_of_all_duels_since_the_switch() {
        let mut book = DuelBook::default();
        book.add((1..=4).map(duel).collect(), &report(4, 4));
        let shares = [1, 2, 3].map(|player| book.shares(player));
        assert_eq!(
            shares.map(|shares| (shares.won, shares.earned, shares.without)),
            [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
        );
        assert_eq!(shares.map(|shares| shares.adds_ms), [Some(40.0), Some(0.0), Some(60.0)]);
        assert_eq!(book.fair(), (0.0, 0.0));
        assert_eq!((shares[1].behind, book.shares(9)), (1.0, DuelShares::default()));

        book.restart(Some(SessionTime::from_nanos(5_500_000_000)));
        book.add(vec![duel(5)], &report(6, 5));
        assert_eq!((book.count(), book.newest(), book.feed().count()), (0, 5, FEED));
        assert_eq!(book.shares(2).behind, 0.5);
        book.add(vec![duel(6)], &report(1, 0));
        assert_eq!((book.count(), book.shares(1).won, book.shares(2).behind), (1, 1.0, 0.0));
        assert_eq!(book.feed().map(|duel| duel.number).collect::<Vec<_>>(), [6, 5, 4, 3]);
    }
}
