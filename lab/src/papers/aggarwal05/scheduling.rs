//! Figure 4: mean and standard deviation of the accumulated error, scheduled and sent at once.
//!
//! Two curves are ours to tell apart: the algorithm as printed, and the one that its proof is about, which takes into
//! account what is still in flight.

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

/// Where no vector comes late.
const FIXED: ExperimentSetting = ExperimentSetting::Papers(Variation::None);
/// Delays of today.
const TODAY: ExperimentSetting = ExperimentSetting::Modern;

const VIEW: View = View {
    figure: "fig4",
    title: "Scheduling evens the error out; what it costs depends on what is counted as arrived",
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

/// What the figures are made of.
pub(super) fn cells() -> Vec<Cell> {
    let fixed = product(&[FIXED], &[Contender::BASE, Contender::NETGAMES05, Contender::CONSISTENT]);
    VIEW.cells().into_iter().chain(fixed).chain(ELSEWHERE.cells()).collect()
}

/// Figure 4, and the same elsewhere.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &[VIEW], Some(&ELSEWHERE))
}

/// The other players' errors relative to the farthest's.
fn to_farthest(one: &ContenderRuns<'_>) -> Vec<Ratio> {
    (1..one.receivers().len()).map(|receiver| one.receiver_ratio(receiver, one, 0)).collect()
}

/// The mean relative to base's.
fn rise(cells: &Cells, setting: ExperimentSetting, contender: Contender) -> Ratio {
    cells.of(setting, contender).mean_ratio(&cells.of(setting, Contender::BASE))
}

/// In which settings the mean increases multi-fold. The consistent form gives everybody the farthest player's error, so
/// that depends on how far that one's is from the mean.
fn where_it_turns(base: &ContenderRuns<'_>, cells: &Cells) -> String {
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
        "The consistent form gives everybody the farthest player's error, which under base is {farthest:.2} times the mean: it turns \
         where that is {MUCH}. It is multi-fold, as printed / in the consistent form, with {}; and {least:.2} to {most:.2} times in that form in \
         the other {} settings of the next figure. Read with delays of {}, where as printed it is {}",
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
                "{spread} of base as printed; {spread_consistent} if what is in flight is counted at its estimated arrival (much lower: \
                 below half)"
            ),
            Judgement::read(Test::below(spread, 1.0 / MUCH), Test::below(spread_consistent, 1.0 / MUCH)),
            Verdict::Differs,
        )
        .add(
            "The mean increases multi-fold with scheduling.",
            format!(
                "{mean} of base as printed; {mean_consistent} in the consistent form, which alone evens the error out (multi-fold: at \
                 least {MUCH}). {}. Base with a coarser threshold, which sends {} as many vectors as the consistent form, has {} of base's mean \
                 and {} of its spread",
                where_it_turns(&base, cells),
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
            "Scheduling pushes everybody's error towards that of the farthest player.",
            format!(
                "middle and near: {} of the farthest's as printed, {} in the consistent form (towards it: at least {})",
                ratios_in_words(&to_farthest(&printed)),
                ratios_in_words(&to_farthest(&consistent)),
                1.0 - SAME
            ),
            Judgement::read(is_near(&printed), is_near(&consistent)),
            Verdict::Differs,
        )
        .all()
}

/// What is said of the flip-flop: a vector that comes late makes its receiver the one with the highest error, and the
/// others are pushed up to it. At fixed delays none comes late.
fn add_flip_flop(claims: Claims, view: &View, cells: &Cells) -> Claims {
    let forms = [Contender::NETGAMES05, Contender::CONSISTENT];
    let means = |setting| {
        let base = cells.of(setting, Contender::BASE);
        forms.map(|form| cells.of(setting, form).mean_ratio(&base))
    };
    let (fixed, varying) = (means(FIXED), means(view.setting));
    // Of the rise above base, the part that is there at fixed delays.
    let left = [0, 1].map(|form| fixed[form].plus(-1.0).over(varying[form].plus(-1.0)));
    let flips = [Contender::NETGAMES05, Contender::CONSISTENT, Contender::BASE]
        .map(|contender| cells.of(view.setting, contender).highest().0);
    claims
        .add(
            "The flip-flop is what raises everybody's error.",
            format!(
                "at fixed delays, where no vector comes late, the mean is {} of base's as printed and {} in the consistent form, with \
                 ±100 ms {} and {}: {} % and {} % of the rise are there without it (it is what raises it: less than half is). The rise is \
                 the price of distance",
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
            "By the same flip-flop somebody else comes to have the highest error.",
            format!(
                "looked at every 3 s, {} times a minute as printed, {} in the consistent form, {} under base (it flips: twice a minute)",
                flips[0].in_words(1),
                flips[1].in_words(1),
                flips[2].in_words(1)
            ),
            Judgement::read(Test::above(flips[0], CONTINUALLY), Test::above(flips[1], CONTINUALLY)),
            Verdict::Differs,
        )
}
