//! Fairness over response time: an order to the left of and below another one is better.

use super::{
    BEHIND_WORDS, Grid, GridPlan, MAX, PathLaw, SELECT, SETTING_WORDS, Service, SyncSetting, Wait, cells,
    claims, heads, in_words, key, run_grid, seeds,
};
use crate::claims::{Claim, Verdict};
use crate::figure::{Cloud, Drawing, Figure, Level, NamedPoint, Plot, Table};
use crate::papers::Setup;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;

/// The paper's delays in two readings, and such that Sync-MS is not made for.
const LAWS: [PathLaw; 3] = [PathLaw::ShiftedExponential, PathLaw::Gamma, PathLaw::Exponential];
const EXPONENTIAL: usize = 2;
static SERVICES: [Service; 9] = [
    Service::In(Wait::Max),
    Service::Both(Wait::None),
    MAX,
    SELECT,
    Service::Both(Wait::Toss(1)),
    Service::Both(Wait::Toss(2)),
    Service::Both(Wait::Toss(3)),
    Service::Reaction,
    Service::Clairvoyant,
];
/// Smaller shares behind are drawn here, as the axis is logarithmic.
const FLOOR: f64 = 0.001;
/// The bars: on average and in each run, in percent, and the added response time in milliseconds.
const AVERAGE_MAX: f64 = 0.02;
const RUN_MAX: f64 = 0.1;
const ADDED_MAX: f64 = 24.5;

pub(super) fn plan() -> GridPlan {
    LAWS.map(|law| (SyncSetting::paper(law), services(law).to_vec())).to_vec()
}

/// The services under these delays. Under exponential ones a player's fair order runs backwards: a clairvoyant who serves its
/// actions in the order in which they were sent is none.
fn services(law: PathLaw) -> &'static [Service] {
    match law {
        PathLaw::Exponential => &SERVICES[..SERVICES.len() - 1],
        _ => &SERVICES,
    }
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let grid = run_grid(&plan(), setup)?;
    let [reaction, select] = [Service::Reaction, SELECT].map(|service| grid.of(0, service));
    Ok(vec![Figure {
        key: key("pareto"),
        title: format!(
            "By reactions, {:.3} % of the worst player's actions are behind instead of {:.1} % (SelectWait), and answers come {:.0} ms sooner",
            reaction.worst_behind().value,
            select.worst_behind().value,
            select.added_response().value - reaction.added_response().value
        ),
        caption: format!(
            "{SETTING_WORDS}; {}. {BEHIND_WORDS}; shares below {FLOOR} % are drawn there. Added: to the mean response time without the \
             service. Clairvoyant: it knows when every action arrives, and places it by the same checked tags. Sync-MS's promises rest on steady delays: exponential ones break \
             them. Further left and lower is better.",
            seeds(setup)
        ),
        plots: LAWS.iter().enumerate().map(|(index, law)| plot(&grid, index, *law)).collect(),
        columns: 2,
        table: table(&grid),
        claims: answers(&grid),
    }])
}

fn plot(grid: &Grid, setting: usize, law: PathLaw) -> Plot {
    let cloud = |service: &Service| {
        let runs = grid.of(setting, *service);
        let point = NamedPoint {
            name: service.name().to_owned(),
            x: runs.added_response().value,
            y: runs.worst_behind().value.max(FLOOR),
        };
        Cloud { name: service.name().to_owned(), points: vec![point], is_joined: false }
    };
    Plot {
        title: format!("{} delays", law.name()),
        x_label: "added response time (ms)".to_owned(),
        y_label: "worst player's actions behind (%)".to_owned(),
        drawing: Drawing::Points {
            clouds: services(law).iter().map(cloud).collect(),
            levels: vec![Level { name: format!("{AVERAGE_MAX} %"), y: AVERAGE_MAX }],
            x_max: f64::INFINITY,
        },
    }
}

fn table(grid: &Grid) -> Table {
    let mut head = vec!["delays".to_owned(), "order".to_owned()];
    head.extend(heads());
    let row = |(law, service): (usize, &Service)| {
        let mut row = vec![LAWS[law].name().to_owned(), service.name().to_owned()];
        row.extend(cells(&grid.of(law, *service)));
        row
    };
    let of = |(index, law): (usize, PathLaw)| services(law).iter().map(move |service| (index, service));
    let rows = LAWS.into_iter().enumerate().flat_map(of);
    Table { head, rows: rows.map(row).collect() }
}

fn answers(grid: &Grid) -> Vec<Claim> {
    let mut claims = claims("pareto");
    for (index, law) in PathLaw::READINGS.into_iter().enumerate() {
        let runs = grid.of(index, Service::Reaction);
        claims = claims
            .add(
                &format!(
                    "Under {} delays Reaction leaves at most {AVERAGE_MAX} % of the worst player's actions behind on average, and \
                     {RUN_MAX} % in each run.",
                    law.name()
                ),
                in_words(&runs),
                Test::below(runs.worst_behind(), AVERAGE_MAX).and(Test::fact(runs.worst_run() <= RUN_MAX)),
                Verdict::Holds,
            )
            .add(
                &format!("Under {} delays it adds at most {ADDED_MAX} ms to the mean response time.", law.name()),
                format!(
                    "{} ms; a clairvoyant adds {} ms",
                    runs.added_response().in_words(2),
                    grid.of(index, Service::Clairvoyant).added_response().in_words(2)
                ),
                Test::below(runs.added_response(), ADDED_MAX),
                Verdict::Holds,
            );
    }
    let beats = |law: usize, service: &Service| {
        let (runs, other) = (grid.of(law, Service::Reaction), grid.of(law, *service));
        Test::below(runs.worst_behind().less(other.worst_behind()), 0.0)
            .and(Test::below(runs.added_response().less(other.added_response()), 0.0))
    };
    let papers = &SERVICES[2..7];
    let exponential = grid.of(EXPONENTIAL, Service::Reaction);
    claims
        .add(
            "Reaction is fairer than each of the paper's orders, and answers sooner.",
            papers
                .iter()
                .map(|service| format!("{}: {}", service.name(), in_words(&grid.of(0, *service))))
                .collect::<Vec<_>>()
                .join("; "),
            Test::all((0..PathLaw::READINGS.len()).flat_map(|law| papers.iter().map(move |one| beats(law, one)))),
            Verdict::Holds,
        )
        .add(
            "Exponential delays with the same means break it: more than 1 % of the worst player's actions are behind.",
            in_words(&exponential),
            Test::above(exponential.worst_behind(), 1.0),
            Verdict::Holds,
        )
        .all()
}
