//! The NEO thesis and our study of NEO run, with few and short games, and their figures are sound.

use std::path::Path;

use evenkeel_lab::figure::Figure;
use evenkeel_lab::papers::{PAPERS, Setup, run_selected, select};
use evenkeel_lab::parallel::Progress;

fn run(keys: &[&str]) -> Vec<Figure> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let selected = select(&keys, PAPERS).expect("there are such figures");
    let progress = Progress::default();
    let results = run_selected(&selected, &Setup { runs: 1, progress: &progress }).expect("not cancelled");
    assert_eq!(progress.done(), progress.total(), "all announced jobs were run");
    results.figures
}

/// The thesis' document states the recorded verdict on each claim about these figures.
fn is_documented(figures: &[Figure]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/papers/simonsen06.md");
    let document = std::fs::read_to_string(path).expect("the thesis has a document");
    for claim in figures.iter().flat_map(|figure| &figure.claims) {
        let id = claim.id.trim_start_matches("simonsen06/");
        let row = document.lines().find(|line| line.starts_with(&format!("| {id} |")));
        let row = row.unwrap_or_else(|| panic!("the document does not state {id}"));
        assert!(row.ends_with(&format!("| {} |", claim.expected)), "{row}");
    }
}

/// The number at the beginning of a cell.
fn number(cell: &str) -> f64 {
    let first = cell.split_whitespace().next().unwrap_or("");
    first.parse().unwrap_or_else(|error| panic!("{cell}: {error}"))
}

/// The verdicts on a figure's claims are those that are recorded.
fn is_as_recorded(figures: &[Figure], claims: &[&str]) {
    for id in claims {
        let claim = figures.iter().flat_map(|figure| &figure.claims).find(|claim| claim.id == *id);
        let claim = claim.unwrap_or_else(|| panic!("there is no claim {id}"));
        assert!(claim.is_as_expected(), "{id} {}: {}", claim.verdict, claim.measured);
    }
}

#[test]
fn the_thesis_is_run_again() {
    let figures = run(&["simonsen06/table7", "simonsen06/fig10", "simonsen06/table2"]);
    let table = &figures[0].table;
    for (row, playout) in table.rows.iter().zip([87.0, 111.0, 128.5, 50.2, 61.4, 63.3]) {
        let measured = number(&row[6]);
        assert!((measured / playout - 1.0).abs() < 0.25, "{row:?}: {measured} instead of {playout} ms");
    }
    let ids = ["simonsen06/table7/1", "simonsen06/table7/3", "simonsen06/fig10/1", "simonsen06/table2/2"];
    is_as_recorded(&figures, &ids);
    is_documented(&figures);
}

#[test]
fn the_ladder_leads_to_ten_peers() {
    let figures = run(&["neo/ladder", "neo/peers"]);
    let ours = figures[0].table.rows.iter().find(|row| row[0] == "signed: ours" && row[1] == "10");
    let ours = ours.expect("ten peers play by our rules");
    let [playout, age, unused, up] = [2, 4, 5, 6].map(|column: usize| number(&ours[column]));
    assert!(playout < 60.0 && age < 260.0 && unused < 0.5 && up < 200.0, "{ours:?}");
    is_as_recorded(&figures, &["neo/ladder/1", "neo/ladder/2", "neo/peers/1", "neo/peers/2", "neo/peers/3"]);
}
