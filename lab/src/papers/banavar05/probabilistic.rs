//! Figures 3.15 to 3.18: the probabilistic budget algorithm in its five cases against 1/3 base; and what a lower threshold
//! is good for.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::dr::RunFigures;
use crate::figure::{Curve, Drawing, Figure, Plot, Point, Table};
use crate::papers::cells::{Cell, Cells, Contender, Measured, in_words, product};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::setting::{Setting, Variation};
use crate::papers::study::Setup;
use crate::papers::view::{Claims, View, What, draw_all};
use crate::stats::{mean, population_sd};

const SETTING: Setting = Setting::Papers(Variation::None);
/// The thesis' cases 1 to 5, and what they are compared with.
const CASES: [Contender; 5] = [
    Contender::PROBABILISTIC_PA,
    Contender::PROBABILISTIC_PI,
    Contender::PROBABILISTIC_PT,
    Contender::PROBABILISTIC_THIRDS,
    Contender::PROBABILISTIC_HALVES,
];
const SHOWN: &[Contender] = &[
    Contender::THIRD,
    Contender::PROBABILISTIC_PA,
    Contender::PROBABILISTIC_PI,
    Contender::PROBABILISTIC_PT,
    Contender::PROBABILISTIC_THIRDS,
    Contender::PROBABILISTIC_HALVES,
];

const fn view(
    figure: &'static str,
    title: &'static str,
    what: What,
    contenders: &'static [Contender],
) -> View {
    View { figure, title, what, setting: SETTING, contenders, reference: Contender::THIRD }
}

const VIEWS: [View; 4] = [
    view(
        "fig3.15",
        "Weighed by error, chance narrows the spread; weighed by time it does not",
        What::Spread,
        SHOWN,
    ),
    view("fig3.16", "Every probabilistic case has a higher mean than 1/3 base", What::Mean, SHOWN),
    view("fig3.17", "What each player pays in the five cases", What::Receivers, SHOWN),
    view(
        "fig3.18",
        "Chance alone costs everybody: as many vectors, at irregular times",
        What::Receivers,
        &[Contender::BASE, Contender::THIRD, Contender::CHANCE, Contender::Coarser],
    ),
];

const ELSEWHERE: Elsewhere = Elsewhere {
    figure: "probabilistic-elsewhere",
    title: "The probabilistic algorithm beyond the thesis, and base with as many vectors",
    contenders: &[Contender::PROBABILISTIC_PA, Contender::PROBABILISTIC_PI, Contender::Coarser],
    reference: Contender::THIRD,
};

/// Thresholds in hundredths, at one and the same number of vectors sent.
const THRESHOLDS: [u16; 5] = [2, 5, 9, 20, 40];

/// What the figures are made of.
pub(super) fn cells() -> Vec<Cell> {
    VIEWS.iter().flat_map(View::cells).chain(ELSEWHERE.cells()).collect()
}

/// What the figure about the threshold is made of.
pub(super) fn threshold_cells() -> Vec<Cell> {
    let settings = THRESHOLDS.map(Setting::Threshold);
    product(&settings, &[Contender::PROBABILISTIC_PA, Contender::DETERMINISTIC_PA])
}

/// Figures 3.15 to 3.18, and the same elsewhere.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &VIEWS, claims, Some(&ELSEWHERE))
}

fn claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let third = cells.of(SETTING, Contender::THIRD);
    match view.figure {
        "fig3.15" => spread_claims(cells, &third),
        "fig3.16" => mean_claims(cells, &third),
        "fig3.17" => receiver_claims(cells, &third),
        _ => chance_claims(cells, &third),
    }
}

/// The thesis' names of the cases.
fn name(contender: Contender) -> &'static str {
    match contender {
        Contender::PROBABILISTIC_PA => "PA",
        Contender::PROBABILISTIC_PI => "PI",
        Contender::PROBABILISTIC_PT => "PT",
        Contender::PROBABILISTIC_THIRDS => "equal mix",
        _ => "half PA, half PI",
    }
}

/// A figure of each case relative to 1/3 base, in words.
fn by_case(cells: &Cells, figure: impl Fn(&Measured<'_>) -> f64) -> String {
    let words = CASES.map(|case| format!("{} {:.2}", name(case), figure(&cells.of(SETTING, case))));
    words.join(", ")
}

fn spread_claims(cells: &Cells, third: &Measured<'_>) -> Vec<Claim> {
    let spread = |one: &Measured<'_>| one.spread_ratio(third).value;
    let of = |case| spread(&cells.of(SETTING, case));
    let words = by_case(cells, spread);
    let by_error = [
        Contender::PROBABILISTIC_PA,
        Contender::PROBABILISTIC_PI,
        Contender::PROBABILISTIC_HALVES,
        Contender::PROBABILISTIC_THIRDS,
    ]
    .into_iter()
    .all(|case| of(case) < 1.0);
    Claims::about(SOURCE, "fig3.15", "3.4.1.4.1.1")
        .say(
            "All five cases have a lower spread than 1/3 base.",
            format!(
                "spread relative to 1/3 base: {words}. Those that look at the error have; time alone has not"
            ),
            Verdict::read(CASES.into_iter().all(|case| of(case) < 1.0), by_error),
            Verdict::Differs,
        )
        .say(
            "The best of them weighs by instantaneous error (PI).",
            format!("spread relative to 1/3 base: {words}"),
            Verdict::of(CASES.into_iter().all(|case| of(Contender::PROBABILISTIC_PI) <= of(case))),
            Verdict::Holds,
        )
        .all()
}

fn mean_claims(cells: &Cells, third: &Measured<'_>) -> Vec<Claim> {
    let mean = |one: &Measured<'_>| one.mean_ratio(third).value;
    let words = by_case(cells, mean);
    Claims::about(SOURCE, "fig3.16", "3.4.1.4.1.2")
        .say(
            "All five cases have a higher mean than 1/3 base.",
            format!("mean relative to 1/3 base: {words}"),
            Verdict::of(CASES.into_iter().all(|case| mean(&cells.of(SETTING, case)) > 1.0)),
            Verdict::Holds,
        )
        .all()
}

fn receiver_claims(cells: &Cells, third: &Measured<'_>) -> Vec<Claim> {
    let change = |case| cells.of(SETTING, case).changes(third);
    let words = CASES.map(|case| format!("{} {}", name(case), in_words(&change(case))));
    let words = format!("far / middle / near relative to 1/3 base: {}", words.join(", "));
    let all = |holds: fn(&[f64]) -> bool| CASES.into_iter().all(|case| holds(&change(case)));
    Claims::about(SOURCE, "fig3.17", "3.4.1.4.1.3")
        .say(
            "In all five cases every player's error is higher than under 1/3 base.",
            words.clone(),
            Verdict::of(all(|change| change.iter().all(|one| *one > 1.0))),
            Verdict::Holds,
        )
        .say(
            "No probabilistic algorithm brings the highest error down.",
            format!("{words} (the farthest player's)"),
            Verdict::of(all(|change| change[0] >= 1.0)),
            Verdict::Holds,
        )
        .all()
}

fn chance_claims(cells: &Cells, third: &Measured<'_>) -> Vec<Claim> {
    let (chance, coarser, base) = (
        cells.of(SETTING, Contender::CHANCE),
        cells.of(SETTING, Contender::Coarser),
        cells.of(SETTING, Contender::BASE),
    );
    let changes = chance.changes(third);
    let sent = chance.sent_ratio(third);
    Claims::about(SOURCE, "fig3.18", "3.4.1.5")
        .say(
            "1/3 probabilistic sends as many vectors as 1/3 base, yet every player's error is higher.",
            format!("{sent} of its vectors (as many: within 5 %); far / middle / near {} of its error", in_words(&changes)),
            Verdict::of((sent.value - 1.0).abs() < 0.05 && changes.iter().all(|one| *one > 1.0)),
            Verdict::Holds,
        )
        .at("3.4.1.4")
        .say(
            "1/3 base stands for a base case with a coarser threshold.",
            format!(
                "base with a coarser threshold sends {} as many and has {} of its mean and {} of its spread; base itself, \
                 with three times as many, has {} of the mean (stands for it: the mean within 5 %)",
                coarser.sent_ratio(third),
                coarser.mean_ratio(third),
                coarser.spread_ratio(third),
                base.mean_ratio(third)
            ),
            Verdict::of((coarser.mean() / third.mean() - 1.0).abs() <= 0.05),
            Verdict::Fails,
        )
        .all()
}

/// Whether a lower threshold is better, at as many vectors.
pub(super) fn draw_threshold(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let at = |hundredths: u16, contender| cells.of(Setting::Threshold(hundredths), contender);
    let curve = |contender, figure: fn(&RunFigures) -> f64| Curve {
        name: Contender::label(contender),
        points: THRESHOLDS
            .iter()
            .map(|hundredths| {
                let values = at(*hundredths, contender).by_run(figure);
                Point { x: f64::from(*hundredths) / 100.0, y: mean(&values), spread: population_sd(&values) }
            })
            .collect(),
    };
    let plot = |label: &str, figure: fn(&RunFigures) -> f64| Plot {
        title: String::new(),
        x_label: "distance threshold (units)".to_owned(),
        y_label: label.to_owned(),
        drawing: Drawing::Curves(vec![
            curve(Contender::PROBABILISTIC_PA, figure),
            curve(Contender::DETERMINISTIC_PA, figure),
        ]),
    };
    let row = |hundredths: &u16| {
        let (pa, deterministic) =
            (at(*hundredths, Contender::PROBABILISTIC_PA), at(*hundredths, Contender::DETERMINISTIC_PA));
        let budget = cells.scenario(Setting::Threshold(*hundredths)).budget.per_trigger();
        let mut row = vec![format!("{:.2}", f64::from(*hundredths) / 100.0), format!("{budget:.2}")];
        for one in [pa, deterministic] {
            row.extend([one.spread(), one.mean(), one.sent()].map(|figure| format!("{figure:.0}")));
        }
        row
    };
    let head = [
        "threshold (units)",
        "budget",
        "prob.: spread (units·s)",
        "mean (units·s)",
        "sent",
        "det.: spread (units·s)",
        "mean (units·s)",
        "sent",
    ];
    vec![Figure {
        key: "banavar05/threshold".to_owned(),
        title: "At as many vectors, a lower threshold is not always better".to_owned(),
        caption: format!(
            "800 / 500 / 200 ms, each ±100 ms uniform, random motion, heartbeat 1 s, 100 s; budget such that as many DR \
             vectors are sent as with threshold 0.09 and one per trigger (equation 3.5); {}. Bands: one standard deviation over \
             them.",
            setup.seeds_in_words()
        ),
        plots: vec![
            plot("spread of accumulated error (units·s)", RunFigures::std_aee),
            plot("mean accumulated error (units·s)", RunFigures::mean_aee),
        ],
        columns: 2,
        table: Table { head: head.map(str::to_owned).to_vec(), rows: THRESHOLDS.iter().map(row).collect() },
        claims: threshold_claims(cells),
    }]
}

fn threshold_claims(cells: &Cells) -> Vec<Claim> {
    let figures = |contender, figure: fn(&Measured<'_>) -> f64| -> Vec<f64> {
        THRESHOLDS
            .iter()
            .map(|hundredths| figure(&cells.of(Setting::Threshold(*hundredths), contender)))
            .collect()
    };
    let rises = |figures: &[f64]| figures.windows(2).all(|pair| pair[0] <= 1.02 * pair[1]);
    let words =
        |figures: &[f64]| figures.iter().map(|figure| format!("{figure:.0}")).collect::<Vec<_>>().join(" / ");
    let (spread, mean) = (
        figures(Contender::DETERMINISTIC_PA, |one| one.spread()),
        figures(Contender::DETERMINISTIC_PA, |one| one.mean()),
    );
    Claims::about(SOURCE, "threshold", "3.4.1.1 and 3.5")
        .say(
            "The lower the threshold, the better.",
            format!(
                "deterministic budget at thresholds of 0.02 / 0.05 / 0.09 / 0.20 / 0.40, as many vectors: spread {}, mean {} \
                 units·s (better: neither is more than 2 % higher at the lower of two thresholds)",
                words(&spread),
                words(&mean)
            ),
            Verdict::of(rises(&spread) && rises(&mean)),
            Verdict::Fails,
        )
        .all()
}
