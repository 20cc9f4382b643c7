//! What is said of scheduling #2.

use crate::claims::{Claim, Verdict};
use crate::papers::banavar05::SOURCE;
use crate::papers::cells::{Cells, Contender, ratios_in_words};
use crate::papers::setting::{Setting, Variation};
use crate::papers::view::{Claims, View};

/// Where delays vary.
pub(super) const VARYING: [Setting; 2] =
    [Setting::Papers(Variation::Moderate), Setting::Papers(Variation::High)];

pub(super) fn spread(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let base = of(Contender::BASE);
    let (first, spread) = (of(Contender::SCHEDULING_1), of(Contender::SCHEDULING_2).spread_ratio(&base));
    Claims::about(SOURCE, view.figure, "3.3.4.2")
        .say(
            "The spread under scheduling #2 is lower than under base.",
            format!("{spread} of base's"),
            Verdict::of(spread.value < 1.0),
            Verdict::Holds,
        )
        .judged_by(&[(spread, 1.0)])
        .at("3.3.4.3")
        .say(
            "Errors draw together far more slowly than under scheduling #1.",
            format!(
                "spread {spread} of base's, under #1 {} (far more slowly: at least twice the spread)",
                first.spread_ratio(&base)
            ),
            Verdict::of(of(Contender::SCHEDULING_2).spread() > 2.0 * first.spread()),
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
            format!("{mean} of base's (moderate: above 1, below 2)"),
            Verdict::of(mean.value > 1.0 && mean.value < 2.0),
            Verdict::Holds,
        )
        .judged_by(&[(mean, 1.0), (mean, 2.0)])
        .say(
            "Its increase is smaller than that of scheduling #1.",
            format!("{mean} of base's, under #1 {}", first.mean_ratio(&base)),
            Verdict::of(second.mean() < first.mean()),
            Verdict::Holds,
        )
        .judged_by(&[(second.mean_ratio(&first), 1.0)])
        .all()
}

pub(super) fn receivers(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let changes = of(Contender::SCHEDULING_2).changes(&of(Contender::BASE));
    let words = format!("far / middle / near: {} of base's", ratios_in_words(&changes));
    let claims = Claims::about(SOURCE, view.figure, "3.3.4.2")
        .say(
            "Under scheduling #2 the farthest player does as well as under base.",
            format!("{words} (as well: within 10 %)"),
            Verdict::of((changes[0].value - 1.0).abs() <= 0.1),
            Verdict::Holds,
        )
        .judged_by(&[(changes[0], 0.9), (changes[0], 1.1)])
        .say(
            "Under scheduling #2 the other players have more error than under base.",
            words,
            Verdict::of(changes[1].value > 1.0 && changes[2].value > 1.0),
            Verdict::Holds,
        )
        .judged_by(&[(changes[1], 1.0), (changes[2], 1.0)]);
    say_varying(claims, view, cells).all()
}

/// What is said of scheduling #2 when delays vary.
fn say_varying(claims: Claims, fixed: &View, cells: &Cells) -> Claims {
    let changes = VARYING.map(|setting| {
        cells.of(setting, Contender::SCHEDULING_2).changes(&cells.of(setting, Contender::BASE))
    });
    let bars: Vec<_> = changes.iter().flatten().map(|change| (*change, 1.0)).collect();
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
    let is_evident = flips.iter().any(|often| *often > 0.0);
    let added = second[2].value - second[0].value;
    let is_negligible = added <= 0.1 * (first[2].value - 1.0);
    claims
        .at("3.3.4.3")
        .say(
            "When delays vary, hysteresis shows under scheduling #2, too, but is negligible beside that of #1.",
            format!(
                "somebody else comes to have the highest error {:.1} times a minute with ±100 ms, {:.1} with ±180 ms; mean relative to base's \
                 at fixed delays / ±100 / ±180 ms: {}, under #1 {} (it shows: sometimes somebody else has; negligible: ±180 ms add at most a \
                 tenth of what #1 adds to base)",
                flips[0],
                flips[1],
                ratios_in_words(&second),
                ratios_in_words(&first)
            ),
            Verdict::read(is_evident && is_negligible, is_negligible),
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
            Verdict::of(bars.iter().all(|(change, bar)| change.value > *bar)),
            Verdict::Fails,
        )
        .judged_by(&bars)
}
