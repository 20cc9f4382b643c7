//! `evenkeel lab run`: runs the papers' figures and tables.

use std::path::PathBuf;

use evenkeel_lab::files;
use evenkeel_lab::report::{self, Provenance};
use serde_json::json;

use super::{Selection, tables};
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  evenkeel lab run
  evenkeel lab run even
  evenkeel lab run banavar05/fig3.19 --runs 5 --out results

The report is DIR/index.html, with each figure as SVG and CSV beside it.";

/// Arguments of `evenkeel lab run`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RunArgs {
    #[command(flatten)]
    selection: Selection,

    /// Folder for the report
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,

    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    files::check_folder(&args.out).map_err(super::not_written)?;
    let results = args.selection.run()?;
    let figures = &results.figures;
    let Selection { keys, runs } = &args.selection;
    let keys: String = keys.iter().map(|key| format!(" {key}")).collect();
    let provenance = Provenance {
        command: format!("evenkeel lab run{keys} --runs {runs}"),
        commit: env!("EVENKEEL_COMMIT").to_owned(),
        runs: usize::from(*runs),
    };
    files::write_all(&args.out, &report::files(&results, &provenance)).map_err(super::not_written)?;
    eprintln!("report: {}", args.out.join("index.html").display());
    let verdicts = super::check_verdicts(figures.iter().flat_map(|figure| &figure.claims));
    if args.json {
        let figures: Vec<_> = figures
            .iter()
            .map(|figure| {
                json!({ "key": figure.key, "title": figure.title, "caption": figure.caption,
                        "table": figure.table, "claims": figure.claims })
            })
            .collect();
        output::print_json(&json!({ "figures": figures }))?;
    } else {
        output::print(&figures.iter().map(tables::figure).collect::<String>())?;
    }
    verdicts
}
