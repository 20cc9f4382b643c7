//! The page of a paper or study: its figures with their tables and claims, and where our reading differs.

use maud::{Markup, html};

use super::{Chapter, Provenance, back, drawing, measured_sentence, shell, table, verdict_badge};
use crate::claims::Claim;
use crate::figure::Figure;
use crate::papers::{PaperKind, seeds_in_words};

/// The most claims shown beside a table; more are shown in two columns.
const CLAIMS_BESIDE_MAX: usize = 5;
/// The most columns of a table with claims beside it.
const COLUMNS_MAX: usize = 4;

/// Renders the page.
pub(super) fn page(chapter: &Chapter<'_>, provenance: &Provenance) -> String {
    let paper = chapter.paper;
    let body = html! {
        header {
            (back())
            h1 { (paper.title) }
            p { (paper.source) @if chapter.counts().total() > 0 { " · " (chapter.counts()) } }
            @if paper.kind == PaperKind::Paper {
                p { a href=(format!("{}#words", super::CLAIMS_PAGE)) { "What words such as “much” mean here" } }
            }
            nav aria-label="Figures" {
                @for figure in &chapter.figures {
                    a href=(format!("#{}", figure.file_stem())) { (figure.key.trim_start_matches(paper.key).trim_start_matches('/')) }
                }
            }
        }
        main {
            @for figure in &chapter.figures { (section(figure, provenance)) }
            @if !paper.readings.is_empty() {
                section {
                    h2 { "Where our reading differs, and why" }
                    dl {
                        @for (what, why) in paper.readings {
                            dt { (what) }
                            dd { (why) }
                        }
                    }
                }
            }
        }
    };
    shell(paper.title, provenance, &seeds_in_words(paper.first_seed, provenance.runs), &body)
}

fn section(figure: &Figure, provenance: &Provenance) -> Markup {
    let stem = figure.file_stem();
    // Claims stand beside the table if both are small.
    let small =
        figure.table.head.len() <= COLUMNS_MAX && (1..=CLAIMS_BESIDE_MAX).contains(&figure.claims.len());
    let beside = if small { "beside" } else { "beside alone" };
    let list = if figure.claims.len() > CLAIMS_BESIDE_MAX { "claims many" } else { "claims" };
    html! {
        section id=(stem) {
            h2 { (figure.title) }
            p.key { (figure.key) " · " a href=(format!("{stem}.svg")) { "SVG" } " · "
                a href=(format!("{stem}.csv")) { "CSV" } }
            (drawing(figure))
            p.caption { (figure.caption) " Commit " code { (provenance.commit) } "." }
            div class=(beside) {
                @if !figure.claims.is_empty() {
                    ul class=(list) { @for claim in &figure.claims { (item(claim)) } }
                }
                div.scroll tabindex="0" { (table(&figure.table)) }
            }
        }
    }
}

fn item(claim: &Claim) -> Markup {
    html! {
        li {
            p { (verdict_badge(claim.verdict, claim.is_close)) " " (claim.statement) }
            p.measured { (measured_sentence(claim)) " " span.source { (claim.source) " · " (claim.id) } }
        }
    }
}
