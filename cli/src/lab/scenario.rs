//! `evenkeel lab scenario`: runs a scenario file.

use std::path::PathBuf;

use evenkeel_dr::PolicyKind;
use evenkeel_lab::batch::{Batch, Unbounded, check_bounded, clairvoyant, run_all, run_all_on_sockets};
use evenkeel_lab::dr::sockets::{SocketsError, check_suited};
use evenkeel_lab::files;
use evenkeel_lab::parallel::Progress;
use evenkeel_lab::scenario::{Scenario, ScenarioOutcome, ScenarioSummary, load};

use super::tables;
use crate::failure::Failure;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  evenkeel lab scenario scenarios/papers.toml
  evenkeel lab scenario my.toml --policy base-matched even --seeds 1,2,3,4,5
  evenkeel lab scenario my.toml --json | jq '.runs[] | [.policy, .seed, .std_aee]'
  evenkeel lab scenario my.toml --out results
  evenkeel lab scenario scenarios/papers.toml --policy base-matched even --bounds
  evenkeel lab scenario scenarios/sockets.toml --runner sockets

The files in scenarios/ explain every key. Equal files, policies and seeds give equal output.";

/// The examples and a list of the policies.
fn after_help() -> String {
    format!("{EXAMPLES}\n\nPolicies:\n  {}", PolicyKind::NAMES.join("\n  "))
}

/// Arguments of `evenkeel lab scenario`.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub(super) struct ScenarioArgs {
    /// The scenario file
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,

    /// Policies to compare, instead of the file's
    #[arg(long = "policy", value_name = "P", num_args = 1..)]
    policies: Vec<PolicyKind>,

    /// Seeds, instead of the file's
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    seeds: Vec<u64>,

    /// Run in the simulator, or in real time over sockets on this machine with emulated links
    #[arg(long, value_enum, default_value_t = Runner::Sim)]
    runner: Runner,

    /// Also compute the clairvoyant optimum: the least error with as many vectors as the budget allows, at constant mean
    /// delays
    #[arg(long)]
    bounds: bool,

    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    json: bool,

    /// Write runs.csv, receivers.csv and scenario.json to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Where a scenario runs.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Runner {
    /// Simulated: equal output each time
    Sim,
    /// QUIC on loopback: takes the scenario's duration
    Sockets,
}

/// Runs the command.
pub(super) fn run(args: ScenarioArgs) -> Result<(), Failure> {
    let scenario = prepare(&args)?;
    let figures = |progress: &Progress| {
        if args.bounds { clairvoyant(&scenario, progress) } else { Ok(Vec::new()) }
    };
    let (batch, figures) = match args.runner {
        Runner::Sim => progress::watch(|progress| Ok((run_all(&scenario, progress)?, figures(progress)?)))?,
        Runner::Sockets => (on_sockets(&scenario)?, Vec::new()),
    };
    let outcome = ScenarioOutcome::new(&scenario, &batch).with_clairvoyant(&figures);
    if let Some(folder) = &args.out {
        files::write_all(folder, &outcome.files()).map_err(super::not_written)?;
        eprintln!("wrote runs.csv, receivers.csv and scenario.json to {}", folder.display());
    }
    if args.json {
        output::print(&outcome.to_json())
    } else {
        output::print(&tables::scenario(&args.file, &scenario, &ScenarioSummary::new(&outcome)))
    }
}

/// Runs over sockets, after printing how long that takes.
fn on_sockets(scenario: &Scenario) -> Result<Batch, Failure> {
    check_suited(scenario).map_err(Failure::mistake)?;
    eprintln!("running over sockets in real time: {:.0} s", scenario.duration.as_secs_f64());
    let batch = progress::watch(|progress| match run_all_on_sockets(scenario, progress) {
        Err(SocketsError::Cancelled) => Err(progress.cancelled()),
        other => Ok(other),
    })?;
    batch.map_err(Failure::failed)
}

/// Loads the scenario and checks all arguments before anything runs.
fn prepare(args: &ScenarioArgs) -> Result<Scenario, Failure> {
    let mut scenario = load(&args.file).map_err(Failure::mistake)?;
    if !args.policies.is_empty() {
        let result = scenario.replace_policies(args.policies.clone());
        result.map_err(|error| Failure::mistake(format!("--policy: {error}")))?;
    }
    if !args.seeds.is_empty() {
        let result = scenario.replace_seeds(args.seeds.clone());
        result.map_err(|error| Failure::mistake(format!("--seeds: {error}")))?;
    }
    if args.bounds {
        let simulated = args.runner == Runner::Sim;
        let result = if simulated { check_bounded(&scenario) } else { Err(Unbounded::ON_SOCKETS) };
        result.map_err(|error| Failure::mistake(format!("--bounds: {error}")))?;
    }
    if let Some(folder) = &args.out {
        files::check_folder(folder).map_err(super::not_written)?;
    }
    Ok(scenario)
}
