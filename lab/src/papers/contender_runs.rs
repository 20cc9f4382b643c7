//! A contender in a setting, over the seeds: its figures, how they compare with another's, and how sure that is.

use crate::dr::RunFigures;
use crate::stats::mean;

/// A contender in a setting, over the seeds.
#[derive(Clone, Debug)]
pub(crate) struct ContenderRuns<'a> {
    pub(crate) name: String,
    pub(crate) runs: &'a [RunFigures],
}

impl ContenderRuns<'_> {
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
    pub(crate) fn changes(&self, to: &ContenderRuns<'_>) -> Vec<Ratio> {
        let receivers = 0..self.runs[0].receivers.len();
        receivers.map(|index| self.ratio(to, |run| run.receivers[index].aee)).collect()
    }

    /// With how many of the seeds a figure is lower than another contender's.
    pub(crate) fn count_lower(&self, than: &ContenderRuns<'_>, figure: fn(&RunFigures) -> f64) -> usize {
        self.runs.iter().zip(than.runs).filter(|(ours, theirs)| figure(ours) < figure(theirs)).count()
    }

    /// How often in a minute somebody else is the receiver with the highest error, and for which share of the looks each
    /// of them is. Only of settings that are drawn over time.
    pub(crate) fn highest(&self) -> (Ratio, Vec<f64>) {
        let mut shares = vec![0.0; self.runs[0].receivers.len()];
        let (mut often, mut looks) = (Vec::new(), 0.0);
        for run in self.runs {
            // Before anything has arrived nobody has any.
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

    /// DR vectors sent.
    pub(crate) fn sent(&self) -> f64 {
        self.over_runs(|run| run.sent as f64)
    }

    /// One receiver's error relative to that of one under another contender.
    pub(crate) fn receiver_ratio(&self, receiver: usize, to: &ContenderRuns<'_>, other: usize) -> Ratio {
        let pairs = self.runs.iter().zip(to.runs);
        let errors = pairs.map(|(ours, theirs)| (ours.receivers[receiver].aee, theirs.receivers[other].aee));
        Ratio::of(&errors.collect::<Vec<_>>())
    }

    /// A figure relative to another contender's on the same seeds.
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

    /// The same of the errors against the real path: what exports another path can only be compared by these.
    pub(crate) fn real_ratios(&self, to: &ContenderRuns<'_>) -> [Ratio; 2] {
        [self.ratio(to, RunFigures::std_real_error), self.ratio(to, RunFigures::mean_real_error)]
    }

    pub(crate) fn sent_ratio(&self, to: &ContenderRuns<'_>) -> Ratio {
        self.ratio(to, |run| run.sent as f64)
    }
}

/// The mean error of a run at the sample nearest to a part of it.
pub(crate) fn mean_at(run: &RunFigures, part: f64) -> f64 {
    let last = run.samples.len().saturating_sub(1);
    run.samples.get((part * last as f64).round() as usize).map_or(0.0, |sample| mean(&sample.aee))
}

fn index_of_highest(figures: &[f64]) -> usize {
    let numbered = figures.iter().enumerate();
    numbered.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(index, _)| index)
}

/// "1.000 ± 0.001 / 2.000 ± 0.002 / 3.000 ± 0.003"
pub(crate) fn ratios_in_words(ratios: &[Ratio]) -> String {
    in_words(ratios, 3)
}

/// The same with so many decimals.
pub(crate) fn in_words(ratios: &[Ratio], decimals: usize) -> String {
    ratios.iter().map(|ratio| ratio.in_words(decimals)).collect::<Vec<_>>().join(" / ")
}

/// A ratio of means over the same seeds, and how sure it is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
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
        let error = if pairs.len() > 1 {
            (left / (count * (count - 1.0))).sqrt() / (below / count).abs()
        } else {
            0.0
        };
        Self { value, error }
    }

    /// The mean of what is measured on each seed.
    pub(crate) fn mean(values: &[f64]) -> Self {
        Self::of(&values.iter().map(|value| (*value, 1.0)).collect::<Vec<_>>())
    }

    /// Relative to another one, as if they varied independently.
    pub(crate) fn over(self, other: Self) -> Self {
        let value = self.value / other.value;
        let error = (self.error / other.value).hypot(value * other.error / other.value);
        Self { value, error }
    }

    /// The difference to another one, as if they varied independently.
    pub(crate) fn less(self, other: Self) -> Self {
        Self { value: self.value - other.value, error: self.error.hypot(other.error) }
    }

    /// Without its sign.
    pub(crate) const fn magnitude(self) -> Self {
        Self { value: self.value.abs(), error: self.error.abs() }
    }

    /// So much more of it.
    pub(crate) fn plus(self, more: f64) -> Self {
        Self { value: self.value + more, ..self }
    }

    /// So many times as much.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, error: self.error * factor.abs() }
    }

    /// Whether chance decides on which side of a bar it is: it is within two standard errors of it.
    pub(crate) fn is_close_to(self, bar: f64) -> bool {
        self.error > 0.0 && (self.value - bar).abs() <= 2.0 * self.error
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
    use evenkeel_core::Span;
    use evenkeel_dr::PolicyKind;

    use super::*;
    use crate::dr::{Sampling, run};
    use crate::scenario::Scenario;

    #[test]
    fn a_ratio_that_is_the_same_for_all_seeds_is_sure() {
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
        // At first the nearest has it, because its error counts from the introduction.
        let (from, until) = (Span::from_secs(10), scenario.duration);
        let sampling = Sampling { from, until, every: Span::from_secs(1), ledger: false };
        let runs = [run(&scenario, PolicyKind::BASE, 1, Some(sampling))];
        let base = ContenderRuns { name: "base".to_owned(), runs: &runs };
        // Then, under base, the farthest has it all the time.
        assert_eq!(base.highest(), (Ratio { value: 0.0, error: 0.0 }, vec![1.0, 0.0, 0.0]));
    }
}
