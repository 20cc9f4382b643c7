//! What is measured: a contender in a setting, over the seeds. Figures, tables and claims are views of the same cells, so
//! what several of them need is run once.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::Span;
use evenkeel_dr::PolicyKind;

use super::setting::{Setting, raised};
use super::study::Setup;
use crate::dr::{RunFigures, Sampling, run_unless};
use crate::parallel::{self, Cancelled, Progress};
use crate::scenario::Scenario;
use crate::stats::mean;

/// Who is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Contender {
    /// A policy by its name.
    Policy(&'static str),
    /// The base case with so much coarser a threshold that it sends as many vectors as 1/3 base: what a budget of a third
    /// should be compared with.
    Coarser,
}

impl Contender {
    pub(crate) const BASE: Self = Self::Policy("base");
    pub(crate) const THIRD: Self = Self::Policy("base-1/3");
    pub(crate) const CHANCE: Self = Self::Policy("probabilistic-1/3");
    pub(crate) const NETGAMES05: Self = Self::Policy("netgames05");
    pub(crate) const CONSISTENT: Self = Self::Policy("netgames05-consistent");
    pub(crate) const SCHEDULING_1: Self = Self::Policy("scheduling-1");
    pub(crate) const SCHEDULING_1_ESTIMATE: Self = Self::Policy("scheduling-1-estimate");
    pub(crate) const SCHEDULING_2: Self = Self::Policy("scheduling-2");
    pub(crate) const SCHEDULING_2_NEWEST: Self = Self::Policy("scheduling-2-newest");
    pub(crate) const PROBABILISTIC_PA: Self = Self::Policy("probabilistic-budget:pa");
    pub(crate) const PROBABILISTIC_PI: Self = Self::Policy("probabilistic-budget:pi");
    pub(crate) const PROBABILISTIC_PT: Self = Self::Policy("probabilistic-budget:pt");
    pub(crate) const PROBABILISTIC_THIRDS: Self = Self::Policy(PROBABILISTIC_MIX);
    pub(crate) const PROBABILISTIC_HALVES: Self = Self::Policy("probabilistic-budget:mix=0.5,0.5,0");
    pub(crate) const PROBABILISTIC_ONE: Self = Self::Policy("probabilistic-budget:pa:pick-one");
    pub(crate) const DETERMINISTIC_PA: Self = Self::Policy("deterministic-budget");
    pub(crate) const DETERMINISTIC_PI: Self = Self::Policy("deterministic-budget:pi");
    pub(crate) const DETERMINISTIC_PT: Self = Self::Policy("deterministic-budget:pt");
    pub(crate) const DETERMINISTIC_THIRDS: Self = Self::Policy(DETERMINISTIC_MIX);

    /// Its name in legends and tables.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Policy(name) => {
                let known = NAMES.iter().find(|(policy, _)| *policy == name);
                known.map_or(name, |(_, label)| label).to_owned()
            }
            Self::Coarser => "base, coarser threshold".to_owned(),
        }
    }

    fn policy(self) -> PolicyKind {
        let name = match self {
            Self::Policy(name) => name,
            Self::Coarser => "base",
        };
        name.parse().expect("the names are ours")
    }
}

/// Weights that are a third each.
const PROBABILISTIC_MIX: &str =
    "probabilistic-budget:mix=0.3333333333333333,0.3333333333333333,0.3333333333333334";
/// The same, deterministic.
const DETERMINISTIC_MIX: &str =
    "deterministic-budget:mix=0.3333333333333333,0.3333333333333333,0.3333333333333334";

/// What policies with settings are called in legends.
const NAMES: [(&str, &str); 12] = [
    ("base-1/3", "1/3 base"),
    ("probabilistic-1/3", "1/3 probabilistic"),
    ("probabilistic-budget:pa", "probabilistic (PA)"),
    ("probabilistic-budget:pi", "probabilistic (PI)"),
    ("probabilistic-budget:pt", "probabilistic (PT)"),
    (PROBABILISTIC_MIX, "probabilistic (thirds)"),
    ("probabilistic-budget:mix=0.5,0.5,0", "probabilistic (PA, PI)"),
    ("probabilistic-budget:pa:pick-one", "probabilistic (one)"),
    ("deterministic-budget", "deterministic (PA)"),
    ("deterministic-budget:pi", "deterministic (PI)"),
    ("deterministic-budget:pt", "deterministic (PT)"),
    (DETERMINISTIC_MIX, "deterministic (thirds)"),
];

/// A contender in a setting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Cell {
    pub(crate) setting: Setting,
    pub(crate) contender: Contender,
}

/// Each of these contenders in each of these settings.
pub(crate) fn product(settings: &[Setting], contenders: &[Contender]) -> Vec<Cell> {
    let cells = settings.iter().flat_map(|setting| contenders.iter().map(|contender| (*setting, *contender)));
    cells.map(|(setting, contender)| Cell { setting, contender }).collect()
}

/// How often a run is looked at that is drawn over time.
const EVERY: Span = Span::from_secs(3);

/// Cells that were run.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    scenarios: BTreeMap<Setting, Scenario>,
    coarser: BTreeMap<Setting, Scenario>,
    runs: BTreeMap<Cell, Vec<RunFigures>>,
}

impl Cells {
    /// Runs every cell once with every seed. The runs must have been announced.
    ///
    /// # Errors
    /// [`Cancelled`] if the work was cancelled.
    pub(crate) fn run(cells: &BTreeSet<Cell>, setup: &Setup<'_>) -> Result<Self, Cancelled> {
        let settings: BTreeSet<Setting> = cells.iter().map(|cell| cell.setting).collect();
        let scenarios: BTreeMap<Setting, Scenario> =
            settings.iter().map(|setting| (*setting, setting.scenario())).collect();
        let coarser: Vec<Setting> = cells
            .iter()
            .filter(|cell| cell.contender == Contender::Coarser)
            .map(|cell| cell.setting)
            .collect();
        let raise = |setting: &Setting| (!setup.progress.is_cancelled()).then(|| raised(&scenarios[setting]));
        let raised = parallel::map(&coarser, &Progress::default(), raise)?;
        let coarser: BTreeMap<Setting, Scenario> = coarser.into_iter().zip(raised).collect();
        let cells: Vec<Cell> = cells.iter().copied().collect();
        let jobs: Vec<(Cell, u64)> =
            cells.iter().flat_map(|cell| setup.seeds().map(move |seed| (*cell, seed))).collect();
        let order = interleaved(jobs.len());
        let results = parallel::map(&order, setup.progress, |index| {
            let (cell, seed) = jobs[*index];
            let scenario = match cell.contender {
                Contender::Coarser => &coarser[&cell.setting],
                _ => &scenarios[&cell.setting],
            };
            let policy = cell.contender.policy();
            let sampling = cell.setting.is_drawn_over_time().then_some(Sampling {
                from: Span::ZERO,
                until: scenario.duration,
                every: EVERY,
                ledger: false,
            });
            run_unless(scenario, policy, seed, sampling, setup.progress)
        })?;
        let mut by_job: Vec<(usize, RunFigures)> = order.into_iter().zip(results).collect();
        by_job.sort_by_key(|(index, _)| *index);
        let mut runs = BTreeMap::new();
        for (index, figures) in by_job {
            let (cell, _) = jobs[index];
            runs.entry(cell).or_insert_with(Vec::new).push(figures);
        }
        Ok(Self { scenarios, coarser, runs })
    }

    /// The scenario of a setting.
    pub(crate) fn scenario(&self, setting: Setting) -> &Scenario {
        self.scenarios.get(&setting).expect("a group names the cells that it draws")
    }

    /// A contender in a setting.
    pub(crate) fn of(&self, setting: Setting, contender: Contender) -> Measured<'_> {
        let runs =
            self.runs.get(&Cell { setting, contender }).expect("a group names the cells that it draws");
        Measured { name: contender.label(), runs }
    }

    /// The distance of the coarser threshold in a setting.
    pub(crate) fn coarser(&self, setting: Setting) -> f64 {
        self.coarser.get(&setting).expect("a group names the cells that it draws").threshold.distance
    }

    /// Whether all of these were run.
    pub(crate) fn has(&self, cells: &[Cell]) -> bool {
        cells.iter().all(|cell| self.runs.contains_key(cell))
    }
}

/// The numbers below `count` in an order in which cheap and dear neighbours are mixed, so that the share of the runs that
/// are done is the share of the time that is gone.
fn interleaved(count: usize) -> Vec<usize> {
    const STRIDE: usize = 31;
    (0..STRIDE.min(count)).flat_map(|first| (first..count).step_by(STRIDE)).collect()
}

/// A contender in a setting, over the seeds.
#[derive(Clone, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) name: String,
    pub(crate) runs: &'a [RunFigures],
}

impl Measured<'_> {
    /// A figure of each run.
    pub(crate) fn by_run(&self, figure: impl Fn(&RunFigures) -> f64) -> Vec<f64> {
        self.runs.iter().map(figure).collect()
    }

    fn over_runs(&self, figure: impl Fn(&RunFigures) -> f64) -> f64 {
        mean(&self.by_run(figure))
    }

    /// The spread between the receivers: the measure of unfairness.
    pub(crate) fn spread(&self) -> f64 {
        self.over_runs(RunFigures::std_aee)
    }

    /// The mean over the receivers.
    pub(crate) fn mean(&self) -> f64 {
        self.over_runs(RunFigures::mean_aee)
    }

    /// The error of the receiver with this index.
    pub(crate) fn receiver(&self, index: usize) -> f64 {
        self.over_runs(|run| run.receivers[index].aee)
    }

    /// The errors of all receivers.
    pub(crate) fn receivers(&self) -> Vec<f64> {
        (0..self.runs[0].receivers.len()).map(|index| self.receiver(index)).collect()
    }

    /// Each receiver's error relative to what it is under another contender.
    pub(crate) fn changes(&self, to: &Measured<'_>) -> Vec<f64> {
        self.receivers().iter().zip(to.receivers()).map(|(ours, theirs)| ours / theirs).collect()
    }

    /// DR vectors sent.
    pub(crate) fn sent(&self) -> f64 {
        self.over_runs(|run| run.sent as f64)
    }

    /// The mean error at the sample nearest to a part of the run.
    pub(crate) fn mean_at(&self, part: f64) -> f64 {
        self.over_runs(|run| {
            let last = run.samples.len().saturating_sub(1);
            run.samples.get((part * last as f64).round() as usize).map_or(0.0, |sample| mean(&sample.aee))
        })
    }

    /// A figure relative to another contender's on the same seeds.
    pub(crate) fn ratio(&self, to: &Measured<'_>, figure: fn(&RunFigures) -> f64) -> Ratio {
        let pairs: Vec<(f64, f64)> =
            self.runs.iter().zip(to.runs).map(|(ours, theirs)| (figure(ours), figure(theirs))).collect();
        Ratio::of(&pairs)
    }

    pub(crate) fn spread_ratio(&self, to: &Measured<'_>) -> Ratio {
        self.ratio(to, RunFigures::std_aee)
    }

    pub(crate) fn mean_ratio(&self, to: &Measured<'_>) -> Ratio {
        self.ratio(to, RunFigures::mean_aee)
    }

    pub(crate) fn sent_ratio(&self, to: &Measured<'_>) -> Ratio {
        self.ratio(to, |run| run.sent as f64)
    }
}

/// "1.00 / 2.00 / 3.00"
pub(crate) fn in_words(figures: &[f64]) -> String {
    figures.iter().map(|figure| format!("{figure:.2}")).collect::<Vec<_>>().join(" / ")
}

/// A ratio of means over the same seeds, and how sure it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    /// The standard error over the seeds; nought of a single one.
    pub(crate) error: f64,
}

impl Ratio {
    /// Of what is measured on each seed, and what it is compared with.
    pub(crate) fn of(pairs: &[(f64, f64)]) -> Self {
        let count = pairs.len() as f64;
        let (above, below) = pairs.iter().fold((0.0, 0.0), |(a, b), pair| (a + pair.0, b + pair.1));
        let value = above / below;
        // What is left of each seed's figure if the ratio were the same for all of them.
        let left: f64 = pairs.iter().map(|(a, b)| (a - value * b).powi(2)).sum();
        let error =
            if pairs.len() > 1 { (left / (count * (count - 1.0))).sqrt() / (below / count) } else { 0.0 };
        Self { value, error }
    }

    /// With so many decimals.
    pub(crate) fn in_words(self, decimals: usize) -> String {
        let Self { value, error } = self;
        let sure = if error > 0.0 { format!(" ± {error:.decimals$}") } else { String::new() };
        format!("{value:.decimals$}{sure}")
    }
}

impl core::fmt::Display for Ratio {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.in_words(if self.value < 0.1 { 4 } else { 3 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_in_whatever_order() {
        for count in [0, 1, 30, 31, 32, 1000] {
            let mut order = interleaved(count);
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_ratio_that_is_the_same_for_all_seeds_is_sure() {
        let ratio = Ratio::of(&[(2.0, 1.0), (4.0, 2.0), (6.0, 3.0)]);
        assert_eq!((ratio.value, ratio.error), (2.0, 0.0));
        let unsure = Ratio::of(&[(1.0, 1.0), (3.0, 1.0)]);
        assert_eq!((unsure.value, unsure.error), (2.0, 1.0));
        assert_eq!(format!("{unsure}, {ratio}"), "2.000 ± 1.000, 2.000");
    }
}
