//! The price of lying: what a near player gains by claiming to be far away, and what the others lose, under every
//! policy. The claim is either believed blindly, as in the papers, or bounded by the sender's own measurements.

use super::bars::SAME;
use super::cells::{Cell, Cells, Contender};
use super::judgement::Test;
use super::liar_study::{GAIN_MAX, LiarStudy};
use super::setting::{Belief, ExperimentSetting, Lie};
use super::study::{FigureGroup, Paper, PaperKind, Setup, Work};
use super::view::{ClaimSource, Claims};
use crate::claims::{Claim, Verdict};
use crate::figure::Figure;

const SOURCE: ClaimSource = ClaimSource { paper: "lying", citation: "Evenkeel: who may lie" };

/// The study, listed beside the papers.
pub(super) const STUDY: Paper = Paper {
    key: SOURCE.paper,
    title: "The price of lying: a near player who claims to be far away",
    source: "Evenkeel's own study",
    kind: PaperKind::Study,
    readings: &[],
    first_seed: 1,
    is_long: false,
    groups: &[FigureGroup {
        figures: &[
            ("stamps", "A liar that reports wrong arrival times"),
            ("holds", "A liar that also delays its acknowledgments"),
        ],
        work: Work::Cells { cells, draw },
    }],
};

const POLICIES: [Contender; 8] = [
    Contender::BASE,
    Contender::THIRD,
    Contender::NETGAMES05,
    Contender::CONSISTENT,
    Contender::SCHEDULING_1_ESTIMATE,
    Contender::SCHEDULING_2,
    Contender::PROBABILISTIC_PA,
    Contender::DETERMINISTIC_PA,
];

const LIARS: LiarStudy = LiarStudy { setting: ExperimentSetting::Lying, policies: &POLICIES };

fn cells() -> Vec<Cell> {
    LIARS.cells()
}

fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let figure = |name: &str, title: &str, lie, claims| {
        let key = format!("{}/{name}", SOURCE.paper);
        let runs = format!("100 s, {}", setup.seeds_in_words());
        LIARS.draw(cells, lie, (key, title.to_owned(), &runs), claims)
    };
    vec![
        figure(
            "stamps",
            "A liar that only reports wrong times gains at most its own return delay",
            Lie::Stamps,
            stamps_claims(cells),
        ),
        figure(
            "holds",
            "A liar that also delays its acknowledgments passes for a far player",
            Lie::StampsAndHolds,
            holds_claims(cells),
        ),
    ]
}

fn stamps_claims(cells: &Cells) -> Vec<Claim> {
    let of = |belief, policy| LIARS.price(cells, Lie::Stamps, belief, policy);
    let is_small = |belief| Test::all(POLICIES.map(|policy| of(belief, policy).is_small()));
    let far = |policy: Contender| {
        let honest = |belief| cells.of(ExperimentSetting::Lying(Lie::None, belief), policy);
        honest(Belief::Bounded).receiver_ratio(0, &honest(Belief::Blind), 0)
    };
    Claims::about(SOURCE, "stamps", "claims")
        .add(
            "If it is believed blindly, a lie pays under at least one policy.",
            format!("the liar's error: {}", LIARS.in_words(|policy| of(Belief::Blind, policy).liar)),
            !is_small(Belief::Blind),
            Verdict::Holds,
        )
        .add(
            "With the bound, reporting wrong times gains at most 10 % and costs the others at most 5 %.",
            format!(
                "the liar's error: {}; the others': {}. An arrival time later than its acknowledgment is cut to the acknowledgment's \
                 arrival; with the bound, to a quarter of the least round trip before it. So this lie is worth half of the liar's own \
                 return delay, here 15 of 30 ms, and the policies that equalize errors pay for it",
                LIARS.in_words(|policy| of(Belief::Bounded, policy).liar),
                LIARS.in_words(|policy| of(Belief::Bounded, policy).others)
            ),
            is_small(Belief::Bounded),
            Verdict::Fails,
        )
        .add(
            "The bound costs an honest far player little.",
            format!(
                "the 150 ms player's error, bounded / blindly: {} (little: at most {:.0} % more)",
                LIARS.in_words(far),
                100.0 * SAME
            ),
            Test::all(POLICIES.map(|policy| Test::below(far(policy), 1.0 + SAME))),
            Verdict::Holds,
        )
        .all()
}

fn holds_claims(cells: &Cells) -> Vec<Claim> {
    let of = |policy| LIARS.price(cells, Lie::StampsAndHolds, Belief::Bounded, policy);
    let gains = |policy| Test::below(of(policy).liar, 1.0 - GAIN_MAX);
    Claims::about(SOURCE, "holds", "claims")
        .add(
            "A liar that delays its acknowledgments cannot be distinguished from a far player and gains in spite of the bound.",
            format!("the liar's error, bounded: {}", LIARS.in_words(|policy| of(policy).liar)),
            Test::any(POLICIES.map(gains)),
            Verdict::Holds,
        )
        .all()
}
