//! Watches whether the rooms' budgets suffice, and warns if they do not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_net::token::Name;

use crate::game::ServedRoom;
use crate::report::RoomReport;
use crate::state::RelayState;

/// How often a room is looked at.
const PERIOD: Duration = Duration::from_secs(10);

/// What the last look at a room found.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct BudgetVerdict {
    /// The mean distance between the exported path and a player's copy of it, over the last period.
    pub(crate) error_seen: f64,
    /// Whether that is more than the threshold, and the budget does not let everything through.
    pub(crate) is_starved: bool,
}

/// Compares the errors of a room's players from one look to the next.
#[derive(Debug, Default)]
pub(crate) struct BudgetWatch {
    /// Each player's error and seconds in the room at the last look.
    before: BTreeMap<u32, (f64, f64)>,
    pub(crate) verdict: BudgetVerdict,
}

impl BudgetWatch {
    /// Looks at a room. Returns whether it has begun to starve.
    fn look(&mut self, report: &RoomReport) -> bool {
        let (mut error, mut pair_seconds) = (0.0, 0.0);
        let mut now = BTreeMap::new();
        for player in &report.players {
            now.insert(player.player, (player.aee, player.present_s));
            // A player that has joined since, or again, counts from the next look on.
            if let Some((aee, present_s)) = self.before.get(&player.player)
                && player.present_s > *present_s
            {
                error += (player.aee - aee).max(0.0);
                pair_seconds += (player.present_s - present_s) * player.entities_seen as f64;
            }
        }
        self.before = now;
        let error_seen = if pair_seconds > 0.0 { error / pair_seconds } else { 0.0 };
        let is_starved = report.share < 1.0 && error_seen > report.threshold;
        let was_starved = self.verdict.is_starved;
        self.verdict = BudgetVerdict { error_seen, is_starved };
        is_starved && !was_starved
    }
}

/// Looks at every room from time to time, as long as the relay runs.
pub(crate) async fn watch_budgets<R: ServedRoom>(state: Arc<RelayState<R>>) {
    loop {
        tokio::time::sleep(PERIOD).await;
        let names: Vec<Name> = state.rooms().iter().map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(report) = state.report(&name).await else { continue };
            let has_begun = state.rooms().get_mut(&name).is_some_and(|room| room.watch.look(&report));
            if has_begun {
                warn(
                    &name,
                    &report,
                    state.rooms().get(&name).map_or(0.0, |room| room.watch.verdict.error_seen),
                );
            }
        }
    }
}

fn warn(room: &Name, report: &RoomReport, error_seen: f64) {
    tracing::warn!(
        "room {room}: players see each other {error_seen:.2} units off, more than the threshold of {:.2}. Their delay causes part \
         of that, but the budget of {} lets only {:.0} % of the vectors through: raise `budget`, or the threshold",
        report.threshold,
        report.budget,
        100.0 * report.share,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::PlayerReport;

    fn report(share: f64, seconds: f64, aees: [f64; 2]) -> RoomReport {
        let player = |(player, aee): (u32, f64)| PlayerReport {
            player,
            aee,
            present_s: seconds,
            entities_seen: 5,
            ..PlayerReport::default()
        };
        let players = (1..).zip(aees).map(player).collect();
        RoomReport { share, threshold: 0.09, players, ..RoomReport::default() }
    }

    #[test]
    fn starving_is_noticed_once() {
        let mut watch = BudgetWatch::default();
        assert!(!watch.look(&report(0.3, 10.0, [50.0, 50.0])));
        // 5 and 15 unit-seconds more in 10 s with 5 entities each: 0.2 units on average.
        assert!(watch.look(&report(0.3, 20.0, [55.0, 65.0])));
        assert!((watch.verdict.error_seen - 0.2).abs() < 1e-9, "{watch:?}");
        assert!(!watch.look(&report(0.3, 30.0, [60.0, 80.0])));
        // Calm, and starving again.
        assert!(!watch.look(&report(0.3, 40.0, [60.1, 80.1])));
        assert!(!watch.verdict.is_starved);
        assert!(watch.look(&report(0.3, 50.0, [70.0, 90.0])));
    }

    #[test]
    fn errors_of_delay_alone_are_no_starving() {
        let mut watch = BudgetWatch::default();
        watch.look(&report(1.0, 10.0, [0.0, 0.0]));
        assert!(!watch.look(&report(1.0, 20.0, [50.0, 50.0])));
    }

    #[test]
    fn returning_players_count_from_the_next_look_on() {
        let mut watch = BudgetWatch::default();
        watch.look(&report(0.3, 30.0, [50.0, 50.0]));
        watch.look(&report(0.3, 5.0, [90.0, 90.0]));
        assert_eq!(watch.verdict, BudgetVerdict::default());
    }
}
