//! The soak under load: bots in rooms, of whom some crash every minute and come back under the same names.

use std::time::{Duration, Instant};

use evenkeel_core::Seed;
use evenkeel_dr::policy::PolicyKind;
use serde::{Serialize, Serializer};

use crate::child::RelayChild;
use crate::judge::{judge, megabytes};
use crate::metrics::Metrics;
use crate::proc::Usage;
use crate::squad::{Sighting, Squad};
use crate::{Bench, SoakError, Verdict};

/// The part of the bots that crashes at a time, rounded to whole machines of them,
const CRASHED_SHARE: f64 = 0.1;
/// and how often at most.
const CRASH_PERIOD_MAX: Duration = Duration::from_secs(60);
/// The part of the time that is warm-up.
const WARM_UP_SHARE: f64 = 0.1;
const SAMPLE_PERIOD: Duration = Duration::from_secs(5);
/// What is under way after everybody is back has so long to arrive.
const SETTLE: Duration = Duration::from_secs(2);

/// Who loads the relay how.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Load {
    /// Rooms.
    pub rooms: usize,
    /// Bots in each.
    pub bots: usize,
    /// The rooms' tick, in milliseconds.
    pub tick_ms: f64,
    /// The policy of the rooms.
    #[serde(serialize_with = "named")]
    pub policy: PolicyKind,
    /// DR vectors per trigger.
    pub budget: f64,
    /// How far a bot's tank may stray before it gets a new DR vector, in units; it drives up to 25 of them in a second.
    pub threshold: f64,
}

fn named<S: Serializer>(policy: &PolicyKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(policy)
}

impl Load {
    /// A load with a tick of 50 ms, a threshold of half a unit, and a budget that lets each trigger reach a quarter of the
    /// other players.
    #[must_use]
    pub fn new(rooms: usize, bots: usize, policy: PolicyKind) -> Self {
        let budget = ((bots as f64 - 1.0) / 4.0).max(1.0);
        Self { rooms, bots, tick_ms: 50.0, policy, budget, threshold: 0.5 }
    }

    pub(super) fn config(&self) -> String {
        let Self { rooms, bots, tick_ms, policy, budget, .. } = self;
        format!(
            "rooms_max = {rooms}\n[room]\npolicy = \"{policy}\"\nbudget = {budget:.1}\n\
             tick_ms = {tick_ms:.1}\nplayers_max = {bots}\n"
        )
    }

    /// It, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { rooms, bots, tick_ms, policy, budget, threshold } = self;
        let rooms = if *rooms == 1 { "one room".to_owned() } else { format!("{rooms} rooms of {bots}") };
        format!(
            "{} bots in {rooms}, {policy} with {budget} vectors per trigger, tick {tick_ms} ms, \
             threshold {threshold} units",
            self.rooms * self.bots
        )
    }
}

/// What is known of the relay at one time.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) at: Duration,
    pub(super) usage: Option<Usage>,
    pub(super) metrics: Metrics,
}

impl Sample {
    pub(super) async fn take(relay: &RelayChild, start: Instant) -> Result<Self, SoakError> {
        let metrics = relay.metrics().await?;
        Ok(Self { at: start.elapsed(), usage: relay.usage(), metrics })
    }
}

/// Datagrams that the relay sent and that reached the bots, while all of them lived.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Datagrams {
    pub(super) sent: f64,
    /// At most so many: those that came while the relay was asked are counted as sent before.
    pub(super) received: f64,
}

/// What was counted on both sides at about the same time.
struct Edge {
    received_before: u64,
    sent: f64,
    received_after: u64,
}

impl Edge {
    async fn take(squad: &Squad, relay: &RelayChild) -> Result<Self, SoakError> {
        let received_before = squad.datagrams_in();
        let sent = relay.metrics().await?.sum("datagrams_sent_total");
        Ok(Self { received_before, sent, received_after: squad.datagrams_in() })
    }
}

impl Datagrams {
    fn add(&mut self, from: &Edge, to: &Edge) {
        self.sent += to.sent - from.sent;
        self.received += to.received_after as f64 - from.received_before as f64;
    }
}

/// What a run has gathered.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) samples: Vec<Sample>,
    /// The first sample after the warm-up.
    pub(super) warm: usize,
    pub(super) returns: Vec<f64>,
    pub(super) sightings: Vec<Sighting>,
    /// Whether the run was long enough that bots had to crash.
    pub(super) crashes_due: bool,
    /// Datagrams of times in which nobody crashed.
    pub(super) datagrams: Datagrams,
    pub(super) panics: usize,
    /// Questions that the relay did not answer.
    pub(super) unanswered: usize,
}

impl Gathered {
    async fn sample(&mut self, relay: &RelayChild, start: Instant) {
        match Sample::take(relay, start).await {
            Ok(sample) => self.samples.push(sample),
            Err(_) => self.unanswered += 1,
        }
    }

    async fn look(&mut self, squad: &Squad, relay: &RelayChild) {
        match squad.look(relay).await {
            Ok(sighting) => self.sightings.push(sighting),
            Err(_) => self.unanswered += 1,
        }
    }

    /// A time without crashes begins, or ends if one has begun.
    async fn edge(&mut self, squad: &Squad, relay: &RelayChild, begun: &mut Option<Edge>) {
        match (Edge::take(squad, relay).await, begun.take()) {
            (Ok(edge), Some(begin)) => self.datagrams.add(&begin, &edge),
            (Ok(edge), None) => *begun = Some(edge),
            (Err(_), _) => self.unanswered += 1,
        }
    }
}

/// Runs a load for so long, and judges.
///
/// # Errors
/// [`SoakError`] if it can't be measured at all.
pub async fn run(bench: &Bench, load: Load, duration: Duration) -> Result<Verdict, SoakError> {
    let mut relay = RelayChild::start(bench, &load.config()).await?;
    bench.tell(&format!("{}; the bots go in", load.words()));
    let mut squad = Squad::start(&relay, &load, 1).await?;
    squad.settle(bench, Instant::now() + Duration::from_secs(30)).await;
    squad.warm_up(bench).await;
    if bench.is_stopped() {
        // Nothing was measured yet.
        return Ok(Verdict {
            title: load.words(),
            checks: Vec::new(),
            figures: Vec::new(),
            stopped_early: true,
        });
    }
    let gathered = gather(bench, &mut relay, &mut squad, duration).await;
    drop(squad);
    let mut verdict = judge(&gathered?, &load);
    verdict.stopped_early = bench.is_stopped();
    Ok(verdict)
}

async fn gather(
    bench: &Bench,
    relay: &mut RelayChild,
    squad: &mut Squad,
    duration: Duration,
) -> Result<Gathered, SoakError> {
    let mut gathered = Gathered::default();
    let mut draws = Seed::new(2).draws();
    let start = Instant::now();
    let period = CRASH_PERIOD_MAX.min(duration / 4);
    let warm_up = duration.mul_f64(WARM_UP_SHARE).max(period + SETTLE * 2);
    let (mut next_crash, mut is_warm) = (period, false);
    gathered.samples.push(Sample::take(relay, start).await?);
    let mut calm = None;
    gathered.edge(squad, relay, &mut calm).await;
    while start.elapsed() < duration && !bench.is_stopped() && relay.lives() {
        bench.sleep_until((start + duration).min(Instant::now() + SAMPLE_PERIOD)).await;
        if start.elapsed() >= next_crash && start.elapsed() < duration && !bench.is_stopped() {
            next_crash += period;
            if calm.is_some() {
                gathered.edge(squad, relay, &mut calm).await;
            }
            gathered.returns.extend(squad.churn(bench, CRASHED_SHARE, &mut draws).await);
            tokio::time::sleep(SETTLE).await;
            gathered.look(squad, relay).await;
            calm = None;
            gathered.edge(squad, relay, &mut calm).await;
        }
        if !is_warm && start.elapsed() >= warm_up {
            (is_warm, gathered.warm) = (true, gathered.samples.len());
        }
        gathered.sample(relay, start).await;
        bench.tell(&progress(&gathered, duration));
    }
    gathered.crashes_due = start.elapsed() >= period + SAMPLE_PERIOD;
    if calm.is_some() {
        gathered.edge(squad, relay, &mut calm).await;
    }
    tokio::time::sleep(SETTLE).await;
    gathered.look(squad, relay).await;
    gathered.sample(relay, start).await;
    gathered.panics = relay.said().0;
    Ok(gathered)
}

fn progress(gathered: &Gathered, duration: Duration) -> String {
    let [first, .., last] = &gathered.samples[..] else { return String::new() };
    let first = gathered.samples.get(gathered.warm).filter(|warm| warm.at < last.at).unwrap_or(first);
    let memory = last.usage.map_or(0.0, |usage| megabytes(usage.memory));
    let slowest = gathered.returns.iter().copied().fold(0.0, f64::max);
    format!(
        "{:.0} of {:.0} s: {memory:.1} MiB, {:.2} % of deadlines within 2 ms, slowest return {slowest:.2} s",
        last.at.as_secs_f64(),
        duration.as_secs_f64(),
        100.0 * last.metrics.on_time(&first.metrics, 2),
    )
}
