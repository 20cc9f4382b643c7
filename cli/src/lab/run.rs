//! `evenkeel lab run`: figures and tables of the papers, measured.

use std::path::PathBuf;

use evenkeel_lab::files;
use evenkeel_lab::papers::{PAPERS, Setup, run_selected, select};
use evenkeel_lab::report::{self, Provenance};
use serde_json::json;

use super::tables;
use crate::failure::Failure;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  evenkeel lab run
  evenkeel lab run banavar05/fig3.19 --runs 5 --out results

The report is DIR/index.html; each figure is also there as SVG and as CSV.";

/// Arguments of `evenkeel lab run`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// What to run, as `evenkeel lab list` names it; everything without one.
    #[arg(value_name = "KEY")]
    keys: Vec<String>,

    /// Seeds for each.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,

    /// Write the report into this folder.
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

/// Does what was asked.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let selected = select(&args.keys, PAPERS).map_err(Failure::mistake)?;
    files::check_folder(&args.out).map_err(super::refused)?;
    let runs = usize::from(args.runs);
    let figures = progress::watch(|progress| run_selected(&selected, &Setup { runs, progress }))?;
    let keys: String = args.keys.iter().map(|key| format!(" {key}")).collect();
    let provenance = Provenance {
        command: format!("evenkeel lab run{keys} --runs {runs}"),
        commit: env!("EVENKEEL_COMMIT").to_owned(),
        seeds: format!("seeds 1 to {runs}"),
    };
    files::write_all(&args.out, &report::files(&figures, &provenance)).map_err(super::refused)?;
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
