//! The price of lying: what a near player gains who claims to be far away, and what the others lose, under every policy;
//! believed blindly, as in the papers, and as far as the sender's own measurements go.

use super::bars::SAME;
use super::cells::{Cell, Cells, Contender, Ratio, product};
use super::judged::Test;
use super::setting::{Belief, LIAR, Lie, Setting};
use super::study::{Group, Paper, Setup, Work};
use super::view::{Claims, Source};
use crate::claims::{Claim, Verdict};
use crate::dr::RunFigures;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};

const SOURCE: Source = Source { paper: "lying", words: "Evenkeel: who may lie" };

/// The study, listed beside the papers.
pub(super) const STUDY: Paper = Paper {
    key: SOURCE.paper,
    title: "The price of lying: a near player who claims to be far away",
    source: "Evenkeel's own study",
    readings: &[],
    groups: &[Group {
        figures: &[
            ("stamps", "A liar that states wrong times of arrival"),
            ("holds", "A liar that holds its acknowledgments back as well"),
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

/// The gain that a liar is left with, and the loss of the others, that we call small.
const GAIN_MAX: f64 = 0.10;
const LOSS_MAX: f64 = 0.05;

fn cells() -> Vec<Cell> {
    let lies = [Lie::None, Lie::Stamps, Lie::StampsAndHolds];
    let settings = lies.map(|lie| [Belief::Blind, Belief::Bounded].map(|belief| Setting::Lying(lie, belief)));
    product(settings.as_flattened(), &POLICIES)
}

/// What a lie does to the errors of the liar and of the others, relative to the truth.
struct Price {
    liar: Ratio,
    others: Ratio,
}

impl Price {
    /// Neither gains the liar much, nor do the others lose much.
    fn is_small(&self) -> Test {
        Test::above(self.liar, 1.0 - GAIN_MAX).and(Test::below(self.others, 1.0 + LOSS_MAX))
    }
}

fn others(run: &RunFigures) -> f64 {
    run.receivers.iter().enumerate().filter(|(index, _)| *index != LIAR).map(|(_, one)| one.aee).sum()
}

fn price(cells: &Cells, lie: Lie, belief: Belief, policy: Contender) -> Price {
    let honest = cells.of(Setting::Lying(Lie::None, belief), policy);
    let lying = cells.of(Setting::Lying(lie, belief), policy);
    Price { liar: lying.ratio(&honest, |run| run.receivers[LIAR].aee), others: lying.ratio(&honest, others) }
}

fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let figure = |name: &str, title: &str, words: &str, lie, claims| Figure {
        key: format!("{}/{name}", SOURCE.paper),
        title: title.to_owned(),
        caption: format!(
            "Players at 150, 100, 50 and 30 ms with gamma jitter of a tenth; the nearest {words}. Errors relative to those if it \
             tells the truth: below 1 is a gain. Bounded: no more delay is made up for than the least round trip that the sender \
             measured itself, at most 500 ms, growing by 10 ms in a second. Random motion, threshold 0.09, 100 s; budget, where there is one, a third of the \
             players per trigger; {}.",
            setup.seeds_in_words()
        ),
        plots: vec![plot(cells, lie, Belief::Blind), plot(cells, lie, Belief::Bounded)],
        columns: 2,
        table: table(cells, lie),
        claims,
    };
    vec![
        figure(
            "stamps",
            "Who only states wrong times gains its own way back, no more",
            "claims that everything arrives 300 ms later than it does",
            Lie::Stamps,
            stamps_claims(cells),
        ),
        figure(
            "holds",
            "Who holds its acknowledgments back as well is taken for a far player",
            "claims that everything arrives 300 ms later than it does, and holds its acknowledgments back for 600 ms",
            Lie::StampsAndHolds,
            holds_claims(cells),
        ),
    ]
}

fn plot(cells: &Cells, lie: Lie, belief: Belief) -> Plot {
    let marks = |name: &str, part: fn(&Price) -> Ratio| Bars {
        name: name.to_owned(),
        heights: POLICIES.iter().map(|policy| part(&price(cells, lie, belief, *policy)).value).collect(),
    };
    Plot {
        title: match belief {
            Belief::Blind => "believed blindly",
            Belief::Bounded => "bounded by what the sender measured",
        }
        .to_owned(),
        x_label: "error / error if it tells the truth".to_owned(),
        y_label: String::new(),
        drawing: Drawing::Dots {
            rows: POLICIES.iter().map(|policy| policy.label()).collect(),
            groups: vec![marks("the liar", |price| price.liar), marks("the others", |price| price.others)],
            mark: Some(1.0),
        },
    }
}

fn table(cells: &Cells, lie: Lie) -> Table {
    let head = ["policy", "liar, blindly", "others, blindly", "liar, bounded", "others, bounded"];
    let row = |policy: &Contender| {
        let mut row = vec![policy.label()];
        for belief in [Belief::Blind, Belief::Bounded] {
            let Price { liar, others } = price(cells, lie, belief, *policy);
            row.extend([liar, others].map(|ratio| ratio.in_words(2)));
        }
        row
    };
    Table { head: head.map(str::to_owned).to_vec(), rows: POLICIES.iter().map(row).collect() }
}

/// One figure of every policy, in words.
fn in_words(figure: impl Fn(Contender) -> Ratio) -> String {
    let words = POLICIES.map(|policy| format!("{} {}", policy.label(), figure(policy).in_words(2)));
    words.join(", ")
}

fn stamps_claims(cells: &Cells) -> Vec<Claim> {
    let of = |belief, policy| price(cells, Lie::Stamps, belief, policy);
    let is_small = |belief| Test::all(POLICIES.map(|policy| of(belief, policy).is_small()));
    let far = |policy: Contender| {
        let honest = |belief| cells.of(Setting::Lying(Lie::None, belief), policy);
        honest(Belief::Bounded).to_receiver(0, &honest(Belief::Blind), 0)
    };
    Claims::about(SOURCE, "stamps", "claims")
        .say(
            "Believed blindly, a lie pays under some policy.",
            format!("the liar's error: {}", in_words(|policy| of(Belief::Blind, policy).liar)),
            !is_small(Belief::Blind),
            Verdict::Holds,
        )
        .say(
            "Bounded, to state wrong times gains at most 10 % and costs the others at most 5 %.",
            format!(
                "the liar's error: {}; the others': {}. A time after its acknowledgment came is cut to that, with and without the \
                 bound: so this lie is worth the liar's own way back, here 30 ms, and the policies that make errors equal pay for that",
                in_words(|policy| of(Belief::Bounded, policy).liar),
                in_words(|policy| of(Belief::Bounded, policy).others)
            ),
            is_small(Belief::Bounded),
            Verdict::Fails,
        )
        .say(
            "The bound takes little from an honest far player.",
            format!(
                "the 150 ms player's error, bounded / blindly: {} (little: at most {:.0} % more)",
                in_words(far),
                100.0 * SAME
            ),
            Test::all(POLICIES.map(|policy| Test::below(far(policy), 1.0 + SAME))),
            Verdict::Holds,
        )
        .all()
}

fn holds_claims(cells: &Cells) -> Vec<Claim> {
    let of = |policy| price(cells, Lie::StampsAndHolds, Belief::Bounded, policy);
    let gains = |policy| Test::below(of(policy).liar, 1.0 - GAIN_MAX);
    Claims::about(SOURCE, "holds", "claims")
        .say(
            "Who holds its acknowledgments back can't be told from a far player, and gains in spite of the bound.",
            format!("the liar's error, bounded: {}", in_words(|policy| of(policy).liar)),
            Test::any(POLICIES.map(gains)),
            Verdict::Holds,
        )
        .all()
}
