//! Figures 3.15 to 3.18: the probabilistic budget algorithm in its five cases, compared with 1/3 base.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::bars::{MOST, SAME};
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio, product, ratios_in_words};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::judgement::{Judgement, Test};
use crate::papers::setting::{ExperimentSetting, Variation};
use crate::papers::study::Setup;
use crate::papers::view::{Claims, Quantity, View, draw_all};

const SETTING: ExperimentSetting = ExperimentSetting::Papers(Variation::None);
/// Cases 1 to 5 of the thesis.
const CASES: [Contender; 5] = [
    Contender::PROBABILISTIC_PA,
    Contender::PROBABILISTIC_PI,
    Contender::PROBABILISTIC_PT,
    Contender::PROBABILISTIC_THIRDS,
    Contender::PROBABILISTIC_HALVES,
];
/// Pairs of contenders with the same weights, by chance and in turns.
const IN_TURNS: [(Contender, Contender); 4] = [
    (Contender::PROBABILISTIC_PA, Contender::DETERMINISTIC_PA),
    (Contender::PROBABILISTIC_PI, Contender::DETERMINISTIC_PI),
    (Contender::PROBABILISTIC_PT, Contender::DETERMINISTIC_PT),
    (Contender::PROBABILISTIC_THIRDS, Contender::DETERMINISTIC_THIRDS),
];
const SHOWN: &[Contender] = &[
    Contender::THIRD,
    Contender::PROBABILISTIC_PA,
    Contender::PROBABILISTIC_PI,
    Contender::PROBABILISTIC_PT,
    Contender::PROBABILISTIC_THIRDS,
    Contender::PROBABILISTIC_HALVES,
    Contender::COARSER,
];

const fn view(
    figure: &'static str,
    title: &'static str,
    what: Quantity,
    contenders: &'static [Contender],
    claims: fn(&View, &Cells) -> Vec<Claim>,
) -> View {
    View::papers((figure, title), what, Variation::None, contenders, Contender::THIRD, claims)
}

const VIEWS: [View; 4] = [
    view(
        "fig3.15",
        "Weighted by error, chance narrows the spread; weighted by time, it does not",
        Quantity::Spread,
        SHOWN,
        spread_claims,
    ),
    view(
        "fig3.16",
        "Every probabilistic case has a higher mean than 1/3 base",
        Quantity::Mean,
        SHOWN,
        mean_claims,
    ),
    view("fig3.17", "What each player pays in the five cases", Quantity::Receivers, SHOWN, receiver_claims),
    view(
        "fig3.18",
        "Chance alone costs every player: as many vectors, at irregular times",
        Quantity::Receivers,
        &[Contender::BASE, Contender::THIRD, Contender::CHANCE, Contender::COARSER],
        chance_claims,
    ),
];

const ELSEWHERE: Elsewhere = Elsewhere {
    figure: "probabilistic-elsewhere",
    title: "The probabilistic algorithm and base with as many vectors, beyond the thesis",
    contenders: &[Contender::PROBABILISTIC_PA, Contender::PROBABILISTIC_PI, Contender::COARSER],
    reference: Contender::THIRD,
    note: "The budget is a third of the players at each trigger.",
};

/// Returns the cells of the figures.
pub(super) fn cells() -> Vec<Cell> {
    let in_turns = product(&[SETTING], &IN_TURNS.map(|(_, in_turns)| in_turns));
    VIEWS.iter().flat_map(View::cells).chain(in_turns).chain(ELSEWHERE.cells()).collect()
}

/// Draws figures 3.15 to 3.18, and the figure of the settings beyond the thesis.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &VIEWS, Some(&ELSEWHERE))
}

/// Returns the thesis' name of a case.
fn name(contender: Contender) -> &'static str {
    match contender {
        Contender::PROBABILISTIC_PA => "PA",
        Contender::PROBABILISTIC_PI => "PI",
        Contender::PROBABILISTIC_PT => "PT",
        Contender::PROBABILISTIC_THIRDS => "equal mix",
        _ => "half PA, half PI",
    }
}

/// Formats a figure of each case relative to 1/3 base.
fn by_case(cells: &Cells, figure: impl Fn(&ContenderRuns<'_>) -> Ratio) -> String {
    let words = CASES.map(|case| format!("{} {}", name(case), figure(&cells.of(SETTING, case)).in_words(2)));
    words.join(", ")
}

fn spread_claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let third = cells.of(SETTING, Contender::THIRD);
    let is_lower = |case| Test::below(cells.of(SETTING, case).spread_ratio(&third), 1.0);
    let words = by_case(cells, |one| one.spread_ratio(&third));
    let best = cells.of(SETTING, Contender::PROBABILISTIC_PI);
    let others = CASES.into_iter().filter(|case| *case != Contender::PROBABILISTIC_PI);
    let is_best = others.map(|case| Test::above(cells.of(SETTING, case).spread_ratio(&best), 1.0));
    let by_error = CASES.into_iter().filter(|case| *case != Contender::PROBABILISTIC_PT);
    Claims::about(SOURCE, view.figure, "3.4.1.4.1.1")
        .add(
            "All five cases have a lower spread than 1/3 base.",
            format!(
                "spread relative to 1/3 base: {words}. It holds for the cases that consider the error, not for time alone"
            ),
            Judgement::read(Test::all(CASES.map(is_lower)), Test::all(by_error.map(is_lower))),
            Verdict::Differs,
        )
        .add(
            "The best of the five is weighting by instantaneous error (PI).",
            format!("spread relative to 1/3 base: {words}"),
            Test::all(is_best),
            Verdict::Holds,
        )
        .all()
}

fn mean_claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let third = cells.of(SETTING, Contender::THIRD);
    let words = by_case(cells, |one| one.mean_ratio(&third));
    let coarser = cells.of(SETTING, Contender::COARSER).mean_ratio(&third);
    Claims::about(SOURCE, view.figure, "3.4.1.4.1.2")
        .add(
            "All five cases have a higher mean than 1/3 base.",
            format!("mean relative to 1/3 base: {words}; base with a coarser threshold {coarser}"),
            Test::all(CASES.map(|case| Test::above(cells.of(SETTING, case).mean_ratio(&third), 1.0))),
            Verdict::Holds,
        )
        .all()
}

fn receiver_claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let third = cells.of(SETTING, Contender::THIRD);
    let changes = CASES.map(|case| cells.of(SETTING, case).changes(&third));
    let named = CASES.iter().zip(&changes);
    let words: Vec<_> =
        named.map(|(case, change)| format!("{} {}", name(*case), ratios_in_words(change))).collect();
    let words = format!("far / middle / near relative to 1/3 base: {}", words.join(", "));
    let is_higher = |change: &Ratio| Test::above(*change, 1.0);
    Claims::about(SOURCE, view.figure, "3.4.1.4.1.3")
        .add(
            "In all five cases every player's error is higher than under 1/3 base.",
            words.clone(),
            Test::all(changes.iter().flatten().map(is_higher)),
            Verdict::Holds,
        )
        .add(
            "No probabilistic algorithm reduces the highest error.",
            format!("{words} (the farthest player's)"),
            Test::all(changes.iter().map(|change| is_higher(&change[0]))),
            Verdict::Holds,
        )
        .all()
}

fn chance_claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let [third, chance, coarser, base] =
        [Contender::THIRD, Contender::CHANCE, Contender::COARSER, Contender::BASE]
            .map(|contender| cells.of(SETTING, contender));
    let changes = chance.changes(&third);
    let sent = chance.sent_ratio(&third);
    // It stands for the coarser base, so that is the reference.
    let stands = third.mean_ratio(&coarser);
    let within = 100.0 * SAME;
    let claims = Claims::about(SOURCE, view.figure, "3.4.1.5")
        .add(
            "1/3 probabilistic sends as many vectors as 1/3 base, yet every player's error is higher.",
            format!(
                "{sent} of its vectors (as many: within {within:.0} %); far / middle / near {} of its error",
                ratios_in_words(&changes)
            ),
            Test::same(sent, SAME).and(Test::all(changes.iter().map(|one| Test::above(*one, 1.0)))),
            Verdict::Holds,
        )
        .at("3.4.1.4")
        .add(
            "1/3 base stands for a base case with a coarser threshold.",
            format!(
                "1/3 base has {stands} of the mean and {} of the spread of base with a coarser threshold, and sends {} times as many \
                 vectors; base itself, with three times as many, has {} of 1/3 base's mean (stands for it: the mean within {within:.0} % \
                 of the coarser base's, because readers are told to take one for the other)",
                third.spread_ratio(&coarser),
                third.sent_ratio(&coarser),
                base.mean_ratio(&third)
            ),
            Test::same(stands, SAME),
            Verdict::Fails,
        );
    add_irregular(claims, cells, &third).all()
}

/// Adds the claim about the cause: the share of the rise by chance that remains if vectors with the same weights are
/// sent in turns.
fn add_irregular(claims: Claims, cells: &Cells, third: &ContenderRuns<'_>) -> Claims {
    let mean = |contender| cells.of(SETTING, contender).mean_ratio(third);
    let words = IN_TURNS.map(|(by_chance, in_turns)| {
        let (chance, turns) = (mean(by_chance), mean(in_turns));
        format!("{} {} and {}", name(by_chance), chance.in_words(2), turns.in_words(2))
    });
    let is_cause =
        |(by_chance, in_turns)| Test::below(mean(in_turns).plus(-1.0).over(mean(by_chance).plus(-1.0)), MOST);
    let others = IN_TURNS.into_iter().filter(|(one, _)| *one != Contender::PROBABILISTIC_PI);
    claims.at("3.4.1.5 and 3.4.1.6").add(
        "Irregular sending is what raises the error of the probabilistic algorithm.",
        format!(
            "mean relative to 1/3 base, by chance and in turns with the same weights: {} (is what raises it: in turns less than half of \
             the rise remains). 1/3 probabilistic differs from 1/3 base in nothing else. Weighted by instantaneous error (PI), turns are \
             as irregular as chance, and the rise remains",
            words.join(", ")
        ),
        Judgement::read(Test::all(IN_TURNS.map(is_cause)), Test::all(others.map(is_cause))),
        Verdict::Differs,
    )
}
