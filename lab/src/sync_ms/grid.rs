//! Runs services in settings with all seeds, each with what its run without the service has shown.

use std::collections::BTreeMap;

use super::figures::{PlayerFigures, SyncFigures};
use super::run::{run_case, run_first};
use super::service::Service;
use super::setting::SyncSetting;
use crate::papers::Setup;
use crate::papers::cells::Ratio;
use crate::parallel::{self, Cancelled};

/// Settings by name, with the services to run in each.
pub(crate) type GridPlan = Vec<(SyncSetting, Vec<Service>)>;

/// The number of runs of a plan.
pub(crate) fn grid_jobs(plan: &GridPlan, seeds: usize) -> usize {
    plan.iter().map(|(_, services)| (1 + services.len()) * seeds).sum()
}

/// The runs of a plan.
#[derive(Debug)]
pub(crate) struct Grid {
    settings: Vec<BTreeMap<Service, Vec<SyncFigures>>>,
}

impl Grid {
    /// Runs a plan; the jobs must have been announced.
    ///
    /// # Errors
    /// [`Cancelled`] if the work was cancelled.
    pub(crate) fn run(
        plan: &GridPlan,
        setup: &Setup<'_>,
        first_seed: u64,
        seeds: usize,
    ) -> Result<Self, Cancelled> {
        let seeds = || first_seed..first_seed + seeds as u64;
        let firsts: Vec<_> = (0..plan.len()).flat_map(|at| seeds().map(move |seed| (at, seed))).collect();
        let first = parallel::map(&firsts, setup.progress, |(at, seed)| {
            run_first(&plan[*at].0, *seed, setup.progress)
        })?;
        let first: BTreeMap<(usize, u64), _> = firsts.into_iter().zip(first).collect();
        let of_setting = |at: usize| plan[at].1.iter().map(move |service| (at, *service));
        let jobs: Vec<_> = (0..plan.len())
            .flat_map(of_setting)
            .flat_map(|(at, service)| seeds().map(move |seed| (at, service, seed)))
            .collect();
        let figures = parallel::map(&jobs, setup.progress, |(at, service, seed)| {
            let (setting, (_, knowledge)) = (&plan[*at].0, &first[&(*at, *seed)]);
            run_case(setting, &service.case(setting, *seed, knowledge), *seed, setup.progress)
        })?;
        let mut settings = vec![BTreeMap::new(); plan.len()];
        for ((at, _), (figures, _)) in first {
            settings[at].entry(Service::NOTHING).or_insert_with(Vec::new).push(figures);
        }
        for ((at, service, _), figures) in jobs.into_iter().zip(figures) {
            settings[at].entry(service).or_insert_with(Vec::new).push(figures);
        }
        Ok(Self { settings })
    }

    /// The runs of a service in the setting with this index.
    pub(crate) fn of(&self, setting: usize, service: Service) -> ServiceRuns<'_> {
        let runs = self.settings[setting].get(&service).expect("every figure names the services it draws");
        let without = &self.settings[setting][&Service::NOTHING];
        ServiceRuns { runs, without }
    }
}

/// The runs of a service in a setting, one per seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceRuns<'a> {
    pub(crate) runs: &'a [SyncFigures],
    /// Those without the service.
    without: &'a [SyncFigures],
}

impl ServiceRuns<'_> {
    /// The mean over the runs of a figure of each.
    pub(crate) fn mean(&self, figure: impl Fn(&SyncFigures) -> f64) -> Ratio {
        Ratio::mean(&self.runs.iter().map(figure).collect::<Vec<_>>())
    }

    /// The mean over the runs of a player's figure.
    pub(crate) fn player(&self, player: usize, figure: impl Fn(&PlayerFigures) -> f64) -> Ratio {
        self.mean(|run| figure(&run.players[player]))
    }

    pub(crate) fn players(&self) -> usize {
        self.runs[0].players.len()
    }

    /// The share of a player's actions behind, in percent.
    pub(crate) fn behind(&self, player: usize) -> Ratio {
        self.player(player, PlayerFigures::behind)
    }

    /// The share of a player's actions ahead, in percent.
    pub(crate) fn ahead(&self, player: usize) -> Ratio {
        self.player(player, PlayerFigures::ahead)
    }

    /// A player's response time, in milliseconds.
    pub(crate) fn response(&self, player: usize) -> Ratio {
        self.player(player, |one| one.response_ms)
    }

    /// The share of actions behind, the mean over the players.
    pub(crate) fn mean_behind(&self) -> Ratio {
        self.mean(SyncFigures::mean_behind)
    }

    /// The response time, the mean over the players.
    pub(crate) fn mean_response(&self) -> Ratio {
        self.mean(SyncFigures::mean_response)
    }

    /// The share of actions behind of the player that fares worst on average.
    pub(crate) fn worst_behind(&self) -> Ratio {
        self.worst(PlayerFigures::behind)
    }

    /// A figure of the player for whom it is largest on average.
    pub(crate) fn worst(&self, figure: impl Fn(&PlayerFigures) -> f64) -> Ratio {
        let players = (0..self.players()).map(|player| self.player(player, &figure));
        players.max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default()
    }

    /// The largest share of actions behind of any player in any run.
    pub(crate) fn worst_run(&self) -> f64 {
        self.runs.iter().map(SyncFigures::worst_behind).fold(0.0, f64::max)
    }

    /// By how much the service prolongs the mean response time, in milliseconds.
    pub(crate) fn added_response(&self) -> Ratio {
        let pairs = self.runs.iter().zip(self.without);
        let added = pairs.map(|(with, without)| with.mean_response() - without.mean_response());
        Ratio::mean(&added.collect::<Vec<_>>())
    }
}
