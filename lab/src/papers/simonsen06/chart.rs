//! The thesis' kinds of charts: a measure over the time between updates, over the depth, the round length, or the clients.

use super::grid::{Network, ThesisCell, ThesisGrid};
use crate::figure::{Curve, CurvePoint, Drawing, Plot, Table};
use crate::neo::NeoFigures;
use crate::papers::cells::Ratio;
use crate::stats::{mean, population_sd};

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Measure {
    Location,
    Unused,
    Latency,
    Waiting,
    Playout,
    /// What a client sends, in kilobits per second.
    Bandwidth,
}

impl Measure {
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Location => "location error (px)",
            Self::Unused => "unused updates (%)",
            Self::Latency => "latency (ms)",
            Self::Waiting => "waiting delay (ms)",
            Self::Playout => "playout delay (ms)",
            Self::Bandwidth => "sent per client (kbps)",
        }
    }

    pub(super) fn value(self, figures: &NeoFigures) -> f64 {
        match self {
            Self::Location => figures.location.mean(),
            Self::Unused => figures.unused_percent(),
            Self::Latency => figures.latency.mean(),
            Self::Waiting => figures.waiting.mean(),
            Self::Playout => figures.playout.mean(),
            Self::Bandwidth => figures.up_kbps(),
        }
    }

    /// The deviation between the updates of a run, if the measure is one of updates.
    pub(super) fn deviation(self, figures: &NeoFigures) -> f64 {
        match self {
            Self::Location => figures.location.sd(),
            Self::Latency => figures.latency.sd(),
            Self::Waiting => figures.waiting.sd(),
            Self::Playout => figures.playout.sd(),
            Self::Unused | Self::Bandwidth => 0.0,
        }
    }
}

/// A named row of cells over an axis.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) measure: Measure,
    pub(super) cells: Vec<(f64, Vec<ThesisCell>)>,
}

impl Series {
    /// Over the time between updates: the mean of all combinations that give it.
    pub(super) fn by_arrival(network: Network, clients: usize, measure: Measure) -> Self {
        let mut cells: Vec<(f64, Vec<ThesisCell>)> = Vec::new();
        for cell in ThesisCell::tempos(network, clients) {
            let x = cell.arrival_ms();
            match cells.iter_mut().find(|(other, _)| (*other - x).abs() < 0.5) {
                Some((_, same)) => same.push(cell),
                None => cells.push((x, vec![cell])),
            }
        }
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { name: format!("{clients} clients"), measure, cells }
    }

    /// Over these cells.
    pub(super) fn over(
        name: &str,
        measure: Measure,
        cells: impl IntoIterator<Item = (f64, ThesisCell)>,
    ) -> Self {
        let cells = cells.into_iter().map(|(x, cell)| (x, vec![cell])).collect();
        Self { name: name.to_owned(), measure, cells }
    }

    /// Over the depth of rounds of this length.
    pub(super) fn by_depth(
        name: &str,
        network: Network,
        clients: usize,
        round: u32,
        measure: Measure,
    ) -> Self {
        let of_round = ThesisCell::tempos(network, clients).filter_map(|cell| {
            let (length, depth) = cell.tempo?;
            (length == round).then_some((f64::from(depth), cell))
        });
        Self::over(name, measure, of_round)
    }

    /// Over the round length, at a depth of 1.
    pub(super) fn by_round(name: &str, network: Network, clients: usize, measure: Measure) -> Self {
        let of_depth = ThesisCell::tempos(network, clients).filter_map(|cell| {
            let (length, depth) = cell.tempo?;
            (depth == 1).then_some((f64::from(length), cell))
        });
        Self::over(name, measure, of_depth)
    }

    /// Over the number of clients.
    pub(super) fn by_clients(
        name: &str,
        measure: Measure,
        clients: impl IntoIterator<Item = usize>,
        cell: impl Fn(usize) -> ThesisCell,
    ) -> Self {
        Self::over(name, measure, clients.into_iter().map(|clients| (clients as f64, cell(clients))))
    }

    fn points(&self, grid: &ThesisGrid) -> Vec<CurvePoint> {
        let point = |(x, cells): &(f64, Vec<ThesisCell>)| {
            let values: Vec<f64> =
                cells.iter().map(|cell| grid.of(*cell, |one| self.measure.value(one)).value).collect();
            CurvePoint { x: *x, y: mean(&values), spread: population_sd(&values) }
        };
        self.cells.iter().map(point).collect()
    }

    /// The value at a place of the axis, the mean of all combinations there.
    pub(super) fn at(&self, grid: &ThesisGrid, x: f64) -> Ratio {
        let (_, cells) = self.cells.iter().find(|(other, _)| (other - x).abs() < 0.6).unwrap_or_else(|| {
            panic!("{} has no place {x}", self.name);
        });
        let of = |cell: &ThesisCell| grid.of(*cell, |one| self.measure.value(one));
        let values: Vec<Ratio> = cells.iter().map(of).collect();
        let value = mean(&values.iter().map(|ratio| ratio.value).collect::<Vec<_>>());
        let error = values.iter().map(|ratio| ratio.error).fold(0.0, f64::max);
        Ratio { value, error }
    }
}

/// Draws series that share axes.
pub(super) fn plot(grid: &ThesisGrid, title: &str, x_label: &str, series: &[Series]) -> Plot {
    let y_label = match series.split_first() {
        Some((first, rest)) if rest.iter().all(|one| one.measure == first.measure) => first.measure.label(),
        _ => "delay (ms)",
    };
    let curve = |one: &Series| Curve { name: one.name.clone(), points: one.points(grid) };
    Plot {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        drawing: Drawing::Curves(series.iter().map(curve).collect()),
    }
}

/// The numbers behind the plots: one row for each curve.
pub(super) fn table(grid: &ThesisGrid, plots: &[(&str, &str, Vec<Series>)]) -> Table {
    let mut xs: Vec<f64> = plots
        .iter()
        .flat_map(|(_, _, series)| series)
        .flat_map(|one| one.cells.iter().map(|(x, _)| *x))
        .collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup_by(|a, b| (*a - *b).abs() < 0.5);
    let x_label = plots.first().map_or("", |(_, x_label, _)| *x_label);
    let mut head = vec!["measure".to_owned(), "series".to_owned()];
    head.extend(xs.iter().map(|x| format!("{x_label} {x:.0}")));
    let row = |one: &Series| {
        let points = one.points(grid);
        let mut row = vec![one.measure.label().to_owned(), one.name.clone()];
        row.extend(xs.iter().map(|x| {
            let point = points.iter().find(|point| (point.x - x).abs() < 0.5);
            point.map_or(String::new(), |point| format!("{:.1}", point.y))
        }));
        row
    };
    Table { head, rows: plots.iter().flat_map(|(_, _, series)| series).map(row).collect() }
}
