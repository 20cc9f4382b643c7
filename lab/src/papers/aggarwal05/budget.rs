//! Figures 5 and 6: the budget algorithms beside scheduling and the base cases, when delays vary.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::dr::RunFigures;
use crate::figure::Figure;
use crate::papers::cells::{Cell, Cells, Contender, Measured, Ratio, product};
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
    Contender::COARSER,
];

const FIXED: Setting = Setting::Papers(Variation::None);

const VIEWS: [View; 2] = [
    View {
        figure: "fig5",
        title: "The deterministic budget is fairer than 1/3 base at its mean; chance is not as cheap as said",
        what: What::Both,
        setting: Setting::Papers(Variation::Moderate),
        contenders: ALL,
        reference: Contender::THIRD,
        claims,
    },
    View {
        figure: "fig6",
        title: "The same with delays that vary by 180 ms",
        what: What::Both,
        setting: Setting::Papers(Variation::High),
        contenders: ALL,
        reference: Contender::THIRD,
        claims,
    },
];

const ELSEWHERE: Elsewhere = Elsewhere {
    figure: "budget-elsewhere",
    title: "The budget algorithms beyond the paper, and base with as many vectors",
    contenders: &[Contender::PROBABILISTIC_ONE, Contender::DETERMINISTIC_PA, Contender::COARSER],
    reference: Contender::THIRD,
};

/// What the figures are made of.
pub(super) fn cells() -> Vec<Cell> {
    let fixed =
        product(&[FIXED], &[Contender::THIRD, Contender::PROBABILISTIC_ONE, Contender::DETERMINISTIC_PA]);
    VIEWS.iter().flat_map(View::cells).chain(fixed).chain(ELSEWHERE.cells()).collect()
}

/// Figures 5 and 6, and the same elsewhere.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &VIEWS, Some(&ELSEWHERE))
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
    let always = schedule.lower(&chance, RunFigures::mean_aee);
    let claims = Claims::about(SOURCE, view.figure, "5.1 and 5.2")
        .say(
            "The spread under the probabilistic scheme is less than under 1/3 base.",
            format!("{spread_chance} of it"),
            Verdict::of(spread_chance.value < 1.0),
            Verdict::Holds,
        )
        .judged_by(&[(spread_chance, 1.0)])
        .say(
            "The mean under the probabilistic scheme is a little higher than under 1/3 base.",
            format!("{mean_chance} of it (a little: at most 1.25)"),
            Verdict::of(mean_chance.value > 1.0 && mean_chance.value <= 1.25),
            Verdict::Fails,
        )
        .judged_by(&[(mean_chance, 1.0), (mean_chance, 1.25)])
        .say(
            "The spread under the deterministic scheme is less than under 1/3 base.",
            format!("{spread} of it"),
            Verdict::of(spread.value < 1.0),
            Verdict::Holds,
        )
        .judged_by(&[(spread, 1.0)])
        .say(
            "The mean under the deterministic scheme is the same as under 1/3 base.",
            format!("{mean} of it (the same: within 10 %)"),
            Verdict::of((mean.value - 1.0).abs() <= 0.1),
            Verdict::Holds,
        )
        .judged_by(&[(mean, 0.9), (mean, 1.1)])
        .say(
            "The deterministic scheme's mean is always less than the probabilistic one's.",
            format!(
                "{mean} against {mean_chance} of 1/3 base's; less with {always} of {} seeds",
                schedule.runs.len()
            ),
            Verdict::of(always == schedule.runs.len()),
            Verdict::Holds,
        );
    let claims = match view.setting {
        Setting::Papers(Variation::High) => sometimes_better(claims, &schedule, &chance, &third),
        _ => say_lower(claims, cells, view.setting),
    };
    against_base(claims, &base, &third, &schedule)
}

/// The spreads of both schemes, relative to 1/3 base and to each other.
fn spreads(schedule: &Measured<'_>, chance: &Measured<'_>, third: &Measured<'_>) -> (String, Ratio) {
    let better = chance.lower(schedule, RunFigures::std_aee);
    let words = format!(
        "{} against {} of 1/3 base's; the probabilistic one's is lower with {better} of {} seeds",
        schedule.spread_ratio(third),
        chance.spread_ratio(third),
        chance.runs.len()
    );
    (words, schedule.spread_ratio(chance))
}

/// What is said of fixed delays and of those that vary little.
fn say_lower(mut claims: Claims, cells: &Cells, little: Setting) -> Claims {
    for (when, setting) in [("When delays vary little", little), ("When delays are fixed", FIXED)] {
        let of = |contender| cells.of(setting, contender);
        let (words, ratio) = spreads(
            &of(Contender::DETERMINISTIC_PA),
            &of(Contender::PROBABILISTIC_ONE),
            &of(Contender::THIRD),
        );
        let statement =
            format!("{when}, the deterministic scheme's spread is generally the lower of the two.");
        let verdict = Verdict::of(ratio.value < 1.0);
        claims = claims.say(&statement, words, verdict, Verdict::Fails).judged_by(&[(ratio, 1.0)]);
    }
    claims
}

/// What is said of more variation.
fn sometimes_better(
    claims: Claims,
    schedule: &Measured<'_>,
    chance: &Measured<'_>,
    third: &Measured<'_>,
) -> Claims {
    let (words, _) = spreads(schedule, chance, third);
    claims.say(
        "When delays vary more, the probabilistic scheme's spread is sometimes the lower one.",
        words,
        Verdict::of(chance.lower(schedule, RunFigures::std_aee) > 0),
        Verdict::Holds,
    )
}

/// What is said of the deterministic scheme and the base case itself.
fn against_base(
    claims: Claims,
    base: &Measured<'_>,
    third: &Measured<'_>,
    schedule: &Measured<'_>,
) -> Vec<Claim> {
    let worst = |to: &Measured<'_>| schedule.changes(to)[0];
    let as_accurate = |to: &Measured<'_>| (schedule.mean() / to.mean() - 1.0).abs() <= 0.1;
    claims
        .at("6")
        .say(
            "The deterministic scheme does not increase the worst player's error against the base case.",
            format!(
                "{} of base's, {} of 1/3 base's: it holds only against the latter",
                worst(base),
                worst(third)
            ),
            Verdict::read(worst(base).value <= 1.0, worst(third).value <= 1.0),
            Verdict::Differs,
        )
        .judged_by(&[(worst(base), 1.0), (worst(third), 1.0)])
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
