//! How many are too many: one room that grows until the relay's deadlines are late or it needs a whole core.

use std::time::{Duration, Instant};

use evenkeel_dr::policy::PolicyKind;
use serde::Serialize;

use crate::child::RelayChild;
use crate::judge::{ON_TIME_MIN, costs};
use crate::load::{Load, Sample};
use crate::squad::Squad;
use crate::{Bench, SoakError};

/// The sizes of room that are tried, until one is too large.
pub const SIZES: [usize; 10] = [50, 100, 150, 200, 300, 400, 500, 600, 800, 1000];
/// A relay that uses so much of a core uses all of it: the rest is other threads' turns.
const CORE_MAX: f64 = 0.95;
const SETTLE: Duration = Duration::from_secs(30);

/// How a room of one size went.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Step {
    /// Bots in the room.
    pub bots: usize,
    /// The share of deadlines that were served within 1 ms,
    pub on_time_1ms: f64,
    /// within 2 ms,
    pub on_time_2ms: f64,
    /// and within 5 ms.
    pub on_time_5ms: f64,
    /// The relay's share of a core.
    pub core: f64,
    /// DR vectors that it sent in a second.
    pub vectors_per_s: f64,
    /// Datagrams that it sent and received in a second.
    pub datagrams_per_s: f64,
    /// What it cost, in words.
    pub figures: Vec<(String, String)>,
}

impl Step {
    /// Whether this is more than the relay can do in time on this machine.
    #[must_use]
    pub fn is_too_much(&self) -> bool {
        let in_time = self.on_time_2ms >= ON_TIME_MIN;
        !in_time || self.core >= CORE_MAX
    }
}

/// Raises the number of bots until there are too many; each size for so long.
///
/// # Errors
/// [`SoakError`] if it can't be measured at all.
pub async fn run(bench: &Bench, each: Duration, policy: PolicyKind) -> Result<Vec<Step>, SoakError> {
    let mut steps: Vec<Step> = Vec::new();
    for bots in SIZES {
        if bench.is_stopped() || steps.last().is_some_and(Step::is_too_much) {
            break;
        }
        bench.tell(&format!("{bots} bots in one room"));
        steps.push(step(bench, Load::new(1, bots, policy), each).await?);
    }
    Ok(steps)
}

async fn step(bench: &Bench, load: Load, each: Duration) -> Result<Step, SoakError> {
    let relay = RelayChild::start(bench, &load.config()).await?;
    let squad = Squad::start(&relay, &load, 1).await?;
    squad.settle(bench, Instant::now() + SETTLE).await;
    let start = Instant::now();
    let first = Sample::take(&relay, start).await?;
    bench.sleep_until(start + each).await;
    let last = Sample::take(&relay, start).await?;
    drop(squad);
    let seconds = (last.at - first.at).as_secs_f64().max(1e-3);
    let rate = |name: &str| last.metrics.since(&first.metrics, name) / seconds;
    let cpu = first.usage.zip(last.usage).map_or(f64::NAN, |(a, b)| (b.cpu - a.cpu).as_secs_f64());
    Ok(Step {
        bots: load.bots,
        on_time_1ms: last.metrics.on_time(&first.metrics, 1),
        on_time_2ms: last.metrics.on_time(&first.metrics, 2),
        on_time_5ms: last.metrics.on_time(&first.metrics, 5),
        core: cpu / seconds,
        vectors_per_s: rate("room_vectors_total"),
        datagrams_per_s: rate("datagrams_sent_total") + rate("datagrams_received_total"),
        figures: costs(&first, &last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_deadlines_a_full_core_and_nothing_measured_are_too_much() {
        let step = |on_time: f64, core: f64| Step {
            bots: 2,
            on_time_1ms: on_time,
            on_time_2ms: on_time,
            on_time_5ms: on_time,
            core,
            vectors_per_s: 1.0,
            datagrams_per_s: 1.0,
            figures: Vec::new(),
        };
        assert!(!step(1.0, 0.5).is_too_much());
        assert!(step(0.98, 0.5).is_too_much());
        assert!(step(1.0, 0.96).is_too_much());
        assert!(step(f64::NAN, 0.5).is_too_much());
    }
}
