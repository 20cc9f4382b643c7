//! The claims about scheduling #2.

use super::first::{gap_ratio, rate};
use crate::claims::{Claim, Verdict};
use crate::papers::banavar05::SOURCE;
use crate::papers::bars::{GROWS, MUCH, NEGLIGIBLE, SAME};
use crate::papers::cells::{Cells, Contender, ContenderRuns, ratios_in_words};
use crate::papers::judgement::{Judgement, Test};
use crate::papers::setting::{ExperimentSetting, Variation};
use crate::papers::view::{Claims, View};

/// The settings with varying delays.
pub(super) const VARYING: [ExperimentSetting; 2] =
    [ExperimentSetting::Papers(Variation::Moderate), ExperimentSetting::Papers(Variation::High)];

pub(super) fn spread(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let base = of(Contender::BASE);
    let (first, second) = (of(Contender::SCHEDULING_1), of(Contender::SCHEDULING_2));
    let spread = second.spread_ratio(&base);
    Claims::about(SOURCE, view.figure, "3.3.4.2")
        .add(
            "The spread under scheduling #2 is lower than under base.",
            format!("{spread} of base's"),
            Test::below(spread, 1.0),
            Verdict::Holds,
        )
        .at("3.3.4.3")
        .add(
            "Errors converge far more slowly than under scheduling #1.",
            format!(
                "spread {spread} of base's, under #1 {} (far more slowly: at least {MUCH} times the spread)",
                first.spread_ratio(&base)
            ),
            Test::below(first.spread_ratio(&second), 1.0 / MUCH),
            Verdict::Holds,
        )
        .all()
}

pub(super) fn mean(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, first, second) =
        (of(Contender::BASE), of(Contender::SCHEDULING_1), of(Contender::SCHEDULING_2));
    let mean = second.mean_ratio(&base);
    let claims = Claims::about(SOURCE, view.figure, "3.3.4.2")
        .add(
            "Scheduling #2 increases the mean moderately.",
            format!("{mean} of base's (moderate: above 1, below {MUCH})"),
            Test::above(mean, 1.0).and(Test::below(mean, MUCH)),
            Verdict::Holds,
        )
        .add(
            "The increase is smaller than under scheduling #1.",
            format!("{mean} of base's, under #1 {}", first.mean_ratio(&base)),
            Test::below(second.mean_ratio(&first), 1.0),
            Verdict::Holds,
        );
    add_overcomes(claims, &base, &first, &second).all()
}

/// Adds the claims that #2 overcomes the drawbacks of #1.
fn add_overcomes(
    claims: Claims,
    base: &ContenderRuns<'_>,
    first: &ContenderRuns<'_>,
    second: &ContenderRuns<'_>,
) -> Claims {
    let rates = [first, second].map(|one| rate(one).over(rate(base)));
    let is_bounded = [first, second].map(|one| gap_ratio((one, 1.0), (one, 0.5), base));
    let gap = gap_ratio((second, 1.0), (first, 1.0), base);
    let flips = [first, second].map(|one| one.highest().0);
    claims
        .at("3.3.4.3 and 5.2")
        .add(
            "Scheduling #2 overcomes the unbounded rate at which the error builds up under #1.",
            format!(
                "growth in the last third of the run relative to the first, compared with base: {} under #1, {} under #2, so neither \
                 rate grows (grows: {GROWS} times). The gap to base does grow under both: at the end it is {} and {} times that at half \
                 of the run. But it is much smaller under #2, {gap} of #1's (much: at most half)",
                rates[0].in_words(2),
                rates[1].in_words(2),
                is_bounded[0].in_words(2),
                is_bounded[1].in_words(2)
            ),
            Judgement::read(
                Test::above(rates[0], GROWS).and(Test::below(rates[1], GROWS)),
                Test::below(gap, 1.0 / MUCH),
            ),
            Verdict::Differs,
        )
        .add(
            "Scheduling #2 alleviates the hysteresis of #1.",
            format!(
                "sampled every 3 s, the player with the highest error changes {} times a minute under #1, {} under #2",
                flips[0].in_words(1),
                flips[1].in_words(1)
            ),
            Test::below(flips[1].less(flips[0]), 0.0),
            Verdict::Holds,
        )
}

pub(super) fn receivers(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let changes = of(Contender::SCHEDULING_2).changes(&of(Contender::BASE));
    let words = format!("far / middle / near: {} of base's", ratios_in_words(&changes));
    let claims = Claims::about(SOURCE, view.figure, "3.3.4.2")
        .add(
            "Under scheduling #2 the farthest player does as well as under base.",
            format!("{words} (as well: within {:.0} %)", 100.0 * SAME),
            Test::same(changes[0], SAME),
            Verdict::Holds,
        )
        .add(
            "Under scheduling #2 the other players have more error than under base.",
            words,
            Test::all(changes[1..].iter().map(|change| Test::above(*change, 1.0))),
            Verdict::Holds,
        );
    add_varying(claims, view, cells).all()
}

/// Adds the claims about scheduling #2 when delays vary.
fn add_varying(claims: Claims, fixed: &View, cells: &Cells) -> Claims {
    let changes = VARYING.map(|setting| {
        cells.of(setting, Contender::SCHEDULING_2).changes(&cells.of(setting, Contender::BASE))
    });
    let [moderate, high] = &changes;
    let rise =
        |setting, contender| cells.of(setting, contender).mean_ratio(&cells.of(setting, Contender::BASE));
    let rises = |contender| {
        let settings = [fixed.setting, VARYING[0], VARYING[1]];
        settings.map(|setting| rise(setting, contender))
    };
    let (first, second) = (rises(Contender::SCHEDULING_1), rises(Contender::SCHEDULING_2));
    // Hysteresis changes which player has the highest error, and pushes the others up to it.
    let flips = VARYING.map(|setting| cells.of(setting, Contender::SCHEDULING_2).highest().0);
    let is_evident = Test::any(flips.map(|often| Test::above(often, 0.0)));
    // The rise of the mean from ±180 ms, relative to the rise of #1 above base.
    let added = second[2].less(second[0]).over(first[2].plus(-1.0));
    let is_negligible = Test::below(added, NEGLIGIBLE);
    claims
        .at("3.3.4.3")
        .add(
            "When delays vary, hysteresis shows under scheduling #2, too, but is negligible compared with that of #1.",
            format!(
                "the player with the highest error changes {} times a minute with ±100 ms, {} with ±180 ms; mean relative to base's at \
                 fixed delays / ±100 / ±180 ms: {}, under #1 {}: ±180 ms adds {} of what #1 adds to base (it shows: that player \
                 sometimes changes; negligible: at most {NEGLIGIBLE})",
                flips[0].in_words(1),
                flips[1].in_words(1),
                ratios_in_words(&second),
                ratios_in_words(&first),
                added.in_words(3)
            ),
            Judgement::read(is_evident.and(is_negligible), is_negligible),
            Verdict::Differs,
        )
        .at("5.2")
        .add(
            "When delays vary, every player's error is higher under scheduling #2 than under base.",
            format!(
                "far / middle / near: {} of base's with ±100 ms, {} with ±180 ms",
                ratios_in_words(moderate),
                ratios_in_words(high)
            ),
            Test::all(changes.iter().flatten().map(|change| Test::above(*change, 1.0))),
            Verdict::Fails,
        )
}
