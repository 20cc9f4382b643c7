//! Judges claims: compares figures with bars, and determines whether chance decides the verdict.
//!
//! A verdict is too close to call if it would change when figures moved by less than two of their standard errors.

use super::contender_runs::Ratio;
use crate::claims::Verdict;

/// The result of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Test {
    holds: bool,
    /// Whether chance decides it.
    is_close: bool,
}

impl Test {
    /// Tests something without error: it was counted or is exact.
    pub(crate) const fn fact(holds: bool) -> Self {
        Self { holds, is_close: false }
    }

    /// Tests that a figure is above a bar.
    pub(crate) fn above(figure: Ratio, bar: f64) -> Self {
        Self { holds: figure.value > bar, is_close: figure.is_close_to(bar) }
    }

    /// Tests that a figure is below a bar.
    pub(crate) fn below(figure: Ratio, bar: f64) -> Self {
        Self { holds: figure.value < bar, is_close: figure.is_close_to(bar) }
    }

    /// Tests that a ratio is 1 to within this share.
    pub(crate) fn same(ratio: Ratio, share: f64) -> Self {
        Self::above(ratio, 1.0 - share).and(Self::below(ratio, 1.0 + share))
    }

    /// Returns whether all of them hold. It is close if the tests that chance decides could change that.
    pub(crate) fn all(tests: impl IntoIterator<Item = Self>) -> Self {
        tests.into_iter().fold(Self::fact(true), Self::and)
    }

    /// Returns whether one of them holds.
    pub(crate) fn any(tests: impl IntoIterator<Item = Self>) -> Self {
        !Self::all(tests.into_iter().map(|test| !test))
    }

    /// Returns whether both hold.
    pub(crate) const fn and(self, other: Self) -> Self {
        let is_close = match (self.holds, other.holds) {
            (true, true) => self.is_close || other.is_close,
            (true, false) => other.is_close,
            (false, true) => self.is_close,
            (false, false) => self.is_close && other.is_close,
        };
        Self { holds: self.holds && other.holds, is_close }
    }
}

impl core::ops::Not for Test {
    type Output = Self;

    fn not(self) -> Self {
        Self { holds: !self.holds, ..self }
    }
}

/// A verdict, and whether chance decides it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) is_close: bool,
}

impl Judgement {
    /// Judges a claim as printed, and under a stated reading.
    pub(crate) const fn read(as_printed: Test, as_read: Test) -> Self {
        let verdict = Verdict::read(as_printed.holds, as_read.holds);
        let is_close = as_printed.is_close || (as_read.is_close && !as_printed.holds);
        Self { verdict, is_close }
    }
}

impl From<Test> for Judgement {
    fn from(test: Test) -> Self {
        Self { verdict: Verdict::of(test.holds), is_close: test.is_close }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURE: Ratio = Ratio { value: 2.0, error: 0.1 };
    const UNSURE: Ratio = Ratio { value: 1.1, error: 0.06 };

    #[test]
    fn figures_within_two_standard_errors_of_a_bar_are_too_close_to_call() {
        assert!(Test::above(UNSURE, 1.0).is_close && Test::above(UNSURE, 1.0).holds);
        assert!(!Test::above(SURE, 1.0).is_close);
        assert!(Judgement::from(Test::below(UNSURE, 1.0)).is_close);
        assert!(Test::same(UNSURE, 0.1).is_close && !Test::same(SURE, 0.1).is_close);
    }

    #[test]
    fn verdicts_that_chance_cannot_change_are_not_close() {
        let (yes, no) = (Test::above(SURE, 1.0), Test::below(SURE, 1.0));
        let maybe = Test::above(UNSURE, 1.0);
        assert!(Test::all([yes, maybe]).is_close);
        assert!(!Test::all([no, maybe]).is_close, "fails either way");
        assert!(!Test::any([yes, maybe]).is_close, "holds either way");
        assert!(Test::any([no, maybe]).is_close);
        assert_eq!(Judgement::read(yes, maybe), Judgement { verdict: Verdict::Holds, is_close: false });
        assert_eq!(Judgement::read(no, maybe), Judgement { verdict: Verdict::Differs, is_close: true });
    }
}
