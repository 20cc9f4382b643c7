//! The bots of a soak: as many in each room, who crash and come back, and who must see each other.
//!
//! They run on a few machines, with some bots of every room on each: what crashes is a machine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use evenkeel_arena::fleet::{BotMachine, Fleet, FleetConfig};
use evenkeel_core::{Draws, Seed, SessionClock};
use evenkeel_dr::Threshold;
use evenkeel_net::NodeId;
use evenkeel_serve::{RELAY, Status, Target};
use tokio::runtime::Runtime;

use crate::child::RelayChild;
use crate::load::Load;
use crate::{Bench, SoakError};

/// A bot that is not back after this counts as never having come back.
const RETURN_MAX: Duration = Duration::from_secs(10);
/// Whoever crashed stays away for up to this long: some come back before the relay has missed them, and some after.
const AWAY_MAX: Duration = Duration::from_secs(7);
const POLL: Duration = Duration::from_millis(10);
/// There are at least so many machines, if a room has as many bots.
const GROUPS_MIN: usize = 10;

/// The bots of all rooms, in groups of those who crash together.
pub(super) struct Squad {
    groups: Vec<Group>,
    rooms: usize,
    /// Bots in each room.
    bots: usize,
    /// Datagrams that reached bots that have crashed since.
    datagrams_past: u64,
}

/// Bots that live and die together: as many of each room.
struct Group {
    config: FleetConfig,
    living: Option<Living>,
}

/// A runtime that goes without a word: whatever runs on it is gone as if the machine had been switched off.
struct Machine(Option<Runtime>);

impl Machine {
    fn start() -> std::io::Result<Self> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(1).enable_all().build().map(|runtime| Self(Some(runtime)))
    }

    async fn send(&self, config: FleetConfig) -> Result<Fleet, SoakError> {
        let runtime = self.0.as_ref().expect("it is there until it is dropped");
        let sent = runtime.spawn(Fleet::start(config, None, |_, _, _| {})).await;
        Ok(sent.map_err(std::io::Error::other)??)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// Bots on a machine of their own, which is the first to go.
struct Living {
    _machine: Machine,
    fleet: Fleet,
}

impl Living {
    async fn start(config: FleetConfig) -> Result<Self, SoakError> {
        let machine = Machine::start()?;
        let fleet = machine.send(config).await?;
        Ok(Self { _machine: machine, fleet })
    }

    /// A look at one of its bots, once it knows the time.
    async fn seen(&self, bot: usize) -> Option<Vec<u32>> {
        let look = |bot: &mut BotMachine, now| {
            bot.peer().clock().session(now)?;
            Some(bot.peer().copies(now).map(|(_, entity, _)| entity.0).collect())
        };
        self.fleet.crank().with(NodeId(bot as u32), look).await.ok().flatten()
    }

    /// Whether a bot is connected, knows the time, and sees so many others.
    async fn is_back(&self, bot: usize, others: usize) -> bool {
        let connected = matches!(self.fleet.status(bot), Some(Status::Connected(_)));
        connected && self.seen(bot).await.is_some_and(|seen| seen.len() == others)
    }
}

/// The name of a room.
pub(super) fn room_name(room: usize) -> String {
    format!("soak-{room}")
}

/// What was seen when nothing should have been under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sighting {
    /// Bots that were looked at.
    pub(super) bots: usize,
    /// Bots that do not see exactly the others of their room, or that the relay's report lacks.
    pub(super) blind: usize,
    /// Reliable messages that one side has sent and the other has not received, over connections that live.
    pub(super) lost: u64,
    /// Reliable messages that were compared.
    pub(super) compared: u64,
}

impl Sighting {
    /// Notes a bot: whether it sees exactly the others, what it has received and sent reliably, and what the relay says that
    /// it has sent to it and received. A bot that either side knows nothing of counts as blind.
    fn note(&mut self, sees: bool, here: Option<(u64, u64)>, there: Option<(u64, u64)>) {
        self.bots += 1;
        let Some(((came, went), (sent, received))) = here.zip(there) else {
            self.blind += 1;
            return;
        };
        self.blind += usize::from(!sees);
        self.lost += sent.abs_diff(came) + received.abs_diff(went);
        self.compared += came + went;
    }
}

/// Whether who is seen is exactly everybody else, each once.
fn sees_others(own: Option<u32>, all: &BTreeSet<u32>, seen: &[u32]) -> bool {
    let mut wanted = all.clone();
    let is_one = own.is_some_and(|own| wanted.remove(&own));
    is_one && seen.len() == wanted.len() && seen.iter().all(|one| wanted.remove(one))
}

impl Squad {
    /// Sends so many bots into each of so many rooms.
    pub(super) async fn start(relay: &RelayChild, load: &Load, seed: u64) -> Result<Self, SoakError> {
        let Load { rooms, bots, threshold, .. } = *load;
        let threshold = Threshold { distance: threshold, ..Threshold::default() };
        let target = |room| {
            let name = room_name(room);
            relay.target(&name, relay.token(&name, "bot", bots as u16))
        };
        let targets: Vec<Target> = (0..rooms).map(target).collect();
        let count = (bots / GROUPS_MIN).max(1);
        let mut squad = Self { groups: Vec::new(), rooms, bots, datagrams_past: 0 };
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
            let living = Some(Living::start(config.clone()).await?);
            squad.groups.push(Group { config, living });
        }
        Ok(squad)
    }

    /// Every bot of a room that lives: its group, its number there, and its seat.
    fn members(&self, room: usize) -> impl Iterator<Item = (&Living, usize, u16)> {
        let living = self.groups.iter().filter_map(|group| Some((group.living.as_ref()?, &group.config)));
        living.flat_map(move |(living, config)| {
            let (count, first) = (config.count, config.first_seat);
            (0..count).map(move |bot| (living, room * count + bot, first + bot as u16))
        })
    }

    /// Waits until everybody sees everybody, or the soak is stopped.
    pub(super) async fn settle(&self, bench: &Bench, by: Instant) -> bool {
        for room in 0..self.rooms {
            for (living, bot, _) in self.members(room) {
                while !living.is_back(bot, self.bots - 1).await {
                    if Instant::now() > by || bench.is_stopped() {
                        return false;
                    }
                    tokio::time::sleep(POLL).await;
                }
            }
        }
        true
    }

    /// Everybody crashes once and comes back: whoever comes into a full room is told of everybody at once, and only the first
    /// ones did not.
    pub(super) async fn warm_up(&mut self, bench: &Bench) {
        for group in 0..self.groups.len() {
            self.kill(group);
            self.revive(bench, group).await;
        }
    }

    /// A group is no more.
    fn kill(&mut self, group: usize) {
        if let Some(living) = self.groups[group].living.take() {
            self.datagrams_past += living.fleet.crank().counts().datagrams_in;
        }
    }

    /// Kills a share of all bots, one machine after the other and each time others; sends each in again after a while, and
    /// waits until its bots see all others of their rooms. Gives how long that took for each, in seconds; those that were
    /// not back in time have taken for ever. When the soak is stopped nobody is waited for.
    pub(super) async fn churn(&mut self, bench: &Bench, share: f64, draws: &mut Draws) -> Vec<f64> {
        let count = ((self.groups.len() as f64 * share).round() as usize).max(1);
        let mut left: Vec<usize> = (0..self.groups.len()).collect();
        let mut took = Vec::new();
        for _ in 0..count.min(left.len()) {
            let group = left.swap_remove(draws.below(left.len() as u64) as usize);
            self.kill(group);
            bench.sleep_until(Instant::now() + AWAY_MAX.mul_f64(draws.unit())).await;
            took.extend(self.revive(bench, group).await);
        }
        if bench.is_stopped() {
            took.retain(|took| took.is_finite());
        }
        took
    }

    /// Sends a group in again. Gives how long each of its bots took to be back, in seconds.
    async fn revive(&mut self, bench: &Bench, group: usize) -> Vec<f64> {
        let (start, others, rooms) = (Instant::now(), self.bots - 1, self.rooms);
        let Group { config, living } = &mut self.groups[group];
        let is_over = || bench.is_stopped() || start.elapsed() >= RETURN_MAX;
        while living.is_none() && !is_over() {
            *living = Living::start(config.clone()).await.ok();
        }
        let mut took = vec![f64::INFINITY; config.count * rooms];
        let Some(living) = living else { return took };
        while !is_over() && took.iter().any(|took| took.is_infinite()) {
            for (bot, took) in took.iter_mut().enumerate().filter(|(_, took)| took.is_infinite()) {
                if living.is_back(bot, others).await {
                    *took = start.elapsed().as_secs_f64();
                }
            }
            tokio::time::sleep(POLL).await;
        }
        took
    }

    /// Looks whether everybody sees exactly the others, and whether every reliable message has arrived.
    pub(super) async fn look(&self, relay: &RelayChild) -> Result<Sighting, SoakError> {
        let mut sighting = Sighting::default();
        for room in 0..self.rooms {
            let number = |(living, bot, _): (&Living, usize, u16)| match living.fleet.status(bot) {
                Some(Status::Connected(welcome)) => Some(welcome.player.0),
                _ => None,
            };
            let all: BTreeSet<u32> = self.members(room).filter_map(number).collect();
            let report = relay.report(&room_name(room)).await?;
            let counted: BTreeMap<&str, (u64, u64)> = report
                .players
                .iter()
                .map(|player| (player.name.as_str(), (player.reliable_sent, player.reliable_received)))
                .collect();
            for (living, bot, seat) in self.members(room) {
                let seen = living.seen(bot).await.unwrap_or_default();
                let here = living.fleet.crank().peer_counts(NodeId(bot as u32), RELAY).await;
                let here = here.ok().flatten().map(|here| (here.reliable_in, here.reliable_out));
                let there = counted.get(format!("bot-{seat}").as_str()).copied();
                let own = number((living, bot, seat));
                let sees = all.len() == self.bots && sees_others(own, &all, &seen);
                sighting.note(sees, here, there);
            }
        }
        // Whoever should be there and is not sees nobody.
        let missing = self
            .groups
            .iter()
            .filter(|group| group.living.is_none())
            .map(|group| group.config.count * self.rooms);
        (0..missing.sum()).for_each(|_| sighting.note(false, None, None));
        Ok(sighting)
    }

    /// Datagrams that reached the bots, crashed ones included.
    pub(super) fn datagrams_in(&self) -> u64 {
        let living = self.groups.iter().filter_map(|group| group.living.as_ref());
        self.datagrams_past + living.map(|living| living.fleet.crank().counts().datagrams_in).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_others_are_to_be_seen() {
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
    fn who_is_lacking_on_either_side_is_blind() {
        let noted = |sees, here, there| {
            let mut sighting = Sighting::default();
            sighting.note(sees, here, there);
            sighting
        };
        assert_eq!(
            noted(true, Some((5, 2)), Some((5, 2))),
            Sighting { bots: 1, blind: 0, lost: 0, compared: 7 }
        );
        assert_eq!(noted(true, Some((5, 2)), Some((6, 4))).lost, 3);
        assert_eq!(noted(false, Some((5, 2)), Some((5, 2))).blind, 1);
        assert_eq!(noted(true, Some((5, 2)), None).blind, 1, "the report lacks it");
        assert_eq!(noted(true, None, Some((5, 2))).blind, 1, "it has no connection");
    }
}
