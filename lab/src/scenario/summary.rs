//! The summary of a scenario's results: each policy, and each receiver under it, averaged over the seeds.

use super::{RunOutcome, ScenarioOutcome};
use crate::stats::mean;

/// The averaged results of all policies.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenarioSummary {
    /// The policy that the ratios refer to: `base-matched`, else the first `base-1/K`, else `base`, else none.
    pub reference: Option<String>,
    /// The policies, in the scenario's order.
    pub policies: Vec<PolicySummary>,
    /// The clairvoyant optimum, if it was computed.
    pub clairvoyant: Option<ClairvoyantSummary>,
}

/// The clairvoyant optimum, averaged over the seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClairvoyantSummary {
    /// DR vectors that the budget allows in a run.
    pub sends: f64,
    /// The least mean accumulated export error.
    pub least_mean_aee: f64,
    /// `least_mean_aee` as a share of the reference's mean.
    pub least_mean_ratio: Option<f64>,
    /// The least accumulated export error that all receivers can have alike.
    pub equal_aee: f64,
    /// `equal_aee` as a share of the reference's mean.
    pub equal_ratio: Option<f64>,
}

impl ClairvoyantSummary {
    fn new(outcome: &ScenarioOutcome, reference: Option<f64>) -> Option<Self> {
        let all: Option<Vec<_>> = outcome.bounds.iter().map(|bound| bound.clairvoyant).collect();
        let all = all.filter(|all| !all.is_empty())?;
        let (least_mean_aee, equal_aee) =
            (over(&all, |figures| figures.least_mean_aee), over(&all, |figures| figures.equal_aee));
        let share = |error: f64| reference.and_then(|reference| ratio(error, reference));
        Some(Self {
            sends: over(&all, |figures| figures.sends),
            least_mean_aee,
            least_mean_ratio: share(least_mean_aee),
            equal_aee,
            equal_ratio: share(equal_aee),
        })
    }
}

/// One policy, averaged over the seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicySummary {
    /// The policy's name.
    pub policy: String,
    /// Mean error against the real path, which is what players see.
    pub mean_real_error: f64,
    /// Its standard deviation over the receivers.
    pub std_real_error: f64,
    /// `mean_real_error` as a share of the reference's.
    pub mean_ratio: Option<f64>,
    /// `std_real_error` as a share of the reference's.
    pub std_ratio: Option<f64>,
    /// Mean accumulated export error, the papers' measure.
    pub mean_aee: f64,
    /// Its standard deviation over the receivers.
    pub std_aee: f64,
    /// DR vectors generated per run.
    pub triggers: f64,
    /// DR vectors sent per run.
    pub sent: f64,
    /// DR vectors sent per trigger, if there were any.
    pub sent_per_trigger: Option<f64>,
    /// The receivers, in the scenario's order.
    pub receivers: Vec<ReceiverSummary>,
}

/// One receiver under one policy, averaged over the seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct ReceiverSummary {
    /// Its name.
    pub name: String,
    /// Its one-way delay without jitter.
    pub delay_ms: f64,
    /// Accumulated error against the real path.
    pub real_error: f64,
    /// Accumulated export error.
    pub aee: f64,
    /// Accumulated export error by the sender's ledger.
    pub known_aee: f64,
    /// The error if every vector is sent at once.
    pub floor_aee: f64,
    /// DR vectors sent to it.
    pub sent: f64,
    /// DR vectors that reached it.
    pub delivered: f64,
}

impl ScenarioSummary {
    /// Averages the results over the seeds.
    #[must_use]
    pub fn new(outcome: &ScenarioOutcome) -> Self {
        let seeds = outcome.bounds.len().max(1);
        let mut policies: Vec<_> =
            outcome.runs.chunks(seeds).map(|runs| PolicySummary::new(runs, outcome)).collect();
        let references: [fn(&str) -> bool; 3] =
            [|name| name == "base-matched", |name| name.starts_with("base-1/"), |name| name == "base"];
        let find = |is_it: &fn(&str) -> bool| policies.iter().position(|summary| is_it(&summary.policy));
        let reference = references.iter().find_map(find);
        let reference_mean = reference.map(|index| policies[index].mean_aee);
        let clairvoyant = ClairvoyantSummary::new(outcome, reference_mean);
        let Some(index) = reference else { return Self { reference: None, policies, clairvoyant } };
        let PolicySummary { policy, mean_real_error, std_real_error, .. } = policies[index].clone();
        for summary in &mut policies {
            summary.mean_ratio = ratio(summary.mean_real_error, mean_real_error);
            summary.std_ratio = ratio(summary.std_real_error, std_real_error);
        }
        Self { reference: Some(policy), policies, clairvoyant }
    }
}

impl PolicySummary {
    /// Averages the runs of one policy.
    fn new(runs: &[RunOutcome], outcome: &ScenarioOutcome) -> Self {
        let (triggers, sent) = (over(runs, |run| run.triggers as f64), over(runs, |run| run.sent as f64));
        let receivers = runs[0].receivers.iter().enumerate().map(|(index, receiver)| ReceiverSummary {
            name: receiver.name.clone(),
            delay_ms: receiver.delay_ms,
            real_error: over(runs, |run| run.receivers[index].real_error),
            aee: over(runs, |run| run.receivers[index].aee),
            known_aee: over(runs, |run| run.receivers[index].known_aee),
            floor_aee: over(&outcome.bounds, |bound| bound.floor_aee[index]),
            sent: over(runs, |run| run.receivers[index].sent as f64),
            delivered: over(runs, |run| run.receivers[index].delivered as f64),
        });
        Self {
            policy: runs[0].policy.clone(),
            mean_real_error: over(runs, |run| run.mean_real_error),
            std_real_error: over(runs, |run| run.std_real_error),
            mean_ratio: None,
            std_ratio: None,
            mean_aee: over(runs, |run| run.mean_aee),
            std_aee: over(runs, |run| run.std_aee),
            triggers,
            sent,
            sent_per_trigger: ratio(sent, triggers),
            receivers: receivers.collect(),
        }
    }
}

/// The mean of a figure over the runs.
fn over<T>(runs: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    mean(&runs.iter().map(figure).collect::<Vec<_>>())
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
