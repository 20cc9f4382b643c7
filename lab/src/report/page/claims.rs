//! The page of the papers' claims that do not hold as printed, and of what the papers' words mean in numbers.

use maud::{Markup, html};

use super::{Chapter, Provenance, back, measured_sentence, of_kind, seeds_of, shell, table, verdict_badge};
use crate::claims::{Claim, Verdict, VerdictCounts};
use crate::figure::Table;
use crate::papers::{PaperKind, bars};

/// Claims with one statement and one verdict, and where each was measured: page, figure, claim.
struct Erratum<'a> {
    statement: &'a str,
    places: Vec<(String, String, &'a Claim)>,
}

/// Collects the papers' claims with this verdict. A statement made about several figures is listed once.
fn collect<'a>(chapters: &'a [Chapter<'a>], verdict: Verdict) -> Vec<Erratum<'a>> {
    let mut errata: Vec<Erratum<'a>> = Vec::new();
    for chapter in of_kind(chapters, PaperKind::Paper) {
        for (figure, claim) in chapter.claims().filter(|(_, claim)| claim.verdict == verdict) {
            let place = (chapter.file(), figure.file_stem(), claim);
            match errata.iter_mut().find(|one| one.statement == claim.statement) {
                Some(known) => known.places.push(place),
                None => errata.push(Erratum { statement: &claim.statement, places: vec![place] }),
            }
        }
    }
    errata
}

/// Renders the page.
pub(super) fn page(chapters: &[Chapter<'_>], provenance: &Provenance) -> String {
    let papers = of_kind(chapters, PaperKind::Paper);
    let counts = VerdictCounts::of(papers.flat_map(Chapter::claims).map(|(_, claim)| claim));
    let body = html! {
        header {
            (back())
            h1 { "Which of the papers' claims do not hold?" }
            p { "The papers in this report make " (counts) "." }
        }
        main {
            (section("Contradicted", counts.fails, &collect(chapters, Verdict::Fails)))
            (section("Holds only under a stated reading", counts.differs, &collect(chapters, Verdict::Differs)))
            section id="words" {
                h2 { "What do words such as “much” mean here?" }
                p { "The papers say “much lower” or “the same” without a number. We judge every claim by these numbers." }
                (table(&word_table()))
            }
        }
    };
    shell("The papers' claims", provenance, &seeds_of(chapters, provenance), &body)
}

/// Renders every statement with its measurements.
fn section(title: &str, count: usize, errata: &[Erratum<'_>]) -> Markup {
    html! {
        @if !errata.is_empty() {
            section {
                h2 { (title) ": " (count) }
                ul.claims {
                    @for erratum in errata {
                        li {
                            p { (erratum.statement) }
                            @for (file, stem, claim) in &erratum.places {
                                p.measured {
                                    (verdict_badge(claim.verdict, claim.is_close)) " " (measured_sentence(claim)) " "
                                    a href=(format!("{file}#{stem}")) { (claim.source) " · " (claim.id) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the table of what the papers' words mean in numbers.
fn word_table() -> Table {
    let rows = bars::table().into_iter().map(|(said, means)| vec![said.to_owned(), means]);
    Table {
        head: ["what a paper says", "what it means here"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}
