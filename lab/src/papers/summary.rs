//! All policies side by side in the papers' setting. What fairness costs each player beside what a game would do
//! without it is the subject of `comparison`.

use std::collections::BTreeSet;

use super::cells::{Cell, Cells, Contender, ContenderRuns, product};
use super::setting::{ExperimentSetting, Variation};
use crate::even::TUNED_ON;
use crate::figure::Table;

const SETTING: ExperimentSetting = ExperimentSetting::Papers(Variation::Moderate);

/// The policies and what each does.
const POLICIES: [(Contender, &str); 19] = [
    (Contender::BASE, "sends every vector to every player at once"),
    (Contender::THIRD, "sends every third vector to every player"),
    (Contender::COARSER, "makes fewer vectors, and sends each to every player at once"),
    (Contender::MATCHED, "the same as a policy, with the threshold that keeps the budget"),
    (Contender::AS_MANY_AS_CONSISTENT, "base with as many vectors as netgames05-consistent"),
    (Contender::CHANCE, "sends each vector to each player with a chance of a third"),
    (Contender::NETGAMES05, "holds vectors back until the estimated errors are equal"),
    (Contender::CONSISTENT, "the same with our repair: counts vectors in flight to their estimated arrival"),
    (Contender::SCHEDULING_1, "holds vectors back, and drops those still held at the next trigger"),
    (Contender::SCHEDULING_1_ESTIMATE, "the same with a delay estimate"),
    (Contender::SCHEDULING_2, "holds vectors back until the next trigger at the latest"),
    (Contender::SCHEDULING_2_NEWEST, "the same, but then sends the newest vector"),
    (
        Contender::PROBABILISTIC_PA,
        "sends one vector per trigger by chance, weighted by accumulated error (PA)",
    ),
    (Contender::PROBABILISTIC_PI, "the same, weighted by instantaneous error (PI)"),
    (Contender::PROBABILISTIC_PT, "the same, weighted by the time since the last vector (PT)"),
    (Contender::PROBABILISTIC_ONE, "the same, weighted by accumulated error, to exactly one player"),
    (
        Contender::DETERMINISTIC_PA,
        "sends one vector per trigger in turns, with frequencies set by accumulated error (PA)",
    ),
    (Contender::DETERMINISTIC_PI, "the same, with frequencies set by instantaneous error (PI)"),
    (Contender::EVEN, "ours: sends to the player who gains most, if the gain is worth the current price"),
];

/// A contender that sends at most this many times 1/3 base's vectors counts as sending as many.
const AS_MANY: f64 = 1.05;

/// All policies side by side, computed from the results.
#[derive(Clone, PartialEq, Debug)]
pub struct PapersSummary {
    /// The setting.
    pub caption: String,
    /// The table of policies.
    pub table: Table,
    /// Which policy is the fairest, in sentences.
    pub answers: Vec<String>,
}

impl PapersSummary {
    /// Summarizes cells that were run; `None` if some are missing.
    pub(crate) fn of(cells: &Cells) -> Option<Self> {
        cells.has(&needed()).then(|| {
            let all: Vec<Row<'_>> = POLICIES.iter().map(|(one, does)| Row::new(cells, *one, does)).collect();
            Self {
                caption: format!(
                    "{}; even was tuned on seeds {TUNED_ON}, and its own study uses others",
                    SETTING.caption()
                ),
                table: table(&all),
                answers: fairest(&all),
            }
        })
    }
}

/// Returns the cells it needs.
pub(crate) fn needed() -> Vec<Cell> {
    product(&[SETTING], &POLICIES.map(|(contender, _)| contender))
}

/// Adds our policy, which is in no paper, if all other cells of the summary are run.
pub(crate) fn complete(cells: &mut BTreeSet<Cell>) {
    let needed = needed();
    let ours = |cell: &Cell| cell.contender == Contender::EVEN;
    if needed.iter().all(|cell| ours(cell) || cells.contains(cell)) {
        cells.extend(needed.into_iter().filter(ours));
    }
}

struct Row<'a> {
    does: &'static str,
    one: ContenderRuns<'a>,
    third: ContenderRuns<'a>,
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

    /// Returns how far off each player sees the tank on average, in units: far, middle, near.
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
            "Overall: {}. It leaves {:.1} % of 1/3 base's spread between the players, at {:.2} times its mean error and {:.2} times its \
             vectors.",
            row.one.name,
            100.0 * row.spread(),
            row.mean(),
            row.sent()
        ));
    }
    let frugal = || all.iter().filter(|row| row.sent() <= AS_MANY);
    if let Some(row) = least(frugal()) {
        answers.push(format!(
            "Among those that send no more vectors than 1/3 base: {}, with {:.0} % of the spread at {:.2} times the mean.",
            row.one.name,
            100.0 * row.spread(),
            row.mean()
        ));
    }
    if let Some(row) = least(frugal().filter(|row| row.mean() <= 1.1)) {
        answers.push(format!(
            "Among those that also keep the mean within 10 %: {}, with {:.0} % of the spread and {:.2} times the mean.",
            row.one.name,
            100.0 * row.spread(),
            row.mean()
        ));
    }
    answers.push("The table below says what each policy does.".to_owned());
    answers
}
