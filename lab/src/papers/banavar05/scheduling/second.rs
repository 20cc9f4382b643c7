//! What is said of scheduling #2.

use crate::claims::{Claim, Verdict};
use crate::papers::banavar05::SOURCE;
use crate::papers::bars::{MUCH, NEGLIGIBLE, SAME};
use crate::papers::cells::{Cells, Contender, ratios_in_words};
use crate::papers::judged::{Judged, Test};
use crate::papers::setting::{Setting, Variation};
use crate::papers::view::{Claims, View};

/// Where delays vary.
pub(super) const VARYING: [Setting; 2] =
    [Setting::Papers(Variation::Moderate), Setting::Papers(Variation::High)];

pub(super) fn spread(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let base = of(Contender::BASE);
    let (first, second) = (of(Contender::SCHEDULING_1), of(Contender::SCHEDULING_2));
    let spread = second.spread_ratio(&base);
    Claims::about(SOURCE, view.figure, "3.3.4.2")
        .say(
            "The spread under scheduling #2 is lower than under base.",
            format!("{spread} of base's"),
            Test::below(spread, 1.0),
            Verdict::Holds,
        )
        .at("3.3.4.3")
        .say(
            "Errors draw together far more slowly than under scheduling #1.",
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
    Claims::about(SOURCE, view.figure, "3.3.4.2")
        .say(
            "Scheduling #2 increases the mean moderately.",
            format!("{mean} of base's (moderate: above 1, below {MUCH})"),
            Test::above(mean, 1.0).and(Test::below(mean, MUCH)),
            Verdict::Holds,
        )
        .say(
            "Its increase is smaller than that of scheduling #1.",
            format!("{mean} of base's, under #1 {}", first.mean_ratio(&base)),
            Test::below(second.mean_ratio(&first), 1.0),
            Verdict::Holds,
        )
        .all()
}

pub(super) fn receivers(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let changes = of(Contender::SCHEDULING_2).changes(&of(Contender::BASE));
    let words = format!("far / middle / near: {} of base's", ratios_in_words(&changes));
    let claims = Claims::about(SOURCE, view.figure, "3.3.4.2")
        .say(
            "Under scheduling #2 the farthest player does as well as under base.",
            format!("{words} (as well: within {:.0} %)", 100.0 * SAME),
            Test::same(changes[0], SAME),
            Verdict::Holds,
        )
        .say(
            "Under scheduling #2 the other players have more error than under base.",
            words,
            Test::all(changes[1..].iter().map(|change| Test::above(*change, 1.0))),
            Verdict::Holds,
        );
    say_varying(claims, view, cells).all()
}

/// What is said of scheduling #2 when delays vary.
fn say_varying(claims: Claims, fixed: &View, cells: &Cells) -> Claims {
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
    // By hysteresis somebody else comes to have the highest error, and everybody is pushed there.
    let flips = VARYING.map(|setting| cells.of(setting, Contender::SCHEDULING_2).highest().0);
    let is_evident = Test::any(flips.map(|often| Test::above(often, 0.0)));
    // What ±180 ms add to the mean, beside what #1 adds to base.
    let added = second[2].less(second[0]).over(first[2].plus(-1.0));
    let is_negligible = Test::below(added, NEGLIGIBLE);
    claims
        .at("3.3.4.3")
        .say(
            "When delays vary, hysteresis shows under scheduling #2, too, but is negligible beside that of #1.",
            format!(
                "somebody else comes to have the highest error {} times a minute with ±100 ms, {} with ±180 ms; mean relative to base's \
                 at fixed delays / ±100 / ±180 ms: {}, under #1 {}: ±180 ms add {} of what #1 adds to base (it shows: sometimes somebody else \
                 has; negligible: at most {NEGLIGIBLE})",
                flips[0].in_words(1),
                flips[1].in_words(1),
                ratios_in_words(&second),
                ratios_in_words(&first),
                added.in_words(3)
            ),
            Judged::read(is_evident.and(is_negligible), is_negligible),
            Verdict::Differs,
        )
        .at("5.2")
        .say(
            "When delays vary, everybody's error is higher under scheduling #2 than under base.",
            format!(
                "far / middle / near, of base's: {} with ±100 ms, {} with ±180 ms",
                ratios_in_words(moderate),
                ratios_in_words(high)
            ),
            Test::all(changes.iter().flatten().map(|change| Test::above(*change, 1.0))),
            Verdict::Fails,
        )
}
