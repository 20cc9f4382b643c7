//! The price of lying under every policy including ours: what a near player gains by claiming to be far away, and
//! what the others lose.

use super::{EvenCase, key, percent, runs_of, seeds};
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio};
use crate::papers::judgement::Test;
use crate::papers::liar_study::LiarStudy;
use crate::papers::setting::{Belief, ExperimentSetting, LIAR, Lie};

const CAPPED: Contender = Contender::Policy("even:kappa=1.2");
/// The default of a relay's rooms.
const IN_ROOMS: Contender = Contender::Policy(evenkeel_serve::POLICY);
const KAPPA: f64 = 1.2;
/// How far above kappa a player's error may be.
const ABOVE_CAP_MAX: f64 = 1.05;
/// The share of its compensation that an honest far player must keep.
const KEPT_MIN: f64 = 0.9;
/// Index of the player at 150 ms.
const FAR: usize = 0;

const LIARS: LiarStudy = LiarStudy {
    setting: |lie, belief| ExperimentSetting::Even(EvenCase::Lying(lie, belief)),
    policies: &POLICIES,
};

const POLICIES: [Contender; 11] = [
    Contender::EVEN,
    IN_ROOMS,
    CAPPED,
    Contender::BASE,
    Contender::THIRD,
    Contender::NETGAMES05,
    Contender::CONSISTENT,
    Contender::SCHEDULING_1_ESTIMATE,
    Contender::SCHEDULING_2,
    Contender::PROBABILISTIC_PA,
    Contender::DETERMINISTIC_PA,
];

pub(super) fn cells() -> Vec<Cell> {
    LIARS.cells()
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let figure = |name: &str, title, lie, claims| {
        let runs = format!("300 s, {}", seeds(setup));
        LIARS.draw(cells, lie, (key(name), title, &runs), claims)
    };
    let price = |lie| LIARS.price(cells, lie, Belief::Bounded, Contender::EVEN);
    let (stamps, holds) = (price(Lie::Stamps), price(Lie::StampsAndHolds));
    let title = |does: &str, liar: Ratio, others: Ratio| {
        format!(
            "{does}: under even its error is {:.2} times that when honest, the others' {:.2} times theirs",
            liar.value, others.value
        )
    };
    vec![
        figure(
            "stamps",
            title("A liar that only reports wrong times", stamps.liar, stamps.others),
            Lie::Stamps,
            stamps_claims(cells),
        ),
        figure(
            "holds",
            title(
                "A liar that also delays its acknowledgments passes for a far player",
                holds.liar,
                holds.others,
            ),
            Lie::StampsAndHolds,
            holds_claims(cells),
        ),
    ]
}

/// Returns how much of the far player's compensation the bound leaves if all players are honest.
fn compensation_kept(cells: &Cells) -> Ratio {
    let helped = |belief| -> Vec<f64> {
        let case = EvenCase::Lying(Lie::None, belief);
        let [with, without] = [Contender::EVEN, Contender::THIRD]
            .map(|contender| runs_of(cells, case, contender).by_run(|run| run.receivers[FAR].aee));
        without.into_iter().zip(with).map(|(without, with)| without - with).collect()
    };
    Ratio::of(&helped(Belief::Bounded).into_iter().zip(helped(Belief::Blind)).collect::<Vec<_>>())
}

fn stamps_claims(cells: &Cells) -> Vec<Claim> {
    let price = LIARS.price(cells, Lie::Stamps, Belief::Bounded, Contender::EVEN);
    let kept = compensation_kept(cells);
    let case = |belief| EvenCase::Lying(Lie::None, belief);
    let far = runs_of(cells, case(Belief::Bounded), Contender::EVEN)
        .ratio(&runs_of(cells, case(Belief::Blind), Contender::EVEN), |run| run.receivers[FAR].aee);
    super::claims("stamps")
        .add(
            "With the bound, a near player that only reports times 300 ms too late gains at most 10 %, and the others lose at most 5 \
             %.",
            format!("its error is {} of that when honest, the others' {} of theirs", price.liar, price.others),
            price.is_small(),
            Verdict::Holds,
        )
        .add(
            "With the bound, an honest far player keeps at least 90 % of its compensation.",
            format!(
                "the bound leaves {} of even's reduction of its error below 1/3 base's; its error is {far} of that without the bound",
                percent(kept)
            ),
            Test::above(kept, KEPT_MIN),
            Verdict::Holds,
        )
        .all()
}

fn holds_claims(cells: &Cells) -> Vec<Claim> {
    let price = |contender| LIARS.price(cells, Lie::StampsAndHolds, Belief::Bounded, contender);
    let [even, in_rooms, capped] = [Contender::EVEN, IN_ROOMS, CAPPED].map(price);
    let case = EvenCase::Lying(Lie::StampsAndHolds, Belief::Bounded);
    let changes = runs_of(cells, case, CAPPED).changes(&runs_of(cells, case, Contender::THIRD));
    let honest = changes.into_iter().enumerate().filter(|(player, _)| *player != LIAR);
    let worst = honest.map(|(_, change)| change).max_by(|a, b| a.value.total_cmp(&b.value));
    let worst = worst.expect("there are others");
    super::claims("holds")
        .add(
            "kappa bounds what a liar that also delays its acknowledgments can cost any player.",
            format!(
                "with kappa = 1.2 the honest player who is worst off has {worst} times its error under 1/3 base (bounded: at most 5 % \
                 above kappa). The price, as the liar's error and the others' relative to those when it is honest: {} and {}; with the \
                 cap of a relay's rooms ({}) {} and {}, with kappa = 1.2 {} and {}",
                even.liar, even.others, evenkeel_serve::POLICY, in_rooms.liar, in_rooms.others, capped.liar, capped.others
            ),
            Test::below(worst, KAPPA * ABOVE_CAP_MAX),
            Verdict::Holds,
        )
        .all()
}
