//! Spread over mean, all policies in one picture: a policy to the left of and below another one is better.

use super::dial::DIAL;
use super::{
    BOUNDS, BOUNDS_WORDS, Bound, EQUAL, EvenCase, FARTHEST, LEAST_MEAN, bound_over_mean, cells_for, equal,
    farthest_floor, key, least_mean, percent, runs_of, seeds,
};
use crate::figure::{Cloud, Drawing, Figure, Level, NamedPoint, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio};

const CASES: [EvenCase; 4] =
    [EvenCase::Papers(9), EvenCase::Papers(100), EvenCase::Broadband(9), EvenCase::Broadband(100)];

/// All policies but ours, on the same exported path.
pub(super) const OTHERS: [Contender; 15] = [
    Contender::BASE,
    Contender::THIRD,
    Contender::CHANCE,
    Contender::NETGAMES05,
    Contender::CONSISTENT,
    Contender::SCHEDULING_1,
    Contender::SCHEDULING_1_ESTIMATE,
    Contender::SCHEDULING_2,
    Contender::SCHEDULING_2_NEWEST,
    Contender::PROBABILISTIC_PA,
    Contender::PROBABILISTIC_PI,
    Contender::PROBABILISTIC_PT,
    Contender::PROBABILISTIC_ONE,
    Contender::DETERMINISTIC_PA,
    Contender::DETERMINISTIC_PI,
];

/// A contender that sends at most this many times 1/3 base's vectors counts as sending as many.
const AS_MANY: f64 = 1.05;

/// Larger spreads relative to 1/3 base's are drawn at the edge.
const X_MAX: f64 = 1.5;

/// The error that is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ErrorMeasure {
    /// Between exported and placed path, as in the papers.
    Export,
    /// Between real and placed path.
    Real,
}

impl ErrorMeasure {
    /// Returns spread and mean relative to another contender's.
    fn ratios(self, one: &ContenderRuns<'_>, to: &ContenderRuns<'_>) -> [Ratio; 2] {
        match self {
            Self::Export => [one.spread_ratio(to), one.mean_ratio(to)],
            Self::Real => one.real_ratios(to),
        }
    }

    /// Returns the contenders besides ours that can be compared by it.
    fn others(self) -> impl Iterator<Item = Contender> {
        OTHERS.into_iter().chain((self == Self::Real).then_some(Contender::AS_MANY_AS_EVEN))
    }
}

pub(super) fn cells() -> Vec<Cell> {
    let all = ErrorMeasure::Real.others().chain(DIAL.map(|(_, contender)| contender));
    cells_for(&CASES, &all.collect::<Vec<_>>())
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let setting = format!(
        "both relative to 1/3 base, which sends as many vectors as the budget of 1 per trigger allows. Further left and lower is better. \
         Delays ±100 ms uniform at 800/500/200 ms, gamma jitter of a tenth at 120/40/15 ms; random motion, heartbeat 1 s, 300 s; {}.",
        seeds(setup)
    );
    let figure = |name: &str, title, caption, error| Figure {
        key: key(name),
        title,
        caption,
        plots: CASES.iter().map(|case| plot(cells, *case, error)).collect(),
        columns: 2,
        table: table(cells, error),
        claims: Vec::new(),
    };
    vec![
        figure(
            "pareto",
            title(cells),
            format!(
                "Spread: the standard deviation over the players of their accumulated errors; mean: the mean of the same errors; \
                 {setting} {BOUNDS_WORDS}"
            ),
            ErrorMeasure::Export,
        ),
        figure(
            "pareto-real",
            real_title(cells),
            format!(
                "The error is against the real path. Base with a threshold coarse enough to send as many vectors as even can be compared \
                 only by this error, because it exports a different path, farther from the real one (and has no heartbeat where the \
                 heartbeat alone would send more). Spread and mean {setting}"
            ),
            ErrorMeasure::Real,
        ),
    ]
}

/// Returns the title of the first figure.
fn title(cells: &Cells) -> String {
    let case = CASES[0];
    let third = runs_of(cells, case, Contender::THIRD);
    let even = runs_of(cells, case, Contender::EVEN).spread_ratio(&third);
    let others = OTHERS.iter().map(|one| runs_of(cells, case, *one));
    let frugal = others.filter(|one| one.sent_ratio(&third).value <= AS_MANY);
    let next = frugal.min_by(|a, b| a.spread().total_cmp(&b.spread()));
    let next = next.map_or(String::new(), |next| {
        let left = percent(next.spread_ratio(&third));
        format!("; the next best with as many vectors, {}, leaves {left}", next.name)
    });
    format!("In the papers' setting even leaves {} of the spread between the players{next}", percent(even))
}

/// Returns the title of the second figure.
fn real_title(cells: &Cells) -> String {
    let [near, far] = [CASES[2], CASES[0]].map(|case| {
        let base = runs_of(cells, case, Contender::AS_MANY_AS_EVEN);
        let [spread, mean] = runs_of(cells, case, Contender::EVEN).real_ratios(&base);
        format!("{} of the spread and {:.2} times the mean", percent(spread), mean.value)
    });
    format!(
        "Compared with base at as many vectors, even has {near} at today's delays, {far} at the papers' (threshold 0.09)"
    )
}

fn plot(cells: &Cells, case: EvenCase, error: ErrorMeasure) -> Plot {
    let third = runs_of(cells, case, Contender::THIRD);
    let point = |one: &ContenderRuns<'_>, name: String| {
        let [x, y] = error.ratios(one, &third).map(|ratio| ratio.value);
        NamedPoint { name, x, y }
    };
    let cloud = |name: &str, wanted: &dyn Fn(f64) -> bool| {
        let others = error.others().map(|one| runs_of(cells, case, one));
        let wanted = others.filter(|one| wanted(one.sent_ratio(&third).value));
        let points = wanted.map(|one| point(&one, one.name.clone())).collect();
        Cloud { name: name.to_owned(), points, is_joined: false }
    };
    let dial = DIAL.map(|(phi, contender)| {
        let name = if contender == Contender::EVEN { "even".to_owned() } else { format!("{phi}") };
        point(&runs_of(cells, case, contender), name)
    });
    let mut clouds = vec![
        Cloud { name: "even, by phi".to_owned(), points: dial.to_vec(), is_joined: true },
        cloud("as many vectors as 1/3 base", &|sent| sent <= AS_MANY),
        cloud("more vectors", &|sent| sent > AS_MANY),
    ];
    let mut levels = Vec::new();
    if error == ErrorMeasure::Export {
        let bound = |bound| bound_over_mean(cells, case, Contender::THIRD, bound).value;
        let clairvoyant = NamedPoint { name: "equal".to_owned(), x: 0.0, y: bound(equal) };
        clouds.push(Cloud { name: EQUAL.to_owned(), points: vec![clairvoyant], is_joined: false });
        let level = |name: &str, y| Level { name: name.to_owned(), y };
        levels = vec![level(LEAST_MEAN, bound(least_mean)), level(FARTHEST, bound(farthest_floor))];
    }
    Plot {
        title: case.label(),
        x_label: "spread / 1/3 base".to_owned(),
        y_label: "mean / 1/3 base".to_owned(),
        drawing: Drawing::Points { clouds, levels, x_max: X_MAX },
    }
}

/// Returns spread, mean and vectors sent of each policy in each setting.
fn table(cells: &Cells, error: ErrorMeasure) -> Table {
    let head = CASES.map(|case| format!("{}: spread, mean / 1/3 base; sent", case.label()));
    let policy = |contender: Contender| {
        let figures = CASES.map(|case| {
            let (one, third) = (runs_of(cells, case, contender), runs_of(cells, case, Contender::THIRD));
            let [spread, mean] = error.ratios(&one, &third);
            let sent = one.sent_ratio(&third).value;
            format!("{}, {}; {sent:.1}", spread.in_words(3), mean.in_words(3))
        });
        [contender.label()].into_iter().chain(figures).collect()
    };
    let bound = |(name, bound): (&str, Bound)| {
        let figures = CASES.map(|case| {
            let spread = if name == EQUAL { "0, " } else { "" };
            format!("{spread}{}", bound_over_mean(cells, case, Contender::THIRD, bound))
        });
        [name.to_owned()].into_iter().chain(figures).collect()
    };
    let mut rows: Vec<Vec<String>> =
        error.others().chain(DIAL.map(|(_, contender)| contender)).map(policy).collect();
    if error == ErrorMeasure::Export {
        rows.extend(BOUNDS.map(bound));
    }
    Table { head: ["policy".to_owned()].into_iter().chain(head).collect(), rows }
}
