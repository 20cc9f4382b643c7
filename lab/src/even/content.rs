//! The content of vectors: what better content gains, against the real path.

use evenkeel_dr::{Content, MotionKind};

use super::case::distance;
use super::{EvenCase, cells_for, key, percent, runs_of, seeds};
use crate::claims::{Claim, Verdict};
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio};
use crate::papers::judgement::Test;

const THRESHOLDS: [u16; 3] = [9, 30, 100];
/// The kinds and their names in scenario files.
const KINDS: [(&str, Content); 5] = [
    ("linear", Content::Kind(MotionKind::Linear)),
    ("quadratic", Content::Kind(MotionKind::Quadratic)),
    ("circular", Content::Kind(MotionKind::Circular)),
    ("damped", Content::Kind(MotionKind::Damped)),
    ("auto", Content::Auto),
];
/// The share of 1/3 base's spread with linear vectors that may remain.
const SPREAD_MAX: f64 = 0.02;
/// The share of its mean that may remain, at these thresholds.
const MEANS_MAX: [(u16, f64); 2] = [(9, 0.95), (100, 0.66)];

fn case(content: Content, hundredths: u16) -> EvenCase {
    EvenCase::Content(content, hundredths)
}

pub(super) fn cells() -> Vec<Cell> {
    let mut cells =
        cells_for(&THRESHOLDS.map(EvenCase::Papers), &[Contender::THIRD, Contender::AS_MANY_AS_EVEN]);
    for (_, content) in KINDS {
        cells.extend(cells_for(&THRESHOLDS.map(|hundredths| case(content, hundredths)), &[Contender::EVEN]));
    }
    cells
}

/// Returns spread and mean of the error against the real path, relative to 1/3 base with linear vectors.
fn ratios(cells: &Cells, content: Content, hundredths: u16) -> [Ratio; 2] {
    let third = runs_of(cells, EvenCase::Papers(hundredths), Contender::THIRD);
    runs_of(cells, case(content, hundredths), Contender::EVEN).real_ratios(&third)
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let plot = |what: &str, part: usize, mark| {
        let marks = |(name, content): &(&str, Content)| Bars {
            name: (*name).to_owned(),
            heights: THRESHOLDS
                .iter()
                .map(|hundredths| ratios(cells, *content, *hundredths)[part].value)
                .collect(),
        };
        Plot {
            title: what.to_owned(),
            x_label: format!("{what} / 1/3 base, linear"),
            y_label: String::new(),
            drawing: Drawing::Dots {
                rows: THRESHOLDS
                    .iter()
                    .map(|hundredths| format!("threshold {}", distance(*hundredths)))
                    .collect(),
                groups: KINDS.iter().map(marks).collect(),
                mark,
            },
        }
    };
    let row = |(name, content): &(&str, Content)| {
        let figures = THRESHOLDS.iter().map(|hundredths| {
            let [spread, mean] = ratios(cells, *content, *hundredths);
            let matched = runs_of(cells, EvenCase::Papers(*hundredths), Contender::AS_MANY_AS_EVEN);
            let [_, over_matched] =
                runs_of(cells, case(*content, *hundredths), Contender::EVEN).real_ratios(&matched);
            format!("{}; {mean}; {over_matched}", percent(spread))
        });
        [(*name).to_owned()].into_iter().chain(figures).collect()
    };
    let head = THRESHOLDS.iter().map(|hundredths| {
        format!("threshold {}: spread; mean / 1/3 base; mean / base-matched", distance(*hundredths))
    });
    let [auto, linear] = [KINDS[4].1, KINDS[0].1].map(|content| ratios(cells, content, 9)[1].value);
    vec![Figure {
        key: key("content"),
        title: format!(
            "Choosing the best kind of vector reduces even's mean error at threshold 0.09 from {linear:.2} to {auto:.2} of 1/3 base's \
             with linear vectors"
        ),
        caption: format!(
            "Error against the real path, relative to 1/3 base with linear vectors. auto: the owner exports the kind of motion that \
             would have fitted its last seconds best, and each receiver is sent the kind that fits best at its delay. 800 / 500 / 200 \
             ms, each ±100 ms uniform; random motion, heartbeat 1 s, 300 s, budget 1 per trigger; {}. Better content triggers less \
             often, so fewer vectors are sent. Mark in the first frame: 2 %.",
            seeds(setup)
        ),
        plots: vec![plot("spread", 0, Some(SPREAD_MAX)), plot("mean", 1, Some(1.0))],
        columns: 2,
        table: Table {
            head: ["content".to_owned()].into_iter().chain(head).collect(),
            rows: KINDS.iter().map(row).collect(),
        },
        claims: claims(cells),
    }]
}

fn claims(cells: &Cells) -> Vec<Claim> {
    let mut claims = super::claims("content");
    for (hundredths, bar) in MEANS_MAX {
        let [spread, mean] = ratios(cells, Content::Auto, hundredths);
        claims = claims.add(
            &format!(
                "With auto content at threshold {}, spread and mean against the real path are at most 2 % and {bar} of those of 1/3 base \
                 with linear vectors.",
                distance(hundredths)
            ),
            format!("{} and {mean}", percent(spread)),
            Test::below(spread, SPREAD_MAX).and(Test::below(mean, bar)),
            Verdict::Holds,
        );
    }
    claims.all()
}
