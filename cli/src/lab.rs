//! `evenkeel lab`: experiments and measurements.

mod claims;
mod list;
mod run;
mod scenario;
mod soak;
mod tables;

use clap::Subcommand;
use evenkeel_lab::claims::Claim;
use evenkeel_lab::files::WriteError;
use evenkeel_lab::papers::{PAPERS, Results, Setup, run_selected, select};

use crate::failure::Failure;
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  evenkeel lab list
  evenkeel lab run banavar05 --out results
  evenkeel lab run even
  evenkeel lab claims
  evenkeel lab scenario scenarios/papers.toml
  evenkeel lab scenario scenarios/relay.toml --policy base-1/4 deterministic-budget --seeds 1,2,3
  evenkeel lab scenario scenarios/tanks.toml --out results
  evenkeel lab soak relay --minutes 1";

/// Arguments of `evenkeel lab`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    /// List the papers and their figures
    List(list::ListArgs),
    /// Run figures of the papers and write a report
    Run(run::RunArgs),
    /// Check the papers' claims and print a verdict on each
    Claims(claims::ClaimsArgs),
    /// Run a scenario file: motion, receivers, links, and the policies to compare
    Scenario(scenario::ScenarioArgs),
    /// Test a relay under load or under attack for minutes or hours
    Soak(soak::SoakArgs),
}

/// Which figures, and with how many seeds.
#[derive(clap::Args)]
struct Selection {
    /// Papers or figures, as listed by `evenkeel lab list` [default: everything that does not take minutes]
    #[arg(value_name = "KEY")]
    keys: Vec<String>,

    /// Number of seeds, starting at 1 (for `even` at 201)
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,
}

impl Selection {
    fn run(&self) -> Result<Results, Failure> {
        let selected = select(&self.keys, PAPERS).map_err(Failure::mistake)?;
        let runs = usize::from(self.runs);
        progress::watch(|progress| run_selected(&selected, &Setup { runs, progress }))
    }
}

/// Runs the command.
pub(crate) fn run(args: LabArgs) -> Result<(), Failure> {
    match args.command {
        LabCommand::List(args) => list::run(&args),
        LabCommand::Run(args) => run::run(&args),
        LabCommand::Claims(args) => claims::run(&args),
        LabCommand::Scenario(args) => scenario::run(args),
        LabCommand::Soak(args) => soak::run(args),
    }
}

fn not_written(error: WriteError) -> Failure {
    Failure::mistake(format!("--out: {error}"))
}

/// Fails if a verdict differs from the recorded one.
fn check_verdicts<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Result<(), Failure> {
    let changed = claims.into_iter().filter(|claim| !claim.is_as_expected());
    let changed: Vec<_> = changed.map(|claim| &*claim.id).collect();
    if changed.is_empty() {
        return Ok(());
    }
    Err(Failure::Changed(format!("verdicts differ from the recorded ones: {}", changed.join(", "))))
}
