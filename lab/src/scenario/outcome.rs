//! The results of a scenario as documents for other programs: JSON and CSV. Equal runs give equal bytes.
//!
//! Errors are in world units x seconds, delays in milliseconds.

use std::error::Error;

use serde::Serialize;

use super::Scenario;
use crate::batch::{Batch, Clairvoyant};
use crate::dr::{ReceiverFigures, RunFigures};

/// The results of all runs of a scenario.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ScenarioOutcome {
    /// The runs, grouped by policy, with the seeds in the same order for each.
    pub runs: Vec<RunOutcome>,
    /// The bounds, one entry per seed.
    pub bounds: Vec<FloorOutcome>,
}

/// The results of one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunOutcome {
    /// The policy's name.
    pub policy: String,
    /// The seed.
    pub seed: u64,
    /// DR vectors generated.
    pub triggers: u64,
    /// DR vectors sent.
    pub sent: u64,
    /// Mean accumulated export error over the receivers.
    pub mean_aee: f64,
    /// Its standard deviation.
    pub std_aee: f64,
    /// Mean error against the real path over the receivers.
    pub mean_real_error: f64,
    /// Its standard deviation.
    pub std_real_error: f64,
    /// The receivers, in the scenario's order.
    pub receivers: Vec<ReceiverOutcome>,
}

/// One receiver in one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReceiverOutcome {
    /// Its name.
    pub name: String,
    /// Its one-way delay without jitter.
    pub delay_ms: f64,
    /// Its true accumulated export error.
    pub aee: f64,
    /// Its accumulated error against the real path.
    pub real_error: f64,
    /// DR vectors sent to it.
    pub sent: u64,
    /// DR vectors that reached it.
    pub delivered: u64,
    /// Its accumulated export error by the sender's ledger.
    pub known_aee: f64,
    /// The 95th percentile of its session clock's error. Absent under synchronized clocks; null if it never had a session
    /// time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_error_ms: Option<Option<f64>>,
    /// How long it was present without a session time. Absent under synchronized clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_absent_s: Option<f64>,
}

/// The bounds of one seed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FloorOutcome {
    /// The seed.
    pub seed: u64,
    /// Each receiver's error if every vector is sent to it at once, in the scenario's order.
    pub floor_aee: Vec<f64>,
    /// The clairvoyant optimum, if it was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clairvoyant: Option<ClairvoyantOutcome>,
}

/// The clairvoyant optimum: the best that a sender could do that knew the future and sent as many vectors as the budget
/// allows, at mean delays without loss.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ClairvoyantOutcome {
    /// DR vectors that the budget allows.
    pub sends: f64,
    /// The least mean accumulated export error.
    pub least_mean_aee: f64,
    /// The least accumulated export error that all receivers can have alike.
    pub equal_aee: f64,
}

/// A row of `runs.csv`.
#[derive(Serialize)]
struct RunRow<'a> {
    policy: &'a str,
    seed: u64,
    triggers: u64,
    sent: u64,
    mean_aee: f64,
    std_aee: f64,
    mean_real_error: f64,
    std_real_error: f64,
}

/// A row of `receivers.csv`.
#[derive(Serialize)]
struct ReceiverRow<'a> {
    policy: &'a str,
    seed: u64,
    name: &'a str,
    delay_ms: f64,
    aee: f64,
    real_error: f64,
    sent: u64,
    delivered: u64,
    known_aee: f64,
    floor_aee: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_error_ms: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_absent_s: Option<f64>,
}

impl ScenarioOutcome {
    /// Collects the results of a batch of this scenario.
    #[must_use]
    pub fn new(scenario: &Scenario, batch: &Batch) -> Self {
        let bounds = batch.floors.iter().map(|floor| FloorOutcome {
            seed: floor.seed,
            floor_aee: floor.aee.iter().copied().map(finite).collect(),
            clairvoyant: None,
        });
        let runs = batch.runs.iter().map(|run| RunOutcome::new(scenario, run)).collect();
        Self { runs, bounds: bounds.collect() }
    }

    /// Adds the clairvoyant optimum for each seed.
    #[must_use]
    pub fn with_clairvoyant(mut self, figures: &[Clairvoyant]) -> Self {
        for (bound, figures) in self.bounds.iter_mut().zip(figures) {
            let Clairvoyant { sends, least_mean_aee, equal_aee } = *figures;
            bound.clairvoyant = Some(ClairvoyantOutcome {
                sends,
                least_mean_aee: finite(least_mean_aee),
                equal_aee: finite(equal_aee),
            });
        }
        self
    }

    /// Returns one JSON document that ends with a newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and finite numbers serialize") + "\n"
    }

    /// Returns the names and contents of the files to write.
    #[must_use]
    pub fn files(&self) -> [(&'static str, Vec<u8>); 3] {
        let runs = self.runs.iter().map(|run| RunRow {
            policy: &run.policy,
            seed: run.seed,
            triggers: run.triggers,
            sent: run.sent,
            mean_aee: run.mean_aee,
            std_aee: run.std_aee,
            mean_real_error: run.mean_real_error,
            std_real_error: run.std_real_error,
        });
        // Every policy's runs have the seeds in the order of the bounds.
        let floors = self.bounds.iter().cycle();
        let receivers = self.runs.iter().zip(floors).flat_map(|(run, bound)| {
            run.receivers.iter().zip(&bound.floor_aee).map(|(receiver, floor)| ReceiverRow {
                policy: &run.policy,
                seed: run.seed,
                name: &receiver.name,
                delay_ms: receiver.delay_ms,
                aee: receiver.aee,
                real_error: receiver.real_error,
                sent: receiver.sent,
                delivered: receiver.delivered,
                known_aee: receiver.known_aee,
                floor_aee: *floor,
                clock_error_ms: receiver.clock_error_ms,
                clock_absent_s: receiver.clock_absent_s,
            })
        });
        [
            ("runs.csv", csv(runs).expect("writing to memory succeeds")),
            ("receivers.csv", csv(receivers).expect("writing to memory succeeds")),
            ("scenario.json", self.to_json().into_bytes()),
        ]
    }
}

impl RunOutcome {
    fn new(scenario: &Scenario, run: &RunFigures) -> Self {
        let receiver = |(receiver, figures): (&super::Receiver, &ReceiverFigures)| ReceiverOutcome {
            name: receiver.name.clone(),
            delay_ms: receiver.delay().as_millis_f64(),
            aee: finite(figures.aee),
            real_error: finite(figures.real_error),
            sent: figures.sent,
            delivered: figures.delivered,
            known_aee: finite(figures.known_aee),
            clock_error_ms: figures.clock.map(|clock| clock.error_ms.map(finite)),
            clock_absent_s: figures.clock.map(|clock| clock.absent.as_secs_f64()),
        };
        Self {
            policy: run.policy.to_string(),
            seed: run.seed,
            triggers: run.triggers,
            sent: run.sent,
            mean_aee: finite(run.mean_aee()),
            std_aee: finite(run.std_aee()),
            mean_real_error: finite(run.mean_real_error()),
            std_real_error: finite(run.std_real_error()),
            receivers: scenario.receivers.iter().zip(&run.receivers).map(receiver).collect(),
        }
    }
}

fn csv<R: Serialize>(rows: impl Iterator<Item = R>) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(writer.into_inner()?)
}

/// Asserts that a figure is finite, as JSON needs and a checked scenario ensures.
fn finite(value: f64) -> f64 {
    assert!(value.is_finite(), "a figure of a checked scenario is {value}");
    value
}
