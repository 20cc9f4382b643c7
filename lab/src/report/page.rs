//! The report's page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::svg::draw;
use crate::claims::Claim;
use crate::figure::{Figure, Table};

/// Where a report comes from: with these three anybody can make it again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provenance {
    /// What was typed.
    pub command: String,
    /// Which commit the program was built from.
    pub commit: String,
    /// Which seeds.
    pub seeds: String,
}

const STYLE: &str = include_str!("style.css");

/// The page with all figures.
pub(super) fn index(figures: &[Figure], provenance: &Provenance) -> String {
    let claims: Vec<&Claim> = figures.iter().flat_map(|figure| &figure.claims).collect();
    let count = |verdict: &str| claims.iter().filter(|claim| claim.verdict.to_string() == verdict).count();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Evenkeel lab report" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "The papers, re-run" }
                    p {
                        "Every figure here was made by real protocol machines that send and receive real bytes, driven by the simulator. "
                        "Of " (claims.len()) " claims, " (count("holds")) " hold, " (count("differs"))
                        " hold only under a reading that is stated, and " (count("fails")) " fail."
                    }
                    nav aria-label="Figures" {
                        @for figure in figures {
                            a href=(format!("#{}", figure.file_stem())) { (figure.key) }
                        }
                    }
                }
                main { @for figure in figures { (section(figure)) } }
                footer {
                    p { "Made by " code { (provenance.command) } ", " (provenance.seeds) ", commit "
                        code { (provenance.commit) } "." }
                }
            }
        }
    };
    page.into_string() + "\n"
}

fn section(figure: &Figure) -> Markup {
    let stem = figure.file_stem();
    html! {
        section id=(stem) {
            h2 { (figure.title) }
            p.key { (figure.key) " · " a href=(format!("{stem}.svg")) { "SVG" } " · "
                a href=(format!("{stem}.csv")) { "CSV" } }
            div.figure tabindex="0" { (PreEscaped(draw(figure))) }
            p.caption { (figure.caption) }
            div.beside {
                div.scroll tabindex="0" { (table(&figure.table)) }
                ul.claims { @for claim in &figure.claims { (item(claim)) } }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    html! {
        table {
            thead { tr { @for cell in &table.head { th scope="col" { (cell) } } } }
            tbody { @for row in &table.rows { tr { @for cell in row { td { (cell) } } } } }
        }
    }
}

fn item(claim: &Claim) -> Markup {
    html! {
        li {
            p { span class=(format!("verdict {}", claim.verdict)) { (claim.verdict) } " " (claim.statement) }
            p.measured { (claim.measured) ". " span.source { (claim.source) " · " (claim.id) } }
        }
    }
}
