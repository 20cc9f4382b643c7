//! What the page shows, four times a second: everybody's error over the last ten seconds, and what it would be without us.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use evenkeel_core::{LocalTime, PeerId, SessionClock, Span};
use evenkeel_net::relay::{PlayerReport, RoomMachine};
use evenkeel_net::{NodeId, RelayServer};

use super::{ROOM, Shared, lock, name};

const PERIOD: Duration = Duration::from_millis(250);
/// Errors are means over so much time.
const WINDOW: Span = Span::from_secs(10);

/// What has been summed up of a player.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Its accumulated export error,
    pub(super) error: f64,
    /// and without us.
    pub(super) without: Option<f64>,
    pub(super) sent: u64,
}

/// Everybody at one time.
#[derive(Clone, Debug)]
struct Sample {
    at: LocalTime,
    players: BTreeMap<u32, Sum>,
}

/// What is known of the last seconds.
#[derive(Debug, Default)]
pub(super) struct Live {
    samples: VecDeque<Sample>,
    players: Vec<PlayerReport>,
    /// By name, in milliseconds: half of the certified interval of its clock.
    intervals: BTreeMap<String, f64>,
}

/// A player's last seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Recent {
    /// The mean distance by which it saw each of the others wrongly.
    pub(super) error: f64,
    /// What that would be without us.
    pub(super) without: Option<f64>,
    /// DR vectors sent to it, per second.
    pub(super) sent_per_s: f64,
}

impl Live {
    /// Everybody who is here.
    pub(super) fn players(&self) -> impl Iterator<Item = &PlayerReport> {
        self.players.iter()
    }

    pub(super) fn interval_ms(&self, player: &str) -> Option<f64> {
        self.intervals.get(player).copied()
    }

    pub(super) fn worst_interval_ms(&self) -> Option<f64> {
        self.intervals.values().copied().reduce(f64::max)
    }

    /// A player's accumulated error.
    pub(super) fn total(&self, player: u32) -> f64 {
        let newest = self.samples.back().and_then(|sample| sample.players.get(&player));
        newest.map_or(0.0, |sum| sum.error)
    }

    /// Those of these players who have come since the last look, for the first time or again.
    fn arrivals<'a>(&self, players: &'a [PlayerReport]) -> impl Iterator<Item = &'a PlayerReport> {
        let known: BTreeMap<u32, f64> =
            self.players.iter().map(|player| (player.player, player.present_s)).collect();
        players.iter().filter(move |player| {
            known.get(&player.player).is_none_or(|present_s| *present_s > player.present_s)
        })
    }

    fn note(&mut self, at: LocalTime, players: Vec<PlayerReport>, sums: BTreeMap<u32, Sum>) {
        // The sums of who has come back begin anew.
        let came: Vec<u32> = self.arrivals(&players).map(|player| player.player).collect();
        for sample in &mut self.samples {
            sample.players.retain(|player, _| !came.contains(player));
        }
        self.samples.push_back(Sample { at, players: sums });
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
        // What was estimated may turn out to be a little less.
        let per_other = |from: f64, to: f64| (to - from).max(0.0) / seconds / others;
        Recent {
            error: per_other(from.error, to.error),
            without: from.without.zip(to.without).map(|(from, to)| per_other(from, to)),
            sent_per_s: to.sent.saturating_sub(from.sent) as f64 / seconds,
        }
    }
}

/// What there is to sum up of these players.
fn sums(room: &RoomMachine, now: LocalTime, players: &[u32]) -> BTreeMap<u32, Sum> {
    let relay = room.dr();
    let Some(session) = relay.clock().session(now) else { return BTreeMap::new() };
    let sum = |player: &u32| {
        let peer = PeerId(*player);
        let error = relay.ledger().accumulated(peer, session);
        (*player, Sum { error, without: relay.without(peer), sent: relay.ledger().sent_to(peer) })
    };
    players.iter().map(sum).collect()
}

/// Looks until the arena is over.
pub(super) async fn watch(server: Weak<RelayServer>, shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(server) = server.upgrade() else { return };
        let Some(report) = server.report(&name(ROOM)).await else { continue };
        let players: Vec<u32> = report.players.iter().map(|player| player.player).collect();
        let look = move |room: &mut RoomMachine, now| (now, sums(room, now, &players));
        let Some((at, sums)) = shared.with_room(look).await else { continue };
        let mut intervals = BTreeMap::new();
        for (index, name) in shared.bots.iter().enumerate() {
            let look = |bot: &mut super::BotMachine, now| bot.dr().clock().error_max(now);
            if let Ok(Some(error)) = shared.crank.with(NodeId(index as u32), look).await {
                intervals.insert(name.clone(), error.as_millis_f64());
            }
        }
        let mut live = lock(&shared.live);
        for PlayerReport { name, player, .. } in live.arrivals(&report.players) {
            shared.keep_distance(name, *player);
        }
        live.note(at, report.players, sums);
        live.intervals = intervals;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(player: u32, present_s: f64) -> PlayerReport {
        PlayerReport { player, present_s, ..PlayerReport::default() }
    }

    fn at(millis: i64) -> LocalTime {
        LocalTime::from_nanos(0) + Span::from_millis(millis)
    }

    fn sum(error: f64, without: f64, sent: u64) -> Sum {
        Sum { error, without: Some(without), sent }
    }

    #[test]
    fn the_last_ten_seconds_count_for_each_of_the_others() {
        let mut live = Live::default();
        for second in 0..30_u32 {
            let (slow, quick) = (f64::from(second), if second < 15 { 0.0 } else { 4.0 * f64::from(second) });
            let sums = [(1, sum(slow, 2.0 * slow, u64::from(second))), (2, sum(quick, quick, 0)), (3, Sum::default())];
            let players = (1..4).map(|player| report(player, f64::from(second))).collect();
            live.note(at(1_000 * i64::from(second)), players, sums.into());
        }
        let Recent { error, without, sent_per_s } = live.recent(1);
        assert!((error - 0.5).abs() < 1e-9 && (sent_per_s - 1.0).abs() < 1e-9, "{error} {sent_per_s}");
        assert!(without.is_some_and(|without| (without - 1.0).abs() < 1e-9), "{without:?}");
        assert!((live.recent(2).error - 2.0).abs() < 1e-9, "what was before is forgotten");
        assert_eq!(live.recent(7), Recent::default(), "somebody unknown");
    }

    #[test]
    fn who_comes_back_begins_anew() {
        let mut live = Live::default();
        live.note(at(0), vec![report(1, 60.0)], [(1, sum(500.0, 0.0, 90))].into());
        live.note(at(1_000), vec![report(1, 0.5)], [(1, sum(1.0, 0.0, 3))].into());
        assert_eq!(live.recent(1), Recent::default());
        live.note(at(2_000), vec![report(1, 1.5)], [(1, sum(3.0, 0.0, 5))].into());
        assert!((live.recent(1).error - 2.0).abs() < 1e-9);
    }
}
