//! `evenkeel lab claims`: checks the papers' claims.

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

Verdicts:
  holds      the measurement confirms the claim
  differs    it confirms the claim only under the stated reading
  fails      it contradicts the claim

Exit status:
  1    a verdict differs from the recorded one";

/// Arguments of `evenkeel lab claims`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ClaimsArgs {
    #[command(flatten)]
    selection: Selection,

    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &ClaimsArgs) -> Result<(), Failure> {
    let figures = args.selection.run()?.figures;
    let claims: Vec<&Claim> = figures.iter().flat_map(|figure| &figure.claims).collect();
    if args.json {
        output::print_json(&json!({ "claims": claims }))?;
    } else {
        output::print(&tables::claims(&claims))?;
    }
    super::check_verdicts(claims)
}
