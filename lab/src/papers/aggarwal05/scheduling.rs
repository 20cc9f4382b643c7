//! Figure 4: mean and standard deviation of the accumulated error, scheduled and sent at once.
//!
//! Two curves are ours to tell apart: the algorithm as printed, and the one that its proof is about, which takes into
//! account what is still in flight.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::cells::{Cell, Cells, Contender, MULTI_FOLD, Measured, in_words, ratios_in_words};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::setting::{Setting, Variation};
use crate::papers::study::Setup;
use crate::papers::view::{Claims, View, What, draw_all};

const VIEW: View = View {
    figure: "fig4",
    title: "Scheduling evens the error out; what it costs depends on what is counted as arrived",
    what: What::Both,
    setting: Setting::Papers(Variation::Moderate),
    contenders: &[
        Contender::BASE,
        Contender::NETGAMES05,
        Contender::CONSISTENT,
        Contender::AS_MANY_AS_CONSISTENT,
    ],
    reference: Contender::BASE,
    claims,
};

const ELSEWHERE: Elsewhere = Elsewhere {
    figure: "scheduling-elsewhere",
    title: "The scheduling algorithm beyond the paper",
    contenders: &[Contender::NETGAMES05, Contender::CONSISTENT],
    reference: Contender::BASE,
};

/// What the figures are made of.
pub(super) fn cells() -> Vec<Cell> {
    VIEW.cells().into_iter().chain(ELSEWHERE.cells()).collect()
}

/// Figure 4, and the same elsewhere.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &[VIEW], Some(&ELSEWHERE))
}

/// Who has the highest error flips if it changes so often in a minute.
const FLIPS: f64 = 2.0;

/// The other players' errors relative to the farthest's.
fn to_farthest(one: &Measured<'_>) -> Vec<f64> {
    one.receivers().iter().skip(1).map(|error| error / one.receiver(0)).collect()
}

fn claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, printed, consistent) =
        (of(Contender::BASE), of(Contender::NETGAMES05), of(Contender::CONSISTENT));
    let (spread, spread_consistent) = (printed.spread_ratio(&base), consistent.spread_ratio(&base));
    let (mean, mean_consistent) = (printed.mean_ratio(&base), consistent.mean_ratio(&base));
    let as_many = of(Contender::AS_MANY_AS_CONSISTENT);
    let changes = printed.changes(&base);
    let claims = Claims::about(SOURCE, view.figure, "4.7")
        .say(
            "The spread with scheduling is much lower than without.",
            format!(
                "{spread} of base as printed; {spread_consistent} if what is in flight is counted at its estimated arrival (much lower: \
                 below half)"
            ),
            Verdict::read(spread.value < 0.5, spread_consistent.value < 0.5),
            Verdict::Differs,
        )
        .judged_by(&[(spread, 0.5), (spread_consistent, 0.5)])
        .say(
            "The mean increases multi-fold with scheduling.",
            format!(
                "{mean} of base as printed; {mean_consistent} in the consistent form, which alone evens the error out (multi-fold: at \
                 least 2). Base with a coarser threshold, which sends {} as many vectors as that, has {} of base's mean and {} of its spread",
                as_many.sent_ratio(&consistent),
                as_many.mean_ratio(&base),
                as_many.spread_ratio(&base)
            ),
            Verdict::read(mean.value >= MULTI_FOLD, mean_consistent.value >= MULTI_FOLD),
            Verdict::Fails,
        )
        .judged_by(&[(mean, MULTI_FOLD), (mean_consistent, MULTI_FOLD)])
        .say(
            "Scheduling pushes every receiver's error higher.",
            format!("far / middle / near: {} of base's", ratios_in_words(&changes)),
            Verdict::of(changes.iter().all(|one| one.value > 1.0)),
            Verdict::Holds,
        )
        .judged_by(&changes.iter().map(|one| (*one, 1.0)).collect::<Vec<_>>());
    say_flip_flop(claims, view, cells)
        .at("1")
        .say(
            "Scheduling pushes everybody's error towards that of the farthest player.",
            format!(
                "middle and near: {} of the farthest's as printed, {} in the consistent form (towards it: at least 0.9)",
                in_words(&to_farthest(&printed)),
                in_words(&to_farthest(&consistent))
            ),
            Verdict::read(
                to_farthest(&printed).iter().all(|one| *one >= 0.9),
                to_farthest(&consistent).iter().all(|one| *one >= 0.9),
            ),
            Verdict::Differs,
        )
        .all()
}

/// What is said of the flip-flop: a vector that comes late makes its receiver the one with the highest error, and the
/// others are pushed up to it. At fixed delays none comes late.
fn say_flip_flop(claims: Claims, view: &View, cells: &Cells) -> Claims {
    let of = |contender| cells.of(view.setting, contender);
    let (base, printed, consistent) =
        (of(Contender::BASE), of(Contender::NETGAMES05), of(Contender::CONSISTENT));
    let mean =
        |setting, contender| cells.of(setting, contender).mean_ratio(&cells.of(setting, Contender::BASE));
    let fixed = [Contender::NETGAMES05, Contender::CONSISTENT]
        .map(|contender| mean(Setting::Papers(Variation::None), contender));
    let varying =
        [Contender::NETGAMES05, Contender::CONSISTENT].map(|contender| mean(view.setting, contender));
    let left = [0, 1].map(|form| (fixed[form].value - 1.0) / (varying[form].value - 1.0));
    claims
        .say(
            "The flip-flop is what raises everybody's error.",
            format!(
                "at fixed delays, where no vector comes late, the mean is {} of base's as printed and {} in the consistent form, with \
                 ±100 ms {} and {}: {:.0} % and {:.0} % of the rise are there without it (it is what raises it: less than half). The rise is \
                 the price of distance",
                fixed[0],
                fixed[1],
                varying[0],
                varying[1],
                100.0 * left[0],
                100.0 * left[1]
            ),
            Verdict::of(left.iter().all(|share| *share < 0.5)),
            Verdict::Fails,
        )
        .say(
            "By the same flip-flop somebody else comes to have the highest error.",
            format!(
                "looked at every 3 s, {:.1} times a minute as printed, {:.1} in the consistent form, {:.1} under base (it flips: twice a minute)",
                printed.highest().0,
                consistent.highest().0,
                base.highest().0
            ),
            Verdict::read(printed.highest().0 >= FLIPS, consistent.highest().0 >= FLIPS),
            Verdict::Differs,
        )
}
