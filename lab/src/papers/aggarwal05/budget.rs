//! Figures 5 and 6: the budget algorithms beside scheduling and the base cases, when delays vary.

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::cells::{Cell, Cells, Contender};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::setting::{Setting, Variation};
use crate::papers::study::Setup;
use crate::papers::view::{Claims, View, What, draw_all};

const BASE: Contender = Contender::Policy("base");
const THIRD: Contender = Contender::Share;
const COARSER: Contender = Contender::Coarser;
const SCHEDULED: Contender = Contender::Policy("netgames05");
const PICK_ONE: Contender = Contender::Policy("probabilistic-budget:pa:pick-one");
const DETERMINISTIC: Contender = Contender::Policy("deterministic-budget");

const ALL: &[Contender] = &[BASE, THIRD, SCHEDULED, PICK_ONE, DETERMINISTIC, COARSER];

const VIEWS: [View; 2] = [
    View {
        figure: "fig5",
        title: "The deterministic budget is fairer than 1/3 base at its mean; chance is not as cheap as said",
        what: What::Both,
        setting: Setting::Papers(Variation::Moderate),
        contenders: ALL,
        reference: THIRD,
    },
    View {
        figure: "fig6",
        title: "The same with delays that vary by 180 ms",
        what: What::Both,
        setting: Setting::Papers(Variation::High),
        contenders: ALL,
        reference: THIRD,
    },
];

const ELSEWHERE: Elsewhere = Elsewhere {
    figure: "budget-elsewhere",
    title: "The budget algorithms beyond the paper, and base with as many vectors",
    contenders: &[PICK_ONE, DETERMINISTIC, COARSER],
    reference: THIRD,
};

/// What the figures are made of.
pub(super) fn cells() -> Vec<Cell> {
    VIEWS.iter().flat_map(View::cells).chain(ELSEWHERE.cells()).collect()
}

/// Figures 5 and 6, and the same elsewhere.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, (setup, cells), &VIEWS, claims, Some(&ELSEWHERE))
}

fn claims(view: &View, cells: &Cells) -> Vec<Claim> {
    let of = |contender| cells.of(view.setting, contender);
    let (base, third, chance, schedule) = (of(BASE), of(THIRD), of(PICK_ONE), of(DETERMINISTIC));
    let (spread_chance, mean_chance) = (chance.spread_ratio(&third), chance.mean_ratio(&third));
    let (spread, mean) = (schedule.spread_ratio(&third), schedule.mean_ratio(&third));
    let (worst_base, worst_third) =
        (schedule.receiver(0) / base.receiver(0), schedule.receiver(0) / third.receiver(0));
    Claims::about(SOURCE, view.figure, "5.1 and 5.2")
        .say(
            "The spread under the probabilistic scheme is less than under 1/3 base.",
            format!("{spread_chance} of it"),
            Verdict::of(spread_chance.value < 1.0),
            Verdict::Holds,
        )
        .say(
            "The mean under the probabilistic scheme is a little higher than under 1/3 base.",
            format!("{mean_chance} of it (a little: at most 1.25)"),
            Verdict::of(mean_chance.value > 1.0 && mean_chance.value <= 1.25),
            Verdict::Fails,
        )
        .say(
            "The spread under the deterministic scheme is less than under 1/3 base.",
            format!("{spread} of it"),
            Verdict::of(spread.value < 1.0),
            Verdict::Holds,
        )
        .say(
            "The mean under the deterministic scheme is the same as under 1/3 base.",
            format!("{mean} of it (the same: within 10 %)"),
            Verdict::of((mean.value - 1.0).abs() <= 0.1),
            Verdict::Holds,
        )
        .say(
            "The deterministic scheme's mean is less than the probabilistic one's.",
            format!("{mean} against {mean_chance} of 1/3 base's"),
            Verdict::of(mean.value < mean_chance.value),
            Verdict::Holds,
        )
        .say(
            "The deterministic scheme does not increase the worst player's error against the base case.",
            format!(
                "{worst_base:.2} of base's, {worst_third:.2} of 1/3 base's: it holds only against the latter"
            ),
            Verdict::read(worst_base <= 1.0, worst_third <= 1.0),
            Verdict::Differs,
        )
        .say_low_variance(view, spread.value, spread_chance.value)
        .all()
}

impl Claims {
    /// What the paper says of the two spreads when delays vary little; of more variation it draws no conclusion.
    fn say_low_variance(self, view: &View, deterministic: f64, probabilistic: f64) -> Self {
        if view.setting != Setting::Papers(Variation::Moderate) {
            return self;
        }
        self.say(
            "When delays vary little, the deterministic scheme's spread is the lower of the two.",
            format!("{deterministic:.2} against {probabilistic:.2} of 1/3 base's"),
            Verdict::of(deterministic < probabilistic),
            Verdict::Fails,
        )
    }
}
