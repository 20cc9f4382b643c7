//! `evenkeel lab claims`: every claim of the papers, measured, with its verdict.

use evenkeel_lab::claims::Claim;
use evenkeel_lab::papers::{PAPERS, Setup, run_selected, select};
use serde_json::json;

use super::tables;
use crate::failure::Failure;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  evenkeel lab claims
  evenkeel lab claims banavar05 --json

Verdicts: holds; fails (measured and not so); differs (holds only under a reading that is stated).

Exit status:
  1    a verdict differs from the recorded one";

/// Arguments of `evenkeel lab claims`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Whose claims, as `evenkeel lab list` names them; everybody's without one.
    #[arg(value_name = "KEY")]
    keys: Vec<String>,

    /// Seeds for each.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

/// Does what was asked.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let selected = select(&args.keys, PAPERS).map_err(Failure::mistake)?;
    let runs = usize::from(args.runs);
    let figures = progress::watch(|progress| run_selected(&selected, &Setup { runs, progress }))?;
    let claims: Vec<&Claim> = figures.iter().flat_map(|figure| &figure.claims).collect();
    if args.json {
        output::print_json(&json!({ "claims": claims }))?;
    } else {
        output::print(&tables::claims(&claims))?;
    }
    super::verdicts(claims)
}
