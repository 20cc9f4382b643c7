//! Re-runs figures: papers, groups of figures that share their runs, and what a group needs to run.

use std::collections::BTreeSet;

use evenkeel_dr::PolicyKind;

use super::cells::{Cell, Cells};
use super::summary::{self, PapersSummary};
use crate::dr::{RunFigures, RunSample, Sampling, run_unless};
use crate::figure::{Curve, CurvePoint, Figure};
use crate::parallel::{self, Cancelled, Progress};
use crate::scenario::Scenario;
use crate::stats::{mean, population_sd};

/// A paper.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Its key.
    pub key: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Authors and place.
    pub source: &'static str,
    /// Whether somebody else's claims are checked, or our own.
    pub kind: PaperKind,
    /// Where our reading differs, and why.
    pub readings: &'static [(&'static str, &'static str)],
    /// The first of its seeds.
    pub first_seed: u64,
    /// Whether it takes minutes, so that it runs only if named.
    pub is_long: bool,
    /// Its figures, in groups that share their runs.
    pub groups: &'static [FigureGroup],
}

/// Whose claims a chapter of the report checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PaperKind {
    /// A published paper or thesis.
    Paper,
    /// A study of our own.
    Study,
}

/// Figures made from the same runs.
#[derive(Clone, Copy, Debug)]
pub struct FigureGroup {
    /// Their names within the paper and their subjects, as `evenkeel lab list` prints them. A figure's title states its
    /// finding instead.
    pub figures: &'static [(&'static str, &'static str)],
    /// The work that makes them.
    pub(crate) work: Work,
}

/// The work that makes a group's figures.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Contenders in settings, which other groups may share.
    Cells { cells: fn() -> Vec<Cell>, draw: fn(&Setup<'_>, &Cells) -> Vec<Figure> },
    /// Runs of its own.
    Own {
        /// Returns their number.
        jobs: fn(&Setup<'_>) -> usize,
        run: fn(&Setup<'_>) -> Result<Vec<Figure>, Cancelled>,
    },
}

/// The parameters of a run of figures.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The number of seeds.
    pub runs: usize,
    /// The progress to report to.
    pub progress: &'a Progress,
}

/// No paper or figure has this key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "no paper or figure is called \"{key}\"; the papers are {known}, and `evenkeel lab list` shows their figures"
)]
pub struct UnknownKey {
    key: String,
    known: String,
}

/// Returns the groups that these keys name, each once, with the figures wanted from it; without a key, those of all
/// papers that do not take long.
///
/// # Errors
/// [`UnknownKey`] if a key names nothing.
pub fn select(
    keys: &[String],
    papers: &'static [Paper],
) -> Result<Vec<(&'static FigureGroup, Vec<String>)>, UnknownKey> {
    let names = |paper: &Paper, group: &FigureGroup| -> Vec<String> {
        group.figures.iter().map(|(figure, _)| format!("{}/{figure}", paper.key)).collect()
    };
    for key in keys {
        let known = papers.iter().any(|paper| {
            paper.key == key || paper.groups.iter().any(|group| names(paper, group).contains(key))
        });
        if !known {
            let known: Vec<_> = papers.iter().map(|paper| paper.key).collect();
            return Err(UnknownKey { key: key.clone(), known: known.join(", ") });
        }
    }
    let mut selected = Vec::new();
    for paper in papers {
        let whole = keys.is_empty() && !paper.is_long || keys.iter().any(|key| key == paper.key);
        for group in paper.groups {
            let wanted: Vec<String> =
                names(paper, group).into_iter().filter(|name| whole || keys.contains(name)).collect();
            if !wanted.is_empty() {
                selected.push((group, wanted));
            }
        }
    }
    Ok(selected)
}

/// The results of a run of figures.
#[derive(Clone, PartialEq, Debug)]
pub struct Results {
    /// The selected figures.
    pub figures: Vec<Figure>,
    /// All policies side by side, if the cells they need were run.
    pub summary: Option<PapersSummary>,
}

/// Runs the selected groups and announces all jobs first. What several groups need is run once.
///
/// # Errors
/// [`Cancelled`] if the work was cancelled.
pub fn run_selected(
    selected: &[(&'static FigureGroup, Vec<String>)],
    setup: &Setup<'_>,
) -> Result<Results, Cancelled> {
    let mut cells = BTreeSet::new();
    let mut own = 0;
    for (group, _) in selected {
        match group.work {
            Work::Cells { cells: wanted, .. } => cells.extend(wanted()),
            Work::Own { jobs, .. } => own += jobs(setup),
        }
    }
    summary::complete(&mut cells);
    setup.progress.expect(Cells::jobs(&cells, setup) + own);
    let cells = Cells::run(&cells, setup)?;
    let mut figures = Vec::new();
    for (group, wanted) in selected {
        let drawn = match group.work {
            Work::Cells { draw, .. } => draw(setup, &cells),
            Work::Own { run, .. } => run(setup)?,
        };
        figures.extend(drawn.into_iter().filter(|figure| wanted.contains(&figure.key)));
    }
    Ok(Results { figures, summary: PapersSummary::of(&cells) })
}

impl Setup<'_> {
    /// Returns a setup with a quarter of the seeds, for runs that are expensive or vary little.
    #[must_use]
    pub(crate) const fn with_few_seeds(&self) -> Self {
        Self { runs: quarter(self.runs), progress: self.progress }
    }

    /// Returns the seeds from 1 on.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        self.seeds_from(1)
    }

    /// Returns as many seeds from this one on.
    pub(crate) fn seeds_from(&self, first: u64) -> impl Iterator<Item = u64> + use<> {
        first..first + self.runs as u64
    }

    /// Describes the seeds, such as "seeds 1 to 20".
    #[must_use]
    pub fn seeds_in_words(&self) -> String {
        seeds_in_words(1, self.runs)
    }

    /// Runs every case with every seed; the results are grouped by case, in the order of the seeds.
    ///
    /// # Errors
    /// [`Cancelled`] if the work was cancelled.
    pub fn run(
        &self,
        cases: &[(&Scenario, PolicyKind)],
        sampling: Option<Sampling>,
    ) -> Result<Vec<Vec<RunFigures>>, Cancelled> {
        let jobs: Vec<_> =
            cases.iter().flat_map(|case| self.seeds().map(move |seed| (case.0, case.1, seed))).collect();
        let results = parallel::map(&jobs, self.progress, |(scenario, policy, seed)| {
            run_unless(scenario, *policy, *seed, sampling, self.progress)
        })?;
        Ok(results.chunks(self.runs).map(<[RunFigures]>::to_vec).collect())
    }
}

/// Returns a quarter of this many seeds, rounded up.
pub(crate) const fn quarter(runs: usize) -> usize {
    runs.div_ceil(4)
}

/// Describes this many seeds from the first on, such as "seeds 1 to 20".
#[must_use]
pub fn seeds_in_words(first: u64, runs: usize) -> String {
    match runs {
        1 => format!("seed {first}"),
        _ => format!("seeds {first} to {}", first + runs as u64 - 1),
    }
}

/// Returns the mean of a figure over the runs.
pub(crate) fn over_runs(runs: &[RunFigures], figure: impl Fn(&RunFigures) -> f64) -> f64 {
    mean(&runs.iter().map(figure).collect::<Vec<_>>())
}

/// Returns the curve over time of a figure of the receivers' export errors.
pub(crate) fn curve_over_time(name: &str, runs: &[RunFigures], figure: impl Fn(&[f64]) -> f64) -> Curve {
    curve_of_samples(name, runs, |sample| figure(&sample.aee))
}

/// Returns the curve of a figure of the samples: mean and standard deviation over the runs at each.
pub(crate) fn curve_of_samples(name: &str, runs: &[RunFigures], figure: impl Fn(&RunSample) -> f64) -> Curve {
    let samples = runs.iter().map(|run| run.samples.len()).min().unwrap_or(0);
    let point = |index: usize| {
        let values: Vec<f64> = runs.iter().map(|run| figure(&run.samples[index])).collect();
        CurvePoint { x: runs[0].samples[index].at, y: mean(&values), spread: population_sd(&values) }
    };
    Curve { name: name.to_owned(), points: (0..samples).map(point).collect() }
}
