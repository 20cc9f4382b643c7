//! All policies side by side, in the papers' setting: which is fairest, and who pays what for it.

use super::cells::{Cell, Cells, Contender, Measured, product};
use super::setting::{Setting, Variation};
use crate::figure::Table;

const SETTING: Setting = Setting::Papers(Variation::Moderate);
const THIRD: Contender = Contender::Share;

/// The policies, and what each does.
const POLICIES: [(Contender, &str); 10] = [
    (Contender::Policy("base"), "every vector to everybody at once"),
    (THIRD, "every third vector to everybody"),
    (Contender::Coarser, "fewer vectors, each to everybody at once"),
    (Contender::Policy("netgames05"), "holds vectors back until estimates are equal"),
    (Contender::Policy("netgames05-consistent"), "the same, with what is in flight counted to its arrival"),
    (Contender::Policy("scheduling-1"), "holds back, and drops what is held at the next trigger"),
    (Contender::Policy("scheduling-2"), "holds back, but only until the next trigger"),
    (Contender::Policy("probabilistic-budget:pa"), "one vector per trigger, by chance, weighed by error"),
    (Contender::Policy("probabilistic-budget:pi"), "the same, weighed by the error of now"),
    (
        Contender::Policy("deterministic-budget"),
        "one vector per trigger, in turns as long as the errors ask for",
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
                caption: SETTING.caption(),
                table: table(&all),
                answers: vec![
                    ("Which policy is the fairest?", fairest(&all)),
                    ("What does fairness cost, and whom?", costs(&all)),
                ],
            }
        })
    }
}

fn needed() -> Vec<Cell> {
    product(&[SETTING], &POLICIES.map(|(contender, _)| contender))
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
        Self { does, one: cells.of(SETTING, contender), third: cells.of(SETTING, THIRD), seconds }
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

    /// How a player's error differs from that under 1/3 base.
    fn change(&self, receiver: usize) -> f64 {
        self.one.receiver(receiver) / self.third.receiver(receiver) - 1.0
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
            "Of all: {}. It leaves {:.1} % of 1/3 base's spread, at {:.2} times its mean error and {:.2} times its vectors.",
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
    let Some(third) = all.iter().find(|row| row.one.name == "1/3 base") else { return Vec::new() };
    let [far, middle, near] = third.distances()[..] else { return Vec::new() };
    let mut answers = vec![format!(
        "Under 1/3 base the player 800 ms away sees the tank {far:.1} units off on average, the one at 500 ms {middle:.1} and the \
         one at 200 ms {near:.1}. (A tank is {TANK:.0} units long.) Distance leaves that, and nobody can take it away: a policy can \
         only share it out, and choose how many vectors to spend."
    )];
    for name in ["deterministic (PA)", "netgames05-consistent"] {
        let Some(row) = all.iter().find(|row| row.one.name == name) else { continue };
        let words = |receiver: usize| {
            let change = 100.0 * row.change(receiver);
            if change < 0.0 { format!("gains {:.0} %", -change) } else { format!("pays {change:.0} %") }
        };
        answers.push(format!(
            "Under {name} the far player {}, the middle one {} and the near one {}, with {:.2} times the vectors.",
            words(0),
            words(1),
            words(2),
            row.sent()
        ));
    }
    if let Some(coarser) = all.iter().find(|row| row.one.name.starts_with("base, coarser")) {
        answers.push(format!(
            "Before paying for fairness, spend vectors well: base with a coarser threshold sends {:.2} times as many as 1/3 base and \
             has {:.2} times its mean, with {:.2} times its spread.",
            coarser.sent(),
            coarser.mean(),
            coarser.spread()
        ));
    }
    answers
}
