//! `evenkeel lab claims`: every claim of the papers, measured, with its verdict.

use evenkeel_lab::claims::Claim;
use serde_json::json;

use super::{Selection, tables};
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  evenkeel lab claims
  evenkeel lab claims banavar05 --json
  evenkeel lab claims even

Verdicts: holds; fails (measured and not so); differs (holds only under a reading that is stated).

Exit status:
  1    a verdict differs from the recorded one";

/// Arguments of `evenkeel lab claims`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

/// Does what was asked.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let figures = args.selection.run()?.figures;
    let claims: Vec<&Claim> = figures.iter().flat_map(|figure| &figure.claims).collect();
    if args.json {
        output::print_json(&json!({ "claims": claims }))?;
    } else {
        output::print(&tables::claims(&claims))?;
    }
    super::verdicts(claims)
}
