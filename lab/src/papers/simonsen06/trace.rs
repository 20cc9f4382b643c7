//! The trace of single updates, with what the thesis records of each (tables 2 and 3) and why it was rejected (table 4);
//! and the size of an update (table 9).

use evenkeel_neo::{PlayedMove, UnusedReason};

use super::delays::about;
use super::grid::traced;
use super::{PAPER, SOURCE, claims};
use crate::claims::Verdict;
use crate::figure::{Bars, Cloud, Drawing, Figure, NamedPoint, Plot, Table};
use crate::neo::{NeoFigures, TracedUpdate, run_traced};
use crate::papers::Setup;
use crate::papers::cells::Ratio;
use crate::papers::judgement::{Judgement, Test};
use crate::papers::view::Claims;
use crate::parallel::{self, Cancelled};

/// Updates that are listed, and drawn.
const LISTED: usize = 60;
const TRACED: usize = 600;

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let runs = parallel::map(&[PAPER.first_seed], setup.progress, |seed| {
        run_traced(&traced(), *seed, TRACED, setup.progress)
    })?;
    let (figures, trace) = runs.into_iter().next().expect("one job, one result");
    Ok(vec![two(&figures, &trace), nine(&figures)])
}

const HEAD: [&str; 12] = [
    "at client",
    "source",
    "sequence number",
    "round.depth",
    "size (bytes, mean)",
    "committed (ms)",
    "sent (ms)",
    "arrived (ms)",
    "processed (ms)",
    "on time",
    "accepted",
    "votes",
];

/// An update as a row of the table.
fn row(update: &TracedUpdate, size: f64) -> Vec<String> {
    let ms = |nanos: i64| format!("{:.1}", nanos as f64 / 1e6);
    let (round, depth) = (update.slot / 2, update.slot % 2);
    let mut row = vec![update.at_peer.to_string(), update.from.to_string()];
    row.extend([update.slot.to_string(), format!("{round}.{depth}"), format!("{size:.0}")]);
    match &update.fate {
        Ok(played) => row.extend([
            ms(played.made.as_nanos()),
            ms(played.revealed.as_nanos()),
            ms(played.arrived.as_nanos()),
            ms(played.played.as_nanos()),
            if played.is_in_time { "yes" } else { "no" }.to_owned(),
            "accepted".to_owned(),
            format!("{} of {}", played.votes.0, played.votes.1),
        ]),
        Err(reason) => row.extend(["", "", "", "", "no", reason.name(), ""].map(str::to_owned)),
    }
    row
}

fn cloud(trace: &[TracedUpdate], at: fn(&PlayedMove) -> f64, name: &str) -> Cloud {
    let point = |played: &PlayedMove| NamedPoint {
        name: String::new(),
        x: played.revealed.as_nanos() as f64 / 1e9,
        y: at(played).max(1.0),
    };
    let used = trace.iter().filter_map(|update| update.fate.as_ref().ok());
    Cloud { name: name.to_owned(), points: used.map(point).collect(), is_joined: false }
}

fn two(figures: &NeoFigures, trace: &[TracedUpdate]) -> Figure {
    let used = trace.iter().filter(|update| update.fate.is_ok()).count();
    let shares: Vec<f64> = UnusedReason::ALL.iter().map(|reason| figures.unused_by(*reason)).collect();
    let end = trace.iter().filter_map(|update| update.fate.as_ref().ok());
    let end = end.map(|played| played.revealed.as_nanos() as f64 / 1e9).fold(0.0, f64::max);
    Figure {
        key: format!("{}/table2", SOURCE.paper),
        title: format!("Of {} traced updates {used} were used, each after a delay of its own", trace.len()),
        caption: format!(
            "3 clients, rounds of 250 ms, depth 2, seed {}. The table lists the first {LISTED}; times are the session's at the receiving \
             client, whose clock is the peers' median.",
            PAPER.first_seed
        ),
        plots: vec![
            Plot {
                title: "each update".to_owned(),
                x_label: "sent at (s)".to_owned(),
                y_label: "delay (ms)".to_owned(),
                drawing: Drawing::Points {
                    clouds: vec![
                        cloud(trace, |played| played.playout().as_millis_f64(), "playout"),
                        cloud(trace, |played| (played.arrived - played.revealed).as_millis_f64(), "latency"),
                    ],
                    levels: Vec::new(),
                    x_max: end,
                },
            },
            Plot {
                title: "why updates were not used".to_owned(),
                x_label: "reason (table 4)".to_owned(),
                y_label: "share of the updates (%)".to_owned(),
                drawing: Drawing::Bars {
                    categories: UnusedReason::ALL.iter().map(|reason| reason.name().to_owned()).collect(),
                    groups: vec![Bars { name: "3 clients".to_owned(), heights: shares }],
                },
            },
        ],
        columns: 1,
        table: Table {
            head: HEAD.map(str::to_owned).to_vec(),
            rows: trace.iter().take(LISTED).map(|update| row(update, figures.size)).collect(),
        },
        claims: trace_claims(figures).all(),
    }
}

fn trace_claims(figures: &NeoFigures) -> Claims {
    let unused = figures.unused_percent();
    let bad = figures.unused_by(UnusedReason::BadHash);
    claims("table2", "6")
        .add(
            "Very few updates are rejected.",
            format!("{unused:.1} % are not used; read as: under 10 %"),
            Judgement::read(Test::fact(unused < 5.0), Test::fact(unused < 10.0)),
            Verdict::Differs,
        )
        .add(
            "No honest update has a bad hash.",
            format!("{bad:.1} %"),
            Test::fact(bad == 0.0),
            Verdict::Holds,
        )
}

/// Table 9 as printed, in bytes: the Eater game, and a larger one.
const FIELDS: [(&str, u32, u32); 8] = [
    ("ID", 1, 2),
    ("Round #", 4, 4),
    ("Depth #", 4, 4),
    ("# Votes", 1, 1),
    ("Votes", 2, 10),
    ("Hash length", 1, 1),
    ("Hash", 20, 20),
    ("Move length", 1, 1),
];
const MOVES: (u32, u32) = (128, 300);

fn nine(figures: &NeoFigures) -> Figure {
    let sums = FIELDS.iter().fold(MOVES, |(eater, larger), (_, a, b)| (eater + a, larger + b));
    let larger_kbps = f64::from(sums.1) * 8.0 * 8.0 / 1_000.0;
    let mut rows: Vec<Vec<String>> = FIELDS
        .iter()
        .map(|(name, eater, larger)| {
            vec![(*name).to_owned(), eater.to_string(), larger.to_string(), String::new()]
        })
        .collect();
    rows.push(vec!["Move encrypted".to_owned(), MOVES.0.to_string(), MOVES.1.to_string(), String::new()]);
    rows.push(vec![
        "Total (bytes)".to_owned(),
        sums.0.to_string(),
        sums.1.to_string(),
        format!("{:.0}", figures.size),
    ]);
    let ours = Ratio { value: figures.size, error: 0.0 };
    let bar = |name: &str, value: f64| Bars { name: name.to_owned(), heights: vec![value] };
    Figure {
        key: format!("{}/table9", SOURCE.paper),
        title: format!("Our message is {:.0} bytes long on average, the thesis' update 162", figures.size),
        caption: "Ours: all messages of 3 clients, those that keep clocks and stones together included, without the transport's headers. \
                  The thesis encrypts a move into 128 bytes."
            .to_owned(),
        plots: vec![Plot {
            title: String::new(),
            x_label: "update".to_owned(),
            y_label: "bytes".to_owned(),
            drawing: Drawing::Bars {
                categories: vec!["size".to_owned()],
                groups: vec![
                    bar("ours", figures.size),
                    bar("thesis", f64::from(sums.0)),
                    bar("thesis, larger game", f64::from(sums.1)),
                ],
            },
        }],
        columns: 1,
        table: Table {
            head: ["item", "Eater game", "larger game", "ours, mean message"].map(str::to_owned).to_vec(),
            rows,
        },
        claims: claims("table9", "5.1.5, table 9")
            .add(
                "The items add up to 162 and 343 bytes.",
                format!("{} and {}", sums.0, sums.1),
                Test::fact(sums == (162, 343)),
                Verdict::Holds,
            )
            .add(
                "The larger update, 8 times a second, takes 21.9 kbps.",
                format!("{larger_kbps:.2} kbps to each other client"),
                Test::fact((larger_kbps - 21.9).abs() < 0.1),
                Verdict::Holds,
            )
            .add(
                "An update of the Eater game takes 162 bytes.",
                format!("ours {:.0} bytes: a position in 9 bytes instead of an encrypted one in 128", figures.size),
                about(&[ours], &[162.0]),
                Verdict::Fails,
            )
            .all(),
    }
}
