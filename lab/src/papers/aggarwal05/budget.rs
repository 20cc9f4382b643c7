//! Figures 5 and 6: the budget algorithms beside scheduling and the base cases, when delays vary.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::cells::{Cell, Cells, Contender, Measured};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::setting::{Setting, Variation};
use crate::papers::study::Setup;
use crate::papers::view::{Claims, View, What, draw_all};

const ALL: &[Contender] = &[
    Contender::BASE,
    Contender::THIRD,
    Contender::NETGAMES05,
    Contender::PROBABILISTIC_ONE,
    Contender::DETERMINISTIC_PA,
    Contender::Coarser,
];

const VIEWS: [View; 2] = [
    View {
        figure: "fig5",
        title: "The deterministic budget is fairer than 1/3 base at its mean; chance is not as cheap as said",
        what: What::Both,
        setting: Setting::Papers(Variation::Moderate),
        contenders: ALL,
        reference: Contender::THIRD,
    },
    View {
        figure: "fig6",
        title: "The same with delays that vary by 180 ms",
        what: What::Both,
        setting: Setting::Papers(Variation::High),
        contenders: ALL,
        reference: Contender::THIRD,
    },
];

const ELSEWHERE: Elsewhere = Elsewhere {
    figure: "budget-elsewhere",
    title: "The budget algorithms beyond the paper, and base with as many vectors",
    contenders: &[Contender::PROBABILISTIC_ONE, Contender::DETERMINISTIC_PA, Contender::Coarser],
    reference: Contender::THIRD,
};

/// What the figures are made of.
pub(super) fn cells() -> Vec<Cell> {
    VIEWS.iter().flat_map(View::cells).chain(ELSEWHERE.cells()).collect()
}

/// Figures 5 and 6, and the same elsewhere.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &VIEWS, claims, Some(&ELSEWHERE))
}

fn claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, third, chance, schedule) = (
        of(Contender::BASE),
        of(Contender::THIRD),
        of(Contender::PROBABILISTIC_ONE),
        of(Contender::DETERMINISTIC_PA),
    );
    let (spread_chance, mean_chance) = (chance.spread_ratio(&third), chance.mean_ratio(&third));
    let (spread, mean) = (schedule.spread_ratio(&third), schedule.mean_ratio(&third));
    let claims = Claims::about(SOURCE, view.figure, "5.1 and 5.2")
        .say(
            "The spread under the probabilistic scheme is less than under 1/3 base.",
            format!("{spread_chance} of it"),
            Verdict::of(spread_chance.value < 1.0),
            Verdict::Holds,
        )
        .say(
            "The mean under the probabilistic scheme is a little higher than under 1/3 base.",
            format!("{mean_chance} of it (a little: at most 1.25)"),
            Verdict::of(mean_chance.value > 1.0 && mean_chance.value <= 1.25),
            Verdict::Fails,
        )
        .say(
            "The spread under the deterministic scheme is less than under 1/3 base.",
            format!("{spread} of it"),
            Verdict::of(spread.value < 1.0),
            Verdict::Holds,
        )
        .say(
            "The mean under the deterministic scheme is the same as under 1/3 base.",
            format!("{mean} of it (the same: within 10 %)"),
            Verdict::of((mean.value - 1.0).abs() <= 0.1),
            Verdict::Holds,
        )
        .say(
            "The deterministic scheme's mean is less than the probabilistic one's.",
            format!("{mean} against {mean_chance} of 1/3 base's"),
            Verdict::of(mean.value < mean_chance.value),
            Verdict::Holds,
        );
    // Of more variation the paper draws no conclusion.
    let claims = if view.setting == Setting::Papers(Variation::Moderate) {
        claims.say(
            "When delays vary little, the deterministic scheme's spread is the lower of the two.",
            format!("{spread} against {spread_chance} of 1/3 base's"),
            Verdict::of(spread.value < spread_chance.value),
            Verdict::Fails,
        )
    } else {
        claims
    };
    against_base(claims, &base, &third, &schedule)
}

/// What is said of the deterministic scheme and the base case itself.
fn against_base(
    claims: Claims,
    base: &Measured<'_>,
    third: &Measured<'_>,
    schedule: &Measured<'_>,
) -> Vec<Claim> {
    let worst = |to: &Measured<'_>| schedule.receiver(0) / to.receiver(0);
    let as_accurate = |to: &Measured<'_>| (schedule.mean() / to.mean() - 1.0).abs() <= 0.1;
    claims
        .at("6")
        .say(
            "The deterministic scheme does not increase the worst player's error against the base case.",
            format!(
                "{:.2} of base's, {:.2} of 1/3 base's: it holds only against the latter",
                worst(base),
                worst(third)
            ),
            Verdict::read(worst(base) <= 1.0, worst(third) <= 1.0),
            Verdict::Differs,
        )
        .at("abstract, 1 and 6")
        .say(
            "The budget algorithm is as accurate as the base case with much fewer vectors.",
            format!(
                "mean {} of base's with {} of its vectors (as accurate: within 10 %); it is as accurate as 1/3 base, which sends as many",
                schedule.mean_ratio(base),
                schedule.sent_ratio(base)
            ),
            Verdict::read(as_accurate(base), as_accurate(third)),
            Verdict::Differs,
        )
        .all()
}
