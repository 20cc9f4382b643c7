//! Figure 4: mean and standard deviation of the accumulated error, scheduled and sent at once.
//!
//! Two curves are ours to tell apart: the algorithm as printed, and the one that its proof is about, which takes into
//! account what is still in flight.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::cells::{Cell, Cells, Contender, Measured, in_words};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::setting::{Setting, Variation};
use crate::papers::study::Setup;
use crate::papers::view::{Claims, View, What, draw_all};

const VIEW: View = View {
    figure: "fig4",
    title: "Scheduling evens the error out; what it costs depends on what is counted as arrived",
    what: What::Both,
    setting: Setting::Papers(Variation::Moderate),
    contenders: &[Contender::BASE, Contender::NETGAMES05, Contender::CONSISTENT],
    reference: Contender::BASE,
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
    draw_all(SOURCE, setup, cells, &[VIEW], claims, Some(&ELSEWHERE))
}

/// What we call multi-fold: twice, but for noise.
const MULTI_FOLD: f64 = 1.9;

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
    let changes = printed.changes(&base);
    let highest = |one: &Measured<'_>| one.receivers().into_iter().fold(0.0, f64::max) / base.receiver(0);
    Claims::about(SOURCE, view.figure, "4.7")
        .say(
            "The spread with scheduling is much lower than without.",
            format!(
                "{spread} of base as printed; {:.4} if what is in flight is counted at its estimated arrival (much lower: \
                 below half)",
                spread_consistent.value
            ),
            Verdict::read(spread.value < 0.5, spread_consistent.value < 0.5),
            Verdict::Differs,
        )
        .say(
            "The mean increases multi-fold with scheduling.",
            format!(
                "{mean} of base as printed; {mean_consistent} in the consistent form, which alone evens the error out (multi-fold: at \
                 least 1.9)"
            ),
            Verdict::read(mean.value >= MULTI_FOLD, mean_consistent.value >= MULTI_FOLD),
            Verdict::Differs,
        )
        .say(
            "Scheduling pushes every receiver's error higher.",
            format!("far / middle / near: {} of base's", in_words(&changes)),
            Verdict::of(changes.iter().all(|one| *one > 1.0)),
            Verdict::Holds,
        )
        .say(
            "By the flip-flop of equalizing, errors rise beyond the highest one of the base case.",
            format!(
                "the highest is {:.2} of base's highest as printed, {:.2} in the consistent form (beyond: above 1.1): that a high mean is \
                 the price of scheduling itself does not hold, it is that of distance",
                highest(&printed),
                highest(&consistent)
            ),
            Verdict::of(highest(&printed) > 1.1 && highest(&consistent) > 1.1),
            Verdict::Fails,
        )
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
