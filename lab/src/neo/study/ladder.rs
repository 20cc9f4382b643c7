//! The ladder from the thesis' rules to ours, at 2 to 50 peers.

use super::{MoveProtocol, NETWORK, NeoFigures, NeoSetting, claims, counts, key, run_all, setting};
use crate::claims::{Claim, Verdict};
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;

/// A column of the tables.
type Measured = (&'static str, fn(&NeoFigures) -> f64, usize);

const MEASURES: [Measured; 7] = [
    ("playout (ms)", |one| one.playout.mean(), 1),
    ("playout p99 (ms)", |one| one.playout.quantile(0.99), 0),
    ("total age (ms)", |one| one.age.mean(), 1),
    ("unused (%)", NeoFigures::unused_percent, 2),
    ("upload (kbps)", NeoFigures::up_kbps, 0),
    ("location error (px)", |one| one.location.mean(), 1),
    ("messages sent (1/s)", |one| one.messages, 0),
];
const PLAYOUT: usize = 0;
const AGE: usize = 2;
const UNUSED: usize = 3;
const UPLOAD: usize = 4;

pub(super) fn plan(setup: &Setup<'_>) -> Vec<NeoSetting> {
    let rung = |(_, protocol): (&str, MoveProtocol)| {
        counts(setup).iter().map(move |peers| setting(protocol.clone(), *peers, setup))
    };
    MoveProtocol::ladder().into_iter().flat_map(rung).collect()
}

/// The runs of the ladder.
struct Ladder<'a> {
    counts: &'a [usize],
    results: Vec<Vec<NeoFigures>>,
}

impl Ladder<'_> {
    fn of(&self, rung: usize, count: usize, measure: usize) -> Ratio {
        let runs = &self.results[rung * self.counts.len() + count];
        Ratio::mean(&runs.iter().map(MEASURES[measure].1).collect::<Vec<_>>())
    }

    /// The place of a number of peers, if it was run.
    fn place(&self, peers: usize) -> Option<usize> {
        self.counts.iter().position(|count| *count == peers)
    }

    fn stones(&self) -> (u64, u64) {
        let runs = self.results.iter().flatten();
        runs.fold((0, 0), |(gone, unknown), run| (gone + run.stones.0, unknown + run.stones.1))
    }

    fn evicted(&self) -> u64 {
        self.results.iter().flatten().map(|run| run.evicted).sum()
    }
}

fn rungs() -> Vec<&'static str> {
    MoveProtocol::ladder().into_iter().map(|(name, _)| name).collect()
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let ladder = Ladder { counts: counts(setup), results: run_all(&plan(setup), setup)? };
    Ok(vec![draw_ladder(&ladder), draw_peers(&ladder)])
}

fn curves(ladder: &Ladder<'_>, rungs: &[(usize, &str)], measure: usize) -> Plot {
    let curve = |(rung, name): &(usize, &str)| Curve {
        name: (*name).to_owned(),
        points: (0..ladder.counts.len())
            .map(|count| {
                let Ratio { value, error } = ladder.of(*rung, count, measure);
                CurvePoint { x: ladder.counts[count] as f64, y: value, spread: error }
            })
            .collect(),
    };
    Plot {
        title: String::new(),
        x_label: "peers".to_owned(),
        y_label: MEASURES[measure].0.to_owned(),
        drawing: Drawing::Curves(rungs.iter().map(curve).collect()),
    }
}

fn table(ladder: &Ladder<'_>, rungs: &[(usize, &str)]) -> Table {
    let mut head = vec!["rules".to_owned(), "peers".to_owned()];
    head.extend(MEASURES.iter().map(|(name, ..)| (*name).to_owned()));
    let row = |rung: usize, name: &str, count: usize| {
        let mut row = vec![name.to_owned(), ladder.counts[count].to_string()];
        let cells = (0..MEASURES.len()).map(|one| ladder.of(rung, count, one).in_words(MEASURES[one].2));
        row.extend(cells);
        row
    };
    let rows = rungs
        .iter()
        .flat_map(|(rung, name)| (0..ladder.counts.len()).map(move |count| row(*rung, name, count)));
    Table { head, rows: rows.collect() }
}

fn draw_ladder(ladder: &Ladder<'_>) -> Figure {
    let names = rungs();
    let all: Vec<(usize, &str)> = names.iter().copied().enumerate().collect();
    let full = &all[..all.len() - 1];
    let ten = ladder.place(10).expect("ten peers are always run");
    let (thesis, ours) = (0, all.len() - 2);
    let gains = ladder.of(thesis, ten, PLAYOUT).less(ladder.of(ours, ten, PLAYOUT));
    let (gone, unknown) = ladder.stones();
    Figure {
        key: key("ladder"),
        title: format!(
            "With 10 peers the thesis' rules play moves out after {:.0} ms, ours after {:.0} ms",
            ladder.of(thesis, ten, PLAYOUT).value,
            ladder.of(ours, ten, PLAYOUT).value
        ),
        caption: format!(
            "{NETWORK}. Each rung adds one change to the one before; full mesh. Bands: one standard error."
        ),
        plots: [PLAYOUT, UNUSED, AGE, UPLOAD].map(|measure| curves(ladder, full, measure)).into(),
        columns: 2,
        table: table(ladder, &all),
        claims: claims("ladder")
            .add(
                "Our rules play moves out sooner than the thesis' with 10 peers, and use more of them.",
                format!(
                    "{} ms sooner; unused {} % instead of {} %",
                    gains.in_words(0),
                    ladder.of(ours, ten, UNUSED).in_words(2),
                    ladder.of(thesis, ten, UNUSED).in_words(2)
                ),
                Test::above(gains, 0.0)
                    .and(Test::above(ladder.of(thesis, ten, UNUSED).less(ladder.of(ours, ten, UNUSED)), 0.0)),
                Verdict::Holds,
            )
            .add(
                "In no game a stone is lost, and nobody honest is evicted.",
                format!("{gone} stones eaten, {unknown} lost; {} evicted", ladder.evicted()),
                Test::fact(unknown == 0 && ladder.evicted() == 0),
                Verdict::Holds,
            )
            .all(),
    }
}

fn draw_peers(ladder: &Ladder<'_>) -> Figure {
    let names = rungs();
    let shown: Vec<(usize, &str)> = names.iter().copied().enumerate().skip(names.len() - 2).collect();
    let last = ladder.counts.len() - 1;
    Figure {
        key: key("peers"),
        title: format!(
            "{} peers see each other's moves {:.0} ms after they are revealed, and {:.2} % of them never",
            ladder.counts[last],
            ladder.of(shown[0].0, last, PLAYOUT).value,
            ladder.of(shown[0].0, last, UNUSED).value
        ),
        caption: format!(
            "{NETWORK}. With areas, peers exchange moves only with those near them in the maze. Total age: from the commitment to a move until \
             it is shown. Bands: one standard error."
        ),
        plots: [PLAYOUT, UNUSED, AGE, UPLOAD].map(|measure| curves(ladder, &shown, measure)).into(),
        columns: 2,
        table: table(ladder, &shown),
        claims: bars(ladder, shown[0].0, shown[1].0),
    }
}

/// What was asked for.
fn bars(ladder: &Ladder<'_>, ours: usize, areas: usize) -> Vec<Claim> {
    let mut claims = claims("peers");
    for (peers, playout, kbps) in [(10, 100.0, 200.0), (20, 105.0, 400.0), (50, 110.0, 1_100.0)] {
        let Some(place) = ladder.place(peers) else { continue };
        let [shown, unused, up] = [PLAYOUT, UNUSED, UPLOAD].map(|measure| ladder.of(ours, place, measure));
        claims = claims
            .add(
                &format!("With {peers} peers moves are played out within {playout} ms on average."),
                format!("{} ms", shown.in_words(1)),
                Test::below(shown, playout),
                Verdict::Holds,
            )
            .add(
                &format!("With {peers} peers at most 0.5 % of the moves are unused."),
                format!("{} %", unused.in_words(2)),
                Test::below(unused, 0.5),
                Verdict::Holds,
            )
            .add(
                &format!("With {peers} peers each uploads at most {kbps} kbps."),
                format!("{} kbps", up.in_words(0)),
                Test::below(up, kbps),
                Verdict::Holds,
            );
        if peers == 10 {
            let age = ladder.of(ours, place, AGE);
            claims = claims.add(
                "With 10 peers moves are at most 300 ms old when they are shown.",
                format!("{} ms", age.in_words(1)),
                Test::below(age, 300.0),
                Verdict::Holds,
            );
        }
        if peers == 50 {
            let up = ladder.of(areas, place, UPLOAD);
            claims = claims.add(
                "With 50 peers and areas of interest each uploads at most 300 kbps.",
                format!("{} kbps", up.in_words(0)),
                Test::below(up, 300.0),
                Verdict::Holds,
            );
        }
    }
    claims.all()
}
