//! How many bots are too many: one room that grows until the relay misses deadlines or needs a whole core.

use std::time::{Duration, Instant};

use evenkeel_dr::policy::PolicyKind;
use serde::Serialize;

use crate::bots::SoakBots;
use crate::judge::{ON_TIME_MIN, costs};
use crate::load::{Load, Sample};
use crate::relay_process::RelayProcess;
use crate::{Harness, SoakError};

/// The sizes of room to try, until one is too large.
pub const SIZES: [usize; 10] = [50, 100, 150, 200, 300, 400, 500, 600, 800, 1000];
/// The share of a core that counts as all of it: other threads take the rest.
const CORE_MAX: f64 = 0.95;
/// How long the bots may take until they see each other.
const SETTLE_MAX: Duration = Duration::from_secs(30);

/// The measurement of a room of one size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SaturationStep {
    /// Bots in the room.
    pub bots: usize,
    /// The share of deadlines that were served within 1 ms.
    pub on_time_1ms: f64,
    /// The share within 2 ms.
    pub on_time_2ms: f64,
    /// The share within 5 ms.
    pub on_time_5ms: f64,
    /// The relay's share of a core.
    pub core: f64,
    /// DR vectors sent per second.
    pub vectors_per_s: f64,
    /// Datagrams sent and received per second.
    pub datagrams_per_s: f64,
    /// The cost of the relay's work: name and value, in words.
    pub figures: Vec<(String, String)>,
}

impl SaturationStep {
    /// Whether the room is too large for the relay on this machine.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        let in_time = self.on_time_2ms >= ON_TIME_MIN;
        !in_time || self.core >= CORE_MAX
    }
}

/// Measures rooms of growing size, each for a duration of `each`, up to the first that is too large.
///
/// # Errors
/// [`SoakError`] if nothing can be measured.
pub async fn run(
    harness: &Harness,
    each: Duration,
    policy: PolicyKind,
) -> Result<Vec<SaturationStep>, SoakError> {
    let mut steps: Vec<SaturationStep> = Vec::new();
    for bots in SIZES {
        if harness.is_stopped() || steps.last().is_some_and(SaturationStep::is_saturated) {
            break;
        }
        harness.report(&format!("{bots} bots in one room"));
        steps.push(step(harness, Load::new(1, bots, policy), each).await?);
    }
    Ok(steps)
}

async fn step(harness: &Harness, load: Load, each: Duration) -> Result<SaturationStep, SoakError> {
    let relay = RelayProcess::start(harness, &load.config()).await?;
    let bots = SoakBots::start(&relay, &load, 1).await?;
    bots.wait_for_visibility(harness, Instant::now() + SETTLE_MAX).await;
    let start = Instant::now();
    let first = Sample::take(&relay, start).await?;
    harness.sleep_until(start + each).await;
    let last = Sample::take(&relay, start).await?;
    drop(bots);
    let seconds = (last.at - first.at).as_secs_f64().max(1e-3);
    let rate = |name: &str| last.metrics.growth(&first.metrics, name) / seconds;
    let cpu = first.usage.zip(last.usage).map_or(f64::NAN, |(a, b)| (b.cpu - a.cpu).as_secs_f64());
    Ok(SaturationStep {
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
    fn late_deadlines_a_full_core_or_no_measurement_mean_saturation() {
        let step = |on_time: f64, core: f64| SaturationStep {
            bots: 2,
            on_time_1ms: on_time,
            on_time_2ms: on_time,
            on_time_5ms: on_time,
            core,
            vectors_per_s: 1.0,
            datagrams_per_s: 1.0,
            figures: Vec::new(),
        };
        assert!(!step(1.0, 0.5).is_saturated());
        assert!(step(0.98, 0.5).is_saturated());
        assert!(step(1.0, 0.96).is_saturated());
        assert!(step(f64::NAN, 0.5).is_saturated());
    }
}
