//! `evenkeel lab`: what is measured.

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
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the papers and their figures.
    List(list::Args),
    /// Run figures of the papers and write a report.
    Run(run::Args),
    /// Measure every claim of the papers and say what became of it.
    Claims(claims::Args),
    /// Run a scenario of your own: who moves, who watches from how far, which policies are compared.
    Scenario(scenario::Args),
    /// Keep a relay busy, or under attack, for minutes or hours, and judge how it did.
    Soak(soak::Args),
}

/// Which figures, and with how many seeds.
#[derive(clap::Args)]
struct Selection {
    /// A paper or a figure, as `evenkeel lab list` names it; without one, everything that does not take minutes.
    #[arg(value_name = "KEY")]
    keys: Vec<String>,

    /// Seeds for each, from 1 on; for `even`, from 201 on.
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

/// Does what was asked.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::List(args) => list::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Claims(args) => claims::run(&args),
        Command::Scenario(args) => scenario::run(args),
        Command::Soak(args) => soak::run(args),
    }
}

fn refused(error: WriteError) -> Failure {
    Failure::mistake(format!("--out: {error}"))
}

/// Fails if a verdict is not the recorded one.
fn verdicts<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Result<(), Failure> {
    let changed = claims.into_iter().filter(|claim| !claim.is_as_expected());
    let changed: Vec<_> = changed.map(|claim| &*claim.id).collect();
    if changed.is_empty() {
        return Ok(());
    }
    Err(Failure::Changed(format!("not the recorded verdict: {}", changed.join(", "))))
}
