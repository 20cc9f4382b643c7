//! Scenarios, figures and claims as text tables of at most 100 columns.

mod soak;

use std::path::Path;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use evenkeel_lab::claims::{Claim, VerdictCounts};
use evenkeel_lab::figure::Figure;
use evenkeel_lab::papers::{PaperKind, kind_of};
use evenkeel_lab::scenario::{PolicySummary, ReceiverSummary, Scenario, ScenarioSummary, ScenarioTopology};

pub(super) use soak::{attacks, capacity, saturation, verdicts};

/// The most receivers per policy that are printed.
const RECEIVERS_SHOWN: usize = 20;

const LEGEND: &str = "
real   what players see: the distance between real and placed path, integrated over time, in world
       units x seconds (u x s). The mean is over the receivers; std is their standard deviation:
       the smaller, the fairer. The ratios are of these errors.
AEE    accumulated export error, the papers' measure: the same against the exported path, which a
       coarser threshold moves away from the real one without being counted
known  the AEE by the sender's ledger
floor  the AEE if every DR vector were sent at once
";

/// A line under the header and no frame.
const FRAMELESS: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-'));

/// The padding at the start of a line, which is cut off.
const PADDING: usize = 1;

/// The results of a scenario: heading, policies, receivers and legend.
pub(super) fn scenario(file: &Path, scenario: &Scenario, summary: &ScenarioSummary) -> String {
    let mut text = format!("{}\n\n", heading(file, scenario));
    text += &policies(summary);
    text += "\n";
    text += &clairvoyant(summary);
    text += &receivers(summary);
    let hidden = scenario.receivers.len().saturating_sub(RECEIVERS_SHOWN);
    if hidden > 0 {
        text += &format!("and {hidden} more receivers: use --json or --out for all of them\n");
    }
    text += LEGEND;
    text
}

fn heading(file: &Path, scenario: &Scenario) -> String {
    let counted = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let relay = match scenario.topology {
        ScenarioTopology::Direct => String::new(),
        ScenarioTopology::Relay { uplink } => format!(", relay at {} ms", uplink.as_millis_f64()),
    };
    format!(
        "{}: {}, {} s{relay}, mean over {}, budget {} per trigger",
        file.display(),
        counted(scenario.receivers.len(), "receiver"),
        scenario.duration.as_secs_f64(),
        counted(scenario.seeds.len(), "seed"),
        scenario.budget
    )
}

/// The clairvoyant optimum, if it was computed.
fn clairvoyant(summary: &ScenarioSummary) -> String {
    let Some(bounds) = &summary.clairvoyant else { return String::new() };
    let versus = |share: Option<f64>| match (share, &summary.reference) {
        (Some(share), Some(reference)) => format!(" ({share:.3} of {reference}'s)"),
        _ => String::new(),
    };
    format!(
        "Clairvoyant optimum with {:.0} vectors, at constant mean delays:\n  \
         mean AEE {:.2}{}, or\n  {:.2}{} for all receivers alike\n\n",
        bounds.sends,
        bounds.least_mean_aee,
        versus(bounds.least_mean_ratio),
        bounds.equal_aee,
        versus(bounds.equal_ratio)
    )
}

fn policies(summary: &ScenarioSummary) -> String {
    let rows = &summary.policies;
    let column = |title: &str, figure: &dyn Fn(&PolicySummary) -> Option<f64>, decimals: Option<usize>| {
        Column::new(title, rows.iter().map(figure).collect(), decimals)
    };
    let columns = [
        column("real\nmean", &|row| Some(row.mean_real_error), None),
        column("real\nstd", &|row| Some(row.std_real_error), None),
        column("mean\nratio", &|row| row.mean_ratio, Some(3)),
        column("std\nratio", &|row| row.std_ratio, Some(3)),
        column("AEE\nmean", &|row| Some(row.mean_aee), None),
        column("AEE\nstd", &|row| Some(row.std_aee), None),
        column("vectors\nsent", &|row| Some(row.sent), Some(0)),
        column("per\ntrigger", &|row| row.sent_per_trigger, Some(3)),
    ];
    let labels = rows.iter().map(|row| vec![row.policy.clone()]).collect();
    let ratios = summary.reference.as_ref().map(|reference| format!("ratios: to {reference}\n"));
    table(&["policy"], labels, &columns) + &ratios.unwrap_or_default()
}

fn receivers(summary: &ScenarioSummary) -> String {
    let rows: Vec<(&PolicySummary, &ReceiverSummary)> = summary
        .policies
        .iter()
        .flat_map(|policy| {
            policy.receivers.iter().take(RECEIVERS_SHOWN).map(move |receiver| (policy, receiver))
        })
        .collect();
    let column = |title: &str, figure: fn(&ReceiverSummary) -> f64, decimals: Option<usize>| {
        Column::new(title, rows.iter().map(|(_, receiver)| Some(figure(receiver))).collect(), decimals)
    };
    // The errors of a row are compared, so they share their decimals.
    let errors =
        decimals(rows.iter().flat_map(|(_, row)| [row.real_error, row.aee, row.known_aee, row.floor_aee]));
    let columns = [
        column("delay\nms", |row| row.delay_ms, Some(0)),
        column("real\nu x s", |row| row.real_error, Some(errors)),
        column("AEE\nu x s", |row| row.aee, Some(errors)),
        column("known\nu x s", |row| row.known_aee, Some(errors)),
        column("floor\nu x s", |row| row.floor_aee, Some(errors)),
        column("sent\nvectors", |row| row.sent, Some(0)),
        column("delivered\nvectors", |row| row.delivered, Some(0)),
    ];
    let mut before = "";
    let labels = rows
        .iter()
        .map(|(policy, receiver)| {
            // Only the first row of a policy names it.
            let name = if policy.policy == before { "" } else { policy.policy.as_str() };
            before = &policy.policy;
            vec![name.to_owned(), receiver.name.clone()]
        })
        .collect();
    table(&["policy", "receiver"], labels, &columns)
}

/// A figure's table and claims.
pub(super) fn figure(figure: &Figure) -> String {
    let mut table = Table::new();
    table.load_style(FRAMELESS);
    table.set_header(figure.table.head.iter().map(|cell| two_lines(cell)));
    for row in &figure.table.rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = format!("{}: {}\n\n{}\n", figure.key, figure.title, lines(&table));
    for claim in &figure.claims {
        text += &claim_lines(claim);
    }
    text + "\n"
}

/// A column head with its unit or reference on a second line.
fn two_lines(head: &str) -> String {
    head.replacen(" (", "\n(", 1).replacen(" / ", " /\n", 1)
}

/// Claims with their verdicts, and the number of each verdict, for the papers and for our own studies.
pub(super) fn claims(claims: &[&Claim]) -> String {
    let mut text: String = claims.iter().map(|claim| claim_lines(claim)).collect();
    for (kind, name) in [(PaperKind::Paper, "the papers"), (PaperKind::Study, "our studies")] {
        let of_kind = claims.iter().copied().filter(|claim| kind_of(&claim.id) == kind);
        let counts = VerdictCounts::of(of_kind);
        if counts.total() > 0 {
            text += &format!("\n{name}: {counts}\n");
        }
    }
    text
}

/// A claim with its verdict, statement and measurement.
fn claim_lines(claim: &Claim) -> String {
    let recorded =
        if claim.is_as_expected() { String::new() } else { format!(" (recorded: {})", claim.expected) };
    let close = if claim.is_close { " (too close to call)" } else { "" };
    let (verdict, indent) = (claim.verdict.to_string(), " ".repeat(9));
    format!(
        "{verdict:9}{}{close}{recorded}\n{}\n{}\n",
        claim.id,
        wrapped(&claim.statement, &indent),
        wrapped(&format!("measured: {}", claim.measured), &indent)
    )
}

/// Wraps text to 100 columns.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![indent.to_owned()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is at least one line");
        if last.len() > indent.len() && last.chars().count() + 1 + word.chars().count() > 100 {
            lines.push(format!("{indent}{word}"));
        } else {
            if last.len() > indent.len() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines.join("\n")
}

/// A column of numbers with the same number of decimals.
struct Column {
    title: String,
    cells: Vec<String>,
}

impl Column {
    /// Creates a column. `decimals` of `None` chooses them by the largest number.
    fn new(title: &str, figures: Vec<Option<f64>>, decimals: Option<usize>) -> Self {
        let decimals = decimals.unwrap_or_else(|| self::decimals(figures.iter().flatten().copied()));
        let cell =
            |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| format!("{figure:.decimals$}"));
        Self { title: title.to_owned(), cells: figures.into_iter().map(cell).collect() }
    }
}

/// The decimals that give the largest figure four digits, but at least one.
fn decimals(figures: impl Iterator<Item = f64>) -> usize {
    match figures.fold(0.0_f64, |largest, figure| largest.max(figure.abs())) {
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    }
}

/// A table of left-aligned labels and right-aligned numbers.
fn table(titles: &[&str], labels: Vec<Vec<String>>, columns: &[Column]) -> String {
    let mut table = Table::new();
    table.load_style(FRAMELESS);
    let header = titles.iter().map(|title| (*title).to_owned());
    table.set_header(header.chain(columns.iter().map(|column| column.title.clone())));
    for (index, labels) in labels.into_iter().enumerate() {
        table.add_row(labels.into_iter().chain(columns.iter().map(|column| column.cells[index].clone())));
    }
    for column in table.column_iter_mut().skip(titles.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    lines(&table)
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.get(PADDING..).unwrap_or_default().trim_end())).collect()
}
