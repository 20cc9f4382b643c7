//! The bots of a soak, who crash and come back, and who must see each other.
//!
//! They run in groups, with some bots of every room in each. A group has a runtime of its own and crashes as a whole, as
//! the bots of one machine would.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use evenkeel_arena::fleet::FleetConfig;
use evenkeel_core::{Draws, Seed};
use evenkeel_dr::Threshold;
use evenkeel_net::NodeId;
use evenkeel_serve::{RELAY, Target};

use crate::group::RunningGroup;
use crate::load::Load;
use crate::relay_process::RelayProcess;
use crate::{Harness, SoakError};

/// A bot that is not back after this long counts as lost.
const RETURN_MAX: Duration = Duration::from_secs(10);
/// The longest absence after a crash. Some bots come back before the relay has missed them, and some after.
const AWAY_MAX: Duration = Duration::from_secs(7);
const POLL_PERIOD: Duration = Duration::from_millis(10);
/// The least number of groups, if a room has as many bots.
const GROUPS_MIN: usize = 10;

/// The bots of all rooms, in groups that crash together.
pub(crate) struct SoakBots {
    groups: Vec<BotGroup>,
    rooms: usize,
    /// Bots per room.
    bots: usize,
    /// Datagrams received by groups that have crashed since.
    datagrams_past: u64,
}

/// Bots that crash together: equally many of each room.
struct BotGroup {
    config: FleetConfig,
    /// `None` after a crash.
    running: Option<RunningGroup>,
}

/// The name of a room.
pub(crate) fn room_name(room: usize) -> String {
    format!("soak-{room}")
}

/// What an inspection of all bots found, at a time when nothing should be in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Inspection {
    /// Inspected bots.
    pub(crate) bots: usize,
    /// Bots that do not see exactly the others of their room, or that the relay's report lacks.
    pub(crate) blind: usize,
    /// Reliable messages that one end of an open connection has sent and the other has not received.
    pub(crate) lost: u64,
    /// Reliable messages that were compared.
    pub(crate) compared: u64,
}

impl Inspection {
    /// Adds a bot: whether it sees exactly the others, the reliable messages it has received and sent, and those that the
    /// relay has sent and received. A bot whose counts are missing at either end is blind.
    fn add(&mut self, sees_others: bool, here: Option<(u64, u64)>, there: Option<(u64, u64)>) {
        self.bots += 1;
        let Some(((came, went), (sent, received))) = here.zip(there) else {
            self.blind += 1;
            return;
        };
        self.blind += usize::from(!sees_others);
        self.lost += sent.abs_diff(came) + received.abs_diff(went);
        self.compared += came + went;
    }
}

/// Whether `seen` is `all` without `own`, each once.
fn sees_others(own: Option<u32>, all: &BTreeSet<u32>, seen: &[u32]) -> bool {
    let mut wanted = all.clone();
    let is_one = own.is_some_and(|own| wanted.remove(&own));
    is_one && seen.len() == wanted.len() && seen.iter().all(|one| wanted.remove(one))
}

impl SoakBots {
    /// Connects the bots of a load.
    pub(crate) async fn start(relay: &RelayProcess, load: &Load, seed: u64) -> Result<Self, SoakError> {
        let Load { rooms, bots, threshold, .. } = *load;
        let threshold = Threshold { distance: threshold, ..Threshold::default() };
        let target = |room| {
            let name = room_name(room);
            relay.target(&name, relay.token(&name, "bot", bots as u16))
        };
        let targets: Vec<Target> = (0..rooms).map(target).collect();
        let count = (bots / GROUPS_MIN).max(1);
        let mut all = Self { groups: Vec::new(), rooms, bots, datagrams_past: 0 };
        for first in (0..bots).step_by(count) {
            let config = FleetConfig {
                targets: targets.clone(),
                count: count.min(bots - first),
                first_seat: first as u16 + 1,
                seed: Seed::new(seed),
                threshold,
                relaxed: true,
                ..FleetConfig::new(targets[0].clone(), 1)
            };
            let running = Some(RunningGroup::start(config.clone()).await?);
            all.groups.push(BotGroup { config, running });
        }
        Ok(all)
    }

    fn running(&self) -> impl Iterator<Item = &RunningGroup> {
        self.groups.iter().filter_map(|group| group.running.as_ref())
    }

    /// The running bots of a room: group, number in the group, and seat.
    fn members(&self, room: usize) -> impl Iterator<Item = (&RunningGroup, usize, u16)> {
        let running = self.groups.iter().filter_map(|group| Some((group.running.as_ref()?, &group.config)));
        running.flat_map(move |(running, config)| {
            let (count, first) = (config.count, config.first_seat);
            (0..count).map(move |bot| (running, room * count + bot, first + bot as u16))
        })
    }

    /// Waits until every bot sees all others of its room; returns false if that takes too long or the soak is stopped.
    pub(crate) async fn wait_for_visibility(&self, harness: &Harness, until: Instant) -> bool {
        for room in 0..self.rooms {
            for (group, bot, _) in self.members(room) {
                while !group.is_back(bot, self.bots - 1).await {
                    if Instant::now() > until || harness.is_stopped() {
                        return false;
                    }
                    tokio::time::sleep(POLL_PERIOD).await;
                }
            }
        }
        true
    }

    /// Crashes and restarts every group once. Then every bot has joined a full room, which sends all others at once.
    pub(crate) async fn warm_up(&mut self, harness: &Harness) {
        for group in 0..self.groups.len() {
            self.crash(group);
            self.restart(harness, group).await;
        }
    }

    fn crash(&mut self, group: usize) {
        if let Some(running) = self.groups[group].running.take() {
            self.datagrams_past += running.fleet.crank().counts().datagrams_in;
        }
    }

    /// Crashes a share of the groups, one after the other, and restarts each after a while. Returns how long each bot took
    /// to see all others again, in seconds; infinity for a bot that was lost. Ends early when the soak is stopped, without
    /// the bots that were not back by then.
    pub(crate) async fn churn(&mut self, harness: &Harness, share: f64, draws: &mut Draws) -> Vec<f64> {
        let count = ((self.groups.len() as f64 * share).round() as usize).max(1);
        let mut left: Vec<usize> = (0..self.groups.len()).collect();
        let mut took = Vec::new();
        for _ in 0..count.min(left.len()) {
            let group = left.swap_remove(draws.below(left.len() as u64) as usize);
            self.crash(group);
            harness.sleep_until(Instant::now() + AWAY_MAX.mul_f64(draws.unit())).await;
            took.extend(self.restart(harness, group).await);
        }
        if harness.is_stopped() {
            took.retain(|took| took.is_finite());
        }
        took
    }

    /// Restarts a group; returns how long each of its bots took to be back, in seconds.
    async fn restart(&mut self, harness: &Harness, group: usize) -> Vec<f64> {
        let (start, others, rooms) = (Instant::now(), self.bots - 1, self.rooms);
        let BotGroup { config, running } = &mut self.groups[group];
        let is_over = || harness.is_stopped() || start.elapsed() >= RETURN_MAX;
        while running.is_none() && !is_over() {
            *running = RunningGroup::start(config.clone()).await.ok();
        }
        let mut took = vec![f64::INFINITY; config.count * rooms];
        let Some(running) = running else { return took };
        while !is_over() && took.iter().any(|took| took.is_infinite()) {
            for (bot, took) in took.iter_mut().enumerate().filter(|(_, took)| took.is_infinite()) {
                if running.is_back(bot, others).await {
                    *took = start.elapsed().as_secs_f64();
                }
            }
            tokio::time::sleep(POLL_PERIOD).await;
        }
        took
    }

    /// Inspects whether every bot sees exactly the others of its room, and whether every reliable message has arrived.
    pub(crate) async fn inspect(&self, relay: &RelayProcess) -> Result<Inspection, SoakError> {
        let mut inspection = Inspection::default();
        for room in 0..self.rooms {
            let player = |group: &RunningGroup, bot| group.fleet.player(bot).map(|player| player.0);
            let all: BTreeSet<u32> =
                self.members(room).filter_map(|(group, bot, _)| player(group, bot)).collect();
            let report = relay.report(&room_name(room)).await?;
            let counted: BTreeMap<&str, (u64, u64)> = report
                .players
                .iter()
                .map(|player| (player.name.as_str(), (player.reliable_sent, player.reliable_received)))
                .collect();
            for (group, bot, seat) in self.members(room) {
                let seen = group.seen(bot).await.unwrap_or_default();
                let here = group.fleet.crank().peer_counts(NodeId(bot as u32), RELAY).await;
                let here = here.ok().flatten().map(|here| (here.reliable_in, here.reliable_out));
                let there = counted.get(format!("bot-{seat}").as_str()).copied();
                let sees = all.len() == self.bots && sees_others(player(group, bot), &all, &seen);
                inspection.add(sees, here, there);
            }
        }
        // Bots that have not come back see nobody.
        let crashed = self.groups.iter().filter(|group| group.running.is_none());
        let missing: usize = crashed.map(|group| group.config.count * self.rooms).sum();
        (0..missing).for_each(|_| inspection.add(false, None, None));
        Ok(inspection)
    }

    /// Datagrams received by all bots, including those that have crashed.
    pub(crate) fn datagrams_in(&self) -> u64 {
        self.datagrams_past
            + self.running().map(|group| group.fleet.crank().counts().datagrams_in).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bot_must_see_exactly_the_others() {
        let all = BTreeSet::from([1, 2, 3]);
        assert!(sees_others(Some(1), &all, &[3, 2]));
        for (own, seen) in [
            (None, &[2, 3][..]),
            (Some(4), &[2, 3]),
            (Some(1), &[2]),
            (Some(1), &[2, 2]),
            (Some(1), &[2, 4]),
            (Some(1), &[1, 2]),
        ] {
            assert!(!sees_others(own, &all, seen), "{own:?} {seen:?}");
        }
    }

    #[test]
    fn a_bot_without_counts_at_both_ends_is_blind() {
        let inspected = |sees, here, there| {
            let mut inspection = Inspection::default();
            inspection.add(sees, here, there);
            inspection
        };
        assert_eq!(
            inspected(true, Some((5, 2)), Some((5, 2))),
            Inspection { bots: 1, blind: 0, lost: 0, compared: 7 }
        );
        assert_eq!(inspected(true, Some((5, 2)), Some((6, 4))).lost, 3);
        assert_eq!(inspected(false, Some((5, 2)), Some((5, 2))).blind, 1);
        assert_eq!(inspected(true, Some((5, 2)), None).blind, 1, "the report lacks it");
        assert_eq!(inspected(true, None, Some((5, 2))).blind, 1, "it has no connection");
    }
}
