//! Figures as views of cells: the spread or the mean over time, or each receiver's error at the end.

use super::cells::{Cell, Cells, Contender, ContenderRuns, product};
use super::elsewhere::Elsewhere;
use super::judgement::Judgement;
use super::setting::{ExperimentSetting, Variation};
use super::study::{Setup, curve_over_time};
use crate::claims::{Claim, Verdict};
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::scenario::{Receiver, Scenario};
use crate::stats::{mean, population_sd};

/// The quantity a figure shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quantity {
    /// The spread between the receivers over time.
    Spread,
    /// The mean over the receivers over time.
    Mean,
    /// Mean and spread over time, side by side.
    Both,
    /// Each receiver's error at the end.
    Receivers,
}

/// A figure of a paper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// Its number.
    pub(crate) figure: &'static str,
    /// A title that states the finding.
    pub(crate) title: &'static str,
    pub(crate) what: Quantity,
    pub(crate) setting: ExperimentSetting,
    pub(crate) contenders: &'static [Contender],
    /// The reference in the table.
    pub(crate) reference: Contender,
    /// Returns the paper's claims about it.
    pub(crate) claims: fn(&Self, &Cells) -> Vec<Claim>,
}

impl View {
    /// Creates a figure in the papers' setting.
    pub(crate) const fn papers(
        (figure, title): (&'static str, &'static str),
        what: Quantity,
        variation: Variation,
        contenders: &'static [Contender],
        reference: Contender,
        claims: fn(&Self, &Cells) -> Vec<Claim>,
    ) -> Self {
        Self {
            figure,
            title,
            what,
            setting: ExperimentSetting::Papers(variation),
            contenders,
            reference,
            claims,
        }
    }

    /// Returns the cells it needs.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells = product(&[self.setting], self.contenders);
        cells.push(Cell { setting: self.setting, contender: self.reference });
        cells
    }

    /// Draws the figure.
    pub(crate) fn draw(&self, paper: &str, cells: &Cells, setup: &Setup<'_>) -> Figure {
        let measured: Vec<ContenderRuns<'_>> =
            self.contenders.iter().map(|contender| cells.of(self.setting, *contender)).collect();
        let scenario = cells.scenario(self.setting);
        let (spread, error) = ("spread of accumulated error (units·s)", "mean accumulated error (units·s)");
        let plots = match self.what {
            Quantity::Spread => vec![over_time(&measured, spread, population_sd)],
            Quantity::Mean => vec![over_time(&measured, error, mean)],
            Quantity::Both => {
                vec![over_time(&measured, error, mean), over_time(&measured, spread, population_sd)]
            }
            Quantity::Receivers => vec![by_receiver(&measured, scenario)],
        };
        let bands = if self.what == Quantity::Receivers {
            ""
        } else {
            " Bands: one standard deviation over the seeds."
        };
        let coarser = self.contenders.iter().filter_map(|one| {
            let distance = cells.coarser(self.setting, *one)?;
            Some(format!(" Threshold of \"{}\": {distance:.2} units.", one.label()))
        });
        let coarser: String = coarser.collect();
        Figure {
            key: format!("{paper}/{}", self.figure),
            title: self.title.to_owned(),
            caption: format!("{}; {}.{coarser}{bands}", self.setting.caption(), setup.seeds_in_words()),
            columns: plots.len(),
            plots,
            table: table(&measured, &cells.of(self.setting, self.reference), scenario),
            claims: (self.claims)(self, cells),
        }
    }
}

/// Draws the figures of views, and the figure of the settings beyond the papers.
pub(crate) fn draw_all(
    source: ClaimSource,
    setup: &Setup<'_>,
    cells: &Cells,
    views: &[View],
    elsewhere: Option<&Elsewhere>,
) -> Vec<Figure> {
    let drawn = views.iter().map(|view| view.draw(source.paper, cells, setup));
    drawn.chain(elsewhere.map(|elsewhere| elsewhere.draw(source.paper, cells, setup))).collect()
}

fn over_time(measured: &[ContenderRuns<'_>], label: &str, figure: impl Fn(&[f64]) -> f64) -> Plot {
    let curves = measured.iter().map(|one| curve_over_time(&one.name, one.runs, &figure));
    Plot {
        title: String::new(),
        x_label: "time (s)".to_owned(),
        y_label: label.to_owned(),
        drawing: Drawing::Curves(curves.collect()),
    }
}

fn by_receiver(measured: &[ContenderRuns<'_>], scenario: &Scenario) -> Plot {
    let name = |receiver: &Receiver| format!("{}, {:.0} ms", receiver.name, receiver.delay().as_millis_f64());
    let bars = |one: &ContenderRuns<'_>| Bars { name: one.name.clone(), heights: one.receivers() };
    Plot {
        title: String::new(),
        x_label: "player".to_owned(),
        y_label: format!("accumulated error after {:.0} s (units·s)", scenario.duration.as_secs_f64()),
        drawing: Drawing::Bars {
            categories: scenario.receivers.iter().map(name).collect(),
            groups: measured.iter().map(bars).collect(),
        },
    }
}

/// Returns a table of spread, mean and vectors sent relative to a reference, and each receiver's error.
pub(crate) fn table(
    measured: &[ContenderRuns<'_>],
    reference: &ContenderRuns<'_>,
    scenario: &Scenario,
) -> Table {
    let mut head = vec!["policy".to_owned()];
    head.extend(["spread", "mean", "sent"].map(|figure| format!("{figure} / {}", reference.name)));
    head.extend(scenario.receivers.iter().map(|receiver| format!("{} (units·s)", receiver.name)));
    let row = |one: &ContenderRuns<'_>| {
        let mut row = vec![
            one.name.clone(),
            one.spread_ratio(reference).to_string(),
            one.mean_ratio(reference).to_string(),
            one.sent_ratio(reference).to_string(),
        ];
        row.extend(one.receivers().iter().map(|error| format!("{error:.0}")));
        row
    };
    Table { head, rows: measured.iter().map(row).collect() }
}

/// The paper that claims come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaimSource {
    /// The paper's key.
    pub(crate) paper: &'static str,
    /// Its authors and year.
    pub(crate) citation: &'static str,
}

/// The claims about one figure.
#[derive(Debug)]
pub(crate) struct Claims {
    source: ClaimSource,
    figure: &'static str,
    place: &'static str,
    claims: Vec<Claim>,
}

impl Claims {
    /// Starts a list of claims about a figure, made in this section.
    pub(crate) const fn about(source: ClaimSource, figure: &'static str, place: &'static str) -> Self {
        Self { source, figure, place, claims: Vec::new() }
    }

    /// Sets the section of the claims that follow.
    pub(crate) const fn at(mut self, place: &'static str) -> Self {
        self.place = place;
        self
    }

    /// Adds a claim.
    pub(crate) fn add(
        mut self,
        statement: &str,
        measured: String,
        judged: impl Into<Judgement>,
        expected: Verdict,
    ) -> Self {
        let ClaimSource { paper, citation } = self.source;
        let id = format!("{paper}/{}/{}", self.figure, self.claims.len() + 1);
        let source = format!("{citation}, {}", self.place);
        let Judgement { verdict, is_close } = judged.into();
        let claim = Claim::new(id, source, statement, measured, verdict, expected);
        self.claims.push(Claim { is_close, ..claim });
        self
    }

    /// Returns all claims.
    pub(crate) fn all(self) -> Vec<Claim> {
        self.claims
    }
}
