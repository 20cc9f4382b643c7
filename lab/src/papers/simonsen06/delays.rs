//! Words about measured values, and tests that several claims share.

use super::ABOUT;
use super::chart::Series;
use super::grid::ThesisGrid;
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;

/// Values at these places, such as "87.1 / 111.0 / 128.5".
pub(super) fn in_words(values: &[Ratio], decimals: usize) -> String {
    values.iter().map(|value| value.in_words(decimals)).collect::<Vec<_>>().join(" / ")
}

/// Values of a series at these places.
pub(super) fn at(grid: &ThesisGrid, series: &Series, xs: &[f64]) -> Vec<Ratio> {
    xs.iter().map(|x| series.at(grid, *x)).collect()
}

/// Each value is about the printed one.
pub(super) fn about(values: &[Ratio], printed: &[f64]) -> Test {
    assert_eq!(values.len(), printed.len());
    Test::all(
        values.iter().zip(printed).map(|(value, printed)| Test::same(value.times(1.0 / printed), ABOUT)),
    )
}

/// Each value is above the one before.
pub(super) fn rising(values: &[Ratio]) -> Test {
    Test::all(values.windows(2).map(|pair| exceeds(pair[1], pair[0])))
}

/// One is above the other.
pub(super) fn exceeds(one: Ratio, other: Ratio) -> Test {
    Test::above(one.less(other), 0.0)
}

/// All values are the same, to within this share of the first.
pub(super) fn level(values: &[Ratio], share: f64) -> Test {
    let first = values[0].value;
    Test::all(values.iter().map(|value| Test::same(value.times(1.0 / first), share)))
}
