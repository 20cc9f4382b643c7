//! The claims about scheduling #1.

use crate::claims::{Claim, Verdict};
use crate::papers::banavar05::SOURCE;
use crate::papers::bars::{CONTINUALLY, GROWS, MUCH};
use crate::papers::cells::{Cells, Contender, ContenderRuns, Ratio, mean_at, ratios_in_words};
use crate::papers::judgement::{Judgement, Test};
use crate::papers::setting::{ExperimentSetting, Variation};
use crate::papers::view::{Claims, View};

pub(super) fn spread(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let spread = of(Contender::SCHEDULING_1).spread_ratio(&of(Contender::BASE));
    Claims::about(SOURCE, view.figure, "3.3.3.1")
        .add(
            "The spread under scheduling #1 is much lower than under base.",
            format!("{spread} of base's (much lower: below half)"),
            Test::below(spread, 1.0 / MUCH),
            Verdict::Holds,
        )
        .all()
}

pub(super) fn mean(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, first) = (of(Contender::BASE), of(Contender::SCHEDULING_1));
    let (printed, estimated) =
        (first.mean_ratio(&base), of(Contender::SCHEDULING_1_ESTIMATE).mean_ratio(&base));
    let claims = Claims::about(SOURCE, view.figure, "3.3.3.1").add(
        "Compared with base, the mean error increases multi-fold under scheduling #1.",
        format!("{printed} times base's, {estimated} with the delay estimate (multi-fold: at least {MUCH})"),
        Test::above(printed, MUCH),
        Verdict::Holds,
    );
    match view.setting {
        ExperimentSetting::Papers(Variation::None) => {
            let claims = add_without_bound(claims, &base, &first);
            let as_many = of(Contender::AS_MANY_AS_SCHEDULING_1);
            add_suffers(claims, &base, &first, &of(Contender::CONSISTENT), &as_many).all()
        }
        _ => claims.all(),
    }
}

/// Returns how fast the error grows in the last third of the run, relative to the first.
pub(super) fn rate(one: &ContenderRuns<'_>) -> Ratio {
    let pair = |part: f64, next: f64| one.by_run(|run| mean_at(run, next) - mean_at(run, part));
    Ratio::of(&pair(2.0 / 3.0, 1.0).into_iter().zip(pair(0.0, 1.0 / 3.0)).collect::<Vec<_>>())
}

/// Returns how far each run's mean is above base's after a part of the run.
pub(super) fn gaps(one: &ContenderRuns<'_>, base: &ContenderRuns<'_>, part: f64) -> Vec<f64> {
    one.runs.iter().zip(base.runs).map(|(one, base)| mean_at(one, part) - mean_at(base, part)).collect()
}

/// Returns one gap to base relative to another one, each after a part of the run.
pub(super) fn gap_ratio(
    (one, part): (&ContenderRuns<'_>, f64),
    (to, to_part): (&ContenderRuns<'_>, f64),
    base: &ContenderRuns<'_>,
) -> Ratio {
    let pairs = gaps(one, base, part).into_iter().zip(gaps(to, base, to_part));
    Ratio::of(&pairs.collect::<Vec<_>>())
}

/// Adds the claim about hysteresis.
fn add_without_bound(claims: Claims, base: &ContenderRuns<'_>, first: &ContenderRuns<'_>) -> Claims {
    let (rate_base, rate_first) = (rate(base), rate(first));
    let gap = gap_ratio((first, 1.0), (first, 0.5), base);
    claims.at("3.3.3.2 and 3.3.4").add(
        "Because of hysteresis the error under scheduling #1 increases without bound, and so does its rate.",
        format!(
            "the last third of the run adds {} times as much as the first; under base {}. The gap to base is {} units·s after half of \
             the run and {} times that at its end: it grows without bound, but at a steady rate (a growing rate: {GROWS} times base's; \
             without bound: the gap at the end is at least 1.5 times that at half)",
            rate_first.in_words(2),
            rate_base.in_words(2),
            Ratio::mean(&gaps(first, base, 0.5)).in_words(0),
            gap.in_words(2)
        ),
        Judgement::read(Test::above(rate_first.over(rate_base), GROWS), Test::above(gap, 1.5)),
        Verdict::Differs,
    )
}

/// Adds the conclusions about the mean.
fn add_suffers(
    claims: Claims,
    base: &ContenderRuns<'_>,
    first: &ContenderRuns<'_>,
    consistent: &ContenderRuns<'_>,
    as_many: &ContenderRuns<'_>,
) -> Claims {
    let (printed, counted) = (first.mean_ratio(base), consistent.mean_ratio(base));
    let to_farthest: Vec<Ratio> =
        (0..base.receivers().len()).map(|receiver| consistent.receiver_ratio(receiver, base, 0)).collect();
    claims.at("3.5").add(
        "Scheduling suffers from an increase of the mean error.",
        format!(
            "{printed} times base's, and {} times that of base with a coarser threshold, which sends {} times as many vectors. If \
             vectors in flight count to their arrival (netgames05-consistent, not in the thesis), {counted} times base's; far / middle / \
             near then have {} of the farthest player's error under base",
            first.mean_ratio(as_many),
            as_many.sent_ratio(first),
            ratios_in_words(&to_farthest)
        ),
        Test::above(printed, 1.0).and(Test::above(counted, 1.0)),
        Verdict::Holds,
    )
    .at("3.3.3.1 and 3.4")
    .add(
        "Equalizing errors by scheduling requires far more error than the farthest player has anyway.",
        format!(
            "if vectors in flight count to their arrival, far / middle / near have {} of the farthest player's error under base, with {} \
             of base's vectors and {} of base's spread (far more: at least {MUCH} times). The thesis' way of counting costs more, not \
             scheduling itself",
            ratios_in_words(&to_farthest),
            consistent.sent_ratio(base),
            consistent.spread_ratio(base)
        ),
        Test::all(to_farthest.iter().map(|one| Test::above(*one, MUCH))),
        Verdict::Fails,
    )
}

pub(super) fn receivers(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, first, consistent) =
        (of(Contender::BASE), of(Contender::SCHEDULING_1), of(Contender::CONSISTENT));
    let changes = first.changes(&base);
    // Under base the farthest player has the highest error.
    let to_highest = |one: &ContenderRuns<'_>| -> Vec<Ratio> {
        (0..base.receivers().len()).map(|receiver| one.receiver_ratio(receiver, &base, 0)).collect()
    };
    let all_above =
        |ratios: &[Ratio], bar: f64| Test::all(ratios.iter().map(|ratio| Test::above(*ratio, bar)));
    let claims = Claims::about(SOURCE, view.figure, "3.3.3.1")
        .add(
            "Every player's error is greater under scheduling #1 than under base.",
            format!("far / middle / near: {} times base's", ratios_in_words(&changes)),
            all_above(&changes, 1.0),
            Verdict::Holds,
        )
        .add(
            "Under scheduling #1 every player's error is much greater than the highest one under base.",
            format!(
                "far / middle / near: {} of base's highest: greater, but not much (much: at least {MUCH} times); in the consistent form \
                 {}",
                ratios_in_words(&to_highest(&first)),
                ratios_in_words(&to_highest(&consistent))
            ),
            Judgement::read(all_above(&to_highest(&first), MUCH), all_above(&to_highest(&first), 1.0)),
            Verdict::Differs,
        );
    match view.setting {
        ExperimentSetting::Papers(Variation::None) => add_continually(claims, &base, &first).all(),
        _ => claims.all(),
    }
}

/// Adds the claims about the number of vectors and about the player with the highest error.
fn add_continually(claims: Claims, base: &ContenderRuns<'_>, first: &ContenderRuns<'_>) -> Claims {
    let sent = first.sent_ratio(base);
    let (often, shares) = first.highest();
    let percent: Vec<_> = shares.iter().map(|share| format!("{:.0}", 100.0 * share)).collect();
    claims
        .at("3.3.3.2")
        .add(
            "Scheduling #1 sends fewer DR vectors in total.",
            format!("{sent} of base's"),
            Test::below(sent, 1.0),
            Verdict::Holds,
        )
        .add(
            "Under scheduling #1 the player with the highest error changes continually.",
            format!(
                "sampled every 3 s, {} times a minute, under base {} times; far / middle / near have it in {} % of the samples \
                 (continually: twice a minute)",
                often.in_words(1),
                base.highest().0.in_words(1),
                percent.join(" / ")
            ),
            Test::above(often, CONTINUALLY),
            Verdict::Holds,
        )
}
