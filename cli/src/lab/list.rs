//! `evenkeel lab list`: the papers with their figures and tables.

use evenkeel_lab::papers::PAPERS;
use serde_json::json;

use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  evenkeel lab list
  evenkeel lab list --json";

/// Arguments of `evenkeel lab list`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &ListArgs) -> Result<(), Failure> {
    let keys = PAPERS.iter().flat_map(|paper| paper.groups.iter().map(move |group| (paper, group)));
    let keys = keys.flat_map(|(paper, group)| {
        group.figures.iter().map(|(figure, _)| paper.key.len() + 1 + figure.len())
    });
    let widest = keys.max().unwrap_or(0);
    let mut text = String::new();
    let mut papers = Vec::new();
    for paper in PAPERS {
        let long = if paper.is_long { " (takes minutes: runs only if named)" } else { "" };
        text += &format!("{}  {}\n           {}{long}\n", paper.key, paper.title, paper.source);
        let mut figures = Vec::new();
        for (figure, title) in paper.groups.iter().flat_map(|group| group.figures) {
            let key = format!("{}/{figure}", paper.key);
            text += &format!("  {key:widest$}  {title}\n");
            figures.push(json!({ "key": key, "title": title }));
        }
        text += "\n";
        papers.push(
            json!({ "key": paper.key, "title": paper.title, "source": paper.source, "figures": figures }),
        );
    }
    if args.json {
        return output::print_json(&json!({ "papers": papers }));
    }
    text += "Run one with `evenkeel lab run KEY`, or all that do not take minutes with `evenkeel lab run`.\n";
    output::print(&text)
}
