//! More players: the cost of equal errors for all, compared with the farthest player's inevitable error.

use super::{EvenCase, cells_for, key, runs_of, seeds};
use crate::dr::RunFigures;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio};

const COUNTS: [u16; 4] = [3, 10, 30, 100];
const CONTENDERS: [Contender; 3] = [Contender::EVEN, Contender::DETERMINISTIC_PA, Contender::THIRD];

pub(super) fn cells() -> Vec<Cell> {
    let all = [CONTENDERS.as_slice(), &[Contender::BASE]].concat();
    cells_for(&COUNTS.map(EvenCase::Receivers), &all)
}

/// Returns the mean error relative to the farthest player's if it is sent every vector.
fn over_floor(cells: &Cells, count: u16, contender: Contender) -> Ratio {
    let case = EvenCase::Receivers(count);
    let means = runs_of(cells, case, contender).by_run(RunFigures::mean_aee);
    let farthest = usize::from(count) - 1;
    let floors = runs_of(cells, case, Contender::BASE).by_run(|run| run.receivers[farthest].aee);
    Ratio::of(&means.into_iter().zip(floors).collect::<Vec<_>>())
}

fn spread(cells: &Cells, count: u16, contender: Contender) -> Ratio {
    let case = EvenCase::Receivers(count);
    runs_of(cells, case, contender).spread_ratio(&runs_of(cells, case, Contender::THIRD))
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let plot = |title: &str, mark, ratio: fn(&Cells, u16, Contender) -> Ratio| Plot {
        title: title.to_owned(),
        x_label: title.to_owned(),
        y_label: String::new(),
        drawing: Drawing::Dots {
            rows: COUNTS.iter().map(|count| format!("{count} players")).collect(),
            groups: CONTENDERS
                .iter()
                .map(|one| Bars {
                    name: one.label(),
                    heights: COUNTS.iter().map(|count| ratio(cells, *count, *one).value).collect(),
                })
                .collect(),
            mark,
        },
    };
    let most = COUNTS[COUNTS.len() - 1];
    let used = runs_of(cells, EvenCase::Receivers(most), Contender::EVEN);
    let used = used.sent_ratio(&runs_of(cells, EvenCase::Receivers(most), Contender::THIRD));
    vec![Figure {
        key: key("players"),
        title: format!(
            "Among {most} players even gives everyone {:.2} times the farthest player's inevitable error, with {:.0} % of the budget",
            over_floor(cells, most, Contender::EVEN).value,
            100.0 * used.value
        ),
        caption: format!(
            "Players spaced evenly between 10 and 400 ms, gamma jitter of a tenth; random motion, threshold 0.09, heartbeat 1 s, 300 s; \
             budget a third of the players per trigger; {}. The farthest player's floor: its error if it is sent every vector at once; \
             without knowing the future, a policy can hardly give every player less.",
            seeds(setup)
        ),
        plots: vec![
            plot("spread / 1/3 base", Some(0.02), spread),
            plot("mean / farthest player's floor", Some(1.0), over_floor),
        ],
        columns: 2,
        table: table(cells),
        claims: Vec::new(),
    }]
}

fn table(cells: &Cells) -> Table {
    let head = [
        "players",
        "policy",
        "spread / 1/3 base",
        "mean / 1/3 base",
        "sent / 1/3 base",
        "mean / farthest player's floor",
    ];
    let mut rows = Vec::new();
    for count in COUNTS {
        let third = runs_of(cells, EvenCase::Receivers(count), Contender::THIRD);
        for contender in CONTENDERS {
            let one = runs_of(cells, EvenCase::Receivers(count), contender);
            let ratios = [
                one.spread_ratio(&third),
                one.mean_ratio(&third),
                one.sent_ratio(&third),
                over_floor(cells, count, contender),
            ];
            rows.push(
                [count.to_string(), one.name]
                    .into_iter()
                    .chain(ratios.map(|ratio| ratio.to_string()))
                    .collect(),
            );
        }
    }
    Table { head: head.map(str::to_owned).to_vec(), rows }
}
