//! `evenkeel lab scenario`: any scenario of a user's own.

use std::path::PathBuf;

use evenkeel_dr::PolicyKind;
use evenkeel_lab::batch::run_all;
use evenkeel_lab::files;
use evenkeel_lab::scenario::{Outcome, Scenario, Summary, load};

use super::tables;
use crate::failure::Failure;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  evenkeel lab scenario scenarios/papers.toml
  evenkeel lab scenario my.toml --policy base-1/3 deterministic-budget --seeds 1,2,3,4,5
  evenkeel lab scenario my.toml --json | jq '.runs[] | [.policy, .seed, .std_aee]'
  evenkeel lab scenario my.toml --out results

The files in scenarios/ explain every key. The same file, policies and seeds give the same bytes.";

/// Examples, and the policies that there are.
fn after_help() -> String {
    format!("{EXAMPLES}\n\nPolicies:\n  {}", PolicyKind::NAMES.join("\n  "))
}

/// Arguments of `evenkeel lab scenario`.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub(super) struct Args {
    /// The scenario file.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,

    /// Compare these policies in place of the file's.
    #[arg(long = "policy", value_name = "P", num_args = 1..)]
    policies: Vec<PolicyKind>,

    /// Run with these seeds in place of the file's.
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    seeds: Vec<u64>,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,

    /// Write runs.csv, receivers.csv and scenario.json into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Does what was asked.
pub(super) fn run(args: Args) -> Result<(), Failure> {
    let scenario = prepare(&args)?;
    let batch = progress::watch(|progress| run_all(&scenario, progress))?;
    let outcome = Outcome::new(&scenario, &batch);
    if let Some(folder) = &args.out {
        files::write_all(folder, &outcome.files()).map_err(super::refused)?;
        eprintln!("wrote runs.csv, receivers.csv and scenario.json to {}", folder.display());
    }
    if args.json {
        output::print(&outcome.to_json())
    } else {
        output::print(&tables::scenario(&args.file, &scenario, &Summary::new(&outcome)))
    }
}

/// Finds every mistake that can be found before anything runs.
fn prepare(args: &Args) -> Result<Scenario, Failure> {
    let mut scenario = load(&args.file).map_err(Failure::mistake)?;
    if !args.policies.is_empty() {
        let result = scenario.replace_policies(args.policies.clone());
        result.map_err(|error| Failure::mistake(format!("--policy: {error}")))?;
    }
    if !args.seeds.is_empty() {
        let result = scenario.replace_seeds(args.seeds.clone());
        result.map_err(|error| Failure::mistake(format!("--seeds: {error}")))?;
    }
    if let Some(folder) = &args.out {
        files::check_folder(folder).map_err(super::refused)?;
    }
    Ok(scenario)
}
