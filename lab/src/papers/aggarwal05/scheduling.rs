//! Figure 4: mean and standard deviation of the accumulated error, scheduled and sent at once.
//!
//! Two curves are ours to tell apart: the algorithm as printed, and the one that its proof is about, which takes into
//! account what is still in flight.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::cells::{Cell, Cells, Contender, in_words};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::setting::{Setting, Variation};
use crate::papers::study::Setup;
use crate::papers::view::{Claims, View, What, draw_all};

const BASE: Contender = Contender::Policy("base");
const PRINTED: Contender = Contender::Policy("netgames05");
const CONSISTENT: Contender = Contender::Policy("netgames05-consistent");

const VIEW: View = View {
    figure: "fig4",
    title: "Scheduling evens the error out; what it costs depends on what is counted as arrived",
    what: What::Both,
    setting: Setting::Papers(Variation::Moderate),
    contenders: &[BASE, PRINTED, CONSISTENT],
    reference: BASE,
};

const ELSEWHERE: Elsewhere = Elsewhere {
    figure: "scheduling-elsewhere",
    title: "The scheduling algorithm beyond the paper: only the consistent form is equal everywhere",
    contenders: &[PRINTED, CONSISTENT],
    reference: BASE,
};

/// What the figures are made of.
pub(super) fn cells() -> Vec<Cell> {
    VIEW.cells().into_iter().chain(ELSEWHERE.cells()).collect()
}

/// Figure 4, and the same elsewhere.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, (setup, cells), &[VIEW], claims, Some(&ELSEWHERE))
}

fn claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, printed, consistent) = (of(BASE), of(PRINTED), of(CONSISTENT));
    let (spread, spread_consistent) = (printed.spread_ratio(&base), consistent.spread_ratio(&base));
    let (mean, mean_consistent) = (printed.mean_ratio(&base), consistent.mean_ratio(&base));
    let (sent, sent_consistent) = (printed.sent_ratio(&base), consistent.sent_ratio(&base));
    let changes = printed.changes(&base);
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
                "{mean} of base as printed (multi-fold: at least 2). The consistent form, which alone evens the error out, \
                 gives everybody the farthest player's error: {mean_consistent}"
            ),
            Verdict::of(mean.value >= 2.0),
            Verdict::Fails,
        )
        .say(
            "Scheduling needs fewer DR vectors.",
            format!("{sent} of base's as printed, {sent_consistent} consistent"),
            Verdict::of(sent.value < 1.0 && sent_consistent.value < 1.0),
            Verdict::Holds,
        )
        .say(
            "Scheduling pushes every receiver's error higher.",
            format!("far / middle / near: {} of base's", in_words(&changes)),
            Verdict::of(changes.iter().all(|one| *one > 1.0)),
            Verdict::Holds,
        )
        .all()
}
