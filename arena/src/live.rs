//! What the page shows, four times a second: everybody's error over the last ten seconds for the curve, and over the last
//! minute for the figures, where it has settled.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use evenkeel_core::{LocalTime, PeerId, SessionClock, Span};
use evenkeel_dr::{Budget, DrRoom, PolicyKind};
use evenkeel_net::NodeId;
use evenkeel_serve::PlayerReport;

use super::tally::{Seen, Sum, Tally};
use super::{ArenaServer, ROOM, RoomMachine, Shared, lock, name};

const PERIOD: Duration = Duration::from_millis(250);
/// The curve is a mean over so much time.
const CURVE: Span = Span::from_secs(10);
/// Figures are means over so much, or since the switch was turned if that is less.
const FIGURES: Span = Span::from_secs(60);

/// Everybody at one time.
#[derive(Clone, Debug)]
struct Sample {
    at: LocalTime,
    policy: String,
    players: BTreeMap<PeerId, (Sum, u64)>,
}

/// What is known of the last minute.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// Who decides, and with which budget: whoever has said so.
    pub(super) policy: String,
    pub(super) budget: String,
    tally: Tally,
    samples: VecDeque<Sample>,
    players: Vec<PlayerReport>,
    /// By name, in milliseconds: half of the certified interval of its clock.
    intervals: BTreeMap<String, f64>,
}

/// A player's means over some time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Means {
    /// The distance by which it saw a tank wrongly.
    pub(super) error: f64,
    /// What that would be without us.
    pub(super) without: Option<f64>,
    /// DR vectors sent to it, per second.
    pub(super) sent_per_s: f64,
}

impl Live {
    /// Nothing is known but who will decide.
    pub(super) fn new(policy: PolicyKind, budget: Budget) -> Self {
        Self { policy: policy.to_string(), budget: budget.to_string(), ..Self::default() }
    }

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

    /// A player's accumulated error per tank.
    pub(super) fn total(&self, player: u32) -> f64 {
        let newest = self.samples.back().and_then(|sample| sample.players.get(&PeerId(player)));
        newest.map_or(0.0, |(sum, _)| sum.error)
    }

    /// Those of these players who have come since the last look, for the first time or again.
    fn arrivals<'a>(&self, players: &'a [PlayerReport]) -> impl Iterator<Item = &'a PlayerReport> {
        let known: BTreeMap<u32, f64> =
            self.players.iter().map(|player| (player.player, player.present_s)).collect();
        players.iter().filter(move |player| {
            known.get(&player.player).is_none_or(|present_s| *present_s > player.present_s)
        })
    }

    fn note(&mut self, at: LocalTime, players: Vec<PlayerReport>, seen: Seen) {
        // The counts of who has come back begin anew.
        let came: Vec<PeerId> = self.arrivals(&players).map(|player| PeerId(player.player)).collect();
        for sample in &mut self.samples {
            sample.players.retain(|player, _| !came.contains(player));
        }
        let here: Vec<PeerId> = players.iter().map(|player| PeerId(player.player)).collect();
        let sums = self.tally.note(seen, &here);
        let count = |player: &PlayerReport| {
            let peer = PeerId(player.player);
            (peer, (sums.get(&peer).copied().unwrap_or_default(), player.sent))
        };
        let (policy, counts) = (self.policy.clone(), players.iter().map(count).collect());
        self.samples.push_back(Sample { at, policy, players: counts });
        while self.samples.front().is_some_and(|first| at - first.at > FIGURES) {
            self.samples.pop_front();
        }
        self.players = players;
    }

    /// The last seconds of a player.
    pub(super) fn curve(&self, player: u32) -> Means {
        let newest = self.samples.back().map(|sample| sample.at);
        self.means(player, |sample| newest.is_some_and(|newest| newest - sample.at <= CURVE))
    }

    /// The last minute of a player, under the policy that decides now.
    pub(super) fn figures(&self, player: u32) -> Means {
        let since = self.samples.iter().rev().take_while(|sample| sample.policy == self.policy).count();
        let since = self.samples.iter().nth_back(since.saturating_sub(1)).map(|sample| sample.at);
        self.means(player, |sample| since.is_some_and(|since| sample.at >= since))
    }

    /// Noughts before there is anything to compare with.
    fn means(&self, player: u32, counts: impl Fn(&Sample) -> bool) -> Means {
        let of = |sample: &Sample| Some((sample.at, *sample.players.get(&PeerId(player))?));
        let known: Vec<_> = self.samples.iter().filter(|sample| counts(sample)).filter_map(of).collect();
        let [(first, (from, sent_from)), .., (last, (to, sent_to))] = known[..] else {
            return Means::default();
        };
        let seconds = (last - first).as_secs_f64().max(1e-3);
        // What was estimated may turn out to be a little less.
        let rate = |from: f64, to: f64, seconds: f64| (to - from).max(0.0) / seconds;
        // What would be without us is reckoned from some time after a switch on. A moment of it says nothing yet.
        let since =
            known.iter().rposition(|(_, (sum, _))| sum.without.is_none()).map_or(0, |place| place + 1);
        let reckoned = known.get(since).filter(|(since, _)| last - *since >= CURVE.min(last - first));
        let without = reckoned.and_then(|(since, (from, _))| {
            Some(rate(from.without?, to.without?, (last - *since).as_secs_f64().max(1e-3)))
        });
        Means {
            error: rate(from.error, to.error, seconds),
            without,
            sent_per_s: sent_to.saturating_sub(sent_from) as f64 / seconds,
        }
    }
}

/// What there is to see of a room.
fn look(room: &RoomMachine, now: LocalTime, players: &[PeerId]) -> (LocalTime, Seen) {
    let relay = room.dr();
    let seen = relay.clock().session(now).map(|session| Seen::of(relay, session, players));
    (now, seen.unwrap_or_default())
}

/// Looks until the arena is over.
pub(super) async fn watch(server: Weak<ArenaServer>, shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(server) = server.upgrade() else { return };
        let Some(report) = server.report(&name(ROOM)).await else { continue };
        let players: Vec<PeerId> = report.players.iter().map(|player| PeerId(player.player)).collect();
        let look = move |room: &mut RoomMachine, now| look(room, now, &players);
        let Some((at, seen)) = shared.with_room(look).await else { continue };
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
        (live.policy, live.budget) = (report.policy, report.budget);
        live.note(at, report.players, seen);
        live.intervals = intervals;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A player whose error has grown by one unit a second, at each quarter of these seconds.
    fn live(seconds: i64, policy: impl Fn(i64) -> &'static str, error: impl Fn(f64) -> f64) -> Live {
        let mut live = Live { policy: policy(seconds).to_owned(), ..Live::default() };
        for quarter in 0..=4 * seconds {
            let time = 0.25 * quarter as f64;
            let at = LocalTime::from_nanos(0) + Span::from_millis(250 * quarter);
            let sum = Sum { error: error(time), without: Some(2.0 * error(time)) };
            let players = [(PeerId(1), (sum, 4 * quarter as u64))].into();
            live.samples.push_back(Sample { at, policy: policy(quarter / 4).to_owned(), players });
        }
        live
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_curve_forgets_after_ten_seconds_and_figures_when_the_switch_is_turned() {
        let error = |time: f64| time + 3.0 * (time - 25.0).max(0.0) + 4.0 * (time - 40.0).max(0.0);
        let live = live(50, |second| if second < 25 { "base" } else { "even" }, error);
        assert!(is_near(live.curve(1).error, 8.0), "{:?}", live.curve(1));
        let Means { error, without, sent_per_s } = live.figures(1);
        assert!(is_near(error, (15.0 * 4.0 + 10.0 * 8.0) / 25.0), "{error}");
        assert!(without.is_some_and(|without| is_near(without, 2.0 * error)), "{without:?}");
        assert!(is_near(sent_per_s, 16.0), "{sent_per_s}");
        assert_eq!(live.figures(7), Means::default(), "somebody unknown");
    }

    #[test]
    fn what_would_be_without_us_is_told_once_it_has_been_reckoned_for_ten_seconds() {
        let until = |seconds| {
            let mut live = live(seconds, |_| "even", |time| time);
            for sample in live.samples.iter_mut().take(4 * 2) {
                sample.players.values_mut().for_each(|(sum, _)| sum.without = None);
            }
            live.figures(1).without
        };
        assert_eq!(until(11), None);
        assert!(until(12).is_some_and(|without| is_near(without, 2.0)), "{:?}", until(12));
    }

    #[test]
    fn only_a_minute_is_kept_and_who_comes_back_begins_anew() {
        let mut live = live(200, |_| "even", |time| time);
        let report = |present_s| vec![PlayerReport { player: 1, present_s, ..PlayerReport::default() }];
        let at = |millis| LocalTime::from_nanos(0) + Span::from_millis(millis);
        live.players = report(60.0);
        live.note(at(200_250), report(60.25), Seen::default());
        assert!(live.samples.len() <= 4 * 60 + 1, "{}", live.samples.len());
        live.note(at(200_500), report(0.1), Seen::default());
        assert_eq!(live.figures(1), Means::default());
    }
}
