//! What the page shows, four times a second: everybody's error over the last ten seconds, and what it would be without us.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use evenkeel_core::SessionClock;
use evenkeel_net::relay::PlayerReport;
use evenkeel_net::{NodeId, RelayServer};
use serde::Serialize;

use super::{ROOM, Shared, lock, name};

const PERIOD: Duration = Duration::from_millis(250);
/// Errors are those of so much time.
const WINDOW: Duration = Duration::from_secs(10);

/// A player at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    error: f64,
    without: Option<f64>,
    sent: u64,
}

/// Everybody at one time.
#[derive(Clone, Debug)]
struct Sample {
    at: Instant,
    players: BTreeMap<u32, Sum>,
}

/// What is known of the last seconds.
#[derive(Debug, Default)]
pub(super) struct Live {
    samples: VecDeque<Sample>,
    pub(super) players: Vec<PlayerReport>,
    /// By name, in milliseconds: half of the certified interval of its clock.
    pub(super) intervals: BTreeMap<String, f64>,
}

/// A player's last seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub(super) struct Recent {
    /// The mean distance by which it saw each of the others wrongly.
    pub(super) error: f64,
    /// What that would be without us.
    pub(super) without: Option<f64>,
    /// DR vectors sent to it, per second.
    pub(super) sent_per_s: f64,
}

impl Live {
    fn note(&mut self, at: Instant, players: Vec<PlayerReport>) {
        let sums = players.iter().map(|player| {
            (player.player, Sum { error: player.aee, without: player.without, sent: player.sent })
        });
        self.samples.push_back(Sample { at, players: sums.collect() });
        while self.samples.front().is_some_and(|first| at - first.at > WINDOW) {
            self.samples.pop_front();
        }
        self.players = players;
    }

    /// The last seconds of a player; noughts before there is anything to compare with.
    pub(super) fn recent(&self, player: u32) -> Recent {
        let mut of = self.samples.iter().filter_map(|sample| Some((sample, sample.players.get(&player)?)));
        let (Some((first, from)), Some((last, to))) = (of.next(), of.next_back()) else {
            return Recent::default();
        };
        let seconds = (last.at - first.at).as_secs_f64().max(1e-3);
        let others = last.players.len().saturating_sub(1).max(1) as f64;
        let without = from.without.zip(to.without).map(|(from, to)| (to - from).max(0.0) / seconds / others);
        Recent {
            // A reconnection begins anew.
            error: (to.error - from.error).max(0.0) / seconds / others,
            without,
            sent_per_s: to.sent.saturating_sub(from.sent) as f64 / seconds,
        }
    }
}

/// Looks until the arena is over.
pub(super) async fn watch(server: Weak<RelayServer>, shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(server) = server.upgrade() else { return };
        let Some(report) = server.report(&name(ROOM)).await else { continue };
        let mut intervals = BTreeMap::new();
        for (index, name) in shared.bots.iter().enumerate() {
            let look = |bot: &mut super::BotMachine, now| bot.dr().clock().error_max(now);
            if let Ok(Some(error)) = shared.crank.with(NodeId(index as u32), look).await {
                intervals.insert(name.clone(), error.as_millis_f64());
            }
        }
        let mut live = lock(&shared.live);
        live.note(Instant::now(), report.players);
        live.intervals = intervals;
    }
}
