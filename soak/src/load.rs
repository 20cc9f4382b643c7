//! The soak under load: bots in rooms, some of whom crash every minute and come back under the same names.

use std::time::{Duration, Instant};

use evenkeel_core::Seed;
use evenkeel_dr::policy::PolicyKind;
use serde::{Serialize, Serializer};

use crate::bots::{Inspection, SoakBots};
use crate::judge::{judge, megabytes};
use crate::metrics::Metrics;
use crate::relay_process::RelayProcess;
use crate::usage::Usage;
use crate::{Harness, SoakError, Verdict};

/// The share of the bots that crashes at a time, rounded to whole groups.
const CRASHED_SHARE: f64 = 0.1;
/// The time between crashes; shorter in a short soak.
const CRASH_PERIOD_MAX: Duration = Duration::from_secs(60);
/// The share of the soak that is warm-up.
const WARM_UP_SHARE: f64 = 0.1;
const SAMPLE_PERIOD: Duration = Duration::from_secs(5);
/// How long messages in flight get to arrive, before both ends' counts are compared.
const SETTLE: Duration = Duration::from_secs(2);

/// The bots that load a relay, and their rooms' settings.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Load {
    /// The number of rooms.
    pub rooms: usize,
    /// Bots per room.
    pub bots: usize,
    /// The rooms' tick in milliseconds.
    pub tick_ms: f64,
    /// The policy of the rooms.
    #[serde(serialize_with = "policy_name")]
    pub policy: PolicyKind,
    /// The rooms' budget, in DR vectors per trigger.
    pub budget: f64,
    /// How far a tank may stray from its DR vector before it gets a new one, in units. A tank drives up to 25 a second.
    pub threshold: f64,
}

fn policy_name<S: Serializer>(policy: &PolicyKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(policy)
}

impl Load {
    /// A load with a tick of 50 ms, a threshold of half a unit, and a budget for a quarter of the other players per
    /// trigger.
    #[must_use]
    pub fn new(rooms: usize, bots: usize, policy: PolicyKind) -> Self {
        let budget = ((bots as f64 - 1.0) / 4.0).max(1.0);
        Self { rooms, bots, tick_ms: 50.0, policy, budget, threshold: 0.5 }
    }

    pub(crate) fn config(&self) -> String {
        let Self { rooms, bots, tick_ms, policy, budget, .. } = self;
        format!(
            "rooms_max = {rooms}\n[room]\npolicy = \"{policy}\"\nbudget = {budget:.1}\n\
             tick_ms = {tick_ms:.1}\nplayers_max = {bots}\n"
        )
    }

    /// A description for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let Self { rooms, bots, tick_ms, policy, budget, threshold } = self;
        let rooms = if *rooms == 1 { "one room".to_owned() } else { format!("{rooms} rooms of {bots}") };
        format!(
            "{} bots in {rooms}, {policy} with {budget} vectors per trigger, tick {tick_ms} ms, \
             threshold {threshold} units",
            self.rooms * self.bots
        )
    }
}

/// The relay's resources and metrics at one time.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    pub(crate) usage: Option<Usage>,
    pub(crate) metrics: Metrics,
}

impl Sample {
    pub(crate) async fn take(relay: &RelayProcess, start: Instant) -> Result<Self, SoakError> {
        let metrics = relay.metrics().await?;
        Ok(Self { at: start.elapsed(), usage: relay.usage(), metrics })
    }
}

/// Datagrams from the relay to the bots, counted at both ends between crashes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct DatagramCounts {
    pub(crate) sent: f64,
    /// An upper bound: includes those that arrived while the relay was asked for its count.
    pub(crate) received: f64,
}

/// The counts of both ends at about the same time: the relay is asked between two looks at the bots.
struct DatagramSnapshot {
    received_before: u64,
    sent: f64,
    received_after: u64,
}

impl DatagramSnapshot {
    async fn take(bots: &SoakBots, relay: &RelayProcess) -> Result<Self, SoakError> {
        let received_before = bots.datagrams_in();
        let sent = relay.metrics().await?.sum("datagrams_sent_total");
        Ok(Self { received_before, sent, received_after: bots.datagrams_in() })
    }
}

impl DatagramCounts {
    fn add(&mut self, from: &DatagramSnapshot, to: &DatagramSnapshot) {
        self.sent += to.sent - from.sent;
        self.received += to.received_after as f64 - from.received_before as f64;
    }
}

/// What a soak under load has measured.
#[derive(Debug, Default)]
pub(crate) struct LoadMeasurements {
    pub(crate) samples: Vec<Sample>,
    /// The index of the first sample after the warm-up.
    pub(crate) warm: usize,
    /// How long each crashed bot took to be back, in seconds.
    pub(crate) returns: Vec<f64>,
    pub(crate) inspections: Vec<Inspection>,
    /// Whether the soak was long enough for a crash.
    pub(crate) crashes_due: bool,
    pub(crate) datagrams: DatagramCounts,
    pub(crate) panics: usize,
    /// Requests that the relay did not answer.
    pub(crate) unanswered: usize,
}

impl LoadMeasurements {
    async fn sample(&mut self, relay: &RelayProcess, start: Instant) {
        match Sample::take(relay, start).await {
            Ok(sample) => self.samples.push(sample),
            Err(_) => self.unanswered += 1,
        }
    }

    async fn inspect(&mut self, bots: &SoakBots, relay: &RelayProcess) {
        match bots.inspect(relay).await {
            Ok(inspection) => self.inspections.push(inspection),
            Err(_) => self.unanswered += 1,
        }
    }

    /// Begins an interval without crashes, or ends the one that `begun` holds.
    async fn mark_calm(
        &mut self,
        bots: &SoakBots,
        relay: &RelayProcess,
        begun: &mut Option<DatagramSnapshot>,
    ) {
        match (DatagramSnapshot::take(bots, relay).await, begun.take()) {
            (Ok(end), Some(begin)) => self.datagrams.add(&begin, &end),
            (Ok(begin), None) => *begun = Some(begin),
            (Err(_), _) => self.unanswered += 1,
        }
    }
}

/// Runs a load for a duration, and judges the relay.
///
/// # Errors
/// [`SoakError`] if nothing can be measured.
pub async fn run(harness: &Harness, load: Load, duration: Duration) -> Result<Verdict, SoakError> {
    let mut relay = RelayProcess::start(harness, &load.config()).await?;
    harness.report(&format!("{}; the bots join", load.describe()));
    let mut bots = SoakBots::start(&relay, &load, 1).await?;
    bots.wait_for_visibility(harness, Instant::now() + Duration::from_secs(30)).await;
    bots.warm_up(harness).await;
    if harness.is_stopped() {
        // Nothing has been measured yet.
        return Ok(Verdict {
            title: load.describe(),
            checks: Vec::new(),
            figures: Vec::new(),
            stopped_early: true,
        });
    }
    let measured = measure(harness, &mut relay, &mut bots, duration).await;
    drop(bots);
    let mut verdict = judge(&measured?, &load);
    verdict.stopped_early = harness.is_stopped();
    Ok(verdict)
}

async fn measure(
    harness: &Harness,
    relay: &mut RelayProcess,
    bots: &mut SoakBots,
    duration: Duration,
) -> Result<LoadMeasurements, SoakError> {
    let mut measured = LoadMeasurements::default();
    let mut draws = Seed::new(2).draws();
    let start = Instant::now();
    let period = CRASH_PERIOD_MAX.min(duration / 4);
    let warm_up = duration.mul_f64(WARM_UP_SHARE).max(period + SETTLE * 2);
    let (mut next_crash, mut is_warm) = (period, false);
    measured.samples.push(Sample::take(relay, start).await?);
    let mut calm = None;
    measured.mark_calm(bots, relay, &mut calm).await;
    while start.elapsed() < duration && !harness.is_stopped() && relay.is_running() {
        harness.sleep_until((start + duration).min(Instant::now() + SAMPLE_PERIOD)).await;
        if start.elapsed() >= next_crash && start.elapsed() < duration && !harness.is_stopped() {
            next_crash += period;
            if calm.is_some() {
                measured.mark_calm(bots, relay, &mut calm).await;
            }
            measured.returns.extend(bots.churn(harness, CRASHED_SHARE, &mut draws).await);
            tokio::time::sleep(SETTLE).await;
            measured.inspect(bots, relay).await;
            calm = None;
            measured.mark_calm(bots, relay, &mut calm).await;
        }
        if !is_warm && start.elapsed() >= warm_up {
            (is_warm, measured.warm) = (true, measured.samples.len());
        }
        measured.sample(relay, start).await;
        harness.report(&progress(&measured, duration));
    }
    measured.crashes_due = start.elapsed() >= period + SAMPLE_PERIOD;
    if calm.is_some() {
        measured.mark_calm(bots, relay, &mut calm).await;
    }
    tokio::time::sleep(SETTLE).await;
    measured.inspect(bots, relay).await;
    measured.sample(relay, start).await;
    measured.panics = relay.panics();
    Ok(measured)
}

fn progress(measured: &LoadMeasurements, duration: Duration) -> String {
    let [first, .., last] = &measured.samples[..] else { return String::new() };
    let first = measured.samples.get(measured.warm).filter(|warm| warm.at < last.at).unwrap_or(first);
    let memory = last.usage.map_or(0.0, |usage| megabytes(usage.memory));
    let slowest = measured.returns.iter().copied().fold(0.0, f64::max);
    format!(
        "{:.0} of {:.0} s: {memory:.1} MiB, {:.2} % of deadlines within 2 ms, slowest return {slowest:.2} s",
        last.at.as_secs_f64(),
        duration.as_secs_f64(),
        100.0 * last.metrics.on_time(&first.metrics, 2),
    )
}
