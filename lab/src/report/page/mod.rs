//! The report's pages: an overview, a page for each paper and study, the claims that do not hold, and all policies.

mod chapter;
mod claims;
mod overview;
mod policies;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::svg::{Layout, draw};
use crate::claims::{Claim, Verdict, VerdictCounts};
use crate::figure::{Figure, Table};
use crate::papers::{PAPERS, Paper, PaperKind, Results, seeds_in_words};

/// The origin of a report: everything needed to reproduce it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provenance {
    /// The command line.
    pub command: String,
    /// The short hash of the commit the program was built from, with a `+` if files had changed since.
    pub commit: String,
    /// The number of seeds.
    pub runs: usize,
}

impl Provenance {
    /// Returns the footnote of a figure in a file of its own.
    pub(super) fn note(&self, figure: &Figure) -> String {
        format!("{} · {} · commit {}", figure.key, self.command, self.commit)
    }
}

const STYLE: &str = include_str!("../style.css");
/// The page of the claims that do not hold as printed.
const CLAIMS_PAGE: &str = "claims.html";
/// The page of all policies side by side.
const POLICIES_PAGE: &str = "policies.html";

/// A paper or study with its figures in this report.
struct Chapter<'a> {
    paper: &'a Paper,
    figures: Vec<&'a Figure>,
}

impl<'a> Chapter<'a> {
    /// Returns a chapter for every paper with figures in the report.
    fn all(figures: &'a [Figure]) -> Vec<Self> {
        let of = |paper: &'a Paper| {
            let prefix = format!("{}/", paper.key);
            let figures = figures.iter().filter(|figure| figure.key.starts_with(&prefix)).collect();
            Self { paper, figures }
        };
        PAPERS.iter().map(of).filter(|chapter| !chapter.figures.is_empty()).collect()
    }

    fn file(&self) -> String {
        format!("{}.html", self.paper.key)
    }

    fn claims(&self) -> impl Iterator<Item = (&'a Figure, &'a Claim)> + '_ {
        self.figures.iter().flat_map(|figure| figure.claims.iter().map(move |claim| (*figure, claim)))
    }

    fn counts(&self) -> VerdictCounts {
        VerdictCounts::of(self.claims().map(|(_, claim)| claim))
    }
}

/// Returns the chapters of this kind.
fn of_kind<'a, 'b>(
    chapters: &'b [Chapter<'a>],
    kind: PaperKind,
) -> impl Iterator<Item = &'b Chapter<'a>> + Clone {
    chapters.iter().filter(move |chapter| chapter.paper.kind == kind)
}

/// Renders all pages, by file name.
pub(super) fn pages(results: &Results, provenance: &Provenance) -> Vec<(String, String)> {
    let chapters = Chapter::all(&results.figures);
    let mut pages =
        vec![("index.html".to_owned(), overview::page(&chapters, results.summary.is_some(), provenance))];
    pages.extend(chapters.iter().map(|chapter| (chapter.file(), chapter::page(chapter, provenance))));
    pages.push((CLAIMS_PAGE.to_owned(), claims::page(&chapters, provenance)));
    if let Some(summary) = &results.summary {
        pages.push((POLICIES_PAGE.to_owned(), policies::page(summary, provenance)));
    }
    pages
}

/// Renders a whole page.
fn shell(title: &str, provenance: &Provenance, seeds: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                footer {
                    p { "Made by " code { (provenance.command) } ", " (seeds) ", commit "
                        code { (provenance.commit) } "." }
                }
            }
        }
    };
    page.into_string() + "\n"
}

/// Renders the link back to the overview.
fn back() -> Markup {
    html! { p { a href="index.html" { "← Overview" } } }
}

/// Describes the seeds of all chapters.
fn seeds_of(chapters: &[Chapter<'_>], provenance: &Provenance) -> String {
    let mut all: Vec<String> = Vec::new();
    for chapter in chapters {
        let seeds = seeds_in_words(chapter.paper.first_seed, provenance.runs);
        if !all.contains(&seeds) {
            all.push(seeds);
        }
    }
    all.join(" or ")
}

/// Renders a figure's drawing, for a page and for a phone.
fn drawing(figure: &Figure) -> Markup {
    html! {
        div.figure.wide { (PreEscaped(draw(figure, Layout::Wide))) }
        div.figure.narrow { (PreEscaped(draw(figure, Layout::Narrow))) }
    }
}

/// Renders a table with words aligned left and numbers aligned right.
fn table(table: &Table) -> Markup {
    let is_words = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty());
        cells.clone().any(|cell| cell.starts_with(char::is_alphabetic))
    };
    let class = |column: usize| if column == 0 || is_words(column) { "words" } else { "number" };
    html! {
        table {
            thead { tr { @for (column, cell) in table.head.iter().enumerate() { th scope="col" class=(class(column)) { (cell) } } } }
            tbody {
                @for row in &table.rows {
                    tr {
                        @for (column, (cell, head)) in row.iter().zip(&table.head).enumerate() {
                            td class=(class(column)) data-head=(head) { (cell.replace(" ± ", "\u{a0}±\u{a0}")) }
                        }
                    }
                }
            }
        }
    }
}

fn verdict_badge(verdict: Verdict, is_close: bool) -> Markup {
    html! {
        span class=(format!("verdict {verdict}")) { (verdict) }
        @if is_close { " " span.verdict.close { "too close to call" } }
    }
}

/// Returns the measurement as a sentence.
fn measured_sentence(claim: &Claim) -> String {
    format!("{}.", claim.measured)
}
