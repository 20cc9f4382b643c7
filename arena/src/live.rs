//! The page's figures, sampled four times a second: each player's mean error over the last ten seconds for the curve, and
//! over the last minute, by when it has settled, for the table. The error is that by where the tanks really are, which is
//! what players see; the export error stands beside it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use evenkeel_core::{LocalTime, PeerId, SessionClock, SessionTime, Span};
use evenkeel_dr::{Budget, DrRoom};
use evenkeel_games::arena::Duel;
use evenkeel_net::NodeId;
use evenkeel_serve::PlayerReport;

use crate::choice::PolicyChoice;
use crate::duels::DuelBook;
use crate::errors::{ErrorSnapshot, ErrorTotals, PlayerError};
use crate::host::ArenaBotMachine;
use crate::host::{ArenaServer, RoomMachine};
use crate::state::{HostState, lock, room_name};

const SAMPLE_PERIOD: Duration = Duration::from_millis(250);
/// The window of the curve's means.
const CURVE_WINDOW: Span = Span::from_secs(10);
/// The window of the table's means. It starts anew when the policy is switched.
const TABLE_WINDOW: Span = Span::from_secs(60);

/// All players' counts at one time.
#[derive(Clone, Debug)]
struct Sample {
    at: LocalTime,
    policy: String,
    players: BTreeMap<PeerId, PlayerCounts>,
}

/// What is counted for a player, since it joined.
#[derive(Clone, Copy, Debug, Default)]
struct PlayerCounts {
    /// Its accumulated export error.
    export: PlayerError,
    /// Its accumulated error by where the tanks really are.
    real: f64,
    /// The number of DR vectors sent to it.
    sent: u64,
}

/// The samples of the last minute, and what the relay last reported.
#[derive(Debug, Default)]
pub(crate) struct LiveFigures {
    /// The room's policy.
    pub(crate) policy: String,
    /// The room's budget.
    pub(crate) budget: String,
    /// The order in which actions are served.
    pub(crate) order: String,
    /// Whether everybody sees updates at the same time.
    pub(crate) sync_out: bool,
    pub(crate) duels: DuelBook,
    totals: ErrorTotals,
    /// Each player's accumulated error by where the tanks really are.
    real: BTreeMap<PeerId, f64>,
    samples: VecDeque<Sample>,
    players: Vec<PlayerReport>,
    /// Per bot name, in milliseconds: half of the certified interval of its clock.
    intervals: BTreeMap<String, f64>,
}

/// A player's means over a window.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct PlayerMeans {
    /// The distance between where tanks really are and where it sees them.
    pub(crate) real: f64,
    /// The export error: the distance between where their owners export them and where it sees them.
    pub(crate) export: f64,
    /// The export error under the baseline.
    pub(crate) baseline: Option<f64>,
    /// DR vectors sent to it per second.
    pub(crate) sent_per_s: f64,
}

impl LiveFigures {
    /// No samples yet.
    pub(crate) fn new(choice: PolicyChoice, budget: Budget) -> Self {
        Self {
            policy: choice.policy().to_string(),
            budget: budget.to_string(),
            order: choice.order().to_string(),
            sync_out: choice.is_sync_out(),
            ..Self::default()
        }
    }

    /// The players in the room.
    pub(crate) fn players(&self) -> impl Iterator<Item = &PlayerReport> {
        self.players.iter()
    }

    pub(crate) fn interval_ms(&self, player: &str) -> Option<f64> {
        self.intervals.get(player).copied()
    }

    pub(crate) fn interval_ms_max(&self) -> Option<f64> {
        self.intervals.values().copied().reduce(f64::max)
    }

    /// A player's accumulated error per tank, by where the tanks really are.
    pub(crate) fn total(&self, player: u32) -> f64 {
        let newest = self.samples.back().and_then(|sample| sample.players.get(&PeerId(player)));
        newest.map_or(0.0, |counts| counts.real)
    }

    /// Adds to each player's error by where the tanks really are.
    pub(crate) fn add_real(&mut self, grown: &BTreeMap<PeerId, f64>) {
        for (player, grown) in grown {
            *self.real.entry(*player).or_default() += grown;
        }
    }

    /// The reported players who have come, or come back, since the last report.
    fn arrivals<'a>(&self, players: &'a [PlayerReport]) -> impl Iterator<Item = &'a PlayerReport> {
        let known: BTreeMap<u32, f64> =
            self.players.iter().map(|player| (player.player, player.present_s)).collect();
        players.iter().filter(move |player| {
            known.get(&player.player).is_none_or(|present_s| *present_s > player.present_s)
        })
    }

    fn add(&mut self, at: LocalTime, players: Vec<PlayerReport>, snapshot: ErrorSnapshot) {
        // The relay counts anew for a player who comes back.
        let arrived: Vec<PeerId> = self.arrivals(&players).map(|player| PeerId(player.player)).collect();
        for sample in &mut self.samples {
            sample.players.retain(|player, _| !arrived.contains(player));
        }
        let present: Vec<PeerId> = players.iter().map(|player| PeerId(player.player)).collect();
        let totals = self.totals.add(snapshot, &present);
        self.real.retain(|player, _| present.contains(player) && !arrived.contains(player));
        let count = |player: &PlayerReport| {
            let peer = PeerId(player.player);
            let export = totals.get(&peer).copied().unwrap_or_default();
            let real = self.real.get(&peer).copied().unwrap_or_default();
            (peer, PlayerCounts { export, real, sent: player.sent })
        };
        let (policy, counts) = (self.policy.clone(), players.iter().map(count).collect());
        self.samples.push_back(Sample { at, policy, players: counts });
        while self.samples.front().is_some_and(|first| at - first.at > TABLE_WINDOW) {
            self.samples.pop_front();
        }
        self.players = players;
    }

    /// A player's means over the curve's window.
    pub(crate) fn curve(&self, player: u32) -> PlayerMeans {
        let newest = self.samples.back().map(|sample| sample.at);
        self.means(player, |sample| newest.is_some_and(|newest| newest - sample.at <= CURVE_WINDOW))
    }

    /// A player's means over the table's window, as far as it lies under the present policy.
    pub(crate) fn table(&self, player: u32) -> PlayerMeans {
        let count = self.samples.iter().rev().take_while(|sample| sample.policy == self.policy).count();
        let since = self.samples.iter().nth_back(count.saturating_sub(1)).map(|sample| sample.at);
        self.means(player, |sample| since.is_some_and(|since| sample.at >= since))
    }

    /// The means over the samples that `counts` selects; zeros while there are fewer than two.
    fn means(&self, player: u32, counts: impl Fn(&Sample) -> bool) -> PlayerMeans {
        let of = |sample: &Sample| Some((sample.at, *sample.players.get(&PeerId(player))?));
        let known: Vec<_> = self.samples.iter().filter(|sample| counts(sample)).filter_map(of).collect();
        let [(first, from), .., (last, to)] = known[..] else {
            return PlayerMeans::default();
        };
        let seconds = (last - first).as_secs_f64().max(1e-3);
        // Reports may correct an estimate downwards.
        let rate = |from: f64, to: f64, seconds: f64| (to - from).max(0.0) / seconds;
        // The baseline is computed only from some time after a switch on, and its first moments say nothing yet.
        let since = known
            .iter()
            .rposition(|(_, counts)| counts.export.baseline.is_none())
            .map_or(0, |place| place + 1);
        let settled = known.get(since).filter(|(since, _)| last - *since >= CURVE_WINDOW.min(last - first));
        let baseline = settled.and_then(|(since, from)| {
            let seconds = (last - *since).as_secs_f64().max(1e-3);
            Some(rate(from.export.baseline?, to.export.baseline?, seconds))
        });
        PlayerMeans {
            real: rate(from.real, to.real, seconds),
            export: rate(from.export.error, to.export.error, seconds),
            baseline,
            sent_per_s: to.sent.saturating_sub(from.sent) as f64 / seconds,
        }
    }
}

/// What is read from the room's machine.
struct RoomSample {
    at: LocalTime,
    session: Option<SessionTime>,
    errors: ErrorSnapshot,
    duels: Vec<Duel>,
}

/// Samples the room until the relay is gone.
pub(crate) async fn sample(server: Weak<ArenaServer>, state: Arc<HostState>) {
    let mut ticks = tokio::time::interval(SAMPLE_PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(server) = server.upgrade() else { return };
        let Some(report) = server.report(&room_name()).await else { continue };
        let players: Vec<PeerId> = report.players.iter().map(|player| PeerId(player.player)).collect();
        let known = lock(&state.live).duels.newest();
        let look = move |room: &mut RoomMachine, now: LocalTime| {
            let relay = room.dr();
            let session = relay.clock().session(now);
            let snapshot = session.map(|session| ErrorSnapshot::take(relay, session, &players));
            let duels = room.game().duels().filter(|duel| duel.number > known).cloned().collect();
            RoomSample { at: now, session, errors: snapshot.unwrap_or_default(), duels }
        };
        let Some(sample) = state.with_room(look).await else { continue };
        let mut intervals = BTreeMap::new();
        for (index, name) in state.bots.iter().enumerate() {
            let error_max = |bot: &mut ArenaBotMachine, now| bot.dr().clock().error_max(now);
            if let Ok(Some(error)) = state.crank.with(NodeId(index as u32), error_max).await {
                intervals.insert(name.clone(), error.as_millis_f64());
            }
        }
        let mut live = lock(&state.live);
        for PlayerReport { name, player, .. } in live.arrivals(&report.players) {
            state.restore_delay(name, *player);
        }
        let mode = (report.policy, report.order.unwrap_or_default(), report.sync_out.unwrap_or(false));
        if mode != (live.policy.clone(), live.order.clone(), live.sync_out) {
            live.duels.restart(sample.session);
        }
        (live.policy, live.order, live.sync_out) = mode;
        live.budget = report.budget;
        live.duels.add(sample.duels, &report.players);
        live.add(sample.at, report.players, sample.errors);
        live.intervals = intervals;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One player, sampled every quarter of a second under the policy of each second. `error` is its export error over time;
    /// the baseline is twice that, and the error by where the tanks really are is three times that.
    fn live(seconds: i64, policy: impl Fn(i64) -> &'static str, error: impl Fn(f64) -> f64) -> LiveFigures {
        let mut live = LiveFigures { policy: policy(seconds).to_owned(), ..LiveFigures::default() };
        for quarter in 0..=4 * seconds {
            let time = 0.25 * quarter as f64;
            let at = LocalTime::from_nanos(0) + Span::from_millis(250 * quarter);
            let error = PlayerError { error: error(time), baseline: Some(2.0 * error(time)) };
            let counts = PlayerCounts { export: error, real: 3.0 * error.error, sent: 4 * quarter as u64 };
            let players = [(PeerId(1), counts)].into();
            live.samples.push_back(Sample { at, policy: policy(quarter / 4).to_owned(), players });
        }
        live
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_curve_covers_ten_seconds_and_the_table_restarts_at_a_switch() {
        let error = |time: f64| time + 3.0 * (time - 25.0).max(0.0) + 4.0 * (time - 40.0).max(0.0);
        let live = live(50, |second| if second < 25 { "base" } else { "even" }, error);
        assert!(is_near(live.curve(1).export, 8.0), "{:?}", live.curve(1));
        let PlayerMeans { real, export: error, baseline, sent_per_s } = live.table(1);
        assert!(is_near(error, (15.0 * 4.0 + 10.0 * 8.0) / 25.0), "{error}");
        assert!(is_near(real, 3.0 * error), "{real}");
        assert!(baseline.is_some_and(|baseline| is_near(baseline, 2.0 * error)), "{baseline:?}");
        assert!(is_near(sent_per_s, 16.0), "{sent_per_s}");
        assert_eq!(live.table(7), PlayerMeans::default(), "an unknown player");
    }

    #[test]
    fn the_baseline_is_shown_once_it_covers_ten_seconds() {
        let until = |seconds| {
            let mut live = live(seconds, |_| "even", |time| time);
            for sample in live.samples.iter_mut().take(4 * 2) {
                sample.players.values_mut().for_each(|counts| counts.export.baseline = None);
            }
            live.table(1).baseline
        };
        assert_eq!(until(11), None);
        assert!(until(12).is_some_and(|baseline| is_near(baseline, 2.0)), "{:?}", until(12));
    }

    #[test]
    fn samples_are_kept_for_a_minute_and_dropped_when_a_player_comes_back() {
        let mut live = live(200, |_| "even", |time| time);
        let report = |present_s| vec![PlayerReport { player: 1, present_s, ..PlayerReport::default() }];
        let at = |millis| LocalTime::from_nanos(0) + Span::from_millis(millis);
        live.players = report(60.0);
        live.add(at(200_250), report(60.25), ErrorSnapshot::default());
        assert!(live.samples.len() <= 4 * 60 + 1, "{}", live.samples.len());
        live.add(at(200_500), report(0.1), ErrorSnapshot::default());
        assert_eq!(live.table(1), PlayerMeans::default());
    }
}
