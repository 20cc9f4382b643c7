//! All runs of a scenario, on all cores.
//!
//! A run is a pure function of scenario, policy and seed, so threads only decide when a result is there and never what
//! it is: results are put in order after the last one.

use evenkeel_dr::PolicyKind;

use crate::dr::{RunFigures, run_unless};
use crate::parallel::{self, Cancelled, Progress};
use crate::scenario::Scenario;

/// What is left if every vector is sent to everybody at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Floor {
    /// The seed of the run.
    pub seed: u64,
    /// Each receiver's accumulated export error, in the scenario's order.
    pub aee: Vec<f64>,
}

/// The results of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// All seeds of the first policy, all of the second, and so on.
    pub runs: Vec<RunFigures>,
    /// One for each seed.
    pub floors: Vec<Floor>,
}

/// Runs a scenario under all of its policies with all of its seeds, and under `base` for the floors if that is not
/// among them.
///
/// # Errors
/// [`Cancelled`] if `progress` said so in time.
pub fn run_all(scenario: &Scenario, progress: &Progress) -> Result<Batch, Cancelled> {
    let seeds = scenario.seeds.len();
    let mut policies = scenario.policies.clone();
    let base = policies.iter().position(|policy| *policy == PolicyKind::BASE).unwrap_or_else(|| {
        policies.push(PolicyKind::BASE);
        policies.len() - 1
    });
    let jobs: Vec<_> =
        policies.iter().flat_map(|policy| scenario.seeds.iter().map(|seed| (*policy, *seed))).collect();
    progress.expect(jobs.len());
    let mut runs = parallel::map(&jobs, progress, |(policy, seed)| {
        run_unless(scenario, *policy, *seed, None, progress)
    })?;
    let floor = |run: &RunFigures| Floor {
        seed: run.seed,
        aee: run.receivers.iter().map(|receiver| receiver.aee).collect(),
    };
    let floors = runs[base * seeds..(base + 1) * seeds].iter().map(floor).collect();
    runs.truncate(scenario.policies.len() * seeds);
    Ok(Batch { runs, floors })
}
