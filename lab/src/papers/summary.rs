//! All policies side by side in the papers' setting: which is fairest, and what that costs each player.

use std::collections::BTreeSet;

use super::cells::{Cell, Cells, Contender, ContenderRuns, product};
use super::setting::{ExperimentSetting, Variation};
use crate::even::TUNED_ON;
use crate::figure::Table;
use crate::stats::mean;

const SETTING: ExperimentSetting = ExperimentSetting::Papers(Variation::Moderate);
/// Today's delays, which may call for different advice.
const TODAY: ExperimentSetting = ExperimentSetting::Modern;
/// The contenders that send as many vectors as 1/3 base, which comes first.
const FRUGAL: [Contender; 4] =
    [Contender::THIRD, Contender::COARSER, Contender::DETERMINISTIC_PA, Contender::EVEN];

/// The policies and what each does.
const POLICIES: [(Contender, &str); 18] = [
    (Contender::BASE, "sends every vector to every player at once"),
    (Contender::THIRD, "sends every third vector to every player"),
    (Contender::COARSER, "makes fewer vectors, and sends each to every player at once"),
    (Contender::AS_MANY_AS_CONSISTENT, "the same with as many vectors as netgames05-consistent"),
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

/// The papers' receivers, in order.
const PLAYERS: [&str; 3] = ["the far player", "the middle player", "the near player"];
/// The length of a tank, in units.
const TANK: f64 = evenkeel_games::LENGTH;
/// A contender that sends at most this many times 1/3 base's vectors counts as sending as many.
const AS_MANY: f64 = 1.05;

/// Answers to the first questions of a new reader, computed from the results.
#[derive(Clone, PartialEq, Debug)]
pub struct PapersSummary {
    /// The setting.
    pub caption: String,
    /// The table of policies.
    pub table: Table,
    /// Questions and their answers.
    pub answers: Vec<(&'static str, Vec<String>)>,
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
                answers: vec![
                    ("Which policy is the fairest?", fairest(&all)),
                    ("What does fairness cost, and who pays?", costs(&all)),
                    ("What about today's delays?", today(cells)),
                ],
            }
        })
    }
}

/// Returns the cells it needs.
pub(crate) fn needed() -> Vec<Cell> {
    let mut cells = product(&[SETTING], &POLICIES.map(|(contender, _)| contender));
    cells.extend(product(&[TODAY], &FRUGAL));
    cells
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

/// Formats the distances of the far, the middle and the near player.
fn in_words(distances: &[f64]) -> String {
    distances.iter().map(|distance| format!("{distance:.1}")).collect::<Vec<_>>().join(", ")
}

/// Formats a ratio as "12 % less" or "3 % more".
fn less_or_more(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    if percent < 0.0 { format!("{:.0} % less", -percent) } else { format!("{percent:.0} % more") }
}

fn costs(all: &[Row<'_>]) -> Vec<String> {
    let find = |contender: Contender| all.iter().find(|row| row.one.name == contender.label());
    let (Some(base), Some(third)) = (find(Contender::BASE), find(Contender::THIRD)) else {
        return Vec::new();
    };
    let mut answers = vec![format!(
        "If every vector is sent to every player at once (base), the players 800, 500 and 200 ms away see the tank {} units off on \
         average; a tank is {TANK:.0} units long. Distance alone causes that much error. With a third of the vectors (1/3 base) it is \
         {}.",
        in_words(&base.distances()),
        in_words(&third.distances())
    )];
    let compared = [
        (Contender::DETERMINISTIC_PA, Contender::COARSER),
        (Contender::EVEN, Contender::COARSER),
        (Contender::CONSISTENT, Contender::AS_MANY_AS_CONSISTENT),
    ];
    for (contender, as_many) in compared {
        let (Some(row), Some(unfair)) = (find(contender), find(as_many)) else { continue };
        answers.push(format!(
            "Under {} the three see it {} units off. Base with a threshold coarse enough to send as many vectors has {}. Compared with \
             that, fairness costs {:.0} % more error on average, and {}.",
            row.one.name,
            in_words(&row.distances()),
            in_words(&unfair.distances()),
            100.0 * (row.mean() / unfair.mean() - 1.0),
            who_pays(&row.distances(), &unfair.distances())
        ));
    }
    if let Some(coarser) = find(Contender::COARSER) {
        let [_, real] = coarser.one.real_ratios(&third.one);
        answers.push(format!(
            "Before paying for fairness, spend vectors well: base with a coarser threshold sends as many vectors as 1/3 base ({:.2} \
             times) and has {} error on average, as unevenly shared ({:.2} times the spread). These errors are relative to the path that \
             the owner exports; relative to the tank itself, which a coarser threshold follows less closely, it has {}.",
            coarser.sent(),
            less_or_more(coarser.mean()),
            coarser.spread(),
            less_or_more(real.value)
        ));
    }
    answers
}

/// Describes the change for each player.
fn who_pays(with: &[f64], without: &[f64]) -> String {
    let mut words = Vec::new();
    for (player, (with, without)) in PLAYERS.iter().zip(with.iter().zip(without)) {
        let change = 100.0 * (with / without - 1.0);
        words.push(match change {
            change if change < -0.5 => format!("{player} sees it {:.0} % better", -change),
            change if change > 100.0 => format!("{player} sees it {:.1} times as far off", with / without),
            change if change > 0.5 => format!("{player} sees it {change:.0} % worse"),
            _ => format!("{player} sees it as before"),
        });
    }
    words.join(", ")
}

/// Returns how far from its real position the tank is seen on average: far, middle, near.
fn real_distances(cells: &Cells, setting: ExperimentSetting, contender: Contender) -> Vec<f64> {
    let seconds = cells.scenario(setting).duration.as_secs_f64();
    let one = cells.of(setting, contender);
    let distance = |index: usize| mean(&one.by_run(|run| run.receivers[index].real_error / seconds));
    (0..one.runs[0].receivers.len()).map(distance).collect()
}

/// Returns the contender with the least average distance from the tank itself among those that send as many vectors,
/// and that distance.
fn nearest(cells: &Cells, setting: ExperimentSetting) -> (String, f64) {
    let off = FRUGAL.map(|one| (one.label(), mean(&real_distances(cells, setting, one))));
    off.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are some")
}

/// Answers whether today's delays change the advice: what a coarser threshold gains, who is better off than with it,
/// and which contender is closest to the tank.
fn today(cells: &Cells) -> Vec<String> {
    let coarser = |setting| {
        let [coarser, third] = [Contender::COARSER, Contender::THIRD].map(|one| cells.of(setting, one));
        let [export, real] = [coarser.mean_ratio(&third), coarser.real_ratios(&third)[1]];
        format!(
            "{} error ({} relative to the tank itself)",
            less_or_more(export.value),
            less_or_more(real.value)
        )
    };
    let hundredths = |distances: &[f64]| {
        distances.iter().map(|distance| format!("{distance:.2}")).collect::<Vec<_>>().join(", ")
    };
    let unfair = real_distances(cells, TODAY, Contender::COARSER);
    let fair = [Contender::DETERMINISTIC_PA, Contender::EVEN].map(|contender| {
        let distances = real_distances(cells, TODAY, contender);
        let pairs = PLAYERS.iter().zip(distances.iter().zip(&unfair));
        let better: Vec<&str> =
            pairs.filter(|(_, (with, without))| with < without).map(|(player, _)| *player).collect();
        let better = if better.is_empty() { "no player".to_owned() } else { better.join(" and ") };
        let label = contender.label();
        format!(
            "under {label} {} ({better} is better off than under the coarser base)",
            hundredths(&distances)
        )
    });
    let (there, off_there) = nearest(cells, TODAY);
    let (here, off_here) = nearest(cells, SETTING);
    let advice = if there == here { "the same as" } else { "different from that" };
    vec![
        format!(
            "With delays of 120, 40 and 15 ms, base with a coarser threshold ({:.2} units) has {} than 1/3 base with as many vectors; in \
             the papers' setting it has {}.",
            cells.coarser(TODAY, Contender::COARSER).unwrap_or_default(),
            coarser(TODAY),
            coarser(SETTING)
        ),
        format!(
            "Relative to the tank itself, far, middle and near are off by {} units under the coarser base; {}.",
            hundredths(&unfair),
            fair.join("; ")
        ),
        format!(
            "So the advice is {advice} in the papers' setting: among those that send as many vectors, {there} is closest to the tank, \
             {off_there:.2} units off on average; in the papers' setting {here} is, {off_here:.2} units off."
        ),
    ]
}
