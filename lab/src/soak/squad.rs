//! The bots of a soak: as many in each room, who crash and come back, and who must see each other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use evenkeel_core::{Draws, Seed, SessionClock};
use evenkeel_dr::Threshold;
use evenkeel_net::{NodeId, RELAY, Status};

use super::SoakError;
use super::child::RelayChild;
use super::load::Load;
use crate::fleet::{BotMachine, Fleet, FleetConfig};

/// A bot that is not back after this is sent in again, and counts as never having come back.
const RETURN_MAX: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// The bots of all rooms.
pub(super) struct Squad {
    rooms: Vec<Fleet>,
    bots: usize,
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
        let mut squad = Self { rooms: Vec::new(), bots };
        for room in 0..rooms {
            let name = room_name(room);
            let target = relay.target(&name, relay.token(&name, "bot", bots as u16));
            let seed = Seed::new(seed).child(room as u64);
            let config = FleetConfig { seed, threshold, relaxed: true, ..FleetConfig::new(target, bots) };
            squad.rooms.push(Fleet::start(config, None, |_, _, _| {}).await?);
        }
        Ok(squad)
    }

    /// The bots' names for each other in a room, in the order of their seats.
    fn players(&self, room: usize) -> Vec<Option<u32>> {
        let number = |status: Option<Status>| match status {
            Some(Status::Connected(welcome)) => Some(welcome.player.0),
            _ => None,
        };
        self.rooms[room].statuses().into_iter().map(number).collect()
    }

    /// The players whose entities a bot sees, once it knows the time.
    async fn seen(&self, room: usize, bot: usize) -> Option<Vec<u32>> {
        let look = |bot: &mut BotMachine, now| {
            bot.peer().clock().session(now)?;
            Some(bot.peer().copies(now).map(|(_, entity, _)| entity.0).collect())
        };
        self.rooms[room].crank().with(NodeId(bot as u32), look).await.ok().flatten()
    }

    /// Whether a bot is connected, knows the time, and sees so many others.
    async fn is_back(&self, room: usize, bot: usize) -> bool {
        let connected = matches!(self.rooms[room].status(bot), Some(Status::Connected(_)));
        connected && self.seen(room, bot).await.is_some_and(|seen| seen.len() == self.bots - 1)
    }

    /// Waits until everybody sees everybody.
    pub(super) async fn settle(&self, by: Instant) -> bool {
        for room in 0..self.rooms.len() {
            for bot in 0..self.bots {
                while !self.is_back(room, bot).await {
                    if Instant::now() > by {
                        return false;
                    }
                    tokio::time::sleep(POLL).await;
                }
            }
        }
        true
    }

    /// Kills a share of all bots, sends them in again, and waits until each sees all others of its room. Gives how long
    /// that took for each, in seconds; those that were not back in time have taken for ever.
    pub(super) async fn churn(&mut self, share: f64, draws: &mut Draws) -> Vec<f64> {
        let mut everybody: Vec<(usize, usize)> =
            (0..self.rooms.len()).flat_map(|room| (0..self.bots).map(move |bot| (room, bot))).collect();
        let count = ((everybody.len() as f64 * share).round() as usize).max(1);
        let mut waiting = Vec::new();
        for _ in 0..count.min(everybody.len()) {
            let index = (draws.unit() * everybody.len() as f64) as usize;
            waiting.push(everybody.swap_remove(index.min(everybody.len() - 1)));
        }
        let start = Instant::now();
        for &(room, bot) in &waiting {
            self.rooms[room].kill(bot);
        }
        for &(room, bot) in &waiting {
            self.rooms[room].restart(bot);
        }
        let mut took = Vec::new();
        while !waiting.is_empty() && start.elapsed() < RETURN_MAX {
            let mut still = Vec::new();
            for (room, bot) in waiting {
                if self.is_back(room, bot).await {
                    took.push(start.elapsed().as_secs_f64());
                } else {
                    still.push((room, bot));
                }
            }
            waiting = still;
            tokio::time::sleep(POLL).await;
        }
        for (room, bot) in waiting {
            took.push(f64::INFINITY);
            self.rooms[room].restart(bot);
        }
        took
    }

    /// Looks whether everybody sees exactly the others, and whether every reliable message has arrived.
    pub(super) async fn look(&self, relay: &RelayChild) -> Result<Sighting, SoakError> {
        let mut sighting = Sighting::default();
        for room in 0..self.rooms.len() {
            let players = self.players(room);
            let all: BTreeSet<u32> = players.iter().flatten().copied().collect();
            let report = relay.report(&room_name(room)).await?;
            let counted: BTreeMap<&str, (u64, u64)> = report
                .players
                .iter()
                .map(|player| (player.name.as_str(), (player.reliable_sent, player.reliable_received)))
                .collect();
            for (bot, player) in players.iter().enumerate() {
                let seen = self.seen(room, bot).await.unwrap_or_default();
                let here = self.rooms[room].crank().peer_counts(NodeId(bot as u32), RELAY).await;
                let here = here.ok().flatten().map(|here| (here.reliable_in, here.reliable_out));
                let there = counted.get(format!("bot-{}", bot + 1).as_str()).copied();
                let sees = all.len() == self.bots && sees_others(*player, &all, &seen);
                sighting.note(sees, here, there);
            }
        }
        Ok(sighting)
    }

    /// Datagrams that reached the bots, killed ones included.
    pub(super) fn datagrams_in(&self) -> u64 {
        self.rooms.iter().map(|fleet| fleet.crank().counts().datagrams_in).sum()
    }

    /// They leave.
    pub(super) async fn stop(self) {
        let mut leaving = tokio::task::JoinSet::new();
        for fleet in self.rooms {
            leaving.spawn(fleet.stop());
        }
        let _ = tokio::time::timeout(Duration::from_secs(5), leaving.join_all()).await;
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
