//! Where the policy runs: at the owner, which knows its own motion, or at a relay, which knows only the vectors it
//! receives.

use super::case::distance;
use super::{EvenCase, cells_for, key, percent, runs_of, seeds};
use crate::claims::{Claim, Verdict};
use crate::dr::RunFigures;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio};
use crate::papers::judgement::Test;

const THRESHOLDS: [u16; 3] = [9, 30, 100];
const CONTENDERS: [Contender; 2] = [Contender::EVEN, Contender::THIRD];
const RELAY_OVER_OWNER_MAX: f64 = 1.05;

pub(super) fn cells() -> Vec<Cell> {
    let mut cells = cells_for(&THRESHOLDS.map(EvenCase::Papers), &CONTENDERS);
    cells.extend(cells_for(&THRESHOLDS.map(EvenCase::Relay), &CONTENDERS));
    cells
}

/// Returns the relay's mean error relative to the owner's.
fn relay_over_owner(cells: &Cells, hundredths: u16) -> Ratio {
    runs_of(cells, EvenCase::Relay(hundredths), Contender::EVEN)
        .ratio(&runs_of(cells, EvenCase::Papers(hundredths), Contender::EVEN), RunFigures::mean_aee)
}

fn spread(cells: &Cells, case: EvenCase) -> Ratio {
    runs_of(cells, case, Contender::EVEN).spread_ratio(&runs_of(cells, case, Contender::THIRD))
}

fn mean(cells: &Cells, case: EvenCase) -> Ratio {
    runs_of(cells, case, Contender::EVEN).mean_ratio(&runs_of(cells, case, Contender::THIRD))
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let plot = |what: &str, mark, ratio: fn(&Cells, EvenCase) -> Ratio| {
        let marks = |name: &str, case: fn(u16) -> EvenCase| Bars {
            name: name.to_owned(),
            heights: THRESHOLDS.iter().map(|hundredths| ratio(cells, case(*hundredths)).value).collect(),
        };
        Plot {
            title: what.to_owned(),
            x_label: format!("{what} / 1/3 base"),
            y_label: String::new(),
            drawing: Drawing::Dots {
                rows: THRESHOLDS
                    .iter()
                    .map(|hundredths| format!("threshold {}", distance(*hundredths)))
                    .collect(),
                groups: vec![
                    marks("the owner decides", EvenCase::Papers),
                    marks("a relay decides", EvenCase::Relay),
                ],
                mark,
            },
        }
    };
    let row = |hundredths: &u16| {
        let (direct, relay) = (EvenCase::Papers(*hundredths), EvenCase::Relay(*hundredths));
        let ratios = [
            spread(cells, direct),
            mean(cells, direct),
            spread(cells, relay),
            mean(cells, relay),
            relay_over_owner(cells, *hundredths),
        ];
        [distance(*hundredths).to_string()].into_iter().chain(ratios.map(|ratio| ratio.to_string())).collect()
    };
    let head = [
        "threshold",
        "owner: spread / 1/3 base",
        "mean / 1/3 base",
        "relay: spread / 1/3 base",
        "mean / 1/3 base",
        "mean, relay / owner",
    ];
    let worst =
        THRESHOLDS.iter().map(|hundredths| relay_over_owner(cells, *hundredths).value).fold(0.0, f64::max);
    vec![Figure {
        key: key("relay"),
        title: format!(
            "A relay that decides without seeing the tank raises the mean by at most {:.1} %",
            100.0 * (worst - 1.0)
        ),
        caption: format!(
            "The relay has no delay to the owner, so only its knowledge differs: the newest vector instead of the tank. 800 / 500 / 200 \
             ms, each ±100 ms uniform; random motion, heartbeat 1 s, 300 s, budget 1 per trigger; {}. Mark in the first frame: 2 %.",
            seeds(setup)
        ),
        plots: vec![plot("spread", Some(0.02), spread), plot("mean", Some(1.0), mean)],
        columns: 2,
        table: Table { head: head.map(str::to_owned).to_vec(), rows: THRESHOLDS.iter().map(row).collect() },
        claims: claims(cells),
    }]
}

fn claims(cells: &Cells) -> Vec<Claim> {
    let dearer = THRESHOLDS.map(|hundredths| relay_over_owner(cells, hundredths));
    let spreads = THRESHOLDS.map(|hundredths| percent(spread(cells, EvenCase::Relay(hundredths))));
    super::claims("relay")
        .add(
            "If a relay decides, the mean is at most 5 % above that with the owner's own decisions.",
            format!(
                "thresholds of 0.09 / 0.3 / 1: {} of it; spread {} of 1/3 base's",
                dearer.map(|ratio| ratio.to_string()).join(" / "),
                spreads.join(" / ")
            ),
            Test::all(dearer.iter().map(|ratio| Test::below(*ratio, RELAY_OVER_OWNER_MAX))),
            Verdict::Holds,
        )
        .all()
}
