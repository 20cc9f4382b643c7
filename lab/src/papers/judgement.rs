//! How a claim is judged: figures against bars, and whether chance decides on which side of the bar they are.
//!
//! A verdict that would be another one if figures moved by less than two of their standard errors is too close to call.

use super::contender_runs::Ratio;
use crate::claims::Verdict;

/// Something that was tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Test {
    holds: bool,
    /// Chance decides it.
    is_close: bool,
}

impl Test {
    /// What has no error: it was counted, or is exact.
    pub(crate) const fn fact(holds: bool) -> Self {
        Self { holds, is_close: false }
    }

    /// A figure is above a bar.
    pub(crate) fn above(figure: Ratio, bar: f64) -> Self {
        Self { holds: figure.value > bar, is_close: figure.is_close_to(bar) }
    }

    /// A figure is below a bar.
    pub(crate) fn below(figure: Ratio, bar: f64) -> Self {
        Self { holds: figure.value < bar, is_close: figure.is_close_to(bar) }
    }

    /// A ratio is 1 but for this share.
    pub(crate) fn same(ratio: Ratio, share: f64) -> Self {
        Self::above(ratio, 1.0 - share).and(Self::below(ratio, 1.0 + share))
    }

    /// All of them hold. It is close if those that chance decides could change that.
    pub(crate) fn all(tests: impl IntoIterator<Item = Self>) -> Self {
        tests.into_iter().fold(Self::fact(true), Self::and)
    }

    /// One of them holds.
    pub(crate) fn any(tests: impl IntoIterator<Item = Self>) -> Self {
        !Self::all(tests.into_iter().map(|test| !test))
    }

    /// Both hold.
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
    /// As printed, or only under a reading that is stated.
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
    fn less_than_two_standard_errors_are_too_close_to_call() {
        assert!(Test::above(UNSURE, 1.0).is_close && Test::above(UNSURE, 1.0).holds);
        assert!(!Test::above(SURE, 1.0).is_close);
        assert!(Judgement::from(Test::below(UNSURE, 1.0)).is_close);
        assert!(Test::same(UNSURE, 0.1).is_close && !Test::same(SURE, 0.1).is_close);
    }

    #[test]
    fn what_chance_cannot_change_is_not_close() {
        let (yes, no) = (Test::above(SURE, 1.0), Test::below(SURE, 1.0));
        let maybe = Test::above(UNSURE, 1.0);
        assert!(Test::all([yes, maybe]).is_close);
        assert!(!Test::all([no, maybe]).is_close, "it fails whatever chance does");
        assert!(!Test::any([yes, maybe]).is_close, "it holds whatever chance does");
        assert!(Test::any([no, maybe]).is_close);
        assert_eq!(Judgement::read(yes, maybe), Judgement { verdict: Verdict::Holds, is_close: false });
        assert_eq!(Judgement::read(no, maybe), Judgement { verdict: Verdict::Differs, is_close: true });
    }
}
