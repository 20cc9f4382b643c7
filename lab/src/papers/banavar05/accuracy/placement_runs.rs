//! The runs of one motion under both placements: how far the copy is off, how often it is not, and when the global
//! clock does worse.

use evenkeel_games::WIDTH;

use crate::dr::{RunFigures, RunSample};
use crate::papers::cells::Ratio;
use crate::papers::study::over_runs;
use crate::scenario::Scenario;

/// A tank slower than this stands still, in units per second.
const STANDING: f64 = 1.0;

/// The runs of one kind of motion under both placements.
pub(super) struct PlacementRuns {
    pub(super) name: String,
    /// The scenario of both, except for the placement.
    pub(super) scenario: Scenario,
    pub(super) local: Vec<RunFigures>,
    pub(super) global: Vec<RunFigures>,
}

/// When the copy placed by the global clock is farther off than the one placed by the local clock.
pub(super) struct GlobalWorse {
    /// The share of the samples at which it is.
    pub(super) share: Ratio,
    /// The share of those at which the tank has stood still within the last delay.
    pub(super) stopped: Ratio,
    /// The share of all samples at which the tank has stood still within the last delay.
    pub(super) stopped_always: Ratio,
}

/// Returns the mean distance over time and runs at the receiver with this index.
pub(super) fn mean_distance(runs: &[RunFigures], receiver: usize, seconds: f64) -> f64 {
    over_runs(runs, |run| run.receivers[receiver].real_error / seconds)
}

/// Returns the largest distance of each run at the receiver with this index.
fn peaks(runs: &[RunFigures], receiver: usize) -> Vec<f64> {
    let peak = |run: &RunFigures| run.samples.iter().map(|s| s.real_distance[receiver]).fold(0.0, f64::max);
    runs.iter().map(peak).collect()
}

/// Returns the number of samples at which a shot would hit, and of all samples.
fn hits(run: &RunFigures, receiver: usize) -> (f64, f64) {
    let hit = run.samples.iter().filter(|sample| sample.real_distance[receiver] <= 0.5 * WIDTH);
    (hit.count() as f64, run.samples.len().max(1) as f64)
}

impl PlacementRuns {
    fn seconds(&self) -> f64 {
        self.scenario.duration.as_secs_f64()
    }

    /// Returns the mean distances with local and with global placement.
    pub(super) fn distances(&self, receiver: usize) -> [f64; 2] {
        [&self.local, &self.global].map(|runs| mean_distance(runs, receiver, self.seconds()))
    }

    /// Returns a figure of local placement relative to that of global placement.
    pub(super) fn ratio(&self, figure: impl Fn(&RunFigures) -> f64) -> Ratio {
        let pairs = self.local.iter().zip(&self.global);
        Ratio::of(&pairs.map(|(local, global)| (figure(local), figure(global))).collect::<Vec<_>>())
    }

    /// Returns the distance of local placement relative to that of global placement.
    pub(super) fn distance_ratio(&self, receiver: usize) -> Ratio {
        self.ratio(|run| run.receivers[receiver].real_error)
    }

    /// Returns the largest distance ever with local placement.
    pub(super) fn local_max(&self, receiver: usize) -> f64 {
        peaks(&self.local, receiver).into_iter().fold(0.0, f64::max)
    }

    /// Returns the highest peak of the global error in each run.
    pub(super) fn peaks(&self, receiver: usize) -> Vec<f64> {
        peaks(&self.global, receiver)
    }

    /// Returns the mean global error of each run.
    pub(super) fn global_errors(&self, receiver: usize) -> Vec<f64> {
        let errors = self.global.iter().map(|run| run.receivers[receiver].real_error);
        errors.map(|error| error / self.seconds()).collect()
    }

    /// Returns whether a distance counts as zero: the exported path itself is off by up to the threshold.
    fn is_zero(&self, distance: f64) -> bool {
        distance <= self.scenario.threshold.distance
    }

    /// Returns the share of the time in which the global error is zero.
    pub(super) fn zero_share(&self, receiver: usize) -> Ratio {
        let pair = |run: &RunFigures| {
            let zero = run.samples.iter().filter(|sample| self.is_zero(sample.real_distance[receiver]));
            (zero.count() as f64, run.samples.len().max(1) as f64)
        };
        Ratio::of(&self.global.iter().map(pair).collect::<Vec<_>>())
    }

    /// Returns the share of shots that hit, with local and with global placement. A shot is aimed at where the tank
    /// is seen, arrives at once, and hits if the tank's centre is within half its width of that point.
    pub(super) fn hits(&self, receiver: usize) -> [Ratio; 2] {
        [&self.local, &self.global]
            .map(|runs| Ratio::of(&runs.iter().map(|run| hits(run, receiver)).collect::<Vec<_>>()))
    }

    /// Returns the share of shots that hit with global placement, relative to that with local placement.
    pub(super) fn hits_gained(&self, receiver: usize) -> Ratio {
        let pairs = self.global.iter().zip(&self.local);
        let pairs = pairs.map(|(global, local)| (hits(global, receiver).0, hits(local, receiver).0));
        Ratio::of(&pairs.collect::<Vec<_>>())
    }

    /// Returns the mean local error of each run.
    pub(super) fn local_errors(&self, receiver: usize) -> Vec<f64> {
        self.local.iter().map(|run| run.receivers[receiver].real_error / self.seconds()).collect()
    }

    /// Returns how often per second the global error comes down to zero.
    pub(super) fn returns_to_zero(&self, receiver: usize) -> Ratio {
        let is_zero = |sample: &RunSample| self.is_zero(sample.real_distance[receiver]);
        let pair = |run: &RunFigures| {
            let falls = run.samples.windows(2).filter(|pair| !is_zero(&pair[0]) && is_zero(&pair[1]));
            let seconds = run.samples.last().map_or(0.0, |last| last.at) - run.samples[0].at;
            (falls.count() as f64, seconds)
        };
        Ratio::of(&self.global.iter().map(pair).collect::<Vec<_>>())
    }

    /// Returns when the global clock's copy is farther off than the local clock's.
    pub(super) fn global_worse(&self, receiver: usize) -> GlobalWorse {
        let delay = self.scenario.receivers[receiver].delay().as_nanos() / self.scenario.tick.as_nanos();
        let delay = usize::try_from(delay).expect("a delay is not negative");
        // For each run: all samples, those at which it is worse, those after a stop, and those that are both.
        let counts = |(local, global): (&RunFigures, &RunFigures)| {
            let mut counts = [0.0; 4];
            for (index, sample) in global.samples.iter().enumerate().skip(delay) {
                let lately = &global.samples[index - delay..=index];
                let has_stopped = lately.iter().any(|sample| sample.real_speed < STANDING);
                let is_worse = sample.real_distance[receiver] > local.samples[index].real_distance[receiver];
                let here = [true, is_worse, has_stopped, is_worse && has_stopped];
                counts.iter_mut().zip(here).for_each(|(count, is)| *count += f64::from(u8::from(is)));
            }
            counts
        };
        let runs: Vec<[f64; 4]> = self.local.iter().zip(&self.global).map(counts).collect();
        let share = |part: usize, of: usize| {
            Ratio::of(&runs.iter().map(|counts| (counts[part], counts[of])).collect::<Vec<_>>())
        };
        GlobalWorse { share: share(1, 0), stopped: share(3, 1), stopped_always: share(2, 0) }
    }

    pub(super) fn triggers_per_second(&self) -> Ratio {
        let rate = |run: &RunFigures| run.triggers as f64 / self.seconds();
        Ratio::mean(&self.global.iter().map(rate).collect::<Vec<_>>())
    }

    /// Returns the export error after arrival with global clocks, relative to that with local clocks.
    pub(super) fn after_ratio(&self) -> Ratio {
        let pairs = self.global.iter().zip(&self.local);
        Ratio::of(
            &pairs
                .map(|(global, local)| (export_error_after(global), export_error_after(local)))
                .collect::<Vec<_>>(),
        )
    }

    /// Returns the export error of all receivers before and after the newest vector has arrived: local, then global.
    pub(super) fn export_errors(&self) -> [(f64, f64); 2] {
        [&self.local, &self.global].map(|runs| {
            let after = over_runs(runs, export_error_after);
            (over_runs(runs, export_error) - after, after)
        })
    }
}

/// Returns the export error of a run, summed over the receivers.
pub(super) fn export_error(run: &RunFigures) -> f64 {
    run.receivers.iter().map(|receiver| receiver.aee).sum()
}

/// Returns the part of the export error after the newest vector has arrived.
pub(super) fn export_error_after(run: &RunFigures) -> f64 {
    run.receivers.iter().map(|receiver| receiver.after_error).sum()
}
