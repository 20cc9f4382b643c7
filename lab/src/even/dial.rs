//! The user's settings: how much of the spread is evened out (phi), and how much more any player may pay for it
//! (kappa).

use evenkeel_dr::policy::even::EvenSettings;

use super::{EvenCase, cells_for, key, runs_of, seeds};
use crate::claims::{Claim, Verdict};
use crate::figure::{Bars, Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio, in_words};
use crate::papers::judgement::Test;

const CASES: [EvenCase; 5] = [
    EvenCase::Papers(9),
    EvenCase::Papers(30),
    EvenCase::Papers(100),
    EvenCase::Broadband(9),
    EvenCase::Broadband(100),
];

/// The values of phi, the share of the spread that is evened out.
pub(super) const DIAL: [(f64, Contender); 6] = [
    (0.0, Contender::Policy("even:phi=0")),
    (0.2, Contender::Policy("even:phi=0.2")),
    (0.4, Contender::Policy("even:phi=0.4")),
    (0.6, Contender::Policy("even:phi=0.6")),
    (0.8, Contender::Policy("even:phi=0.8")),
    (EvenSettings::PHI, Contender::EVEN),
];

/// The values of kappa, the cap on what any player pays.
const CAPS: [(&str, Contender); 5] = [
    ("1", Contender::Policy("even:phi=1,kappa=1")),
    ("1.1", Contender::Policy("even:phi=1,kappa=1.1")),
    ("1.25", Contender::Policy("even:phi=1,kappa=1.25")),
    ("1.5", Contender::Policy("even:phi=1,kappa=1.5")),
    ("none", Contender::Policy("even:phi=1")),
];

/// How exact phi must be, and how far above the cap a player's error may be.
const PHI_ERROR_MAX: f64 = 0.03;
const ABOVE_CAP_MAX: f64 = 1.05;

pub(super) fn cells() -> Vec<Cell> {
    let contenders = DIAL.iter().map(|(_, one)| *one).chain(CAPS.iter().map(|(_, one)| *one));
    cells_for(&CASES, &contenders.chain([Contender::THIRD]).collect::<Vec<_>>())
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    vec![draw_dial(setup, cells), draw_cap(setup, cells)]
}

fn spread(cells: &Cells, case: EvenCase, contender: Contender) -> Ratio {
    runs_of(cells, case, contender).spread_ratio(&runs_of(cells, case, Contender::THIRD))
}

fn mean(cells: &Cells, case: EvenCase, contender: Contender) -> Ratio {
    runs_of(cells, case, contender).mean_ratio(&runs_of(cells, case, Contender::THIRD))
}

/// Returns how far the remaining spread is from what phi asks for.
fn phi_error(cells: &Cells, case: EvenCase, (phi, contender): (f64, Contender)) -> f64 {
    (spread(cells, case, contender).value - (1.0 - phi)).abs()
}

fn worst_phi_error(cells: &Cells) -> f64 {
    let all = CASES.iter().flat_map(|case| DIAL.iter().map(|set| phi_error(cells, *case, *set)));
    all.fold(0.0, f64::max)
}

fn draw_dial(setup: &Setup<'_>, cells: &Cells) -> Figure {
    let curve = |case: EvenCase, ratio: fn(&Cells, EvenCase, Contender) -> Ratio| Curve {
        name: case.label(),
        points: DIAL
            .iter()
            .map(|(phi, contender)| CurvePoint {
                x: *phi,
                y: ratio(cells, case, *contender).value,
                spread: 0.0,
            })
            .collect(),
    };
    let plot = |what: &str, ratio| Plot {
        title: what.to_owned(),
        x_label: "phi".to_owned(),
        y_label: format!("{what} / 1/3 base"),
        drawing: Drawing::Curves(CASES.iter().map(|case| curve(*case, ratio)).collect()),
    };
    let worst = worst_phi_error(cells);
    let row = |case: &EvenCase| {
        let ratios = DIAL.iter().map(|(_, one)| {
            format!("{:.3}, {:.2}", spread(cells, *case, *one).value, mean(cells, *case, *one).value)
        });
        [case.label()].into_iter().chain(ratios).collect()
    };
    let head = DIAL.iter().map(|(phi, _)| format!("phi {phi}: spread, mean"));
    Figure {
        key: key("phi"),
        title: format!(
            "phi sets the share of the spread that is evened out, to within {worst:.3} in all settings"
        ),
        caption: format!(
            "The remaining spread should be 1 - phi of 1/3 base's. Delays ±100 ms uniform at 800/500/200 ms, gamma jitter of a tenth at \
             120/40/15 ms; random motion, budget 1 per trigger, heartbeat 1 s, 300 s; {}.",
            seeds(setup)
        ),
        plots: vec![plot("spread", spread), plot("mean", mean)],
        columns: 2,
        table: Table {
            head: ["setting".to_owned()].into_iter().chain(head).collect(),
            rows: CASES.iter().map(row).collect(),
        },
        claims: super::claims("phi")
            .add(
                "phi sets the spread to within 0.03 of 1/3 base's.",
                format!(
                    "off by at most {worst:.3} with phi of {}",
                    DIAL.map(|(phi, _)| phi.to_string()).join(" / ")
                ),
                Test::fact(worst <= PHI_ERROR_MAX),
                Verdict::Holds,
            )
            .all(),
    }
}

/// Returns each player's error relative to 1/3 base.
fn changes(cells: &Cells, case: EvenCase, contender: Contender) -> Vec<Ratio> {
    runs_of(cells, case, contender).changes(&runs_of(cells, case, Contender::THIRD))
}

fn draw_cap(setup: &Setup<'_>, cells: &Cells) -> Figure {
    let shown = [EvenCase::Papers(9), EvenCase::Papers(100)];
    let plot = |case: EvenCase| {
        let marks = |(player, name): (usize, &str)| Bars {
            name: name.to_owned(),
            heights: CAPS.iter().map(|(_, one)| changes(cells, case, *one)[player].value).collect(),
        };
        Plot {
            title: case.label(),
            x_label: "a player's error / under 1/3 base".to_owned(),
            y_label: String::new(),
            drawing: Drawing::Dots {
                rows: CAPS.iter().map(|(kappa, _)| format!("kappa {kappa}")).collect(),
                groups: ["far", "middle", "near"].into_iter().enumerate().map(marks).collect(),
                mark: Some(1.0),
            },
        }
    };
    let row = |case: &EvenCase| {
        let figures = CAPS.iter().map(|(_, one)| {
            let (players, spread) = (changes(cells, *case, *one), spread(cells, *case, *one));
            format!("{}; {}", in_words(&players, 2), spread.in_words(2))
        });
        [case.label()].into_iter().chain(figures).collect()
    };
    let head = CAPS.iter().map(|(kappa, _)| format!("kappa {kappa}: far / middle / near; spread"));
    let (near, far) = (CAPS[4].1, CAPS[0].1);
    let pays = |contender| changes(cells, shown[0], contender)[2].value;
    Figure {
        key: key("kappa"),
        title: format!(
            "Without a cap the near player has {:.1} times its error under 1/3 base at threshold 0.09; with kappa = 1 it has {:.2} times",
            pays(near),
            pays(far)
        ),
        caption: format!(
            "Each player's error, and the spread, relative to 1/3 base, with phi = 1 and caps on how much worse off any player may be. \
             The papers' delays, each ±100 ms uniform, and 120/40/15 ms with gamma jitter of a tenth; random motion, budget 1 per \
             trigger, heartbeat 1 s, 300 s; {}.",
            seeds(setup)
        ),
        plots: shown.iter().map(|case| plot(*case)).collect(),
        columns: 2,
        table: Table {
            head: ["setting".to_owned()].into_iter().chain(head).collect(),
            rows: CASES.iter().map(row).collect(),
        },
        claims: cap_claims(cells),
    }
}

fn cap_claims(cells: &Cells) -> Vec<Claim> {
    let worst = |case: &EvenCase| {
        let all = changes(cells, *case, CAPS[0].1).into_iter();
        all.max_by(|a, b| a.value.total_cmp(&b.value)).expect("there are players")
    };
    let worst: Vec<Ratio> = CASES.iter().map(worst).collect();
    let words: Vec<String> =
        CASES.iter().zip(&worst).map(|(case, ratio)| format!("{}: {ratio}", case.label())).collect();
    super::claims("kappa")
        .add(
            "With kappa = 1 no player is worse off than under 1/m base by more than 5 %.",
            format!("the error of the player who is worst off, relative to 1/m base: {}", words.join("; ")),
            Test::all(worst.iter().map(|ratio| Test::below(*ratio, ABOVE_CAP_MAX))),
            Verdict::Holds,
        )
        .all()
}
