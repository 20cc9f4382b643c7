//! Figures 18 to 21: more clients in the lab.

use super::chart::{Measure, Series};
use super::delays::{about, at, exceeds, in_words, level, rising};
use super::grid::{Network, ThesisCell, ThesisGrid};
use super::{CLIENTS, Chart, claims};
use crate::claims::Verdict;
use crate::figure::{Curve, CurvePoint, Drawing, Figure};
use crate::papers::Setup;
use crate::papers::bars::SAME;
use crate::papers::judgement::{Judgement, Test};

const COUNTS: [f64; 3] = [2.0, 3.0, 4.0];

/// NEO at these tempos over the number of clients.
fn by_clients(measure: Measure, tempos: &[(u32, u32)]) -> Vec<Series> {
    let of = |&(round, depth): &(u32, u32)| {
        let name = format!("round {round} ms, depth {depth}");
        Series::by_clients(&name, measure, 2..=4, |clients| {
            ThesisCell::neo(Network::Lab, clients, round, depth)
        })
    };
    tempos.iter().map(of).collect()
}

pub(super) fn all(grid: &ThesisGrid, setup: &Setup<'_>) -> Vec<Figure> {
    let charts = [playout(grid), unused(grid), location(grid)];
    let figures = charts.into_iter().map(|chart| chart.draw(grid, setup));
    [processing(grid, setup)].into_iter().chain(figures).collect()
}

/// The simulator's computers are infinitely fast, so what is shown is the work: votes to count for each decided update.
fn processing(grid: &ThesisGrid, setup: &Setup<'_>) -> Figure {
    let rounds = [100, 250, 500, 1_000];
    let votes = |clients: usize, round: u32| {
        grid.of(ThesisCell::neo(Network::Lab, clients, round, 1), |one| one.votes.mean())
    };
    let curve = |clients: usize| Curve {
        name: format!("{clients} clients"),
        points: rounds
            .iter()
            .map(|round| CurvePoint { x: f64::from(*round), y: votes(clients, *round).value, spread: 0.0 })
            .collect(),
    };
    let by_clients: Vec<_> = (2..=4).map(|clients| votes(clients, 250)).collect();
    let by_round: Vec<_> = rounds.iter().map(|round| votes(4, *round)).collect();
    let claims = claims("fig18", "5.1.5")
        .add(
            "Processing takes longer with more clients, because there are more votes to be recorded.",
            format!("{} votes of an update with 2, 3 and 4 clients", in_words(&by_clients, 2)),
            rising(&by_clients),
            Verdict::Holds,
        )
        .add(
            "It does not change with the round length.",
            format!(
                "{} votes of an update with rounds of 100 to 1,000 ms; read as: from 250 ms on, where few updates are late",
                in_words(&by_round, 2)
            ),
            Judgement::read(level(&by_round, SAME), level(&by_round[1..], SAME)),
            Verdict::Differs,
        );
    let chart = Chart {
        name: "fig18",
        title: "Each client more is a vote more to count for each update, whatever the round length"
            .to_owned(),
        frames: vec![("", "round length (ms)", Vec::new())],
        claims,
    };
    let mut figure = chart.draw(grid, setup);
    figure.plots[0].y_label = "votes to count per update".to_owned();
    figure.plots[0].drawing = Drawing::Curves((2..=4).map(curve).collect());
    figure.table.head = vec!["clients".to_owned()];
    figure.table.head.extend(rounds.iter().map(|round| format!("votes, round {round} ms")));
    let row = |clients: usize| {
        let mut row = vec![clients.to_string()];
        row.extend(rounds.iter().map(|round| votes(clients, *round).in_words(2)));
        row
    };
    figure.table.rows = (2..=4).map(row).collect();
    figure
}

fn playout(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_clients(Measure::Playout, &[(100, 1), (250, 2), (250, 1), (500, 1)]);
    let grows: Vec<_> = series.iter().map(|one| one.at(grid, 4.0).less(one.at(grid, 2.0))).collect();
    let claims = claims("fig19", "5.1.5").add(
        "From 2 to 4 clients the playout delay increases by about 20 to 30 ms.",
        format!(
            "by {} ms with rounds of 100 ms, 250 ms at depth 2, 250 and 500 ms; read as: by 5 ms or more in each",
            in_words(&grows, 1)
        ),
        Judgement::read(
            Test::all(grows.iter().map(|ms| Test::above(*ms, 15.0).and(Test::below(*ms, 37.5)))),
            Test::all(grows.iter().map(|ms| Test::above(*ms, 5.0))),
        ),
        Verdict::Differs,
    );
    Chart {
        name: "fig19",
        title: format!(
            "Two clients more cost {:.0} ms of playout delay with rounds of 100 ms, and {:.0} ms with rounds of 500 ms",
            grows[0].value, grows[3].value
        ),
        frames: vec![("", CLIENTS, series)],
        claims,
    }
}

fn unused(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_clients(Measure::Unused, &[(100, 1), (100, 2)]);
    let [slow, quick] = [0, 1].map(|index: usize| at(grid, &series[index], &COUNTS));
    let claims = claims("fig20", "5.1.5")
        .add(
            "With 100 ms between updates under 10 % of them are unused.",
            format!("{} % with 2, 3 and 4 clients; read as: within a quarter of it", in_words(&slow, 1)),
            Judgement::read(
                Test::all(slow.iter().map(|one| Test::below(*one, 10.0))),
                Test::all(slow.iter().map(|one| Test::below(*one, 12.5))),
            ),
            Verdict::Differs,
        )
        .add(
            "With 50 ms over 30 % are.",
            format!("{} %; read as: with 4 clients", in_words(&quick, 1)),
            Judgement::read(
                Test::all(quick.iter().map(|one| Test::above(*one, 30.0))),
                Test::above(quick[2], 30.0),
            ),
            Verdict::Differs,
        );
    Chart {
        name: "fig20",
        title: format!(
            "At 50 ms {:.0} % of the updates are thrown away with 4 clients, at 100 ms {:.0} %",
            quick[2].value, slow[2].value
        ),
        frames: vec![("", CLIENTS, series)],
        claims,
    }
}

fn location(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_clients(Measure::Location, &[(100, 1), (100, 2)]);
    let quick = at(grid, &series[1], &COUNTS);
    let claims = claims("fig21", "5.1.5")
        .add(
            "With 4 clients the location error jumps to almost 30 pixels.",
            format!("{} px with 2, 3 and 4 clients, updates every 50 ms", in_words(&quick, 1)),
            about(&[quick[2]], &[30.0]),
            Verdict::Fails,
        )
        .add(
            "It is the unused updates that cause it: it rises with them.",
            format!("{} px", in_words(&quick, 1)),
            exceeds(quick[2], quick[0]),
            Verdict::Holds,
        );
    Chart {
        name: "fig21",
        title: format!(
            "Updates every 50 ms, many of them unused, leave 4 clients {:.0} px off",
            quick[2].value
        ),
        frames: vec![("", CLIENTS, series)],
        claims,
    }
}
