//! The page of all policies side by side in the papers' setting.

use maud::html;

use super::{Provenance, back, shell, table};
use crate::papers::{PapersSummary, seeds_in_words};

/// Renders the page.
pub(super) fn page(summary: &PapersSummary, provenance: &Provenance) -> String {
    let seeds = seeds_in_words(1, provenance.runs);
    let body = html! {
        header {
            (back())
            h1 { "All policies, side by side" }
        }
        main {
            section {
                h2 { "Which policy is the fairest?" }
                @for answer in &summary.answers { p { (answer) } }
            }
            section {
                div.scroll tabindex="0" { (table(&summary.table)) }
                p.caption {
                    (summary.caption) "; " (seeds) ". Spread: the standard deviation over the players of "
                    "their accumulated errors (distance x time); the smaller, the fairer. Mean: the mean of the same errors. Units off: how far "
                    "a player sees the tank from where its owner exports it, on average. ±: one standard error over the seeds. Commit "
                    code { (provenance.commit) } "."
                }
            }
        }
    };
    shell("All policies, side by side", provenance, &seeds, &body)
}
