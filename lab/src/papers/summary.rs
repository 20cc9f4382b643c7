//! All policies side by side, in the papers' setting: which is fairest, and who pays what for it.

use std::collections::BTreeSet;

use super::cells::{Cell, Cells, Contender, Measured, product};
use super::setting::{Setting, Variation};
use crate::even::TUNED_ON;
use crate::figure::Table;

const SETTING: Setting = Setting::Papers(Variation::Moderate);

/// The policies, and what each does.
const POLICIES: [(Contender, &str); 18] = [
    (Contender::BASE, "every vector to everybody at once"),
    (Contender::THIRD, "every third vector to everybody"),
    (Contender::COARSER, "fewer vectors, each to everybody at once"),
    (Contender::AS_MANY_AS_CONSISTENT, "the same, with as many vectors as netgames05-consistent"),
    (Contender::CHANCE, "each vector to each player with a chance of a third"),
    (Contender::NETGAMES05, "holds vectors back until estimates are equal"),
    (Contender::CONSISTENT, "the same as we repaired it: what is in flight counts to its arrival"),
    (Contender::SCHEDULING_1, "holds back, and drops what is held at the next trigger"),
    (Contender::SCHEDULING_1_ESTIMATE, "the same, with an estimate of the delay"),
    (Contender::SCHEDULING_2, "holds back, but only until the next trigger"),
    (Contender::SCHEDULING_2_NEWEST, "the same, and the newest vector is sent then"),
    (Contender::PROBABILISTIC_PA, "one vector per trigger, by chance, weighed by accumulated error (PA)"),
    (Contender::PROBABILISTIC_PI, "the same, weighed by the error of now (PI)"),
    (Contender::PROBABILISTIC_PT, "the same, weighed by the time since the last one (PT)"),
    (Contender::PROBABILISTIC_ONE, "the same by accumulated error, to exactly one player"),
    (
        Contender::DETERMINISTIC_PA,
        "one vector per trigger, in turns as long as the accumulated errors ask for",
    ),
    (Contender::DETERMINISTIC_PI, "the same, as the errors of now ask for"),
    (
        Contender::EVEN,
        "ours: whoever gains most by a vector is sent it, if that is worth the price of the moment",
    ),
];

/// A tank is so long, in units.
const TANK: f64 = evenkeel_games::LENGTH;
/// Who sends at most so many times 1/3 base's vectors sends as many.
const AS_MANY: f64 = 1.05;

/// What a stranger asks first, answered from what was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// Where it was measured.
    pub caption: String,
    /// The policies.
    pub table: Table,
    /// Questions and their answers.
    pub answers: Vec<(&'static str, Vec<String>)>,
}

impl Summary {
    /// From cells that were run; `None` if some of them were not.
    pub(crate) fn of(cells: &Cells) -> Option<Self> {
        cells.has(&needed()).then(|| {
            let all: Vec<Row<'_>> = POLICIES.iter().map(|(one, does)| Row::new(cells, *one, does)).collect();
            Self {
                caption: format!(
                    "{}; even was tuned on seeds {TUNED_ON}, and its own study has others",
                    SETTING.caption()
                ),
                table: table(&all),
                answers: vec![
                    ("Which policy is the fairest?", fairest(&all)),
                    ("What does fairness cost, and whom?", costs(&all)),
                ],
            }
        })
    }
}

/// What it is made of.
pub(crate) fn needed() -> Vec<Cell> {
    product(&[SETTING], &POLICIES.map(|(contender, _)| contender))
}

/// Ours is in no paper. If all others are run, it is, too.
pub(crate) fn complete(cells: &mut BTreeSet<Cell>) {
    let needed = needed();
    let ours = |cell: &Cell| cell.contender == Contender::EVEN;
    if needed.iter().all(|cell| ours(cell) || cells.contains(cell)) {
        cells.extend(needed.into_iter().filter(ours));
    }
}

struct Row<'a> {
    does: &'static str,
    one: Measured<'a>,
    third: Measured<'a>,
    seconds: f64,
}

impl<'a> Row<'a> {
    fn new(cells: &'a Cells, contender: Contender, does: &'static str) -> Self {
        let seconds = cells.scenario(SETTING).duration.as_secs_f64();
        Self { does, one: cells.of(SETTING, contender), third: cells.of(SETTING, Contender::THIRD), seconds }
    }

    fn spread(&self) -> f64 {
        self.one.spread_ratio(&self.third).value
    }

    fn mean(&self) -> f64 {
        self.one.mean_ratio(&self.third).value
    }

    fn sent(&self) -> f64 {
        self.one.sent_ratio(&self.third).value
    }

    /// How far off a player sees the tank on average, in units: far, middle, near.
    fn distances(&self) -> Vec<f64> {
        self.one.receivers().iter().map(|error| error / self.seconds).collect()
    }
}

fn table(all: &[Row<'_>]) -> Table {
    let head = [
        "policy",
        "what it does",
        "spread / 1/3 base",
        "mean / 1/3 base",
        "sent / 1/3 base",
        "far (units off)",
        "middle (units off)",
        "near (units off)",
    ];
    let row = |row: &Row<'_>| {
        let mut cells = vec![row.one.name.clone(), row.does.to_owned()];
        cells.extend(
            [
                row.one.spread_ratio(&row.third),
                row.one.mean_ratio(&row.third),
                row.one.sent_ratio(&row.third),
            ]
            .map(|ratio| ratio.to_string()),
        );
        cells.extend(row.distances().iter().map(|distance| format!("{distance:.2}")));
        cells
    };
    Table { head: head.map(str::to_owned).to_vec(), rows: all.iter().map(row).collect() }
}

fn least<'a, 'b>(rows: impl Iterator<Item = &'b Row<'a>>) -> Option<&'b Row<'a>>
where
    'a: 'b,
{
    rows.min_by(|a, b| a.spread().total_cmp(&b.spread()))
}

fn fairest(all: &[Row<'_>]) -> Vec<String> {
    let mut answers = Vec::new();
    if let Some(row) = least(all.iter()) {
        answers.push(format!(
            "Of all: {}. It leaves {:.1} % of the difference between the players that there is under 1/3 base, at {:.2} times its mean \
             error and {:.2} times its vectors.",
            row.one.name,
            100.0 * row.spread(),
            row.mean(),
            row.sent()
        ));
    }
    let frugal = || all.iter().filter(|row| row.sent() <= AS_MANY);
    if let Some(row) = least(frugal()) {
        answers.push(format!(
            "Of those that send no more vectors than 1/3 base: {}, with {:.0} % of the spread at {:.2} times the mean.",
            row.one.name,
            100.0 * row.spread(),
            row.mean()
        ));
    }
    if let Some(row) = least(frugal().filter(|row| row.mean() <= 1.1)) {
        answers.push(format!(
            "Of those that keep the mean within 10 % as well: {}, with {:.0} % of the spread and {:.2} times the mean.",
            row.one.name,
            100.0 * row.spread(),
            row.mean()
        ));
    }
    answers
}

fn costs(all: &[Row<'_>]) -> Vec<String> {
    let find = |contender: Contender| all.iter().find(|row| row.one.name == contender.label());
    let (Some(base), Some(third)) = (find(Contender::BASE), find(Contender::THIRD)) else {
        return Vec::new();
    };
    let in_words = |row: &Row<'_>| {
        row.distances().iter().map(|distance| format!("{distance:.1}")).collect::<Vec<_>>().join(", ")
    };
    let mut answers = vec![format!(
        "If every vector is sent to everybody at once (base), the players 800, 500 and 200 ms away see the tank {} units off on average; \
         a tank is {TANK:.0} units long. That is what distance leaves of these vectors. With a third of them (1/3 base) it is {}.",
        in_words(base),
        in_words(third)
    )];
    let compared = [
        (Contender::DETERMINISTIC_PA, Contender::COARSER),
        (Contender::CONSISTENT, Contender::AS_MANY_AS_CONSISTENT),
    ];
    for (contender, as_many) in compared {
        let (Some(row), Some(unfair)) = (find(contender), find(as_many)) else { continue };
        answers.push(format!(
            "Under {} the three see it {} units off. Base with a threshold so coarse that it sends as many vectors has {}: against that \
             fairness costs {:.0} % more error on average, and {}.",
            row.one.name,
            in_words(row),
            in_words(unfair),
            100.0 * (row.mean() / unfair.mean() - 1.0),
            who_pays(row, unfair)
        ));
    }
    if let Some(coarser) = find(Contender::COARSER) {
        answers.push(format!(
            "Before paying for fairness, spend vectors well: base with a coarser threshold sends as many vectors as 1/3 base ({:.2} times) \
             and has {:.0} % less error on average, as unevenly shared ({:.2} times the spread).",
            coarser.sent(),
            100.0 * (1.0 - coarser.mean()),
            coarser.spread()
        ));
    }
    answers
}

/// What each player has of it, in words.
fn who_pays(row: &Row<'_>, unfair: &Row<'_>) -> String {
    let mut words = Vec::new();
    for (player, (with, without)) in ["the far player", "the middle one", "the near one"]
        .iter()
        .zip(row.distances().iter().zip(unfair.distances()))
    {
        let change = 100.0 * (with / without - 1.0);
        words.push(match change {
            change if change < -0.5 => format!("{player} sees it {:.0} % better", -change),
            change if change > 0.5 => format!("{player} {change:.0} % worse"),
            _ => format!("{player} as before"),
        });
    }
    words.join(", ")
}
