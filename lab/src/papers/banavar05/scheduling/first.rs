//! What is said of scheduling #1.

use crate::claims::{Claim, Verdict};
use crate::papers::banavar05::SOURCE;
use crate::papers::cells::{Cells, Contender, MULTI_FOLD, Measured, ratios_in_words};
use crate::papers::setting::{Setting, Variation};
use crate::papers::view::{Claims, View};

/// Who has the highest error changes continually: so often in a minute.
const CONTINUALLY: f64 = 2.0;

pub(super) fn spread(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let spread = of(Contender::SCHEDULING_1).spread_ratio(&of(Contender::BASE));
    Claims::about(SOURCE, view.figure, "3.3.3.1")
        .say(
            "The spread under scheduling #1 is much lower than under base.",
            format!("{spread} of base's (much lower: below half)"),
            Verdict::of(spread.value < 0.5),
            Verdict::Holds,
        )
        .judged_by(&[(spread, 0.5)])
        .all()
}

pub(super) fn mean(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, first, consistent) =
        (of(Contender::BASE), of(Contender::SCHEDULING_1), of(Contender::CONSISTENT));
    let (printed, estimated) =
        (first.mean_ratio(&base), of(Contender::SCHEDULING_1_ESTIMATE).mean_ratio(&base));
    let claims = Claims::about(SOURCE, view.figure, "3.3.3.1")
        .say(
            "The mean error under scheduling #1 increases multi-fold against base.",
            format!("{printed} times base's, {estimated} with the delay estimate (multi-fold: at least 2)"),
            Verdict::of(printed.value >= MULTI_FOLD),
            Verdict::Holds,
        )
        .judged_by(&[(printed, MULTI_FOLD)]);
    if view.setting != Setting::Papers(Variation::None) {
        return claims.all();
    }
    // The rate at which the error grows, in the last third of the run against the first.
    let rate = |one: &Measured<'_>| (one.mean_at(1.0) - one.mean_at(2.0 / 3.0)) / one.mean_at(1.0 / 3.0);
    let (rate_base, rate_first) = (rate(&base), rate(&first));
    let gap = |part: f64| first.mean_at(part) - base.mean_at(part);
    let highest = consistent.receivers().into_iter().fold(0.0, f64::max) / base.receiver(0);
    let as_many = of(Contender::AS_MANY_AS_SCHEDULING_1);
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
                "{printed} times base's, and {} times that of base with a coarser threshold, which sends {} as many vectors. Counted to the \
                 arrival of what is in flight (netgames05-consistent, not in the thesis) {} times base's, and nobody's error is above \
                 {highest:.2} of base's highest",
                first.mean_ratio(&as_many),
                as_many.sent_ratio(&first),
                consistent.mean_ratio(&base)
            ),
            Verdict::of(printed.value > 1.0 && consistent.mean_ratio(&base).value > 1.0),
            Verdict::Holds,
        )
        .judged_by(&[(printed, 1.0), (consistent.mean_ratio(&base), 1.0)])
        .all()
}

pub(super) fn receivers(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, first, consistent) =
        (of(Contender::BASE), of(Contender::SCHEDULING_1), of(Contender::CONSISTENT));
    let changes = first.changes(&base);
    let highest = base.receivers().into_iter().fold(0.0, f64::max);
    let least = first.receivers().into_iter().fold(f64::INFINITY, f64::min);
    let claims = Claims::about(SOURCE, view.figure, "3.3.3.1")
        .say(
            "Every player's error is greater under scheduling #1 than under base.",
            format!("far / middle / near: {} times base's", ratios_in_words(&changes)),
            Verdict::of(changes.iter().all(|one| one.value > 1.0)),
            Verdict::Holds,
        )
        .judged_by(&changes.iter().map(|one| (*one, 1.0)).collect::<Vec<_>>())
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
    let sent = first.sent_ratio(&base);
    let (often, shares) = first.highest();
    let percent: Vec<_> = shares.iter().map(|share| format!("{:.0}", 100.0 * share)).collect();
    claims
        .at("3.3.3.2")
        .say(
            "Scheduling #1 sends fewer DR vectors in all.",
            format!("{sent} of base's"),
            Verdict::of(sent.value < 1.0),
            Verdict::Holds,
        )
        .judged_by(&[(sent, 1.0)])
        .say(
            "Under scheduling #1 it happens continually that somebody else comes to have the highest error.",
            format!(
                "looked at every 3 s, {often:.1} times a minute, under base {:.1} times; far / middle / near have it at {} % of the looks \
                 (continually: twice a minute)",
                base.highest().0,
                percent.join(" / ")
            ),
            Verdict::of(often >= CONTINUALLY),
            Verdict::Holds,
        )
        .all()
}
