//! Figures 3.19 to 3.27: the deterministic budget algorithm and the base cases, and both budget algorithms with
//! varying delays.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::bars::{MUCH, SAME};
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio, product, ratios_in_words};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::judgement::{Judgement, Test};
use crate::papers::setting::{ExperimentSetting, Variation};
use crate::papers::study::Setup;
use crate::papers::summary;
use crate::papers::view::{Claims, Quantity, View, draw_all};

const FIXED: ExperimentSetting = ExperimentSetting::Papers(Variation::None);
const ALONE: &[Contender] =
    &[Contender::BASE, Contender::THIRD, Contender::DETERMINISTIC_PA, Contender::COARSER];
const WITH_CHANCE: &[Contender] = &[
    Contender::BASE,
    Contender::THIRD,
    Contender::PROBABILISTIC_PA,
    Contender::DETERMINISTIC_PA,
    Contender::COARSER,
];

const fn view(
    figure: &'static str,
    title: &'static str,
    what: Quantity,
    variation: Variation,
    contenders: &'static [Contender],
) -> View {
    let claims = match variation {
        Variation::None => fixed_claims,
        Variation::Moderate | Variation::High => variable_claims,
    };
    View::papers((figure, title), what, variation, contenders, Contender::THIRD, claims)
}

/// The figures with fixed delays.
const FIXED_VIEWS: [View; 3] = [
    view(
        "fig3.19",
        "The deterministic budget algorithm spreads the error more evenly than either base case",
        Quantity::Spread,
        Variation::None,
        ALONE,
    ),
    view(
        "fig3.20",
        "The deterministic budget algorithm keeps the mean error close to 1/3 base's",
        Quantity::Mean,
        Variation::None,
        ALONE,
    ),
    view(
        "fig3.21",
        "Under the deterministic budget algorithm the far player's error falls, and the near player's rises",
        Quantity::Receivers,
        Variation::None,
        ALONE,
    ),
];

/// The figures with varying delays.
const VARIABLE_VIEWS: [View; 6] = [
    view(
        "fig3.22",
        "Both budget algorithms narrow the spread when delays vary by 100 ms",
        Quantity::Spread,
        Variation::Moderate,
        WITH_CHANCE,
    ),
    view(
        "fig3.23",
        "Both budget algorithms narrow the spread when delays vary by 180 ms",
        Quantity::Spread,
        Variation::High,
        WITH_CHANCE,
    ),
    view(
        "fig3.24",
        "Only the deterministic algorithm keeps the mean when delays vary by 100 ms",
        Quantity::Mean,
        Variation::Moderate,
        WITH_CHANCE,
    ),
    view(
        "fig3.25",
        "Only the deterministic algorithm keeps the mean when delays vary by 180 ms",
        Quantity::Mean,
        Variation::High,
        WITH_CHANCE,
    ),
    view(
        "fig3.26",
        "What each player pays when delays vary by 100 ms",
        Quantity::Receivers,
        Variation::Moderate,
        WITH_CHANCE,
    ),
    view(
        "fig3.27",
        "What each player pays when delays vary by 180 ms",
        Quantity::Receivers,
        Variation::High,
        WITH_CHANCE,
    ),
];

const ELSEWHERE: Elsewhere = Elsewhere {
    figure: "deterministic-elsewhere",
    title: "The deterministic algorithm and base with as many vectors, beyond the thesis",
    contenders: &[Contender::DETERMINISTIC_PA, Contender::COARSER],
    reference: Contender::THIRD,
    note: "The budget is a third of the players at each trigger.",
};

/// Returns the cells of figures 3.19 to 3.21.
pub(super) fn fixed_cells() -> Vec<Cell> {
    let views = FIXED_VIEWS.iter().flat_map(View::cells);
    views
        .chain(product(
            &[FIXED],
            &[Contender::DETERMINISTIC_PI, Contender::DETERMINISTIC_PT, Contender::DETERMINISTIC_THIRDS],
        ))
        .chain(ELSEWHERE.cells())
        .collect()
}

/// Returns the cells of figures 3.22 to 3.27, and of the table of all policies in the same setting.
pub(super) fn variable_cells() -> Vec<Cell> {
    VARIABLE_VIEWS.iter().flat_map(View::cells).chain(summary::needed()).collect()
}

/// Draws figures 3.19 to 3.21, and the figure of the settings beyond the thesis.
pub(super) fn draw_fixed(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &FIXED_VIEWS, Some(&ELSEWHERE))
}

/// Draws figures 3.22 to 3.27.
pub(super) fn draw_variable(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &VARIABLE_VIEWS, None)
}

fn fixed_claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(FIXED, contender);
    let (base, third, pa) = (of(Contender::BASE), of(Contender::THIRD), of(Contender::DETERMINISTIC_PA));
    let claims = Claims::about(SOURCE, view.figure, "3.4.2.2");
    match view.what {
        Quantity::Spread => {
            let (to_base, to_third) = (pa.spread_ratio(&base), pa.spread_ratio(&third));
            let claims = claims.add(
                "The spread under the deterministic algorithm is lower than under base and under 1/3 base.",
                format!(
                    "spread after 300 s: {:.0} units·s, {to_base} of base's, {to_third} of 1/3 base's",
                    pa.spread()
                ),
                Test::below(to_base, 1.0).and(Test::below(to_third, 1.0)),
                Verdict::Holds,
            );
            let others =
                [Contender::DETERMINISTIC_PI, Contender::DETERMINISTIC_PT, Contender::DETERMINISTIC_THIRDS];
            let claims = add_best(claims, &pa, &others.map(of), &third);
            add_considerably(claims, to_base, to_third, pa.spread_ratio(&of(Contender::COARSER))).all()
        }
        Quantity::Mean => add_same_mean(claims, pa.mean_ratio(&third)).all(),
        _ => shared(claims, &pa, &third).all(),
    }
}

/// Adds the abstract's claim about the game with the deterministic algorithm.
fn add_considerably(claims: Claims, to_base: Ratio, to_third: Ratio, to_coarser: Ratio) -> Claims {
    claims.at("abstract").add(
        "The deterministic algorithm is considerably fairer than the base case.",
        format!(
            "spread {to_base} of base's, {to_third} of 1/3 base's and {to_coarser} of base's with a coarser threshold (considerably: at \
             most half)"
        ),
        Judgement::read(Test::below(to_base, 1.0 / MUCH), Test::below(to_third, 1.0 / MUCH)),
        Verdict::Fails,
    )
}

/// Adds the claim that the deterministic algorithm keeps 1/3 base's mean.
fn add_same_mean(claims: Claims, ratio: Ratio) -> Claims {
    claims.add(
        "The mean under the deterministic algorithm is almost the same as under 1/3 base.",
        format!("{ratio} of it (almost the same: within {:.0} %)", 100.0 * SAME),
        Test::same(ratio, SAME),
        Verdict::Holds,
    )
}

/// Adds the claim that of all weights accumulated error alone is the best.
fn add_best(
    claims: Claims,
    pa: &ContenderRuns<'_>,
    others: &[ContenderRuns<'_>; 3],
    third: &ContenderRuns<'_>,
) -> Claims {
    let keeps_mean = |one: &ContenderRuns<'_>| Test::below(one.mean_ratio(third), 1.0 + SAME);
    let is_better = |other: &ContenderRuns<'_>| Test::below(pa.spread_ratio(other), 1.0);
    let best = Test::all(others.iter().map(is_better));
    // Better than each of the others, unless that one does not keep the mean.
    let best_with_mean =
        Test::all(others.iter().map(|other| Test::any([is_better(other), !keeps_mean(other)])));
    let pair = |one: &ContenderRuns<'_>| ratios_in_words(&[one.spread_ratio(third), one.mean_ratio(third)]);
    let [pi, pt, thirds] = others.each_ref().map(pair);
    claims.add(
        "Of all weights, accumulated export error alone performs best.",
        format!(
            "spread / mean relative to 1/3 base: PA {}, PI {pi}, PT {pt}, equal mix {thirds}. PI has a lower spread at a much higher \
             mean, so it holds only among those that keep the mean within {:.0} % (PI with waits bounded to four times those of equal \
             shares; as printed, without a bound, it starves receivers)",
            pair(pa),
            100.0 * SAME
        ),
        Judgement::read(best, keeps_mean(pa).and(best_with_mean)),
        Verdict::Differs,
    )
}

/// Adds the claims that some players gain, some pay, and the highest error falls.
fn shared(claims: Claims, pa: &ContenderRuns<'_>, third: &ContenderRuns<'_>) -> Claims {
    let change = pa.changes(third);
    let words = format!("far / middle / near: {} of 1/3 base", ratios_in_words(&change));
    let falls = Test::any(change.iter().map(|one| Test::below(*one, 1.0)));
    let rises = Test::any(change.iter().map(|one| Test::above(*one, 1.0)));
    claims
        .add(
            "Compared with 1/3 base, at least one player's error falls and at least one player's rises.",
            words.clone(),
            falls.and(rises),
            Verdict::Holds,
        )
        .add("The highest error is reduced.", words, Test::below(change[0], 1.0), Verdict::Holds)
}

fn variable_claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (third, chance, pa, coarser) = (
        of(Contender::THIRD),
        of(Contender::PROBABILISTIC_PA),
        of(Contender::DETERMINISTIC_PA),
        of(Contender::COARSER),
    );
    let claims = Claims::about(SOURCE, view.figure, "3.4.3");
    match view.what {
        Quantity::Spread => {
            let (by_chance, by_schedule) = (chance.spread_ratio(&third), pa.spread_ratio(&third));
            claims
                .add(
                    "The spread under the deterministic algorithm is lower than under 1/3 base.",
                    format!("{by_schedule} of it"),
                    Test::below(by_schedule, 1.0),
                    Verdict::Holds,
                )
                .add(
                    "The spread under the probabilistic algorithm is lower than under 1/3 base.",
                    format!("{by_chance} of it, weighted by accumulated error"),
                    Test::below(by_chance, 1.0),
                    Verdict::Holds,
                )
                .all()
        }
        Quantity::Mean => {
            let by_chance = chance.mean_ratio(&third);
            let claims = claims.add(
                "The mean under the probabilistic algorithm is higher than under 1/3 base.",
                format!("{by_chance} of it"),
                Test::above(by_chance, 1.0),
                Verdict::Holds,
            );
            add_same_mean(claims, pa.mean_ratio(&third)).all()
        }
        _ => variable_receivers(claims, &pa, &third, &coarser),
    }
}

fn variable_receivers(
    claims: Claims,
    pa: &ContenderRuns<'_>,
    third: &ContenderRuns<'_>,
    coarser: &ContenderRuns<'_>,
) -> Vec<Claim> {
    let change = pa.changes(third);
    let (spread, mean) = (pa.spread_ratio(third), pa.mean_ratio(third));
    // A player's distance from the mean, relative to that under 1/3 base.
    let nearer: Vec<Ratio> = (0..change.len())
        .map(|receiver| pa.ratio(third, |run| run.receivers[receiver].aee - run.mean_aee()).magnitude())
        .collect();
    claims
        .add(
            "Compared with 1/3 base, fairness is higher at the same mean.",
            format!(
                "spread {spread}, mean {mean} of 1/3 base's (the same: within {:.0} %). Relative to base with a coarser threshold, which \
                 sends {} of 1/3 base's vectors: spread {}, mean {}",
                100.0 * SAME,
                coarser.sent_ratio(third),
                pa.spread_ratio(coarser),
                pa.mean_ratio(coarser)
            ),
            Test::below(spread, 1.0).and(Test::same(mean, SAME)),
            Verdict::Holds,
        )
        .at("3.5")
        .add(
            "Receivers with higher errors do better than under 1/3 base.",
            format!("far / middle / near: {} of 1/3 base", ratios_in_words(&change)),
            Test::below(change[0], 1.0),
            Verdict::Holds,
        )
        .add(
            "Every receiver's error is pushed towards the mean.",
            format!(
                "far / middle / near: {} of the distance from the mean under 1/3 base",
                ratios_in_words(&nearer)
            ),
            Test::all(nearer.iter().map(|one| Test::below(*one, 1.0))),
            Verdict::Holds,
        )
        .all()
}
