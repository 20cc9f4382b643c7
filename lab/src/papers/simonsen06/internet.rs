//! Figures 22 to 35: the experiments over the Internet, with the delays that the thesis reports.

use super::chart::{Measure, Series};
use super::delays::{about, at, exceeds, in_words, level, rising};
use super::grid::{Network, ThesisCell, ThesisGrid};
use super::{ARRIVAL, CLIENTS, Chart, DEPTH, ROUND, claims};
use crate::claims::Verdict;
use crate::figure::Figure;
use crate::papers::Setup;
use crate::papers::bars::SAME;
use crate::papers::judgement::{Judgement, Test};

const NET: Network = Network::Internet;
const DEPTHS: [f64; 5] = [1.0, 2.0, 4.0, 10.0, 20.0];
const ROUNDS: [f64; 4] = [100.0, 250.0, 500.0, 1_000.0];

pub(super) fn all(grid: &ThesisGrid, setup: &Setup<'_>) -> Vec<Figure> {
    let charts = [
        unused(grid),
        latency(grid),
        location(grid),
        playout_by_round(grid),
        playout_by_depth(grid),
        delays_of_five(grid),
        waiting_of_four(grid),
        depth_error(grid),
        bandwidth(grid),
        waiting_by_round(grid),
        waiting_by_depth(grid),
    ];
    charts.into_iter().chain(by_clients(grid)).map(|chart| chart.draw(grid, setup)).collect()
}

fn by_arrival(measure: Measure) -> Vec<Series> {
    (2..=5).map(|clients| Series::by_arrival(NET, clients, measure)).collect()
}

fn by_round(measure: Measure) -> Vec<Series> {
    (2..=5).map(|clients| Series::by_round(&format!("{clients} clients"), NET, clients, measure)).collect()
}

fn by_depth(measure: Measure) -> Vec<Series> {
    let of = |clients| Series::by_depth(&format!("{clients} clients"), NET, clients, 1_000, measure);
    (2..=5).map(of).collect()
}

fn unused(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_arrival(Measure::Unused);
    let four = at(grid, &series[2], &[50.0, 62.5, 125.0]);
    let claims = claims("fig22", "5.2.1").add(
        "Unused updates are a problem only at 50 ms.",
        format!("{} % with 4 clients at 50, 62 and 125 ms; read as: it is worst there", in_words(&four, 1)),
        Judgement::read(
            Test::above(four[0], 20.0).and(Test::below(four[1], 10.0)),
            exceeds(four[0], four[1]).and(exceeds(four[1], four[2])),
        ),
        Verdict::Differs,
    );
    Chart {
        name: "fig22",
        title: format!(
            "At 50 ms {:.0} % of the updates are unused with 4 clients, at 125 ms {:.0} %",
            four[0].value, four[2].value
        ),
        frames: vec![("", ARRIVAL, series)],
        claims,
    }
}

fn latency(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_arrival(Measure::Latency);
    let slow: Vec<_> = series.iter().map(|one| one.at(grid, 500.0)).collect();
    let claims = claims("fig23", "5.2.1").add(
        "The average latency is below 60 ms, and below 70 ms with 5 clients.",
        format!("{} ms with 2 to 5 clients", in_words(&slow, 1)),
        Test::all(slow.iter().zip([60.0, 60.0, 60.0, 70.0]).map(|(one, bar)| Test::below(*one, bar))),
        Verdict::Holds,
    );
    Chart {
        name: "fig23",
        title: "The network's delays are set to what the thesis reports".to_owned(),
        frames: vec![("", ARRIVAL, series)],
        claims,
    }
}

fn location(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_arrival(Measure::Location);
    let at_125: Vec<_> = series.iter().map(|one| one.at(grid, 125.0)).collect();
    let claims = claims("fig24", "5.2.1").add(
        "At 125 ms the location error is around 30 pixels.",
        format!("{} px with 2 to 5 clients", in_words(&at_125, 1)),
        about(&at_125, &[30.0; 4]),
        Verdict::Fails,
    );
    Chart {
        name: "fig24",
        title: format!("At 125 ms 4 clients are {:.0} px off", at_125[2].value),
        frames: vec![("", ARRIVAL, series)],
        claims,
    }
}

fn playout_by_round(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_round(Measure::Playout);
    let five = at(grid, &series[3], &ROUNDS);
    let ratios: Vec<_> = five.iter().zip(ROUNDS).map(|(one, round)| one.times(1.0 / round)).collect();
    let deviation = grid.of(ThesisCell::neo(NET, 5, 500, 1), |one| Measure::Playout.deviation(one));
    let claims = claims("fig25", "5.2.2").add(
        "With 5 clients the playout delay is always as high as two round lengths, with very low deviation.",
        format!(
            "{} rounds of 100 to 1,000 ms; deviation {} ms at 500 ms",
            in_words(&ratios, 2),
            deviation.in_words(1)
        ),
        about(&ratios, &[2.0; 4]).and(Test::below(deviation.over(five[2]), SAME)),
        Verdict::Fails,
    );
    Chart {
        name: "fig25",
        title: format!("With 5 clients playout takes {:.2} rounds of 500 ms, and not two", ratios[2].value),
        frames: vec![("", ROUND, series)],
        claims,
    }
}

fn playout_by_depth(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_depth(Measure::Playout);
    let five = at(grid, &series[3], &DEPTHS);
    let words = format!("{} ms at depths 1, 2, 4, 10 and 20", in_words(&five, 0));
    let claims = claims("fig26", "5.2.2")
        .add(
            "The depth has no effect on the playout delay.",
            words.clone(),
            level(&five, SAME),
            Verdict::Fails,
        )
        .add(
            "With 5 clients it is just above 2,000 ms, two round lengths.",
            words,
            about(&five, &[2_000.0; 5]),
            Verdict::Fails,
        );
    Chart {
        name: "fig26",
        title: format!(
            "With 5 clients playout takes {:.0} ms at a depth of 1, {:.0} ms at 20",
            five[0].value, five[4].value
        ),
        frames: vec![("", DEPTH, series)],
        claims,
    }
}

fn delays_of_five(grid: &ThesisGrid) -> Chart<'static> {
    let of = |name, measure| Series::by_round(name, NET, 5, measure);
    let series = vec![
        of("latency", Measure::Latency),
        of("waiting", Measure::Waiting),
        of("playout", Measure::Playout),
    ];
    let [latency, waiting] = [0, 1].map(|index: usize| at(grid, &series[index], &ROUNDS));
    let claims = claims("fig27", "5.2.2")
        .add(
            "Latency stays constant while the waiting delay increases with the round length.",
            format!("latency {} ms, waiting {} ms", in_words(&latency, 0), in_words(&waiting, 0))
                + "; read as: from 250 ms on, where late updates are few",
            Judgement::read(
                level(&latency, SAME).and(rising(&waiting)),
                level(&latency[1..], SAME).and(rising(&waiting)),
            ),
            Verdict::Differs,
        )
        .add(
            "Waiting is nearly all of the playout delay.",
            format!(
                "{} of {} ms at 1,000 ms",
                waiting[3].in_words(0),
                series[2].at(grid, 1_000.0).in_words(0)
            ),
            Test::above(waiting[3].over(series[2].at(grid, 1_000.0)), 0.9),
            Verdict::Fails,
        );
    Chart {
        name: "fig27",
        title: "With 5 clients updates spend their time waiting for votes".to_owned(),
        frames: vec![("", ROUND, series)],
        claims,
    }
}

fn waiting_of_four(grid: &ThesisGrid) -> Chart<'static> {
    let of = |name, measure| Series::by_depth(name, NET, 4, 1_000, measure);
    let series = vec![of("waiting", Measure::Waiting), of("playout", Measure::Playout)];
    let playout = at(grid, &series[1], &DEPTHS);
    let claims = claims("fig28", "5.2.2").add(
        "For most depths the playout delay does not change; at a depth of 20 it jumps up by about 200 ms to 1,900 to 2,000 ms.",
        format!("{} ms at depths 1, 2, 4, 10 and 20", in_words(&playout, 0)),
        level(&playout[..4], SAME).and(Test::above(playout[4], 1_900.0)),
        Verdict::Fails,
    );
    Chart {
        name: "fig28",
        title: format!(
            "4 clients play updates out after {:.0} ms at a depth of 1, and after {:.0} ms at 20",
            playout[0].value, playout[4].value
        ),
        frames: vec![("", DEPTH, series)],
        claims,
    }
}

fn depth_error(grid: &ThesisGrid) -> Chart<'static> {
    let (location, unused) = (by_depth(Measure::Location), by_depth(Measure::Unused));
    let [errors, lost] = [&location[2], &unused[2]].map(|one| at(grid, one, &[1.0, 5.0, 10.0, 20.0]));
    let claims = claims("fig29", "5.2.2")
        .add(
            "More depth lowers the location error until a depth of 10, where unused updates begin to climb.",
            format!(
                "{} px and {} % at depths 1, 5, 10 and 20 (4 clients)",
                in_words(&errors, 1),
                in_words(&lost, 1)
            ),
            exceeds(errors[0], errors[1]).and(exceeds(errors[1], errors[2])).and(exceeds(lost[3], lost[2])),
            Verdict::Holds,
        )
        .add(
            "A depth of 20 causes more location error than a depth of 1.",
            format!("{} px at 20, {} px at 1", errors[3].in_words(1), errors[0].in_words(1)),
            exceeds(errors[3], errors[0]),
            Verdict::Fails,
        );
    Chart {
        name: "fig29",
        title: format!(
            "20 updates a round, {:.0} % of them unused, still show the others better than one",
            lost[3].value
        ),
        frames: vec![("location error", DEPTH, location), ("unused updates", DEPTH, unused)],
        claims,
    }
}

fn bandwidth(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_arrival(Measure::Bandwidth);
    let five = at(grid, &series[3], &[50.0, 125.0]);
    let full = grid.of(ThesisCell::neo(NET, 5, 50, 1), |one| one.messages * 162.0 * 8.0 / 1_000.0);
    let claims = claims("fig30", "5.2.4").add(
        "At 50 ms 5 clients approach the limit of most home connections.",
        format!(
            "each sends {} kbps, {} kbps with the thesis' 162 bytes; read as: 100 kbps or more at 162 bytes, of the 128 to 384 kbps of the time",
            five[0].in_words(0),
            full.in_words(0)
        ),
        Judgement::read(Test::above(five[0], 100.0), Test::above(full, 100.0)),
        Verdict::Differs,
    );
    Chart {
        name: "fig30",
        title: format!(
            "5 clients send {:.0} kbps each at 50 ms, {:.0} kbps at 125 ms",
            five[0].value, five[1].value
        ),
        frames: vec![("", ARRIVAL, series)],
        claims,
    }
}

fn waiting_by_round(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_round(Measure::Waiting);
    let five = at(grid, &series[3], &ROUNDS);
    let ratios: Vec<_> = five.iter().zip(ROUNDS).map(|(one, round)| one.times(1.0 / round)).collect();
    let claims = claims("fig31", "5.2.4").add(
        "5 clients wait for around the length of a round. (Figure 25 says that playout takes two.)",
        format!("{} rounds of 100 to 1,000 ms; read as: for one to two rounds", in_words(&ratios, 2)),
        Judgement::read(
            about(&ratios, &[1.0; 4]),
            Test::all(ratios.iter().map(|one| Test::above(*one, 0.9).and(Test::below(*one, 2.1)))),
        ),
        Verdict::Fails,
    );
    Chart {
        name: "fig31",
        title: "5 clients, who need a third one's vote, wait the longest".to_owned(),
        frames: vec![("", ROUND, series)],
        claims,
    }
}

fn waiting_by_depth(grid: &ThesisGrid) -> Chart<'static> {
    let series = by_depth(Measure::Waiting);
    let five = at(grid, &series[3], &DEPTHS);
    let claims = claims("fig32", "5.2.4").add(
        "Adding depth does not shorten the waiting delay.",
        format!("{} ms at depths 1, 2, 4, 10 and 20 with 5 clients", in_words(&five, 0)),
        Test::above(five[4].over(five[0]), 1.0 - SAME),
        Verdict::Holds,
    );
    Chart {
        name: "fig32",
        title: format!(
            "5 clients wait for {:.0} ms at a depth of 1, and for {:.0} ms at 20",
            five[0].value, five[4].value
        ),
        frames: vec![("", DEPTH, series)],
        claims,
    }
}

/// Figures 33 to 35.
fn by_clients(grid: &ThesisGrid) -> Vec<Chart<'static>> {
    let of = |measure, tempos: &[(u32, u32)]| -> Vec<Series> {
        let series = |&(round, depth): &(u32, u32)| {
            let name = format!("round {round} ms, depth {depth}");
            Series::by_clients(&name, measure, 2..=5, |clients| ThesisCell::neo(NET, clients, round, depth))
        };
        tempos.iter().map(series).collect()
    };
    let counts = [2.0, 3.0, 4.0, 5.0];
    let playout = of(Measure::Playout, &[(250, 2), (500, 2), (1_000, 2)]);
    let unused = of(Measure::Unused, &[(100, 1), (100, 2), (500, 5)]);
    let location = of(Measure::Location, &[(100, 2), (1_000, 1)]);
    let delays = at(grid, &playout[0], &counts);
    let (slow, quick) = (at(grid, &unused[0], &counts), at(grid, &unused[1], &counts));
    let errors = at(grid, &location[0], &counts);
    let chart =
        |name, title, series, claims| Chart { name, title, frames: vec![("", CLIENTS, series)], claims };
    vec![
        chart(
            "fig33",
            format!(
                "From 4 to 5 clients the playout delay jumps from {:.0} to {:.0} ms",
                delays[2].value, delays[3].value
            ),
            playout,
            claims("fig33", "5.2.4").add(
                "The more clients, the higher the playout delay.",
                format!("{} ms with 2 to 5 clients", in_words(&delays, 0)),
                rising(&delays),
                Verdict::Holds,
            ),
        ),
        chart(
            "fig34",
            format!("With 5 clients {:.0} % of the updates are unused at 50 ms", quick[3].value),
            unused,
            claims("fig34", "5.2.4")
                .add(
                    "With a depth of 2 and rounds of 100 ms, more clients leave more updates unused.",
                    format!("{} %", in_words(&quick, 1)),
                    exceeds(quick[3], quick[0]),
                    Verdict::Holds,
                )
                .add(
                    "At 100 ms too, especially from 4 to 5 clients, where it reaches 20 %.",
                    format!("{} %", in_words(&slow, 1)),
                    exceeds(slow[3], slow[2]).and(about(&[slow[3]], &[20.0])),
                    Verdict::Fails,
                ),
        ),
        chart(
            "fig35",
            format!("4 clients are {:.0} px off, 5 clients {:.0} px", errors[2].value, errors[3].value),
            location,
            claims("fig35", "5.2.4")
                .add(
                    "The location error of 4 clients is around 100 pixels, that of 5 about 200.",
                    format!("{} px with 2 to 5 clients, updates every 50 ms", in_words(&errors, 1)),
                    about(&errors[2..], &[100.0, 200.0]),
                    Verdict::Fails,
                )
                .add(
                    "5 clients see each other much worse than 4.",
                    format!("{} px, {} px", errors[3].in_words(1), errors[2].in_words(1)),
                    exceeds(errors[3], errors[2]),
                    Verdict::Holds,
                ),
        ),
    ]
}
