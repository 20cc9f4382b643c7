//! Figure 4: mean and standard deviation of the accumulated error, with and without scheduling.
//!
//! We show the algorithm in two forms: as printed, and consistent with its proof, which accounts for vectors in
//! flight.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::bars::{CONTINUALLY, MOST, MUCH, SAME};
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio, product, ratios_in_words};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::judgement::{Judgement, Test};
use crate::papers::setting::{self, ExperimentSetting, Variation};
use crate::papers::study::Setup;
use crate::papers::view::{Claims, Quantity, View, draw_all};

/// A setting in which no vector arrives late.
const FIXED: ExperimentSetting = ExperimentSetting::Papers(Variation::None);
/// Today's delays.
const TODAY: ExperimentSetting = ExperimentSetting::Modern;

const VIEW: View = View {
    figure: "fig4",
    title: "Scheduling evens out the error; its cost depends on how vectors in flight are counted",
    what: Quantity::Both,
    setting: ExperimentSetting::Papers(Variation::Moderate),
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
    contenders: &[Contender::NETGAMES05, Contender::CONSISTENT, Contender::AS_MANY_AS_CONSISTENT],
    reference: Contender::BASE,
    note: "",
};

/// Returns the cells of the figures.
pub(super) fn cells() -> Vec<Cell> {
    let fixed = product(&[FIXED], &[Contender::BASE, Contender::NETGAMES05, Contender::CONSISTENT]);
    VIEW.cells().into_iter().chain(fixed).chain(ELSEWHERE.cells()).collect()
}

/// Draws figure 4, and the figure of the settings beyond the paper.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &[VIEW], Some(&ELSEWHERE))
}

/// Returns the other players' errors relative to the farthest player's.
fn to_farthest(one: &ContenderRuns<'_>) -> Vec<Ratio> {
    (1..one.receivers().len()).map(|receiver| one.receiver_ratio(receiver, one, 0)).collect()
}

/// Returns the mean relative to base's.
fn rise(cells: &Cells, setting: ExperimentSetting, contender: Contender) -> Ratio {
    cells.of(setting, contender).mean_ratio(&cells.of(setting, Contender::BASE))
}

/// Describes in which settings the mean increases multi-fold. The consistent form gives every player the farthest
/// player's error, so the increase depends on how far that is above the mean.
fn multi_fold_settings(base: &ContenderRuns<'_>, cells: &Cells) -> String {
    let farthest = base.receiver(0) / base.mean();
    let is_multi_fold = |setting: &ExperimentSetting| {
        let consistent = rise(cells, *setting, Contender::CONSISTENT);
        consistent.value > MUCH && !consistent.is_close_to(MUCH)
    };
    let (above, below): (Vec<ExperimentSetting>, Vec<ExperimentSetting>) =
        setting::ELSEWHERE.into_iter().partition(is_multi_fold);
    let multi_fold = above.iter().map(|setting| {
        let [printed, consistent] =
            [Contender::NETGAMES05, Contender::CONSISTENT].map(|form| rise(cells, *setting, form));
        format!("{} ({} / {})", setting.label(), printed.in_words(2), consistent.in_words(2))
    });
    let others = below.iter().map(|setting| rise(cells, *setting, Contender::CONSISTENT).value);
    let (least, most) =
        others.fold((f64::INFINITY, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)));
    format!(
        "The consistent form gives every player the farthest player's error, which under base is {farthest:.2} times the mean; the \
         increase is multi-fold where that exceeds {MUCH}. It is multi-fold, as printed / in the consistent form, with {}; in the other \
         {} settings of the next figure the consistent form has {least:.2} to {most:.2} times. Read with delays of {}, where it is {} as \
         printed",
        multi_fold.collect::<Vec<_>>().join(", "),
        below.len(),
        TODAY.label(),
        rise(cells, TODAY, Contender::NETGAMES05)
    )
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
        .add(
            "The spread with scheduling is much lower than without.",
            format!(
                "{spread} of base as printed; {spread_consistent} if vectors in flight count at their estimated arrival (much lower: \
                 below half)"
            ),
            Judgement::read(Test::below(spread, 1.0 / MUCH), Test::below(spread_consistent, 1.0 / MUCH)),
            Verdict::Differs,
        )
        .add(
            "The mean increases multi-fold with scheduling.",
            format!(
                "{mean} of base as printed; {mean_consistent} in the consistent form, the only one that evens out the error (multi-fold: \
                 at least {MUCH}). {}. Base with a coarser threshold, which sends {} times as many vectors as the consistent form, has \
                 {} of base's mean and {} of its spread",
                multi_fold_settings(&base, cells),
                as_many.sent_ratio(&consistent),
                as_many.mean_ratio(&base),
                as_many.spread_ratio(&base)
            ),
            Judgement::read(Test::above(mean, MUCH), Test::above(rise(cells, TODAY, Contender::NETGAMES05), MUCH)),
            Verdict::Differs,
        )
        .add(
            "Scheduling pushes every receiver's error higher.",
            format!("far / middle / near: {} of base's", ratios_in_words(&changes)),
            Test::all(changes.iter().map(|one| Test::above(*one, 1.0))),
            Verdict::Holds,
        );
    let is_near = |one: &ContenderRuns<'_>| {
        Test::all(to_farthest(one).into_iter().map(|ratio| Test::above(ratio, 1.0 - SAME)))
    };
    add_flip_flop(claims, view, cells)
        .at("1")
        .add(
            "Scheduling pushes every player's error towards that of the farthest player.",
            format!(
                "middle and near: {} of the farthest player's as printed, {} in the consistent form (towards it: at least {})",
                ratios_in_words(&to_farthest(&printed)),
                ratios_in_words(&to_farthest(&consistent)),
                1.0 - SAME
            ),
            Judgement::read(is_near(&printed), is_near(&consistent)),
            Verdict::Differs,
        )
        .all()
}

/// Adds the claims about the flip-flop: a late vector gives its receiver the highest error, and the others are pushed
/// up to it. With fixed delays no vector is late.
fn add_flip_flop(claims: Claims, view: &View, cells: &Cells) -> Claims {
    let forms = [Contender::NETGAMES05, Contender::CONSISTENT];
    let means = |setting| {
        let base = cells.of(setting, Contender::BASE);
        forms.map(|form| cells.of(setting, form).mean_ratio(&base))
    };
    let (fixed, varying) = (means(FIXED), means(view.setting));
    // The share of the rise above base that remains with fixed delays.
    let left = [0, 1].map(|form| fixed[form].plus(-1.0).over(varying[form].plus(-1.0)));
    let flips = [Contender::NETGAMES05, Contender::CONSISTENT, Contender::BASE]
        .map(|contender| cells.of(view.setting, contender).highest().0);
    claims
        .add(
            "The flip-flop is what raises every player's error.",
            format!(
                "with fixed delays, where no vector is late, the mean is {} of base's as printed and {} in the consistent form; with \
                 ±100 ms {} and {}. So {} % and {} % of the rise occur without the flip-flop (is what raises it: less than half would). \
                 The rise is the price of distance",
                fixed[0],
                fixed[1],
                varying[0],
                varying[1],
                left[0].times(100.0).in_words(0),
                left[1].times(100.0).in_words(0)
            ),
            Test::all(left.map(|share| Test::below(share, MOST))),
            Verdict::Fails,
        )
        .add(
            "The same flip-flop changes which player has the highest error.",
            format!(
                "sampled every 3 s, {} times a minute as printed, {} in the consistent form, {} under base (it flips: twice a minute)",
                flips[0].in_words(1),
                flips[1].in_words(1),
                flips[2].in_words(1)
            ),
            Judgement::read(Test::above(flips[0], CONTINUALLY), Test::above(flips[1], CONTINUALLY)),
            Verdict::Differs,
        )
}
