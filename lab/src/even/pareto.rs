//! Spread against mean, all policies in one picture: who is left and below of somebody is better than that one.

use super::dial::DIAL;
use super::{
    BOUNDS_WORDS, Case, EQUAL, FARTHEST, LEAST_MEAN, bound_over, each, equal, farthest_floor, key, least_mean,
};
use super::{of, percent, seeds};
use crate::figure::{Cloud, Drawing, Figure, Level, NamedPoint, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Measured};

const CASES: [Case; 4] = [Case::Papers(9), Case::Papers(100), Case::Broadband(9), Case::Broadband(100)];

/// Everybody but ours.
pub(super) const OTHERS: [Contender; 16] = [
    Contender::BASE,
    Contender::THIRD,
    Contender::AS_MANY_AS_EVEN,
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

/// Who sends at most so many times 1/3 base's vectors sends as many.
const AS_MANY: f64 = 1.05;

fn all() -> impl Iterator<Item = Contender> {
    OTHERS.into_iter().chain(DIAL.map(|(_, contender)| contender))
}

pub(super) fn cells() -> Vec<Cell> {
    each(&CASES, &all().collect::<Vec<_>>())
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    vec![Figure {
        key: key("pareto"),
        title: title(cells),
        caption: format!(
            "Spread: the standard deviation between the players of the error that each has accumulated; mean: of the same errors; both \
             relative to 1/3 base, which sends as many vectors as the budget of 1 per trigger allows. Left and low is better. Delays ±100 ms uniform at 800/500/200 ms, gamma \
             jitter of a tenth at 120/40/15 ms; random motion, heartbeat 1 s, 300 s; {}. {BOUNDS_WORDS}",
            seeds(setup)
        ),
        plots: CASES.iter().map(|case| plot(cells, *case)).collect(),
        columns: 2,
        table: table(cells),
        claims: Vec::new(),
    }]
}

/// What it shows.
fn title(cells: &Cells) -> String {
    let case = CASES[0];
    let third = of(cells, case, Contender::THIRD);
    let even = of(cells, case, Contender::EVEN).spread_ratio(&third);
    let others = OTHERS.iter().map(|one| of(cells, case, *one));
    let frugal = others.filter(|one| one.sent_ratio(&third).value <= AS_MANY);
    let next = frugal.min_by(|a, b| a.spread().total_cmp(&b.spread()));
    let next = next.map_or(String::new(), |next| {
        format!(
            "; the next best with as many vectors, {}, leaves {}",
            next.name,
            percent(next.spread_ratio(&third))
        )
    });
    format!(
        "In the papers' setting even leaves {} of the difference between the players{next}",
        percent(even)
    )
}

fn plot(cells: &Cells, case: Case) -> Plot {
    let third = of(cells, case, Contender::THIRD);
    let point = |one: &Measured<'_>, name: String| NamedPoint {
        name,
        x: one.spread_ratio(&third).value,
        y: one.mean_ratio(&third).value,
    };
    let cloud = |name: &str, wanted: &dyn Fn(f64) -> bool| {
        let others = OTHERS.iter().map(|one| of(cells, case, *one));
        let wanted = others.filter(|one| wanted(one.sent_ratio(&third).value));
        let points = wanted.map(|one| point(&one, one.name.clone())).collect();
        Cloud { name: name.to_owned(), points, is_joined: false }
    };
    let dial = DIAL.map(|(phi, contender)| {
        let name = if contender == Contender::EVEN { "even".to_owned() } else { format!("{phi}") };
        point(&of(cells, case, contender), name)
    });
    let bound = |bound| bound_over(cells, case, Contender::THIRD, bound).value;
    let clairvoyant = NamedPoint { name: "equal".to_owned(), x: 0.0, y: bound(equal) };
    let level = |name: &str, y| Level { name: name.to_owned(), y };
    Plot {
        title: case.words(),
        x_label: "spread / 1/3 base".to_owned(),
        y_label: "mean / 1/3 base".to_owned(),
        drawing: Drawing::Points {
            clouds: vec![
                Cloud { name: "even, by phi".to_owned(), points: dial.to_vec(), is_joined: true },
                cloud("as many vectors as 1/3 base", &|sent| sent <= AS_MANY),
                cloud("more vectors", &|sent| sent > AS_MANY),
                Cloud { name: EQUAL.to_owned(), points: vec![clairvoyant], is_joined: false },
            ],
            levels: vec![level(LEAST_MEAN, bound(least_mean)), level(FARTHEST, bound(farthest_floor))],
        },
    }
}

fn table(cells: &Cells) -> Table {
    let head = ["setting", "policy", "spread / 1/3 base", "mean / 1/3 base", "sent / 1/3 base"];
    let mut rows = Vec::new();
    for case in CASES {
        let third = of(cells, case, Contender::THIRD);
        for contender in all() {
            let one = of(cells, case, contender);
            let ratios = [one.spread_ratio(&third), one.mean_ratio(&third), one.sent_ratio(&third)];
            let mut row = vec![case.words(), one.name];
            row.extend(ratios.map(|ratio| ratio.to_string()));
            rows.push(row);
        }
        for (name, bound) in
            [(EQUAL, equal as fn(&_) -> _), (LEAST_MEAN, least_mean), (FARTHEST, farthest_floor)]
        {
            let spread = if name == EQUAL { "0" } else { "" };
            let mean = bound_over(cells, case, Contender::THIRD, bound).to_string();
            rows.push([case.words().as_str(), name, spread, &mean, ""].map(str::to_owned).to_vec());
        }
    }
    Table { head: head.map(str::to_owned).to_vec(), rows }
}
