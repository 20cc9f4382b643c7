//! The runs of a contender: its figures, how they compare with another contender's, and with what error.

use crate::dr::RunFigures;
use crate::stats::mean;

/// The runs of a contender in a setting, one per seed.
#[derive(Clone, Debug)]
pub(crate) struct ContenderRuns<'a> {
    pub(crate) name: String,
    pub(crate) runs: &'a [RunFigures],
}

impl ContenderRuns<'_> {
    /// Returns a figure of each run.
    pub(crate) fn by_run(&self, figure: impl Fn(&RunFigures) -> f64) -> Vec<f64> {
        self.runs.iter().map(figure).collect()
    }

    fn over_runs(&self, figure: impl Fn(&RunFigures) -> f64) -> f64 {
        mean(&self.by_run(figure))
    }

    /// Returns the spread between the receivers, the measure of unfairness.
    pub(crate) fn spread(&self) -> f64 {
        self.over_runs(RunFigures::std_aee)
    }

    /// Returns the mean over the receivers.
    pub(crate) fn mean(&self) -> f64 {
        self.over_runs(RunFigures::mean_aee)
    }

    /// Returns the error of the receiver with this index.
    pub(crate) fn receiver(&self, index: usize) -> f64 {
        self.over_runs(|run| run.receivers[index].aee)
    }

    /// Returns the errors of all receivers.
    pub(crate) fn receivers(&self) -> Vec<f64> {
        (0..self.runs[0].receivers.len()).map(|index| self.receiver(index)).collect()
    }

    /// Returns each receiver's error relative to its error under another contender.
    pub(crate) fn changes(&self, to: &ContenderRuns<'_>) -> Vec<Ratio> {
        let receivers = 0..self.runs[0].receivers.len();
        receivers.map(|index| self.ratio(to, |run| run.receivers[index].aee)).collect()
    }

    /// Counts the seeds with which a figure is lower than another contender's.
    pub(crate) fn count_lower(&self, than: &ContenderRuns<'_>, figure: fn(&RunFigures) -> f64) -> usize {
        self.runs.iter().zip(than.runs).filter(|(ours, theirs)| figure(ours) < figure(theirs)).count()
    }

    /// Returns how often per minute the receiver with the highest error changes, and in which share of the samples
    /// each receiver has it. Only for settings drawn over time.
    pub(crate) fn highest(&self) -> (Ratio, Vec<f64>) {
        let mut shares = vec![0.0; self.runs[0].receivers.len()];
        let (mut often, mut looks) = (Vec::new(), 0.0);
        for run in self.runs {
            // Before the first arrivals no receiver has an error.
            let there: Vec<_> =
                run.samples.iter().filter(|sample| sample.aee.iter().all(|one| *one > 0.0)).collect();
            let highest: Vec<usize> = there.iter().map(|sample| index_of_highest(&sample.aee)).collect();
            let changes = highest.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
            let seconds = there.first().zip(there.last()).map_or(0.0, |(first, last)| last.at - first.at);
            often.push((changes, seconds / 60.0));
            looks += highest.len() as f64;
            for index in highest {
                shares[index] += 1.0;
            }
        }
        (Ratio::of(&often), shares.into_iter().map(|count| count / looks).collect())
    }

    /// Returns the number of DR vectors sent.
    pub(crate) fn sent(&self) -> f64 {
        self.over_runs(|run| run.sent as f64)
    }

    /// Returns one receiver's error relative to a receiver's under another contender.
    pub(crate) fn receiver_ratio(&self, receiver: usize, to: &ContenderRuns<'_>, other: usize) -> Ratio {
        let pairs = self.runs.iter().zip(to.runs);
        let errors = pairs.map(|(ours, theirs)| (ours.receivers[receiver].aee, theirs.receivers[other].aee));
        Ratio::of(&errors.collect::<Vec<_>>())
    }

    /// Returns a figure relative to another contender's on the same seeds.
    pub(crate) fn ratio(&self, to: &ContenderRuns<'_>, figure: impl Fn(&RunFigures) -> f64) -> Ratio {
        let pairs: Vec<(f64, f64)> =
            self.runs.iter().zip(to.runs).map(|(ours, theirs)| (figure(ours), figure(theirs))).collect();
        Ratio::of(&pairs)
    }

    pub(crate) fn spread_ratio(&self, to: &ContenderRuns<'_>) -> Ratio {
        self.ratio(to, RunFigures::std_aee)
    }

    pub(crate) fn mean_ratio(&self, to: &ContenderRuns<'_>) -> Ratio {
        self.ratio(to, RunFigures::mean_aee)
    }

    /// Returns the ratios of spread and mean of the errors against the real path, the only ones that compare
    /// contenders with different exported paths.
    pub(crate) fn real_ratios(&self, to: &ContenderRuns<'_>) -> [Ratio; 2] {
        [self.ratio(to, RunFigures::std_real_error), self.ratio(to, RunFigures::mean_real_error)]
    }

    pub(crate) fn sent_ratio(&self, to: &ContenderRuns<'_>) -> Ratio {
        self.ratio(to, |run| run.sent as f64)
    }
}

/// Returns the mean error of a run at the sample nearest to a part of it.
pub(crate) fn mean_at(run: &RunFigures, part: f64) -> f64 {
    let last = run.samples.len().saturating_sub(1);
    run.samples.get((part * last as f64).round() as usize).map_or(0.0, |sample| mean(&sample.aee))
}

fn index_of_highest(figures: &[f64]) -> usize {
    let numbered = figures.iter().enumerate();
    numbered.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(index, _)| index)
}

/// Formats ratios such as "1.000 ± 0.001 / 2.000 ± 0.002 / 3.000 ± 0.003".
pub(crate) fn ratios_in_words(ratios: &[Ratio]) -> String {
    in_words(ratios, 3)
}

/// Formats ratios with this many decimals.
pub(crate) fn in_words(ratios: &[Ratio], decimals: usize) -> String {
    ratios.iter().map(|ratio| ratio.in_words(decimals)).collect::<Vec<_>>().join(" / ")
}

/// A ratio of means over the same seeds, with its standard error.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    /// The standard error over the seeds; 0 for a single seed.
    pub(crate) error: f64,
}

impl Ratio {
    /// Computes the ratio from pairs of numerator and denominator, one pair per seed.
    pub(crate) fn of(pairs: &[(f64, f64)]) -> Self {
        let count = pairs.len() as f64;
        let (above, below) = pairs.iter().fold((0.0, 0.0), |(a, b), pair| (a + pair.0, b + pair.1));
        let value = above / below;
        // The residuals if the ratio were the same for all seeds.
        let left: f64 = pairs.iter().map(|(a, b)| (a - value * b).powi(2)).sum();
        let error = if pairs.len() > 1 {
            (left / (count * (count - 1.0))).sqrt() / (below / count).abs()
        } else {
            0.0
        };
        Self { value, error }
    }

    /// Computes the mean of one value per seed.
    pub(crate) fn mean(values: &[f64]) -> Self {
        Self::of(&values.iter().map(|value| (*value, 1.0)).collect::<Vec<_>>())
    }

    /// Divides by another ratio, assuming that they vary independently.
    pub(crate) fn over(self, other: Self) -> Self {
        let value = self.value / other.value;
        let error = (self.error / other.value).hypot(value * other.error / other.value);
        Self { value, error }
    }

    /// Subtracts another ratio, assuming that they vary independently.
    pub(crate) fn less(self, other: Self) -> Self {
        Self { value: self.value - other.value, error: self.error.hypot(other.error) }
    }

    /// Returns its absolute value.
    pub(crate) const fn magnitude(self) -> Self {
        Self { value: self.value.abs(), error: self.error.abs() }
    }

    /// Adds a constant.
    pub(crate) fn plus(self, more: f64) -> Self {
        Self { value: self.value + more, ..self }
    }

    /// Multiplies by a factor.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, error: self.error * factor.abs() }
    }

    /// Returns whether chance decides on which side of a bar it is: it is within two standard errors of it.
    pub(crate) fn is_close_to(self, bar: f64) -> bool {
        self.error > 0.0 && (self.value - bar).abs() <= 2.0 * self.error
    }

    /// Formats it with this many decimals.
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
    use evenkeel_core::Span;
    use evenkeel_dr::PolicyKind;

    use super::*;
    use crate::dr::{Sampling, run};
    use crate::scenario::Scenario;

    #[test]
    fn a_ratio_equal_for_all_seeds_has_no_error() {
        let ratio = Ratio::of(&[(2.0, 1.0), (4.0, 2.0), (6.0, 3.0)]);
        assert_eq!((ratio.value, ratio.error), (2.0, 0.0));
        let unsure = Ratio::of(&[(1.0, 1.0), (3.0, 1.0)]);
        assert_eq!((unsure.value, unsure.error), (2.0, 1.0));
        assert_eq!(format!("{unsure}, {ratio}"), "2.000 ± 1.000, 2.000");
        assert!(unsure.is_close_to(0.5) && !ratio.is_close_to(1.9) && !unsure.is_close_to(4.5));
        let (half, quarter) = (unsure.over(ratio), unsure.over(Ratio::mean(&[8.0, 8.0])));
        assert_eq!((half.value, half.error, quarter.value, quarter.error), (1.0, 0.5, 0.25, 0.125));
    }

    #[test]
    fn under_base_the_farthest_always_has_the_highest_error() {
        assert_eq!(index_of_highest(&[1.0, 3.0, 2.0]), 1);
        let scenario = Scenario { duration: Span::from_secs(30), ..Scenario::papers(Span::ZERO, 0.09) };
        // At first the nearest has the highest error, because its error counts from the introduction.
        let (from, until) = (Span::from_secs(10), scenario.duration);
        let sampling = Sampling { from, until, every: Span::from_secs(1), ledger: false };
        let runs = [run(&scenario, PolicyKind::BASE, 1, Some(sampling))];
        let base = ContenderRuns { name: "base".to_owned(), runs: &runs };
        assert_eq!(base.highest(), (Ratio { value: 0.0, error: 0.0 }, vec![1.0, 0.0, 0.0]));
    }
}
