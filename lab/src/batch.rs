//! Runs a scenario under all of its policies and seeds, on all cores.
//!
//! A run is a pure function of scenario, policy and seed; threads affect only when its result arrives. The results
//! are put in order at the end.

use std::borrow::Cow;
use std::thread;

use evenkeel_core::{SessionTime, Span};
use evenkeel_dr::{Placement, PolicyKind};

use crate::bounds::{Bounds, SHOWN_MAX, bounds};
use crate::dr::sockets::{SocketsError, check_suited, run_on_sockets};
use crate::dr::{RunFigures, exported, run, run_unless};
use crate::parallel::{self, Cancelled, Progress};
use crate::scenario::{Absence, Receiver, Scenario, ScenarioClock, ScenarioTopology};

/// The export error that remains if every vector is sent to every receiver at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Floor {
    /// The seed.
    pub seed: u64,
    /// Accumulated export error of each receiver, in the scenario's order.
    pub aee: Vec<f64>,
}

impl Floor {
    /// Returns the floor that a run of `base` shows.
    fn of(run: &RunFigures) -> Self {
        Self { seed: run.seed, aee: run.receivers.iter().map(|receiver| receiver.aee).collect() }
    }
}

/// The clairvoyant optimum with as many vectors as the budget allows, at constant mean delays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clairvoyant {
    /// The number of vectors: the budget for all triggers of the run.
    pub sends: f64,
    /// The least possible mean accumulated export error.
    pub least_mean_aee: f64,
    /// The least accumulated export error that all receivers can have equally.
    pub equal_aee: f64,
}

/// The reason why no bounds can be computed for a scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unbounded(Cow<'static, str>);

impl Unbounded {
    /// Runs over sockets have no bounds.
    pub const ON_SOCKETS: Self = Self(Cow::Borrowed("bounds are computed for simulated runs"));
}

/// The results of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// The runs: all seeds of the first policy, then all seeds of the second, and so on.
    pub runs: Vec<RunFigures>,
    /// One floor per seed.
    pub floors: Vec<Floor>,
}

/// Runs a scenario under all of its policies and seeds over real sockets, in real time, all at once. The floors are
/// simulated.
///
/// # Errors
/// [`SocketsError`] if the scenario cannot run on sockets, the network refuses, or `progress` was cancelled.
pub fn run_all_on_sockets(scenario: &Scenario, progress: &Progress) -> Result<Batch, SocketsError> {
    check_suited(scenario)?;
    let jobs: Vec<_> = scenario
        .policies
        .iter()
        .flat_map(|policy| scenario.seeds.iter().map(|seed| (*policy, *seed)))
        .collect();
    if jobs.len() > SOCKET_RUNS_MAX {
        return Err(SocketsError::Unsuited(
            "all runs take place at once, and at most 16 are allowed: choose fewer with --policy and --seeds",
        ));
    }
    progress.expect(jobs.len());
    let runs: Result<Vec<_>, SocketsError> = thread::scope(|scope| {
        let start = |(policy, seed): &(PolicyKind, u64)| {
            let (policy, seed) = (*policy, *seed);
            scope.spawn(move || {
                let done = run_on_sockets(scenario, policy, seed, progress);
                if done.is_ok() {
                    progress.finished();
                }
                done
            })
        };
        let running: Vec<_> = jobs.iter().map(start).collect();
        running.into_iter().map(|run| run.join().expect("a run does not panic")).collect()
    });
    let base = |seed: &u64| Floor::of(&run(scenario, PolicyKind::BASE, *seed, None));
    Ok(Batch { runs: runs?, floors: scenario.seeds.iter().map(base).collect() })
}

/// The most runs over sockets at once; more would disturb each other.
const SOCKET_RUNS_MAX: usize = 16;

/// Runs a scenario under all of its policies and seeds, and under `base` for the floors if that is not among them.
///
/// # Errors
/// [`Cancelled`] if `progress` was cancelled in time.
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
    let floors = runs[base * seeds..(base + 1) * seeds].iter().map(Floor::of).collect();
    runs.truncate(scenario.policies.len() * seeds);
    Ok(Batch { runs, floors })
}

/// Checks that bounds can be computed for a scenario.
///
/// # Errors
/// [`Unbounded`] states the reason if they cannot.
pub fn check_bounded(scenario: &Scenario) -> Result<(), Unbounded> {
    let steady = |receiver: &Receiver| {
        receiver.absence == Absence::default()
            && receiver.forward.steps.is_empty()
            && receiver.forward.rate.is_none()
    };
    let unbounded = |why: &'static str| Err(Unbounded(Cow::Borrowed(why)));
    if !scenario.receivers.iter().all(steady) {
        return unbounded(
            "bounds need receivers that are present all the time, with delays that do not step",
        );
    }
    if scenario.warmup > Span::ZERO || scenario.placement != Placement::Global {
        return unbounded("bounds need global placement and no warm-up");
    }
    if scenario.clock != ScenarioClock::Synchronized {
        return unbounded("bounds need synchronized clocks");
    }
    let receivers = scenario.receivers.len();
    let budget = scenario.budget.per_trigger(receivers);
    let least = receivers as f64 / SHOWN_MAX as f64;
    if budget < least {
        return Err(Unbounded(Cow::Owned(format!(
            "bounds need a budget that sends every receiver at least one vector in {SHOWN_MAX}: with {receivers} receivers at least \
             {least:.3} per trigger, but it is {budget}"
        ))));
    }
    Ok(())
}

/// Returns the clairvoyant optimum for each seed, at mean delays and without loss.
///
/// # Errors
/// [`Cancelled`] if `progress` was cancelled in time.
pub fn clairvoyant(scenario: &Scenario, progress: &Progress) -> Result<Vec<Clairvoyant>, Cancelled> {
    progress.expect(scenario.seeds.len());
    parallel::map(&scenario.seeds, progress, |seed| {
        let (sends, Bounds { least_mean, equal, .. }) = bounds_with_budget(scenario, *seed);
        Some(Clairvoyant { sends, least_mean_aee: least_mean, equal_aee: equal })
    })
}

/// Returns how many vectors a scenario's budget allows with one seed, and the bounds for that many, at mean delays
/// and without loss.
#[must_use]
pub fn bounds_with_budget(scenario: &Scenario, seed: u64) -> (f64, Bounds) {
    let uplink = match scenario.topology {
        ScenarioTopology::Direct => Span::ZERO,
        ScenarioTopology::Relay { uplink } => uplink,
    };
    let delays: Vec<Span> =
        scenario.receivers.iter().map(|receiver| receiver.forward.delay.mean() + uplink).collect();
    let until = SessionTime::default() + scenario.duration;
    let paths = exported(scenario, seed);
    let triggers: usize = paths.iter().map(|path| path.vectors.len() - 1).sum();
    let sends = scenario.budget.per_trigger(delays.len()) * triggers as f64;
    (sends, bounds(&paths, &delays, sends, until))
}
