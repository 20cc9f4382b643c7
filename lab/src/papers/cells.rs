//! Runs contenders in settings over the seeds. Figures, tables and claims are views of these cells, so what several
//! of them need is run once.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::Span;

use super::calibration::Search;
pub(crate) use super::contender::Contender;
pub(crate) use super::contender_runs::{ContenderRuns, Ratio, in_words, mean_at, ratios_in_words};
use super::setting::ExperimentSetting;
use super::study::Setup;
use crate::batch::bounds_with_budget;
use crate::bounds::Bounds;
use crate::dr::{RunFigures, Sampling, run_unless};
use crate::parallel::{self, Cancelled};
use crate::scenario::Scenario;

/// A contender in a setting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Cell {
    pub(crate) setting: ExperimentSetting,
    pub(crate) contender: Contender,
}

/// Returns the cells of each of these contenders in each of these settings.
pub(crate) fn product(settings: &[ExperimentSetting], contenders: &[Contender]) -> Vec<Cell> {
    let cells = settings.iter().flat_map(|setting| contenders.iter().map(|contender| (*setting, *contender)));
    cells.map(|(setting, contender)| Cell { setting, contender }).collect()
}

/// Returns the searches that must precede these cells.
fn searches(cells: &BTreeSet<Cell>) -> BTreeSet<Search> {
    let budgets = cells.iter().filter(|cell| matches!(cell.setting, ExperimentSetting::Threshold(_)));
    let coarser = cells.iter().filter_map(|cell| match cell.contender {
        Contender::Coarser(policy) => Some(Search::Coarser(cell.setting, policy)),
        Contender::Policy(_) => None,
    });
    budgets.map(|cell| Search::Budget(cell.setting)).chain(coarser).collect()
}

/// A computation with one seed.
#[derive(Clone, Copy, Debug)]
enum Job {
    Run(Cell, u64),
    Bounds(ExperimentSetting, u64),
}

/// The result of a job.
enum JobResult {
    Run(RunFigures),
    Bounds(Bounds),
}

impl Job {
    /// Returns a job for every cell, and for the bounds of every setting that has them, with every seed.
    fn all(cells: &BTreeSet<Cell>, setup: &Setup<'_>) -> Vec<Self> {
        let seeds = |setting: ExperimentSetting| {
            setup.seeds_from(setting.first_seed()).take(setting.runs(setup.runs))
        };
        let runs = cells.iter().flat_map(|cell| seeds(cell.setting).map(|seed| Self::Run(*cell, seed)));
        let settings: BTreeSet<ExperimentSetting> = cells.iter().map(|cell| cell.setting).collect();
        let bounded = settings.into_iter().filter(|setting| setting.is_bounded());
        // At mean delays only the motion is random.
        let drawn = |setting: ExperimentSetting| if setting.is_recorded() { 1 } else { setup.runs };
        let bounds = bounded.flat_map(|setting| {
            seeds(setting).take(drawn(setting)).map(move |seed| Self::Bounds(setting, seed))
        });
        runs.chain(bounds).collect()
    }
}

/// The results of cells that were run.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    scenarios: BTreeMap<ExperimentSetting, Scenario>,
    coarser: BTreeMap<(ExperimentSetting, &'static str), Scenario>,
    runs: BTreeMap<Cell, Vec<RunFigures>>,
    bounds: BTreeMap<ExperimentSetting, Vec<Bounds>>,
}

impl Cells {
    /// Returns the number of jobs to run these cells.
    pub(crate) fn jobs(cells: &BTreeSet<Cell>, setup: &Setup<'_>) -> usize {
        Job::all(cells, setup).len() + searches(cells).len()
    }

    /// Runs every cell once with every seed. The jobs must have been announced.
    ///
    /// # Errors
    /// [`Cancelled`] if the work was cancelled.
    pub(crate) fn run(cells: &BTreeSet<Cell>, setup: &Setup<'_>) -> Result<Self, Cancelled> {
        let settings: BTreeSet<ExperimentSetting> = cells.iter().map(|cell| cell.setting).collect();
        let mut scenarios: BTreeMap<ExperimentSetting, Scenario> =
            settings.iter().map(|setting| (*setting, setting.scenario())).collect();
        let searches: Vec<Search> = searches(cells).into_iter().collect();
        let found = parallel::map(&searches, setup.progress, |search| {
            search.find(&scenarios[&search.setting()], setup.progress)
        })?;
        let mut coarser = BTreeMap::new();
        for (search, scenario) in searches.into_iter().zip(found) {
            match search {
                Search::Budget(setting) => scenarios.insert(setting, scenario),
                Search::Coarser(setting, policy) => coarser.insert((setting, policy), scenario),
            };
        }
        let jobs = Job::all(cells, setup);
        let order = interleaved(jobs.len());
        let done = parallel::map(&order, setup.progress, |index| match jobs[*index] {
            Job::Bounds(setting, seed) => {
                Some(JobResult::Bounds(bounds_with_budget(&scenarios[&setting], seed).1))
            }
            Job::Run(cell, seed) => {
                let scenario = match cell.contender {
                    Contender::Coarser(policy) => &coarser[&(cell.setting, policy)],
                    Contender::Policy(_) => &scenarios[&cell.setting],
                };
                let until = scenario.duration;
                let looks = cell.setting.sample_interval();
                let sampling = looks.map(|every| Sampling { from: Span::ZERO, until, every, ledger: false });
                let policy = cell.contender.policy();
                run_unless(scenario, policy, seed, sampling, setup.progress).map(JobResult::Run)
            }
        })?;
        let mut by_job: Vec<(usize, JobResult)> = order.into_iter().zip(done).collect();
        by_job.sort_by_key(|(index, _)| *index);
        let (mut runs, mut bounds) = (BTreeMap::new(), BTreeMap::new());
        for (index, done) in by_job {
            match (jobs[index], done) {
                (Job::Run(cell, _), JobResult::Run(run)) => {
                    runs.entry(cell).or_insert_with(Vec::new).push(run)
                }
                (Job::Bounds(setting, _), JobResult::Bounds(found)) => {
                    bounds.entry(setting).or_insert_with(Vec::new).push(found);
                }
                (job, _) => unreachable!("{job:?} has a result of its kind"),
            }
        }
        Ok(Self { scenarios, coarser, runs, bounds })
    }

    /// Returns the scenario of a setting.
    pub(crate) fn scenario(&self, setting: ExperimentSetting) -> &Scenario {
        self.scenarios.get(&setting).expect("every group lists the cells it draws")
    }

    /// Returns the runs of a contender in a setting.
    pub(crate) fn of(&self, setting: ExperimentSetting, contender: Contender) -> ContenderRuns<'_> {
        let runs = self.runs.get(&Cell { setting, contender }).expect("every group lists the cells it draws");
        ContenderRuns { name: contender.label(), runs }
    }

    /// Returns the clairvoyant bounds of a setting for each seed, with its budget, at mean delays and without loss.
    pub(crate) fn bounds(&self, setting: ExperimentSetting) -> impl Iterator<Item = &Bounds> {
        self.bounds.get(&setting).expect("bounds are computed for this setting").iter().cycle()
    }

    /// Returns the distance of a contender's threshold in a setting if it is a coarser one.
    pub(crate) fn coarser(&self, setting: ExperimentSetting, contender: Contender) -> Option<f64> {
        let Contender::Coarser(policy) = contender else { return None };
        self.coarser.get(&(setting, policy)).map(|scenario| scenario.threshold.distance)
    }

    /// Returns whether all of these were run.
    pub(crate) fn has(&self, cells: &[Cell]) -> bool {
        cells.iter().all(|cell| self.runs.contains_key(cell))
    }
}

/// Returns the numbers below `count`, with cheap and expensive neighbours mixed, so that the share of jobs done
/// matches the share of time passed.
fn interleaved(count: usize) -> Vec<usize> {
    const STRIDE: usize = 31;
    (0..STRIDE.min(count)).flat_map(|first| (first..count).step_by(STRIDE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interleaved_order_contains_every_job_once() {
        for count in [0, 1, 30, 31, 32, 1000] {
            let mut order = interleaved(count);
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }
}
