//! Tests the papers' experiment with few seeds: ratios, verdicts and exact bits, so that any change is noticed.

use std::path::Path;

use evenkeel_core::Span;
use evenkeel_dr::PolicyKind;
use evenkeel_lab::batch::run_all;
use evenkeel_lab::claims::{Claim, VerdictCounts, markdown};
use evenkeel_lab::dr::{RunFigures, run};
use evenkeel_lab::figure::Table;
use evenkeel_lab::papers::{PAPERS, PaperKind, Results, Setup, kind_of, run_selected, select};
use evenkeel_lab::parallel::Progress;
use evenkeel_lab::report::{Provenance, files};
use evenkeel_lab::scenario::Scenario;

/// Ratios of spread, mean and vectors sent to 1/3 base, over 300 s and 20 seeds, as in docs/papers/banavar05.md.
const MEASURED: [(&str, [f64; 3]); 6] = [
    ("base", [0.855, 0.678, 3.00]),
    ("netgames05", [0.686, 0.873, 1.62]),
    ("netgames05-consistent", [0.001, 1.349, 1.35]),
    ("scheduling-2", [0.732, 0.825, 3.00]),
    ("probabilistic-budget:pi", [0.286, 1.662, 0.99]),
    ("deterministic-budget", [0.622, 1.065, 1.00]),
];

fn sum(runs: &[RunFigures], policy: PolicyKind, figure: impl Fn(&RunFigures) -> f64) -> f64 {
    runs.iter().filter(|run| run.policy == policy).map(figure).sum()
}

#[test]
fn a_few_seeds_come_close_to_the_documented_ratios() {
    let third: PolicyKind = "base-1/3".parse().expect("a policy");
    let mut scenario = Scenario::papers(Span::from_millis(100), 0.09);
    scenario.seeds = vec![1, 2, 3, 4];
    scenario.policies =
        MEASURED.iter().map(|(name, _)| name.parse().expect("a policy")).chain([third]).collect();
    let runs = run_all(&scenario, &Progress::default()).expect("not cancelled").runs;
    for (name, documented) in MEASURED {
        let policy = name.parse().expect("a policy");
        let ratio = |figure: fn(&RunFigures) -> f64| sum(&runs, policy, figure) / sum(&runs, third, figure);
        let ratios = [ratio(RunFigures::std_aee), ratio(RunFigures::mean_aee), ratio(|run| run.sent as f64)];
        for (measured, documented) in ratios.into_iter().zip(documented) {
            assert!(
                (measured - documented).abs() < (0.1 * documented).max(0.003),
                "{name}: {ratios:.3?}, documented {documented:.3?}"
            );
        }
    }
}

#[test]
fn a_run_gives_the_same_bits_on_every_machine() {
    let mut scenario = Scenario::papers(Span::from_millis(100), 0.09);
    scenario.duration = Span::from_secs(20);
    let policy = "deterministic-budget".parse().expect("a policy");
    let figures = run(&scenario, policy, 7, None);
    assert_eq!((figures.triggers, figures.sent), (134, 132));
    // The shortest decimals that round to exactly these bits.
    let expected = [93.46553003937392, 59.604608609862154, 37.352034775071786];
    for (receiver, expected) in figures.receivers.iter().zip(expected) {
        assert_eq!(receiver.aee.to_bits(), f64::to_bits(expected), "{:?}", figures.receivers);
    }
}

/// Every verdict and every table is the recorded one, with three seeds.
#[test]
fn figures_and_verdicts_are_the_recorded_ones() {
    let selected = select(&[], PAPERS).expect("all keys are known");
    let progress = Progress::default();
    let results = run_selected(&selected, &Setup { runs: 3, progress: &progress }).expect("not cancelled");
    assert_eq!(progress.done(), progress.total(), "all jobs were announced");
    let claims: Vec<&Claim> = results.figures.iter().flat_map(|figure| &figure.claims).collect();
    check_documented_counts(&claims);
    for claim in claims {
        assert!(claim.is_as_expected(), "{claim:#?}");
    }
    check_numbers(&results, 3);
    let summary = results.summary.as_ref().expect("every figure was run");
    compare("figures.txt", &(golden(&results) + &rows(&summary.table)));
    for paper in ["banavar05", "aggarwal05", "lin02"] {
        compare_claims(paper, &results);
    }
}

/// Every document states as many claims as there are.
fn check_documented_counts(claims: &[&Claim]) {
    let of_papers = claims.iter().copied().filter(|claim| kind_of(&claim.id) == PaperKind::Paper);
    let counts = VerdictCounts::of(of_papers);
    let stated = [
        (
            "README.md",
            format!("checks {} of their claims ({} do not hold", counts.total(), counts.not_as_printed()),
        ),
        ("CHANGELOG.md", format!("{} of their claims with verdicts", counts.total())),
    ];
    for (file, words) in stated {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        let text = std::fs::read_to_string(path).expect("the document exists");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&words), "{file} does not state: {words}");
    }
}

/// Every verdict and every table of our own policy is the recorded one, with a single seed. With so few, some
/// verdicts differ from those expected with twenty.
#[test]
fn figures_of_our_own_policy_are_the_recorded_ones() {
    let selected = select(&["even".to_owned()], PAPERS).expect("the key is known");
    let progress = Progress::default();
    let results = run_selected(&selected, &Setup { runs: 1, progress: &progress }).expect("not cancelled");
    assert_eq!(progress.done(), progress.total(), "all jobs were announced");
    check_numbers(&results, 1);
    let claims = results.figures.iter().flat_map(|figure| &figure.claims);
    let verdicts: String = claims.map(|claim| format!("{}: {}\n", claim.id, claim.verdict)).collect();
    compare("even.txt", &(golden(&results) + &verdicts));
}

/// The same of our own order of actions.
#[test]
fn figures_of_the_order_of_reactions_are_the_recorded_ones() {
    let selected = select(&["sync-ms".to_owned()], PAPERS).expect("the key is known");
    let progress = Progress::default();
    let results = run_selected(&selected, &Setup { runs: 1, progress: &progress }).expect("not cancelled");
    assert_eq!(progress.done(), progress.total(), "all jobs were announced");
    check_numbers(&results, 1);
    let claims = results.figures.iter().flat_map(|figure| &figure.claims);
    let verdicts: String = claims.map(|claim| format!("{}: {}\n", claim.id, claim.verdict)).collect();
    compare("sync-ms.txt", &(golden(&results) + &verdicts));
}

/// Checks that the report contains no NaN and no infinity.
fn check_numbers(results: &Results, runs: usize) {
    let provenance = Provenance { command: "lab run".to_owned(), commit: "none".to_owned(), runs };
    for (name, bytes) in files(results, &provenance) {
        let text = String::from_utf8(bytes).expect("UTF-8");
        assert!(!text.contains("NaN") && !text.contains("inf,"), "{name} has a NaN or an infinity");
    }
}

/// Formats a table as text.
fn rows(table: &Table) -> String {
    [&table.head].into_iter().chain(&table.rows).map(|row| row.join(" | ") + "\n").collect()
}

/// Formats the tables of all figures.
fn golden(results: &Results) -> String {
    results.figures.iter().map(|figure| format!("{}\n{}\n", figure.key, rows(&figure.table))).collect()
}

/// Compares tables with the recorded ones; `EVENKEEL_BLESS=1` records them anew.
fn compare(file: &str, tables: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("EVENKEEL_BLESS").is_some() {
        std::fs::write(&path, tables).expect("the file is writable");
        return;
    }
    let recorded = std::fs::read_to_string(&path).expect("the tables are recorded");
    for (number, (now, then)) in tables.lines().zip(recorded.lines()).enumerate() {
        assert_eq!(now, then, "line {} of {}; EVENKEEL_BLESS=1 records it", number + 1, path.display());
    }
    assert_eq!(tables.lines().count(), recorded.lines().count(), "EVENKEEL_BLESS=1 records them");
}

/// Compares claims with the table in a paper's document; `EVENKEEL_BLESS=1` writes it anew.
fn compare_claims(paper: &str, results: &Results) {
    const END: &str = "<!-- end of claims -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../docs/papers/{paper}.md"));
    let document = std::fs::read_to_string(&path).expect("every paper has a document");
    let (before, rest) =
        document.split_once("<!-- claims: ").expect("the document has a marker for the claims");
    let (command, rest) = rest.split_once("-->\n").expect("the marker names the command");
    let (table, after) = rest.split_once(END).expect("the table has an end");
    let of_paper = results.figures.iter().filter(|figure| figure.key.starts_with(paper));
    let now = markdown(of_paper.flat_map(|figure| &figure.claims));
    if std::env::var_os("EVENKEEL_BLESS").is_some() {
        let document = format!("{before}<!-- claims: {command}-->\n{now}{END}{after}");
        std::fs::write(&path, document).expect("the file is writable");
        return;
    }
    assert_eq!(table, now, "{}: EVENKEEL_BLESS=1 writes the table anew", path.display());
}

#[test]
fn an_unknown_key_is_reported() {
    let error = select(&["banavar05/fig9.9".to_owned()], PAPERS).expect_err("no such figure");
    assert!(error.to_string().contains("banavar05/fig9.9"));
    let one = select(&["banavar05/fig3.20".to_owned()], PAPERS).expect("the figure exists");
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].1, ["banavar05/fig3.20"]);
}
