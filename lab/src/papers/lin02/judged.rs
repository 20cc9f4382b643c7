//! Judges a claim under both readings of the delays.

use crate::papers::cells::Ratio;
use crate::papers::judgement::{Judgement, Test};
use crate::sync_ms::{Grid, PathLaw, Service, ServiceRuns};

/// The runs under one reading of the delays.
#[derive(Clone, Copy)]
pub(super) struct UnderLaw<'a> {
    grid: &'a Grid,
    law: usize,
}

impl<'a> UnderLaw<'a> {
    pub(super) fn of(self, service: Service) -> ServiceRuns<'a> {
        self.grid.of(self.law, service)
    }

    /// The runs with most players in the server's network: the settings after those of the paper's experiment.
    pub(super) fn in_lan(self, service: Service) -> ServiceRuns<'a> {
        self.grid.of(PathLaw::READINGS.len() + self.law, service)
    }
}

/// A test under both readings: a claim holds if it holds under both, and differs if under one of them.
pub(super) fn judge(grid: &Grid, test: impl Fn(UnderLaw<'_>) -> Test) -> Judgement {
    judge_read(grid, &test, &test)
}

/// The same for a claim that is also judged under a reading of its words: it holds if it holds as printed under both laws,
/// and differs if it holds as printed under one of them, or as read under both.
pub(super) fn judge_read(
    grid: &Grid,
    as_printed: impl Fn(UnderLaw<'_>) -> Test,
    as_read: impl Fn(UnderLaw<'_>) -> Test,
) -> Judgement {
    let laws = || (0..PathLaw::READINGS.len()).map(|law| UnderLaw { grid, law });
    let printed: Vec<Test> = laws().map(&as_printed).collect();
    let read = Test::all(laws().map(as_read));
    Judgement::read(Test::all(printed.iter().copied()), Test::any(printed.into_iter().chain([read])))
}

/// A measurement under both readings, such as "7.1 under shifted exponential delays, 4.5 under gamma delays".
pub(super) fn measured(grid: &Grid, words: impl Fn(UnderLaw<'_>) -> String) -> String {
    let of = |(law, name): (usize, PathLaw)| {
        format!("{} under {} delays", words(UnderLaw { grid, law }), name.name())
    };
    PathLaw::READINGS.into_iter().enumerate().map(of).collect::<Vec<_>>().join("; ")
}

/// One less the other, without knowing whether they vary together.
pub(super) fn exceeds(one: Ratio, other: Ratio) -> Test {
    Test::above(one.less(other), 0.0)
}

/// The lowest and the highest of some players' values, in words.
pub(super) fn range(values: impl Iterator<Item = Ratio>) -> String {
    let (low, high) = values
        .fold((f64::INFINITY, 0.0_f64), |(low, high), ratio| (low.min(ratio.value), high.max(ratio.value)));
    if high - low < 0.05 { format!("{high:.1}") } else { format!("{low:.1} to {high:.1}") }
}
