//! Where `even` helps and where it does not: settings with little to redistribute beside those with much.

use super::{MATCHED, MATCHED_WORDS, key, player_ratio, short};
use crate::claims::{Claim, Verdict};
use crate::dr::RunFigures;
use crate::even::{EvenCase, cells_for, runs_of, seeds};
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio};
use crate::papers::judgement::Test;

const CASES: [EvenCase; 8] = [
    EvenCase::Papers(9),
    EvenCase::Papers(100),
    EvenCase::Broadband(9),
    EvenCase::Broadband(100),
    EvenCase::FullBudget,
    EvenCase::Pair,
    EvenCase::SameDelay,
    EvenCase::SamePair,
];

pub(super) fn cells() -> Vec<Cell> {
    let pairs = CASES.iter().flat_map(|case| cells_for(&[*case], &[Contender::EVEN, without(*case)]));
    pairs.collect()
}

/// Returns what a game would do without us: with a full budget, send everything.
fn without(case: EvenCase) -> Contender {
    if case == EvenCase::FullBudget { Contender::BASE } else { MATCHED }
}

fn without_us(cells: &Cells, case: EvenCase) -> ContenderRuns<'_> {
    runs_of(cells, case, without(case))
}

/// Returns the errors of the farthest and of the nearest player and the mean, relative to base with as many messages.
fn changes(cells: &Cells, case: EvenCase) -> [Ratio; 3] {
    let (even, matched) = (runs_of(cells, case, Contender::EVEN), without_us(cells, case));
    let nearest = even.runs[0].receivers.len() - 1;
    [
        player_ratio(&even, &matched, 0),
        player_ratio(&even, &matched, nearest),
        even.ratio(&matched, RunFigures::mean_real_error),
    ]
}

/// Returns the spread as a share of the mean error, with `even` and without it.
fn unevenness(cells: &Cells, case: EvenCase) -> [Ratio; 2] {
    [Contender::EVEN, without(case)].map(|contender| {
        let runs = runs_of(cells, case, contender);
        let pairs = runs.runs.iter().map(|run| (run.std_real_error(), run.mean_real_error()));
        Ratio::of(&pairs.collect::<Vec<_>>())
    })
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let marks = |(index, name): (usize, &str)| Bars {
        name: name.to_owned(),
        heights: CASES.iter().map(|case| changes(cells, *case)[index].value).collect(),
    };
    let row = |case: &EvenCase| {
        let [far, near, mean] = changes(cells, *case);
        let [with, without] = unevenness(cells, *case);
        let sent = runs_of(cells, *case, Contender::EVEN).sent_ratio(&without_us(cells, *case));
        let figures = [far, near, mean, sent, with, without].map(|ratio| short(ratio, 2));
        [case.label()].into_iter().chain(figures).collect()
    };
    let head = [
        "setting",
        "farthest / without even",
        "nearest / without even",
        "mean / without even",
        "messages / without even",
        "with even: spread / mean",
        "without: spread / mean",
    ];
    let [same, full] = [EvenCase::SameDelay, EvenCase::FullBudget].map(|case| changes(cells, case)[2]);
    vec![Figure {
        key: key("when"),
        title: format!(
            "even moves error from far to near players. Where all are equally far, the mean is {:.2} times that without it; with a \
             budget for everything it is {:.1} times",
            same.value, full.value
        ),
        caption: format!(
            "Errors against the real path under even, relative to those without it: base-matched (calibrated), or base if the budget is \
             full. {MATCHED_WORDS}, and has no heartbeat where the heartbeat alone would send more. Random motion, heartbeat 1 s, 300 s; budget a third of the players per trigger unless it is full; \
             threshold 0.09 unless noted; {}.",
            seeds(setup)
        ),
        plots: vec![Plot {
            title: "a player's error, and the mean".to_owned(),
            x_label: "error with even / without".to_owned(),
            y_label: String::new(),
            drawing: Drawing::Dots {
                rows: CASES.iter().map(|case| case.label()).collect(),
                groups: ["far", "near", "mean"].into_iter().enumerate().map(marks).collect(),
                mark: Some(1.0),
            },
        }],
        columns: 1,
        table: Table { head: head.map(str::to_owned).to_vec(), rows: CASES.iter().map(row).collect() },
        claims: answers(cells),
    }]
}

fn answers(cells: &Cells) -> Vec<Claim> {
    let mut claims = super::claims("when");
    for (case, expected) in [
        (EvenCase::SameDelay, Verdict::Holds),
        (EvenCase::SamePair, Verdict::Holds),
        (EvenCase::FullBudget, Verdict::Fails),
    ] {
        let [far, near, mean] = changes(cells, case);
        claims = claims.add(
            &format!("{}: the mean error is lower with even than without it.", case.label()),
            format!("the mean is {mean} times that without; the farthest player's error {far}, the nearest's {near}"),
            Test::below(mean, 1.0),
            expected,
        );
    }
    claims.all()
}
