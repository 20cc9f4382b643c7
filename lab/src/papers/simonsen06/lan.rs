//! Figures 9 to 17: the lab experiments.

use super::chart::{Measure, Series};
use super::delays::{about, at, exceeds, in_words, level, rising};
use super::grid::{Network, ThesisCell, ThesisGrid};
use super::{ARRIVAL, CLIENTS, Chart, DEPTH, claims};
use crate::claims::Verdict;
use crate::figure::Figure;
use crate::papers::Setup;
use crate::papers::bars::SAME;
use crate::papers::cells::Ratio;
use crate::papers::judgement::{Judgement, Test};
use crate::papers::view::Claims;

const LAB: Network = Network::Lab;

fn by_arrival(measure: Measure) -> Vec<Series> {
    (2..=4).map(|clients| Series::by_arrival(LAB, clients, measure)).collect()
}

pub(super) fn all(grid: &ThesisGrid, setup: &Setup<'_>) -> Vec<Figure> {
    let charts =
        [location(grid), unused(grid), latency(grid), bandwidth(grid), depth(grid), depth_error(grid)];
    charts.into_iter().chain(comparison(grid)).map(|chart| chart.draw(grid, setup)).collect()
}

fn location(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_arrival(Measure::Location);
    let ends = |series: &Series| at(grid, series, &[125.0, 250.0, 500.0, 1000.0]);
    let at_125: Vec<_> = series.iter().map(|one| one.at(grid, 125.0)).collect();
    let four = &series[2];
    let claims = claims("fig9", "5.1.1")
        .add(
            "In general the location error decreases as updates come more often.",
            series
                .iter()
                .map(|one| {
                    format!("{}: {} px at 125, 250, 500 and 1,000 ms", one.name, in_words(&ends(one), 1))
                })
                .collect::<Vec<_>>()
                .join("; "),
            Test::all(series.iter().map(|one| rising(&ends(one)))),
            Verdict::Holds,
        )
        .add(
            "At 50 ms it starts to climb, because many updates are lost or unused (4 clients).",
            format!(
                "{} px at 50 ms, {} px at 62 ms",
                four.at(grid, 50.0).in_words(1),
                four.at(grid, 62.5).in_words(1)
            ),
            exceeds(four.at(grid, 50.0), four.at(grid, 62.5)),
            Verdict::Holds,
        )
        .at("5.1.3 and 5.2.1")
        .add(
            "At 125 ms it is around 10 pixels. (5.2.1 says about 15 for the same figure.)",
            format!(
                "{} px with 2, 3 and 4 clients; read as: 10 to 15 within a quarter",
                in_words(&at_125, 1)
            ),
            Judgement::read(
                about(&at_125, &[10.0; 3]),
                Test::all(at_125.iter().map(|one| Test::above(*one, 7.5).and(Test::below(*one, 18.75)))),
            ),
            Verdict::Fails,
        );
    Chart {
        name: "fig9",
        title: format!("Updates every 125 ms leave the others {:.0} px from where they are", at_125[2].value),
        frames: vec![("", ARRIVAL, series)],
        claims,
    }
}

fn unused(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_arrival(Measure::Unused);
    let four = &series[2];
    let (at_50, at_100) = (four.at(grid, 50.0), four.at(grid, 100.0));
    let above_100: Vec<_> = [125.0, 166.7, 200.0, 250.0, 333.3, 500.0, 1000.0]
        .iter()
        .flat_map(|x| series.iter().map(|one| one.at(grid, *x)))
        .collect();
    let claims = claims("fig10", "5.1.1")
        .add(
            "With 4 clients about 35 % of the updates are unused at 50 ms.",
            format!("{} %", at_50.in_words(1)),
            about(&[at_50], &[35.0]),
            Verdict::Holds,
        )
        .add(
            "Above 100 ms under 10 % are unused in all cases.",
            format!("{:.1} % at most", above_100.iter().map(|one| one.value).fold(0.0, f64::max)),
            Test::all(above_100.iter().map(|one| Test::below(*one, 10.0))),
            Verdict::Holds,
        )
        .add(
            "The main reason is that updates do not arrive on time: over 30 ms of a slot more, far fewer are unused.",
            format!("{} % at 50 ms, {} % at 100 ms", at_50.in_words(1), at_100.in_words(1)),
            exceeds(at_50, at_100.times(2.0)),
            Verdict::Holds,
        );
    Chart {
        name: "fig10",
        title: format!(
            "Updates every 50 ms come too late: {:.0} % are unused with 4 clients, every 125 ms {:.0} %",
            at_50.value,
            four.at(grid, 125.0).value
        ),
        frames: vec![("", ARRIVAL, series)],
        claims,
    }
}

fn latency(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_arrival(Measure::Latency);
    let four = &series[2];
    let places = [125.0, 250.0, 500.0, 1000.0];
    let values = at(grid, four, &places);
    let claims = claims("fig11", "5.1.1")
        .add(
            "With 4 clients the average latency is about 45 ms.",
            format!("{} ms at 125, 250, 500 and 1,000 ms between updates", in_words(&values, 1)),
            about(&values, &[45.0; 4]),
            Verdict::Holds,
        )
        .at("5.1.4")
        .add(
            "Round length and depth do not change the latency.",
            format!("{} ms at 50 ms, {} ms above", four.at(grid, 50.0).in_words(1), in_words(&values, 1))
                + "; read as: from 250 ms on. Our latencies are those of used updates, which below are the quick ones",
            Judgement::read(
                level(&[vec![four.at(grid, 50.0)], values.clone()].concat(), SAME),
                level(&values[1..], SAME),
            ),
            Verdict::Differs,
        );
    Chart {
        name: "fig11",
        title: "Of the updates that are used, latency does not depend on how often they come, unless late ones are thrown away"
            .to_owned(),
        frames: vec![("", ARRIVAL, series)],
        claims,
    }
}

fn bandwidth(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_arrival(Measure::Bandwidth);
    let four = at(grid, &series[2], &[50.0, 100.0, 200.0]);
    let at_125: Vec<_> = series.iter().map(|one| one.at(grid, 125.0)).collect();
    let halving = [four[0].over(four[1]), four[1].over(four[2])];
    let claims = claims("fig12", "5.1.1")
        .add(
            "Bandwidth increases exponentially as updates come more often.",
            format!(
                "twice as many updates take {} times the bandwidth (200 to 100 ms: {}); read as: in proportion to them",
                halving[0].in_words(2),
                halving[1].in_words(2)
            ),
            Judgement::read(
                exceeds(halving[0], halving[1].times(1.0 + SAME)),
                Test::all(halving.map(|ratio| Test::same(ratio.times(0.5), super::ABOUT))),
            ),
            Verdict::Differs,
        )
        .add(
            "The more clients, the faster it increases.",
            format!("{} kbps at 125 ms with 2, 3 and 4 clients", in_words(&at_125, 1)),
            rising(&at_125),
            Verdict::Holds,
        )
        .at("5.1.3")
        .add(
            "At 125 ms it is below 15 kbps. (Table 8 says 13.5, 20.67 and 31.25.)",
            format!("{} kbps sent by each of 2, 3 and 4 clients; read as: with 2 clients", in_words(&at_125, 1)),
            Judgement::read(
                Test::all(at_125.iter().map(|one| Test::below(*one, 15.0))),
                Test::below(at_125[0], 15.0),
            ),
            Verdict::Differs,
        );
    Chart {
        name: "fig12",
        title: "Bandwidth is in proportion to updates and to the other clients, not exponential in either"
            .to_owned(),
        frames: vec![("", ARRIVAL, series)],
        claims,
    }
}

fn depth(grid: &ThesisGrid) -> Chart<'static> {
    let by = |name, measure| Series::by_depth(name, LAB, 4, 1_000, measure);
    let (playout, waiting) = (by("playout", Measure::Playout), by("waiting", Measure::Waiting));
    let depths = [1.0, 2.0, 4.0, 10.0, 20.0];
    let (all, slow) = (at(grid, &playout, &depths), at(grid, &playout, &depths[..3]));
    let claims = claims("fig13", "5.1.2").add(
        "With rounds of 1,000 ms the depth affects neither playout nor waiting delay, because each update still has the same round to \
         get to the client.",
        format!("playout {} ms at depths 1, 2, 4, 10 and 20", in_words(&all, 0)),
        Test::all([level(&all, SAME), level(&at(grid, &waiting, &depths), SAME)]),
        Verdict::Fails,
    );
    Chart {
        name: "fig13",
        title: format!(
            "With rounds of 1,000 ms, 4 clients play updates out after {:.0} ms at a depth of 1, and after {:.0} ms at 20",
            slow[0].value, all[4].value
        ),
        frames: vec![("", DEPTH, vec![playout, waiting])],
        claims,
    }
}

fn depth_error(grid: &ThesisGrid) -> Chart<'static> {
    let by = |measure| Series::by_depth("4 clients", LAB, 4, 1_000, measure);
    let (location, unused) = (by(Measure::Location), by(Measure::Unused));
    let (lost, errors) = (at(grid, &unused, &[1.0, 10.0, 20.0]), at(grid, &location, &[1.0, 5.0, 10.0]));
    let claims = claims("fig14", "5.1.2")
        .add(
            "Adding depth significantly increases the share of unused updates.",
            format!("{} % at depths 1, 10 and 20", in_words(&lost, 1)),
            exceeds(lost[2], lost[0].times(2.0)),
            Verdict::Holds,
        )
        .add(
            "More depth lowers the location error.",
            format!("{} px at depths 1, 5 and 10", in_words(&errors, 1)),
            Test::all(errors.windows(2).map(|pair| exceeds(pair[0], pair[1]))),
            Verdict::Holds,
        );
    Chart {
        name: "fig14",
        title: format!(
            "Depth lowers the location error from {:.0} to {:.0} px, and costs updates",
            errors[0].value, errors[2].value
        ),
        frames: vec![("location error", DEPTH, vec![location]), ("unused updates", DEPTH, vec![unused])],
        claims,
    }
}

/// Figures 15 to 17: NEO with rounds of 100 ms beside client-server.
fn comparison(grid: &ThesisGrid) -> Vec<Chart<'static>> {
    let pair = |measure| {
        [
            Series::by_clients("NEO", measure, 2..=4, |clients| ThesisCell::neo(LAB, clients, 100, 1)),
            Series::by_clients("client-server", measure, 2..=4, ThesisCell::server),
        ]
    };
    let values = |[neo, server]: &[Series; 2]| [neo, server].map(|one| at(grid, one, &[2.0, 3.0, 4.0]));
    let above = |[neo, server]: &[Vec<_>; 2]| Test::all(neo.iter().zip(server).map(|(a, b)| exceeds(*a, *b)));
    let words = |[neo, server]: &[Vec<_>; 2], unit: &str| {
        format!(
            "NEO {} {unit}, client-server {} {unit} with 2, 3 and 4 clients",
            in_words(neo, 1),
            in_words(server, 1)
        )
    };
    let [location, playout, waiting] = [Measure::Location, Measure::Playout, Measure::Waiting].map(pair);
    let (errors, delays, waits) = (values(&location), values(&playout), values(&waiting));
    let chart = |name, title: String, series: [Series; 2], claims| Chart {
        name,
        title,
        frames: vec![("", CLIENTS, series.into())],
        claims,
    };
    vec![
        chart(
            "fig15",
            format!(
                "With 4 clients NEO shows the others {:.1} px from where they are, a server {:.1} px",
                errors[0][2].value, errors[1][2].value
            ),
            location,
            location_claims(&errors, words(&errors, "px"), above(&errors)),
        ),
        chart(
            "fig16",
            format!(
                "With 4 clients NEO plays updates out after {:.0} ms, client-server after {:.0} ms",
                delays[0][2].value, delays[1][2].value
            ),
            playout,
            claims("fig16", "5.1.4").add(
                "The playout delay of NEO is higher, which is why its location error is.",
                words(&delays, "ms"),
                above(&delays),
                Verdict::Fails,
            ),
        ),
        chart(
            "fig17",
            "The difference is waiting: a server's clients show updates as they come".to_owned(),
            waiting,
            claims("fig17", "5.1.4").add(
                "NEO has to wait for the updates of the round, client-server processes them as they come.",
                words(&waits, "ms"),
                above(&waits).and(Test::all(waits[1].iter().map(|wait| Test::below(*wait, 3.0)))),
                Verdict::Holds,
            ),
        ),
    ]
}

fn location_claims(errors: &[Vec<Ratio>; 2], words: String, is_worse: Test) -> Claims {
    let [neo, server] = errors.each_ref().map(|values| values[2].less(values[0]));
    claims("fig15", "5.1.4")
        .add("NEO's location error is worse than client-server's.", words, is_worse, Verdict::Holds)
        .add(
            "It climbs at a much faster pace with the number of clients.",
            format!(
                "from 2 to 4 clients by {} px, client-server by {} px",
                neo.in_words(2),
                server.in_words(2)
            ),
            exceeds(neo, server.times(2.0)),
            Verdict::Holds,
        )
}
