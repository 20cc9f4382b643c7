//! What one relay bears: rooms full of bots by policy, budget and threads, against processor time, lateness and error.

use std::time::{Duration, Instant};

use evenkeel_dr::Budget;
use evenkeel_dr::policy::PolicyKind;
use serde::Serialize;

use crate::bots::{SoakBots, room_name};
use crate::load::{Load, Sample};
use crate::relay_process::RelayProcess;
use crate::{Harness, SoakError};

/// How long the bots may take until they see each other.
const SETTLE_MAX: Duration = Duration::from_secs(30);
/// A relay reports the error of the last ten seconds, every ten seconds.
const ERROR_PERIOD: Duration = Duration::from_secs(10);

/// The settings to measure: every combination.
#[derive(Clone, Debug)]
pub struct CapacityPlan {
    /// Numbers of rooms.
    pub rooms: Vec<usize>,
    /// Bots per room.
    pub bots: usize,
    /// The rooms' policies.
    pub policies: Vec<PolicyKind>,
    /// The rooms' budgets.
    pub budgets: Vec<Budget>,
    /// Numbers of the relay's threads.
    pub threads: Vec<usize>,
    /// How long each is measured.
    pub each: Duration,
}

/// The measurement of one combination.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CapacityRow {
    /// The policy.
    pub policy: String,
    /// The budget.
    pub budget: String,
    /// The relay's threads.
    pub threads: usize,
    /// The number of rooms.
    pub rooms: usize,
    /// The bots of all rooms.
    pub bots: usize,
    /// The relay's processor time, as a share of one core.
    pub core: f64,
    /// The share of deadlines that were served within 2 ms.
    pub on_time_2ms: f64,
    /// The mean distance between an exported path and a bot's copy.
    pub error_seen: f64,
    /// Dead reckoning's kbit/s to the average bot.
    pub kbit_per_s: f64,
    /// DR vectors sent per second.
    pub vectors_per_s: f64,
    /// Datagrams sent and received per second.
    pub datagrams_per_s: f64,
}

/// Measures every combination.
///
/// # Errors
/// [`SoakError`] if nothing can be measured.
pub async fn run(harness: &Harness, plan: &CapacityPlan) -> Result<Vec<CapacityRow>, SoakError> {
    let mut rows = Vec::new();
    for policy in &plan.policies {
        for budget in &plan.budgets {
            for threads in &plan.threads {
                for rooms in &plan.rooms {
                    if harness.is_stopped() {
                        return Ok(rows);
                    }
                    let bots = rooms * plan.bots;
                    harness.report(&format!(
                        "{policy}, {budget}: {bots} bots in {rooms} rooms, {threads} threads"
                    ));
                    let load =
                        Load { tick_ms: 20.0, threshold: 0.09, ..Load::new(*rooms, plan.bots, *policy) };
                    rows.push(measure(harness, &load, *budget, *threads, plan.each).await?);
                }
            }
        }
    }
    Ok(rows)
}

fn config(load: &Load, budget: Budget, threads: usize) -> String {
    let Load { rooms, bots, tick_ms, policy, .. } = load;
    format!(
        "threads = {threads}\nrooms_max = {rooms}\n[room]\npolicy = \"{policy}\"\nbudget = \"{budget}\"\n\
         tick_ms = {tick_ms:.1}\nplayers_max = {bots}\n"
    )
}

async fn measure(
    harness: &Harness,
    load: &Load,
    budget: Budget,
    threads: usize,
    each: Duration,
) -> Result<CapacityRow, SoakError> {
    let relay = RelayProcess::start(harness, &config(load, budget, threads)).await?;
    let bots = SoakBots::start(&relay, load, 1).await?;
    bots.wait_for_visibility(harness, Instant::now() + SETTLE_MAX).await;
    let start = Instant::now();
    let first = Sample::take(&relay, start).await?;
    harness.sleep_until(start + each.max(ERROR_PERIOD * 2)).await;
    let last = Sample::take(&relay, start).await?;
    let (mut error_seen, mut kbit_per_s) = (0.0, 0.0);
    for room in 0..load.rooms {
        let report = relay.report(&room_name(room)).await?;
        error_seen += report.error_seen / load.rooms as f64;
        kbit_per_s += report.kbit_per_s / load.rooms as f64;
    }
    drop(bots);
    let seconds = (last.at - first.at).as_secs_f64().max(1e-3);
    let rate = |name: &str| last.metrics.growth(&first.metrics, name) / seconds;
    let cpu = first.usage.zip(last.usage).map_or(f64::NAN, |(a, b)| (b.cpu - a.cpu).as_secs_f64());
    Ok(CapacityRow {
        policy: load.policy.to_string(),
        budget: budget.to_string(),
        threads,
        rooms: load.rooms,
        bots: load.rooms * load.bots,
        core: cpu / seconds,
        on_time_2ms: last.metrics.on_time(&first.metrics, 2),
        error_seen,
        kbit_per_s,
        vectors_per_s: rate("room_vectors_total"),
        datagrams_per_s: rate("datagrams_sent_total") + rate("datagrams_received_total"),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use evenkeel_serve::RelayConfig;

    use super::*;

    #[test]
    fn relay_understands_its_settings() {
        let load = Load::new(3, 50, "even".parse().expect("a policy"));
        let budget = "64 kbit/s".parse().expect("a budget");
        let config = RelayConfig::parse(&config(&load, budget, 2), Path::new("relay.toml")).expect("valid");
        assert_eq!((config.threads, config.rooms_max, config.room.players_max), (2, 3, 50));
        assert_eq!(config.room.budget, budget);
    }
}
