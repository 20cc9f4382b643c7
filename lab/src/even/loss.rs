//! Packet loss in both directions.

use super::{EvenCase, cells_for, key, percent, runs_of, seeds};
use crate::claims::{Claim, Verdict};
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio};
use crate::papers::judgement::Test;

const PERCENTS: [u16; 6] = [0, 1, 2, 5, 10, 20];
const CONTENDERS: [Contender; 3] = [Contender::EVEN, Contender::DETERMINISTIC_PA, Contender::THIRD];
/// The thresholds at which the bar must be reached, and the loss.
const THRESHOLDS: [u16; 3] = [9, 30, 100];
const PERCENT: u16 = 10;
const SPREAD_MAX: f64 = 0.03;

const fn swept(percent: u16) -> EvenCase {
    EvenCase::Loss(percent, 30)
}

pub(super) fn cells() -> Vec<Cell> {
    let mut cells = cells_for(&PERCENTS.map(swept), &CONTENDERS);
    cells.extend(cells_for(
        &THRESHOLDS.map(|hundredths| EvenCase::Loss(PERCENT, hundredths)),
        &[Contender::EVEN, Contender::THIRD],
    ));
    cells
}

fn spread(cells: &Cells, case: EvenCase, contender: Contender) -> Ratio {
    runs_of(cells, case, contender).spread_ratio(&runs_of(cells, case, Contender::THIRD))
}

/// Returns the mean error relative to 1/3 base's without loss.
fn mean(cells: &Cells, case: EvenCase, contender: Contender) -> Ratio {
    runs_of(cells, case, contender).mean_ratio(&runs_of(cells, swept(0), Contender::THIRD))
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let plot = |label: &str, contenders: &[Contender], ratio: fn(&Cells, EvenCase, Contender) -> Ratio| {
        let curve = |contender: &Contender| Curve {
            name: contender.label(),
            points: PERCENTS
                .iter()
                .map(|lost| {
                    let Ratio { value, error } = ratio(cells, swept(*lost), *contender);
                    CurvePoint { x: f64::from(*lost), y: value, spread: error }
                })
                .collect(),
        };
        Plot {
            title: String::new(),
            x_label: "packets lost each way (%)".to_owned(),
            y_label: label.to_owned(),
            drawing: Drawing::Curves(contenders.iter().map(curve).collect()),
        }
    };
    let row = |lost: &u16| {
        let mut row = vec![lost.to_string()];
        for contender in CONTENDERS {
            row.extend([spread, mean].map(|ratio| ratio(cells, swept(*lost), contender).to_string()));
        }
        row
    };
    let heads = CONTENDERS.iter().flat_map(|one| {
        ["spread / 1/3 base", "mean / 1/3 base without loss"]
            .map(|figure| format!("{}: {figure}", one.label()))
    });
    vec![Figure {
        key: key("loss"),
        title: format!(
            "With a tenth of the packets lost each way, even leaves {} of 1/3 base's spread, and {} with a fifth",
            percent(spread(cells, swept(10), Contender::EVEN)),
            percent(spread(cells, swept(20), Contender::EVEN))
        ),
        caption: format!(
            "DR vectors and acknowledgments are lost independently with the same probability. 800 / 500 / 200 ms, each ±100 ms uniform; \
             random motion, threshold 0.3, heartbeat 1 s, 300 s, budget 1 per trigger; {}. Bands: one standard error.",
            seeds(setup)
        ),
        plots: vec![
            plot("spread / 1/3 base with as much loss", &CONTENDERS, spread),
            plot("mean / 1/3 base without loss", &CONTENDERS, mean),
        ],
        columns: 2,
        table: Table {
            head: ["lost (%)".to_owned()].into_iter().chain(heads).collect(),
            rows: PERCENTS.iter().map(row).collect(),
        },
        claims: claims(cells),
    }]
}

fn claims(cells: &Cells) -> Vec<Claim> {
    let ratios =
        THRESHOLDS.map(|hundredths| spread(cells, EvenCase::Loss(PERCENT, hundredths), Contender::EVEN));
    super::claims("loss")
        .add(
            "With 10 % loss each way, at most 3 % of 1/3 base's spread remains after 300 s.",
            format!("thresholds of 0.09 / 0.3 / 1: {}", ratios.map(percent).join(" / ")),
            Test::all(ratios.iter().map(|ratio| Test::below(*ratio, SPREAD_MAX))),
            Verdict::Holds,
        )
        .all()
}
