//! Figures 3.2 to 3.13: the scheduling algorithms against the base case.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::cells::{Cell, Cells, Contender, Measured, in_words};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::setting::{Setting, Variation};
use crate::papers::study::Setup;
use crate::papers::view::{Claims, View, What, draw_all};

const ONE: &[Contender] =
    &[Contender::BASE, Contender::SCHEDULING_1, Contender::SCHEDULING_1_ESTIMATE, Contender::CONSISTENT];
const TWO: &[Contender] =
    &[Contender::BASE, Contender::SCHEDULING_1, Contender::SCHEDULING_2, Contender::SCHEDULING_2_NEWEST];

const fn view(
    figure: &'static str,
    title: &'static str,
    what: What,
    variation: Variation,
    contenders: &'static [Contender],
) -> View {
    View { figure, title, what, setting: Setting::Papers(variation), contenders, reference: Contender::BASE }
}

/// The figures of the first algorithm.
const FIRST_VIEWS: [View; 9] = [
    view(
        "fig3.2",
        "Scheduling #1 leaves almost no difference between the players",
        What::Spread,
        Variation::None,
        ONE,
    ),
    view("fig3.3", "It does so when delays vary by 100 ms", What::Spread, Variation::Moderate, ONE),
    view("fig3.4", "And when they vary by 180 ms", What::Spread, Variation::High, ONE),
    view(
        "fig3.5",
        "Scheduling #1 makes the mean error three times as high",
        What::Mean,
        Variation::None,
        ONE,
    ),
    view("fig3.6", "The same when delays vary by 100 ms", What::Mean, Variation::Moderate, ONE),
    view("fig3.7", "The same when they vary by 180 ms", What::Mean, Variation::High, ONE),
    view(
        "fig3.8",
        "Under scheduling #1 everybody is worse off than the farthest player was",
        What::Receivers,
        Variation::None,
        ONE,
    ),
    view("fig3.9", "Everybody's error when delays vary by 100 ms", What::Receivers, Variation::Moderate, ONE),
    view("fig3.10", "Everybody's error when they vary by 180 ms", What::Receivers, Variation::High, ONE),
];

/// The figures of the second.
const SECOND_VIEWS: [View; 3] = [
    view("fig3.11", "Scheduling #2 narrows the spread a little", What::Spread, Variation::None, TWO),
    view("fig3.12", "Scheduling #2 raises the mean a little", What::Mean, Variation::None, TWO),
    view(
        "fig3.13",
        "Under scheduling #2 the near players pay, and the far one gains nothing",
        What::Receivers,
        Variation::None,
        TWO,
    ),
];

const FIRST_ELSEWHERE: Elsewhere = Elsewhere {
    figure: "scheduling-1-elsewhere",
    title: "Scheduling #1 beyond the thesis",
    contenders: &[Contender::SCHEDULING_1, Contender::CONSISTENT],
    reference: Contender::BASE,
};

const SECOND_ELSEWHERE: Elsewhere = Elsewhere {
    figure: "scheduling-2-elsewhere",
    title: "Scheduling #2 beyond the thesis",
    contenders: &[Contender::SCHEDULING_2],
    reference: Contender::BASE,
};

/// What the first algorithm's figures are made of.
pub(super) fn first_cells() -> Vec<Cell> {
    FIRST_VIEWS.iter().flat_map(View::cells).chain(FIRST_ELSEWHERE.cells()).collect()
}

/// What the second's are made of.
pub(super) fn second_cells() -> Vec<Cell> {
    SECOND_VIEWS.iter().flat_map(View::cells).chain(SECOND_ELSEWHERE.cells()).collect()
}

/// Figures 3.2 to 3.10, and the same elsewhere.
pub(super) fn draw_first(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &FIRST_VIEWS, first_claims, Some(&FIRST_ELSEWHERE))
}

/// Figures 3.11 to 3.13, and the same elsewhere.
pub(super) fn draw_second(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &SECOND_VIEWS, second_claims, Some(&SECOND_ELSEWHERE))
}

fn first_claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, first, consistent) =
        (of(Contender::BASE), of(Contender::SCHEDULING_1), of(Contender::CONSISTENT));
    match view.what {
        What::Spread => first_spread(view, &base, &first),
        What::Mean => first_mean(view, &base, &first, &of(Contender::SCHEDULING_1_ESTIMATE), &consistent),
        _ => first_receivers(view, &base, &first, &consistent),
    }
}

fn first_spread(view: &View, base: &Measured<'_>, first: &Measured<'_>) -> Vec<Claim> {
    let spread = first.spread_ratio(base);
    Claims::about(SOURCE, view.figure, "3.3.3.1")
        .say(
            "The spread under scheduling #1 is much lower than under base.",
            format!("{:.3} of base's (much lower: below half)", spread.value),
            Verdict::of(spread.value < 0.5),
            Verdict::Holds,
        )
        .all()
}

fn first_mean(
    view: &View,
    base: &Measured<'_>,
    first: &Measured<'_>,
    estimate: &Measured<'_>,
    consistent: &Measured<'_>,
) -> Vec<Claim> {
    let (printed, estimated) = (first.mean_ratio(base), estimate.mean_ratio(base));
    let claims = Claims::about(SOURCE, view.figure, "3.3.3.1").say(
        "The mean error under scheduling #1 increases multi-fold against base.",
        format!("{printed} times base's, {estimated} with the delay estimate (multi-fold: at least 2)"),
        Verdict::of(printed.value >= 2.0),
        Verdict::Holds,
    );
    if view.setting != Setting::Papers(Variation::None) {
        return claims.all();
    }
    // The rate at which the error grows, in the last third of the run against the first.
    let rate = |one: &Measured<'_>| (one.mean_at(1.0) - one.mean_at(2.0 / 3.0)) / one.mean_at(1.0 / 3.0);
    let (rate_base, rate_first) = (rate(base), rate(first));
    let gap = |part: f64| first.mean_at(part) - base.mean_at(part);
    let highest = consistent.receivers().into_iter().fold(0.0, f64::max) / base.receiver(0);
    claims
        .at("3.3.3.2 and 3.3.4")
        .say(
            "Because of hysteresis the error under scheduling #1 increases without bound, and so does its rate.",
            format!(
                "the last third of the run adds {rate_first:.2} times what the first adds; under base {rate_base:.2}. The gap to base is \
                 {:.0} units·s after half of the run and {:.0} after all of it: it grows without bound, but at a steady rate (a rate \
                 that grows: 1.2 times base's)",
                gap(0.5),
                gap(1.0)
            ),
            Verdict::read(rate_first >= 1.2 * rate_base, gap(1.0) > 1.5 * gap(0.5)),
            Verdict::Differs,
        )
        .at("3.5")
        .say(
            "Scheduling suffers from an increase of the mean error.",
            format!(
                "{printed} times base's. Counted to the arrival of what is in flight (netgames05-consistent, not in the thesis) {} times, \
                 and nobody's error is above {highest:.2} of base's highest",
                consistent.mean_ratio(base)
            ),
            Verdict::of(printed.value > 1.0 && consistent.mean_ratio(base).value > 1.0),
            Verdict::Holds,
        )
        .all()
}

fn first_receivers(
    view: &View,
    base: &Measured<'_>,
    first: &Measured<'_>,
    consistent: &Measured<'_>,
) -> Vec<Claim> {
    let changes = first.changes(base);
    let highest = base.receivers().into_iter().fold(0.0, f64::max);
    let least = first.receivers().into_iter().fold(f64::INFINITY, f64::min);
    let claims = Claims::about(SOURCE, view.figure, "3.3.3.1")
        .say(
            "Every player's error is greater under scheduling #1 than under base.",
            format!("far / middle / near: {} times base's", in_words(&changes)),
            Verdict::of(changes.iter().all(|one| *one > 1.0)),
            Verdict::Holds,
        )
        .say(
            "Under scheduling #1 everybody's error is much greater than the highest one under base.",
            format!(
                "the least is {:.2} of base's highest (much greater: at least 1.2); counted consistently it is {:.2}",
                least / highest,
                consistent.receivers().into_iter().fold(f64::INFINITY, f64::min) / highest
            ),
            Verdict::of(least >= 1.2 * highest),
            Verdict::Holds,
        );
    if view.setting != Setting::Papers(Variation::None) {
        return claims.all();
    }
    let sent = first.sent_ratio(base);
    claims
        .at("3.3.3.2")
        .say(
            "Scheduling #1 sends fewer DR vectors in all.",
            format!("{sent} of base's"),
            Verdict::of(sent.value < 1.0),
            Verdict::Holds,
        )
        .all()
}

fn second_claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, first, second) =
        (of(Contender::BASE), of(Contender::SCHEDULING_1), of(Contender::SCHEDULING_2));
    let claims = Claims::about(SOURCE, view.figure, "3.3.4.2");
    let (spread, mean) = (second.spread_ratio(&base), second.mean_ratio(&base));
    match view.what {
        What::Spread => claims
            .say(
                "The spread under scheduling #2 is lower than under base.",
                format!("{spread} of base's"),
                Verdict::of(spread.value < 1.0),
                Verdict::Holds,
            )
            .at("3.3.4.3")
            .say(
                "Errors draw together far more slowly than under scheduling #1.",
                format!(
                    "spread {spread} of base's, under #1 {:.3} (far more slowly: at least twice the spread)",
                    first.spread_ratio(&base).value
                ),
                Verdict::of(second.spread() > 2.0 * first.spread()),
                Verdict::Holds,
            )
            .all(),
        What::Mean => claims
            .say(
                "Scheduling #2 increases the mean moderately.",
                format!("{mean} of base's (moderate: above 1, below 2)"),
                Verdict::of(mean.value > 1.0 && mean.value < 2.0),
                Verdict::Holds,
            )
            .say(
                "Its increase is smaller than that of scheduling #1.",
                format!("{mean} of base's, under #1 {}", first.mean_ratio(&base)),
                Verdict::of(second.mean() < first.mean()),
                Verdict::Holds,
            )
            .all(),
        _ => second_receivers(claims, &base, &second),
    }
}

fn second_receivers(claims: Claims, base: &Measured<'_>, second: &Measured<'_>) -> Vec<Claim> {
    let changes = second.changes(base);
    let words = format!("far / middle / near: {} of base's", in_words(&changes));
    claims
        .say(
            "Under scheduling #2 the farthest player does as well as under base.",
            format!("{words} (as well: within 10 %)"),
            Verdict::of((changes[0] - 1.0).abs() <= 0.1),
            Verdict::Holds,
        )
        .say(
            "Under scheduling #2 the other players have more error than under base.",
            words,
            Verdict::of(changes[1] > 1.0 && changes[2] > 1.0),
            Verdict::Holds,
        )
        .all()
}
