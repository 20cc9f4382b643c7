//! `phi`, the dial between what distance causes and equality.

use evenkeel_dr::policy::even::EvenSettings;

use super::{
    CASES, MATCHED, MATCHED_WORDS, SETTING_WORDS, claims, key, players_of, seconds, short, units_off,
};
use crate::claims::{Claim, Verdict};
use crate::dr::RunFigures;
use crate::even::{EvenCase, cells_for, runs_of, seeds};
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio};
use crate::papers::judgement::Test;

/// The values of phi.
const DIAL: [(f64, Contender); 5] = [
    (0.0, Contender::Policy("even:phi=0")),
    (0.25, Contender::Policy("even:phi=0.25")),
    (0.5, Contender::Policy("even:phi=0.5")),
    (0.75, Contender::Policy("even:phi=0.75")),
    (EvenSettings::PHI, Contender::EVEN),
];
/// Those in the table.
const ROWS: [usize; 3] = [0, 2, 4];

pub(super) fn cells() -> Vec<Cell> {
    let dial = DIAL.iter().map(|(_, one)| *one);
    cells_for(&CASES, &dial.chain([MATCHED]).collect::<Vec<_>>())
}

fn off(cells: &Cells, case: EvenCase, contender: Contender) -> Vec<Ratio> {
    units_off(&runs_of(cells, case, contender), seconds(cells, case))
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let plot = |case: EvenCase| {
        let curve = |(player, name): (usize, String)| Curve {
            name: name.split_once(',').map_or(name.as_str(), |(name, _)| name).to_owned(),
            points: DIAL
                .iter()
                .map(|(phi, one)| CurvePoint {
                    x: *phi,
                    y: off(cells, case, *one)[player].value,
                    spread: 0.0,
                })
                .collect(),
        };
        Plot {
            title: case.label(),
            x_label: "phi".to_owned(),
            y_label: "mean distance from the real position (units)".to_owned(),
            drawing: Drawing::Curves(players_of(cells, case).into_iter().enumerate().map(curve).collect()),
        }
    };
    let nears = CASES.map(|case| [0, 2, 4].map(|row| off(cells, case, DIAL[row].1)[2].value));
    vec![Figure {
        key: key("phi"),
        title: format!(
            "phi sets how much the near player pays: it is {:.2}, {:.2} or {:.2} units off with phi = 0, 0.5 or {} at the papers' \
             delays, {:.2}, {:.2} or {:.2} at today's",
            nears[0][0],
            nears[0][1],
            nears[0][2],
            EvenSettings::PHI,
            nears[1][0],
            nears[1][1],
            nears[1][2]
        ),
        caption: format!(
            "How far from its real position each player sees the tank on average, over phi. {SETTING_WORDS}; {}. {MATCHED_WORDS}.",
            seeds(setup)
        ),
        plots: CASES.iter().map(|case| plot(*case)).collect(),
        columns: 2,
        table: table(cells),
        claims: answers(cells),
    }]
}

fn table(cells: &Cells) -> Table {
    let head = [
        "delays (ms)",
        "policy",
        "far (units off)",
        "middle (units off)",
        "near (units off)",
        "mean / base-matched",
        "spread / base-matched",
    ];
    let row = |case: EvenCase, name: String, contender: Contender| {
        let mut row = vec![case.delays().trim_end_matches(" ms").to_owned(), name];
        row.extend(off(cells, case, contender).iter().map(|off| short(*off, 2)));
        let [spread, mean] = runs_of(cells, case, contender).real_ratios(&runs_of(cells, case, MATCHED));
        row.extend([short(mean, 2), short(spread, 3)]);
        row
    };
    let rows = CASES.iter().flat_map(|case| {
        let dial = ROWS.map(|index| (format!("even, phi = {}", DIAL[index].0), DIAL[index].1));
        let all = [(MATCHED.label(), MATCHED)].into_iter().chain(dial);
        all.map(move |(name, one)| row(*case, name, one))
    });
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}

fn answers(cells: &Cells) -> Vec<Claim> {
    let mut claims = claims("phi");
    for (case, expected) in CASES.into_iter().zip([Verdict::Fails, Verdict::Holds]) {
        let matched = runs_of(cells, case, MATCHED);
        let half = runs_of(cells, case, DIAL[2].1);
        let (near, mean) =
            (super::player_ratio(&half, &matched, 2), half.ratio(&matched, RunFigures::mean_real_error));
        claims = claims.add(
            &format!("At {} with phi = 0.5 neither the mean nor the near player's error rises by more than 25 %.", case.delays()),
            format!("the mean is {mean} times that of base at as many messages, the near player's error {near} times"),
            Test::below(mean, 1.25).and(Test::below(near, 1.25)),
            expected,
        );
    }
    claims.all()
}
