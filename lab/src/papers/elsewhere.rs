//! The policies in settings that the papers did not try: other jitter distributions, today's delays, more players, a
//! relay, and recorded tanks.

use super::cells::{Cell, Cells, Contender, ContenderRuns, Ratio, product};
use super::setting::{ELSEWHERE, ELSEWHERE_WORDS, elsewhere_seeds};
use super::study::Setup;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};

/// A figure of some policies in all of these settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elsewhere {
    /// The figure's name.
    pub(crate) figure: &'static str,
    pub(crate) title: &'static str,
    pub(crate) contenders: &'static [Contender],
    pub(crate) reference: Contender,
    /// An additional sentence of the caption.
    pub(crate) note: &'static str,
}

impl Elsewhere {
    /// Returns the cells it needs.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells = product(&ELSEWHERE, self.contenders);
        cells.extend(product(&ELSEWHERE, &[self.reference]));
        cells
    }

    /// Draws the figure: a row for each setting, a mark for each policy.
    pub(crate) fn draw(&self, paper: &str, cells: &Cells, setup: &Setup<'_>) -> Figure {
        let marks = |ratio: fn(&ContenderRuns<'_>, &ContenderRuns<'_>) -> Ratio| {
            let group = |contender: &Contender| {
                let mark =
                    |setting| ratio(&cells.of(setting, *contender), &cells.of(setting, self.reference)).value;
                Bars { name: contender.label(), heights: ELSEWHERE.map(mark).to_vec() }
            };
            self.contenders.iter().map(group).collect::<Vec<_>>()
        };
        let reference = self.reference.label();
        let plot = |what: &str, groups| Plot {
            title: format!("{what}, relative to {reference}"),
            x_label: format!("{what} / {reference}"),
            y_label: String::new(),
            drawing: Drawing::Dots {
                rows: ELSEWHERE.map(|setting| setting.label()).to_vec(),
                groups,
                mark: Some(1.0),
            },
        };
        Figure {
            key: format!("{paper}/{}", self.figure),
            title: self.title.to_owned(),
            caption: format!(
                "{ELSEWHERE_WORDS}. Every row: {:.0} s, {}. {}",
                cells.scenario(ELSEWHERE[0]).duration.as_secs_f64(),
                elsewhere_seeds(setup),
                self.note
            ),
            plots: vec![
                plot("spread", marks(|one, to| one.spread_ratio(to))),
                plot("mean", marks(|one, to| one.mean_ratio(to))),
            ],
            columns: 2,
            table: self.table(cells, &reference),
            claims: Vec::new(),
        }
    }

    fn table(&self, cells: &Cells, reference: &str) -> Table {
        let mut head = vec!["setting".to_owned(), "policy".to_owned()];
        head.extend(["spread", "mean", "sent"].map(|figure| format!("{figure} / {reference}")));
        let mut rows = Vec::new();
        for setting in ELSEWHERE {
            for contender in self.contenders {
                let (one, to) = (cells.of(setting, *contender), cells.of(setting, self.reference));
                rows.push(vec![
                    setting.label(),
                    contender.label(),
                    one.spread_ratio(&to).to_string(),
                    one.mean_ratio(&to).to_string(),
                    one.sent_ratio(&to).to_string(),
                ]);
            }
        }
        Table { head, rows }
    }
}
