//! The report's pages: an index with the main results, and a page for each paper.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::svg::{Layout, draw};
use crate::claims::{Claim, Verdict};
use crate::figure::{Figure, Table};
use crate::papers::{PAPERS, Paper, PapersSummary, Results, bars, seeds_in_words};

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

const STYLE: &str = include_str!("style.css");
/// The most claims shown beside a table; more are shown in two columns.
const CLAIMS_BESIDE_MAX: usize = 5;
/// The most columns of a table with claims beside it.
const COLUMNS_MAX: usize = 4;

/// A paper with its figures in this report.
pub(super) struct Chapter<'a> {
    paper: &'a Paper,
    figures: Vec<&'a Figure>,
}

impl<'a> Chapter<'a> {
    /// Returns a chapter for every paper with figures in the report.
    pub(super) fn all(figures: &'a [Figure]) -> Vec<Self> {
        let of = |paper: &'a Paper| {
            let prefix = format!("{}/", paper.key);
            let figures = figures.iter().filter(|figure| figure.key.starts_with(&prefix)).collect();
            Self { paper, figures }
        };
        PAPERS.iter().map(of).filter(|chapter| !chapter.figures.is_empty()).collect()
    }

    pub(super) fn file(&self) -> String {
        format!("{}.html", self.paper.key)
    }

    fn claims(&self) -> impl Iterator<Item = (&'a Figure, &'a Claim)> + '_ {
        self.figures.iter().flat_map(|figure| figure.claims.iter().map(move |claim| (*figure, claim)))
    }

    /// Returns whether this is a paper rather than one of our own studies.
    const fn is_paper(&self) -> bool {
        !self.paper.readings.is_empty()
    }

    fn count(&self, counts: impl Fn(&Claim) -> bool) -> usize {
        self.claims().filter(|(_, claim)| counts(claim)).count()
    }
}

/// Renders a whole page.
fn page(title: &str, provenance: &Provenance, seeds: &str, body: &Markup) -> String {
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

/// Renders the index page.
pub(super) fn index(results: &Results, chapters: &[Chapter<'_>], provenance: &Provenance) -> String {
    let papers = || chapters.iter().filter(|chapter| chapter.is_paper());
    let seeds = seeds(chapters, provenance);
    let count =
        |verdict| papers().map(|chapter| chapter.count(|claim| claim.verdict == verdict)).sum::<usize>();
    let [holds, differs, fails] = [Verdict::Holds, Verdict::Differs, Verdict::Fails].map(count);
    let close = papers().map(|chapter| chapter.count(|claim| claim.is_close)).sum::<usize>();
    let body = html! {
        header {
            h1 { "The papers, re-run" }
            p {
                "Every figure here was made by the protocol machines that serve players, sending and receiving real bytes, driven by a "
                "simulator. Every claim a paper makes about its figures was measured and has a verdict."
            }
            @if papers().next().is_some() {
                ul.verdicts {
                    li { b.holds { (holds) } " of the papers' claims hold" }
                    li { b.differs { (differs) } " hold only under a stated reading" }
                    li { b.fails { (fails) } " fail" }
                    @if close > 0 { li { b { (close) } " of all of these are too close to call" } }
                }
            }
        }
        main {
            nav.chapters aria-label="Papers" {
                @for chapter in chapters {
                    a href=(chapter.file()) {
                        b { (chapter.paper.title) }
                        span { (chapter.paper.source) }
                        span { (chapter.figures.len()) " figures, " (chapter.claims().count()) " claims" }
                    }
                }
            }
            @if let Some(summary) = &results.summary { (summary_sections(summary, provenance)) }
            @if differs + fails > 0 { (errata(chapters)) }
            (confidence_section(&seeds))
        }
    };
    page("Evenkeel lab report", provenance, &seeds, &body)
}

fn summary_sections(summary: &PapersSummary, provenance: &Provenance) -> Markup {
    html! {
        @for (question, answers) in &summary.answers {
            section {
                h2 { (question) }
                @for answer in answers { p { (answer) } }
            }
        }
        section {
            h2 { "All policies, side by side" }
            div.scroll tabindex="0" { (table(&summary.table)) }
            p.caption {
                (summary.caption) "; " (seeds_in_words(1, provenance.runs)) ". Spread: the standard deviation over the players of "
                "their accumulated errors (distance x time); the smaller, the fairer. Mean: the mean of the same errors. Units off: how far "
                "a player sees the tank from where its owner exports it, on average. ±: one standard error over the seeds. Commit " code { (provenance.commit) } "."
            }
        }
    }
}

/// A statement about one or more figures that does not hold as printed, and where it was measured: page, figure,
/// claim.
struct Erratum<'a> {
    statement: &'a str,
    places: Vec<(String, String, &'a Claim)>,
}

impl Erratum<'_> {
    /// Returns whether it fails in at least one of its places.
    fn fails(&self) -> bool {
        self.places.iter().any(|(_, _, claim)| claim.verdict == Verdict::Fails)
    }
}

/// Collects the claims that do not hold as printed, each statement once.
fn collect_errata<'a>(chapters: &'a [Chapter<'a>]) -> Vec<Erratum<'a>> {
    let mut errata: Vec<Erratum<'a>> = Vec::new();
    for chapter in chapters.iter().filter(|chapter| chapter.is_paper()) {
        for (figure, claim) in chapter.claims().filter(|(_, claim)| claim.verdict != Verdict::Holds) {
            let place = (chapter.file(), figure.file_stem(), claim);
            match errata.iter_mut().find(|one| one.statement == claim.statement) {
                Some(known) => known.places.push(place),
                None => errata.push(Erratum { statement: &claim.statement, places: vec![place] }),
            }
        }
    }
    errata
}

/// Renders the section on claims that do not hold as printed.
fn errata(chapters: &[Chapter<'_>]) -> Markup {
    let (fails, differs): (Vec<_>, Vec<_>) = collect_errata(chapters).into_iter().partition(Erratum::fails);
    html! {
        section {
            h2 { "Which claims do not hold?" }
            @if !fails.is_empty() {
                p { "In short, the measurements contradict " (fails.len()) " of the papers' statements:" }
                ul.short {
                    @for erratum in &fails {
                        li { (erratum.statement) " " @if let Some((file, stem, claim)) = erratum.places.first() {
                            a href=(format!("{file}#{stem}")) { (claim.id) }
                        } }
                    }
                }
            }
            @if !differs.is_empty() {
                p { (differs.len()) " more hold only under a particular reading, which is stated with the measurement." }
            }
            (details("Contradicted", &fails))
            (details("Holds only under a stated reading", &differs))
        }
    }
}

/// Renders every statement with its measurements.
fn details(title: &str, errata: &[Erratum<'_>]) -> Markup {
    html! {
        @if !errata.is_empty() {
            h3 { (title) }
            ul.claims {
                @for erratum in errata {
                    li {
                        p { @for verdict in verdict_badges(&erratum.places) { (verdict) " " } (erratum.statement) }
                        @for (file, stem, claim) in &erratum.places {
                            p.measured { (measured_sentence(claim)) " " a href=(format!("{file}#{stem}")) { (claim.source) " · " (claim.id) } }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the distinct verdicts of a statement.
fn verdict_badges(places: &[(String, String, &Claim)]) -> Vec<Markup> {
    let mut known: Vec<(Verdict, bool)> = Vec::new();
    for (_, _, claim) in places {
        if !known.contains(&(claim.verdict, claim.is_close)) {
            known.push((claim.verdict, claim.is_close));
        }
    }
    known.into_iter().map(|(verdict, is_close)| verdict_badge(verdict, is_close)).collect()
}

/// Describes the seeds of all chapters.
fn seeds(chapters: &[Chapter<'_>], provenance: &Provenance) -> String {
    let mut all: Vec<String> = Vec::new();
    for chapter in chapters {
        let seeds = seeds_in_words(chapter.paper.first_seed, provenance.runs);
        if !all.contains(&seeds) {
            all.push(seeds);
        }
    }
    all.join(" or ")
}

fn confidence_section(seeds: &str) -> Markup {
    html! {
        section {
            h2 { "How sure are we?" }
            p {
                "Every policy was run with the same motion and the same delays, with " (seeds) ". Bands are one standard deviation "
                "over the seeds, ± is one standard error of a ratio over them. The same command at the same commit "
                "produces the same bytes. The papers measured one human driver, which cannot be repeated. "
                "Ratios depend on how the tank is driven, so each is also shown for recorded tanks, other "
                "jitter distributions, other delays and more players, in the figures titled “beyond”."
            }
            p {
                "A verdict is computed from the figures beside it. If they are less than two standard errors from where it would "
                "change, it is marked “too close to call”: chance decides it, and other seeds may reverse it."
            }
        }
        section id="words" {
            h2 { "What do words such as “much” mean here?" }
            p { "The papers say “much lower” or “the same” without a number. We judge every claim by these numbers." }
            (table(&word_table()))
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

/// Renders a paper's page.
pub(super) fn chapter(chapter: &Chapter<'_>, provenance: &Provenance) -> String {
    let paper = chapter.paper;
    let body = html! {
        header {
            p { a href="index.html" { "← The papers, re-run" } }
            h1 { (paper.title) }
            p { (paper.source) }
            p { a href="index.html#words" { "What words such as “much” mean here" } }
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
    page(paper.title, provenance, &seeds_in_words(paper.first_seed, provenance.runs), &body)
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
            div.figure.wide { (PreEscaped(draw(figure, Layout::Wide))) }
            div.figure.narrow { (PreEscaped(draw(figure, Layout::Narrow))) }
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

fn item(claim: &Claim) -> Markup {
    html! {
        li {
            p { (verdict_badge(claim.verdict, claim.is_close)) " " (claim.statement) }
            p.measured { (measured_sentence(claim)) " " span.source { (claim.source) " · " (claim.id) } }
        }
    }
}
