//! The overview: the few pictures that make the point, then the way to all others.

use maud::{Markup, html};

use super::{CLAIMS_PAGE, Chapter, POLICIES_PAGE, Provenance, drawing, of_kind, seeds_of, shell, table};
use crate::claims::VerdictCounts;
use crate::figure::Figure;
use crate::papers::PaperKind;

/// The figures that make the point, with whether their table is shown, too.
const SHOWN: [(&str, bool); 6] = [
    ("comparison/players", true),
    ("comparison/time", false),
    ("comparison/phi", true),
    ("comparison/when", false),
    ("lin02/fig5a", false),
    ("sync-ms/pareto", true),
];
/// The most figures shown if those were not run.
const INSTEAD_MAX: usize = 3;

/// Renders the page.
pub(super) fn page(chapters: &[Chapter<'_>], has_policies: bool, provenance: &Provenance) -> String {
    let seeds = seeds_of(chapters, provenance);
    let body = html! {
        header {
            h1 { "Accurate and fair play, measured" }
            p {
                "Players at different distances see each other with different errors, and whoever is near acts first. Every figure here was made by the protocol "
                "machines that serve players, sending and receiving real bytes, driven by a simulator."
            }
        }
        main {
            @for (chapter, figure, is_tabled) in shown(chapters) { (picture(chapter, figure, is_tabled)) }
            (verdicts(chapters))
            section {
                h2 { "All figures" }
                nav.chapters aria-label="Papers and studies" {
                    @for chapter in chapters {
                        a href=(chapter.file()) {
                            b { (chapter.paper.title) }
                            span { (chapter.paper.source) }
                            span { (number(chapter.figures.len(), "figure")) @if chapter.counts().total() > 0 { ", " (chapter.counts()) } }
                        }
                    }
                    @if has_policies {
                        a href=(POLICIES_PAGE) {
                            b { "All policies, side by side" }
                            span { "In the papers' setting: what each does, its spread, its mean, and what each player sees" }
                        }
                    }
                }
            }
            (confidence(&seeds))
        }
    };
    shell("Evenkeel lab report", provenance, &seeds, &body)
}

/// Returns the figures to show: those that make the point, or the first of each chapter if they were not run.
fn shown<'a, 'b>(chapters: &'b [Chapter<'a>]) -> Vec<(&'b Chapter<'a>, &'a Figure, bool)> {
    let all = || chapters.iter().flat_map(|one| one.figures.iter().map(move |figure| (one, *figure)));
    let find = |(key, is_tabled): &(&str, bool)| {
        all().find(|(_, figure)| figure.key == *key).map(|(chapter, figure)| (chapter, figure, *is_tabled))
    };
    let point: Vec<_> = SHOWN.iter().filter_map(find).collect();
    if !point.is_empty() {
        return point;
    }
    let first = |one: &'b Chapter<'a>| one.figures.first().map(|figure| (one, *figure, false));
    chapters.iter().filter_map(first).take(INSTEAD_MAX).collect()
}

fn picture(chapter: &Chapter<'_>, figure: &Figure, is_tabled: bool) -> Markup {
    let link = format!("{}#{}", chapter.file(), figure.file_stem());
    html! {
        section {
            h2 { (figure.title) }
            (drawing(figure))
            @if is_tabled { div.scroll tabindex="0" { (table(&figure.table)) } }
            p.caption { (figure.caption) " " a href=(link) { (figure.key) @if !figure.claims.is_empty() { ", with its verdicts" } } "." }
        }
    }
}

/// Renders how many claims of each paper and study hold, as bars.
fn verdicts(chapters: &[Chapter<'_>]) -> Markup {
    let count = |kind| {
        let chapters = of_kind(chapters, kind);
        VerdictCounts::of(chapters.flat_map(Chapter::claims).map(|(_, claim)| claim))
    };
    let [papers, studies] = [PaperKind::Paper, PaperKind::Study].map(count);
    let rows = [("The papers' claims", papers), ("Our own claims", studies)];
    html! {
        @if papers.total() + studies.total() > 0 {
            section {
                h2 { "How many claims hold?" }
                @for (name, counts) in rows.iter().filter(|(_, counts)| counts.total() > 0) {
                    p.tally { b { (name) } " " (counts) "." }
                    (bar(*counts))
                }
                @if papers.not_as_printed() > 0 {
                    p { a href=(CLAIMS_PAGE) { "Which of the papers' claims do not hold, and what words such as “much” mean here" } }
                }
                p.caption {
                    "holds: the measurement confirms the claim. differs: it confirms it only under a stated reading. fails: it contradicts it. "
                    "Too close to call: the figures are less than two standard errors from where the verdict would change."
                }
            }
        }
    }
}

fn bar(counts: VerdictCounts) -> Markup {
    let parts = [
        ("holds", "hold", counts.holds),
        ("differs", "differ", counts.differs),
        ("fails", "fail", counts.fails),
    ];
    html! {
        div.bar aria-hidden="true" {
            @for (class, word, count) in parts.into_iter().filter(|(.., count)| *count > 0) {
                span class=(format!("part {class}")) style=(format!("flex-grow:{count}")) { (count) " " (word) }
            }
        }
    }
}

fn number(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

fn confidence(seeds: &str) -> Markup {
    html! {
        section {
            h2 { "How sure are we?" }
            p {
                "Every policy was run with the same motion and the same delays, with " (seeds) ". Bands are one standard deviation "
                "over the seeds, ± is one standard error over them. The same command at the same commit "
                "produces the same bytes. The papers measured one human driver, which cannot be repeated. "
                "Ratios depend on how the tank is driven, so each is also shown for recorded tanks, other "
                "jitter distributions, other delays and more players, in the figures whose names end in “elsewhere”."
            }
            p { "A policy has the same colour in every figure." }
        }
    }
}
