//! The price of lying: what a near player gains who claims to be far away, and what the others lose, under every policy;
//! believed blindly, as in the papers, and as far as the sender's own measurements go.

use super::cells::{Cell, Cells, Contender, Measured, product};
use super::setting::{Belief, LIAR, Lie, Setting};
use super::study::{Group, Paper, Setup, Work};
use super::view::{Claims, Source};
use crate::claims::{Claim, Verdict};
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
    liar: f64,
    others: f64,
}

fn others(one: &Measured<'_>) -> f64 {
    one.receivers().iter().enumerate().filter(|(index, _)| *index != LIAR).map(|(_, error)| error).sum()
}

fn price(cells: &Cells, lie: Lie, belief: Belief, policy: Contender) -> Price {
    let honest = cells.of(Setting::Lying(Lie::None, belief), policy);
    let lying = cells.of(Setting::Lying(lie, belief), policy);
    Price { liar: lying.receiver(LIAR) / honest.receiver(LIAR), others: others(&lying) / others(&honest) }
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
    let marks = |name: &str, part: fn(&Price) -> f64| Bars {
        name: name.to_owned(),
        heights: POLICIES.iter().map(|policy| part(&price(cells, lie, belief, *policy))).collect(),
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
            mark: 1.0,
        },
    }
}

fn table(cells: &Cells, lie: Lie) -> Table {
    let head = ["policy", "liar, blindly", "others, blindly", "liar, bounded", "others, bounded"];
    let row = |policy: &Contender| {
        let mut row = vec![policy.label()];
        for belief in [Belief::Blind, Belief::Bounded] {
            let Price { liar, others } = price(cells, lie, belief, *policy);
            row.extend([format!("{liar:.2}"), format!("{others:.2}")]);
        }
        row
    };
    Table { head: head.map(str::to_owned).to_vec(), rows: POLICIES.iter().map(row).collect() }
}

/// One figure of every policy, in words.
fn in_words(figure: impl Fn(Contender) -> f64) -> String {
    let words = POLICIES.map(|policy| format!("{} {:.2}", policy.label(), figure(policy)));
    words.join(", ")
}

fn stamps_claims(cells: &Cells) -> Vec<Claim> {
    let of = |belief, policy| price(cells, Lie::Stamps, belief, policy);
    let small = |price: &Price| price.liar >= 1.0 - GAIN_MAX && price.others <= 1.0 + LOSS_MAX;
    let believed = |policy| small(&of(Belief::Blind, policy));
    let bounded = |policy| small(&of(Belief::Bounded, policy));
    let far = |policy: Contender| {
        let honest = |belief| cells.of(Setting::Lying(Lie::None, belief), policy).receiver(0);
        honest(Belief::Bounded) / honest(Belief::Blind)
    };
    Claims::about(SOURCE, "stamps", "claims")
        .say(
            "Believed blindly, a lie pays under some policy.",
            format!("the liar's error: {}", in_words(|policy| of(Belief::Blind, policy).liar)),
            Verdict::of(!POLICIES.into_iter().all(believed)),
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
            Verdict::of(POLICIES.into_iter().all(bounded)),
            Verdict::Fails,
        )
        .say(
            "The bound takes little from an honest far player.",
            format!("the 150 ms player's error, bounded / blindly: {} (little: at most 1.10)", in_words(far)),
            Verdict::of(POLICIES.into_iter().all(|policy| far(policy) <= 1.1)),
            Verdict::Holds,
        )
        .all()
}

fn holds_claims(cells: &Cells) -> Vec<Claim> {
    let of = |policy| price(cells, Lie::StampsAndHolds, Belief::Bounded, policy);
    let gains = |policy| of(policy).liar < 1.0 - GAIN_MAX;
    Claims::about(SOURCE, "holds", "claims")
        .say(
            "Who holds its acknowledgments back can't be told from a far player, and gains in spite of the bound.",
            format!("the liar's error, bounded: {}", in_words(|policy| of(policy).liar)),
            Verdict::of(POLICIES.into_iter().any(gains)),
            Verdict::Holds,
        )
        .all()
}
