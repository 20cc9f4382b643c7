//! A figure of the worst player's share behind over a quantity of the network.

use super::{
    BEHIND_WORDS, Grid, GridPlan, PathLaw, Service, SyncSetting, cells, heads, key, run_grid, seeds,
};
use crate::claims::Claim;
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::parallel::Cancelled;

const LAWS: [PathLaw; 2] = PathLaw::READINGS;

/// A sweep, under both readings of the paper's delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncSweep {
    pub(super) figure: &'static str,
    /// The quantity, with its unit.
    pub(super) quantity: &'static str,
    pub(super) xs: &'static [f64],
    pub(super) setting: fn(PathLaw, f64) -> SyncSetting,
    pub(super) services: &'static [Service],
    /// A sentence about the setting.
    pub(super) words: &'static str,
}

/// A sweep that has been run.
pub(super) struct SweptRuns<'a> {
    sweep: &'a SyncSweep,
    grid: Grid,
}

impl SyncSweep {
    pub(super) fn plan(&self) -> GridPlan {
        let of = |law| self.xs.iter().map(move |x| ((self.setting)(law, *x), self.services.to_vec()));
        LAWS.into_iter().flat_map(of).collect()
    }

    pub(super) fn run(&self, setup: &Setup<'_>) -> Result<SweptRuns<'_>, Cancelled> {
        Ok(SweptRuns { sweep: self, grid: run_grid(&self.plan(), setup)? })
    }
}

impl SweptRuns<'_> {
    /// The runs of a service under a reading of the delays, at a place of the sweep.
    pub(super) fn at(&self, law: usize, place: usize, service: Service) -> super::ServiceRuns<'_> {
        self.grid.of(law * self.sweep.xs.len() + place, service)
    }

    /// The runs of a service under both readings, at a place of the sweep.
    pub(super) fn both(&self, place: usize, service: Service) -> [super::ServiceRuns<'_>; 2] {
        [0, 1].map(|law| self.at(law, place, service))
    }

    pub(super) fn draw(&self, title: String, claims: Vec<Claim>, setup: &Setup<'_>) -> Vec<Figure> {
        let sweep = self.sweep;
        let curve = |law: usize, service: &Service| Curve {
            name: service.name().to_owned(),
            points: (0..sweep.xs.len())
                .map(|place| {
                    let behind = self.at(law, place, *service).worst_behind();
                    CurvePoint { x: sweep.xs[place], y: behind.value, spread: behind.error }
                })
                .collect(),
        };
        let plot = |(index, law): (usize, PathLaw)| Plot {
            title: format!("{} delays", law.name()),
            x_label: sweep.quantity.to_owned(),
            y_label: "worst player's actions behind (%)".to_owned(),
            drawing: Drawing::Curves(sweep.services.iter().map(|service| curve(index, service)).collect()),
        };
        vec![Figure {
            key: key(sweep.figure),
            title,
            caption: format!("{} {BEHIND_WORDS}; {}. Bands: one standard error.", sweep.words, seeds(setup)),
            plots: LAWS.into_iter().enumerate().map(plot).collect(),
            columns: 2,
            table: self.table(),
            claims,
        }]
    }

    fn table(&self) -> Table {
        let mut head = vec!["delays".to_owned(), self.sweep.quantity.to_owned(), "order".to_owned()];
        head.extend(heads());
        let mut rows = Vec::new();
        for (law, name) in LAWS.iter().enumerate() {
            for (place, x) in self.sweep.xs.iter().enumerate() {
                for service in self.sweep.services {
                    let mut row = vec![name.name().to_owned(), format!("{x}"), service.name().to_owned()];
                    row.extend(cells(&self.at(law, place, *service)));
                    rows.push(row);
                }
            }
        }
        Table { head, rows }
    }
}
