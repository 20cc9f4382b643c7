//! `evenkeel lab run`: figures and tables of the papers, measured.

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

The report is DIR/index.html; each figure is also there as SVG and as CSV.";

/// Arguments of `evenkeel lab run`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Write the report into this folder.
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

/// Does what was asked.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    files::check_folder(&args.out).map_err(super::refused)?;
    let results = args.selection.run()?;
    let figures = &results.figures;
    let Selection { keys, runs } = &args.selection;
    let keys: String = keys.iter().map(|key| format!(" {key}")).collect();
    let provenance = Provenance {
        command: format!("evenkeel lab run{keys} --runs {runs}"),
        commit: env!("EVENKEEL_COMMIT").to_owned(),
        runs: usize::from(*runs),
    };
    files::write_all(&args.out, &report::files(&results, &provenance)).map_err(super::refused)?;
    eprintln!("report: {}", args.out.join("index.html").display());
    let verdicts = super::verdicts(figures.iter().flat_map(|figure| &figure.claims));
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
