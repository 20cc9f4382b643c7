//! Tables 7 and 8: where the time goes, and what more clients cost.

use super::chart::{Measure, Series};
use super::delays::{about, at, exceeds, in_words, rising};
use super::grid::{Network, ThesisCell, ThesisGrid};
use super::{ABOUT, CLIENTS, Chart, PAPER, SOURCE, claims, seeds};
use crate::claims::Verdict;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::cells::Ratio;
use crate::papers::judgement::{Judgement, Test};
use crate::papers::view::Claims;
use crate::papers::{Setup, seeds_in_words};

const COUNTS: [f64; 3] = [2.0, 3.0, 4.0];
/// Table 7 as printed: latency, waiting and playout delay by the number of clients.
const NEO: [[f64; 3]; 3] = [[34.0, 42.0, 44.0], [50.0, 65.0, 80.0], [87.0, 111.0, 128.5]];
const SERVER: [[f64; 3]; 3] = [[48.0, 59.0, 61.0], [2.2, 2.4, 2.3], [50.2, 61.4, 63.3]];
/// Table 8 as printed: the first four measured, the others extrapolated.
const KBPS: [f64; 8] = [13.5, 20.67, 31.25, 44.0, 66.0, 99.0, 148.5, 222.75];
/// The size of an update (table 9), in bytes, and updates per second at 125 ms.
const UPDATE: f64 = 162.0;
const RATE: f64 = 8.0;

const MEASURES: [Measure; 3] = [Measure::Latency, Measure::Waiting, Measure::Playout];

fn neo(measure: Measure) -> Series {
    Series::by_clients("NEO", measure, 2..=4, |clients| ThesisCell::neo(Network::Lab, clients, 250, 2))
}

fn server(measure: Measure) -> Series {
    Series::by_clients("client-server", measure, 2..=4, ThesisCell::server)
}

pub(super) fn all(grid: &ThesisGrid, setup: &Setup<'_>) -> Vec<Figure> {
    vec![seven(grid, setup), eight(grid, setup)]
}

fn seven(grid: &ThesisGrid, setup: &Setup<'_>) -> Figure {
    let ours = MEASURES.map(|measure| at(grid, &neo(measure), &COUNTS));
    let servers = MEASURES.map(|measure| at(grid, &server(measure), &COUNTS));
    let row = |who: &str, index: usize, values: &[Vec<Ratio>; 3], printed: &[[f64; 3]; 3]| {
        let mut row = vec![who.to_owned(), format!("{}", COUNTS[index])];
        for (value, printed) in values.iter().zip(printed) {
            row.extend([value[index].in_words(1), format!("{}", printed[index])]);
        }
        row
    };
    let rows = |who: &'static str, values: &[Vec<Ratio>; 3], printed: &[[f64; 3]; 3]| {
        (0..3).map(|index| row(who, index, values, printed)).collect::<Vec<_>>()
    };
    let mut head = vec!["protocol".to_owned(), "clients".to_owned()];
    for name in ["latency", "waiting", "playout"] {
        head.extend([format!("{name} (ms)"), "thesis".to_owned()]);
    }
    let group = |name: &str, heights: Vec<f64>| Bars { name: name.to_owned(), heights };
    let heights = |of: fn(&Ratio) -> f64, index: usize| -> Vec<f64> {
        ours[index].iter().chain(&servers[index]).map(of).collect()
    };
    let printed: Vec<f64> = NEO[2].iter().chain(&SERVER[2]).copied().collect();
    Figure {
        key: format!("{}/table7", SOURCE.paper),
        title: format!(
            "NEO with 4 clients plays updates out after {:.0} ms (thesis: 128.5), of which {:.0} ms are waiting",
            ours[2][2].value, ours[1][2].value
        ),
        caption: format!(
            "Rounds of 250 ms, depth 2, exponential delays, 1 % loss; {}. The thesis' playout delay contains 3 to 4.5 ms of processing, \
             and clocks that its SNTP sets to within 5 ms.",
            seeds_in_words(PAPER.first_seed, seeds(setup))
        ),
        plots: vec![Plot {
            title: String::new(),
            x_label: "clients".to_owned(),
            y_label: "delay (ms)".to_owned(),
            drawing: Drawing::Bars {
                categories: ["NEO", "server"]
                    .iter()
                    .flat_map(|who| [2, 3, 4].map(|clients| format!("{who}, {clients}")))
                    .collect(),
                groups: vec![
                    group("latency", heights(|ratio| ratio.value, 0)),
                    group("waiting", heights(|ratio| ratio.value, 1)),
                    group("playout", heights(|ratio| ratio.value, 2)),
                    group("playout in the thesis", printed),
                ],
            },
        }],
        columns: 1,
        table: Table {
            head,
            rows: [rows("NEO", &ours, &NEO), rows("client-server", &servers, &SERVER)].concat(),
        },
        claims: seven_claims(&ours, &servers).all(),
    }
}

fn seven_claims(ours: &[Vec<Ratio>; 3], servers: &[Vec<Ratio>; 3]) -> Claims {
    let [latency, waiting, playout] = ours;
    let times: Vec<Ratio> = playout.iter().zip(&servers[2]).map(|(neo, server)| neo.over(*server)).collect();
    let grows = playout[2].less(playout[0]);
    let waits: Vec<Ratio> = waiting.iter().map(|wait| wait.times(1.0 / SERVER[1][0])).collect();
    claims("table7", "5.1.4, table 7")
        .add(
            "NEO's playout delay is 87, 111 and 128.5 ms with 2, 3 and 4 clients.",
            format!("{} ms", in_words(playout, 1)),
            about(playout, &NEO[2]),
            Verdict::Holds,
        )
        .add(
            "Its updates wait for 50, 65 and 80 ms.",
            format!("{} ms: the first update of a round waits for the second, and both for the slowest client", in_words(waiting, 1)),
            about(waiting, &NEO[1]),
            Verdict::Fails,
        )
        .add(
            "Client-server's playout delay is 50.2, 61.4 and 63.3 ms.",
            format!("{} ms", in_words(&servers[2], 1)),
            about(&servers[2], &SERVER[2]),
            Verdict::Holds,
        )
        .add(
            "NEO has the lower latency, since updates do not go through a server.",
            format!("{} ms, {} ms through a server", in_words(latency, 1), in_words(&servers[0], 1)),
            Test::all(latency.iter().zip(&servers[0]).map(|(neo, server)| exceeds(*server, *neo))),
            Verdict::Holds,
        )
        .add(
            "NEO's waiting delay is 30 to 40 times that of client-server. (Table 7 itself says 23 to 35 times.)",
            format!(
                "{} times the 2.2 ms that the clients of the thesis' server wait; ours do not wait at all",
                in_words(&waits, 0)
            ),
            Test::all(waits.iter().map(|times| Test::above(*times, 30.0).and(Test::below(*times, 40.0)))),
            Verdict::Fails,
        )
        .add(
            "Its playout delays are nearly double those of client-server.",
            format!("{} times", in_words(&times, 2)),
            about(&times, &[2.0; 3]),
            Verdict::Fails,
        )
        .at("5.1.5")
        .add(
            "From 2 to 4 clients the playout delay grows by 20 to 30 ms. (Table 7 says 41.5 ms.)",
            format!("by {} ms; read as: by 20 to 50 ms", grows.in_words(1)),
            Judgement::read(
                Test::above(grows, 20.0).and(Test::below(grows, 30.0)),
                Test::above(grows, 20.0).and(Test::below(grows, 50.0)),
            ),
            Verdict::Fails,
        )
        .at("6.1")
        .add(
            "With 4 or more clients the playout delay is always as long as the round. (Table 7 says 128.5 of 250 ms.)",
            format!("{} of 250 ms", playout[2].in_words(1)),
            about(&[playout[2]], &[250.0]),
            Verdict::Fails,
        )
}

fn eight(grid: &ThesisGrid, setup: &Setup<'_>) -> Figure {
    let counts: Vec<f64> = (2..=9).map(f64::from).collect();
    let series = Series::by_clients("sent by each client", Measure::Bandwidth, 2..=9, |clients| {
        ThesisCell::neo(Network::Lab, clients, 250, 2)
    });
    let values = at(grid, &series, &counts);
    let per_other: Vec<Ratio> =
        values.iter().zip(&counts).map(|(value, clients)| value.times(1.0 / (clients - 1.0))).collect();
    // The thesis' bytes on our schedule: 162 bytes to each other client, 8 times a second.
    let in_bytes: Vec<f64> =
        counts.iter().map(|clients| (clients - 1.0) * UPDATE * RATE * 8.0 / 1_000.0).collect();
    let schedule: Vec<Ratio> = [2.0, 3.0, 4.0, 5.0]
        .iter()
        .map(|clients| {
            let cell = ThesisCell::neo(Network::Lab, *clients as usize, 250, 2);
            grid.of(cell, |one| one.messages * UPDATE * 8.0 / 1_000.0)
        })
        .collect();
    let steps: Vec<Ratio> = values.windows(2).map(|pair| pair[1].over(pair[0])).collect();
    let claims = claims("table8", "5.1.5, table 8")
        .add(
            "At 125 ms between updates 2, 3, 4 and 5 clients use 13.5, 20.67, 31.25 and 44 kbps, upload and download.",
            format!(
                "each sends {} kbps; with the thesis' updates of 162 bytes it would be {} kbps. That is one direction only. Read as: upload, \
                 at 162 bytes",
                in_words(&values[..4], 1),
                in_words(&schedule, 1)
            ),
            Judgement::read(about(&values[..4], &KBPS[..4]), about(&schedule, &KBPS[..4])),
            Verdict::Differs,
        )
        .add(
            "The bandwidth nearly doubles for each client added. (Table 8 multiplies it by 1.5.)",
            format!("times {} from 2 to 9 clients", in_words(&steps, 2)),
            about(&steps, &[2.0; 7]),
            Verdict::Fails,
        )
        .add(
            "So it would be 66, 99, 148.5 and 222.75 kbps with 6 to 9 clients.",
            format!(
                "in proportion to the others: {} kbps; with 162 bytes {}",
                in_words(&values[4..], 1),
                in_bytes[4..].iter().map(|kbps| format!("{kbps:.1}")).collect::<Vec<_>>().join(" / ")
            ),
            Judgement::read(
                about(&values[4..], &KBPS[4..]),
                Test::all(in_bytes[4..].iter().zip(&KBPS[4..]).map(|(one, printed)| Test::fact((one / printed - 1.0).abs() < ABOUT))),
            ),
            Verdict::Fails,
        )
        .add(
            "More clients cost more bandwidth.",
            format!("{} kbps per other client", in_words(&per_other, 2)),
            rising(&values),
            Verdict::Holds,
        );
    let chart = Chart {
        name: "table8",
        title: format!(
            "Each of 9 clients sends {:.0} kbps: the upload grows in proportion to the others, and does not double",
            values[7].value
        ),
        frames: vec![("", CLIENTS, vec![series])],
        claims,
    };
    let mut figure = chart.draw(grid, setup);
    let mut printed =
        vec!["in the thesis (kbps)".to_owned(), "measured to 5, extrapolated from 6 on".to_owned()];
    printed.extend(KBPS.iter().map(|kbps| format!("{kbps}")));
    figure.table.rows.push(printed);
    figure
}
