//! What each cheat gains under each protocol.

use evenkeel_core::Span;

use super::{MoveProtocol, claims, is_quick, key};
use crate::claims::{Claim, Verdict};
use crate::figure::{Bars, Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::neo::{Duel, DuelFigures, Role, run_duel};
use crate::papers::Setup;
use crate::papers::judgement::Test;
use crate::parallel::{self, Cancelled};

const PLAYERS: usize = 8;
/// How late cheats send in the sweep, in milliseconds.
const LATE_MS: [i64; 8] = [0, 40, 80, 120, 160, 200, 250, 300];
const QUICK_MS: [i64; 3] = [0, 120, 250];
/// The shares of foresight or split moves, in percent, below which a cheat gains nothing.
const NOTHING: f64 = 1.0;

fn late(ms: i64) -> Role {
    Role::Late(Span::from_millis(ms))
}

/// The cheats of the table.
fn cheats() -> Vec<(&'static str, Vec<Role>)> {
    vec![
        ("none", vec![Role::Honest]),
        ("look-ahead, fixed delay, timestamp: 120 ms late", vec![late(120)]),
        ("the same, 250 ms late", vec![late(250)]),
        ("suppress-correct", vec![Role::Suppressing]),
        ("inconsistency", vec![Role::TwoFaced]),
        ("replay", vec![Role::Replaying]),
        ("spoofing", vec![Role::Spoofing]),
        ("collusion: 3 of 8, 250 ms late", vec![late(250); 3]),
    ]
}

fn protocols() -> Vec<(&'static str, MoveProtocol)> {
    let mut all = MoveProtocol::baselines();
    all.push(("NEO: thesis", MoveProtocol::thesis(250, 2)));
    all.push(("NEO: ours", MoveProtocol::ours()));
    all
}

fn late_ms(setup: &Setup<'_>) -> &'static [i64] {
    if is_quick(setup) { &QUICK_MS } else { &LATE_MS }
}

fn plan(setup: &Setup<'_>) -> Vec<Duel> {
    let duel = |protocol: &MoveProtocol, cheats: Vec<Role>| Duel {
        protocol: protocol.clone(),
        players: PLAYERS,
        cheats,
    };
    let protocols = protocols();
    let table = protocols
        .iter()
        .flat_map(|(_, protocol)| cheats().into_iter().map(move |(_, cheats)| duel(protocol, cheats)));
    let sweep = protocols
        .iter()
        .flat_map(|(_, protocol)| late_ms(setup).iter().map(move |ms| duel(protocol, vec![late(*ms)])));
    table.chain(sweep).collect()
}

pub(super) fn jobs(setup: &Setup<'_>) -> usize {
    plan(setup).len()
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let results = parallel::map(&plan(setup), setup.progress, |duel| run_duel(duel, 1, setup.progress))?;
    let (table, sweep) = results.split_at(protocols().len() * cheats().len());
    Ok(vec![draw_cheats(table), draw_sweep(sweep, setup)])
}

fn draw_cheats(results: &[DuelFigures]) -> Figure {
    let (protocols, cheats) = (protocols(), cheats());
    let of = |protocol: usize, cheat: usize| results[protocol * cheats.len() + cheat];
    let row = |protocol: usize, cheat: usize| {
        let DuelFigures { accepted, foresight, split, honest_rate, evicted, innocent } = of(protocol, cheat);
        let mut row = vec![protocols[protocol].0.to_owned(), cheats[cheat].0.to_owned()];
        row.extend([accepted, foresight, split, honest_rate, evicted].map(|value| format!("{value:.1}")));
        row.push(innocent.to_string());
        row
    };
    let rows = (0..protocols.len()).flat_map(|one| (0..cheats.len()).map(move |cheat| (one, cheat)));
    let bars = |figure: fn(&DuelFigures) -> f64| -> Vec<Bars> {
        let group = |cheat: usize| Bars {
            name: cheats[cheat].0.to_owned(),
            heights: (0..protocols.len()).map(|one| figure(&of(one, cheat))).collect(),
        };
        (1..cheats.len()).map(group).collect()
    };
    let frame = |x_label: &str, groups| Plot {
        title: String::new(),
        x_label: x_label.to_owned(),
        y_label: "protocol".to_owned(),
        drawing: Drawing::Dots {
            rows: protocols.iter().map(|(name, _)| (*name).to_owned()).collect(),
            groups,
            mark: None,
        },
    };
    Figure {
        key: key("cheats"),
        title: "Where moves are sent in the open, a cheat answers those of the same moment; under NEO it never does".to_owned(),
        caption: format!(
            "{PLAYERS} players, at least 30 ms and on average 45 ms apart, 1 % loss, 20 s. Each move tells when it was made; a cheat tells the \
             newest that it has seen of the honest. Foresight: accepted moves that answer the others' of the same slot. Split: slots in which \
             two honest players accepted different moves of a cheat."
        ),
        plots: vec![
            frame("foresight (% of accepted moves)", bars(|one| one.foresight)),
            frame("split (% of slots)", bars(|one| one.split)),
        ],
        columns: 1,
        table: Table {
            head: [
                "protocol",
                "cheat",
                "accepted of the cheat (%)",
                "foresight (%)",
                "split (%)",
                "honest moves shown (1/s)",
                "evicted by (% of the honest)",
                "honest evicted",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: rows.map(|(protocol, cheat)| row(protocol, cheat)).collect(),
        },
        claims: cheat_claims(&of),
    }
}

fn cheat_claims(of: &dyn Fn(usize, usize) -> DuelFigures) -> Vec<Claim> {
    let (protocols, cheats) = (protocols(), cheats());
    let ours = protocols.len() - 1;
    let mut claims = claims("cheats");
    for (cheat, (name, _)) in cheats.iter().enumerate().skip(1) {
        let DuelFigures { accepted, foresight, split, evicted, .. } = of(ours, cheat);
        claims = claims.add(
            &format!("Under our NEO this cheat gains nothing: {name}."),
            format!("{accepted:.0} % of its moves accepted, foresight {foresight:.1} %, split {split:.1} %, evicted by {evicted:.0} %"),
            Test::fact(foresight < NOTHING && split < NOTHING),
            Verdict::Holds,
        );
    }
    let late = of(2, 1).foresight;
    let two_faced = of(ours, 4).evicted;
    let innocent: u64 = (0..cheats.len()).map(|cheat| of(ours, cheat).innocent).sum();
    claims
        .add(
            "Under local lag a player that sends late answers the others' moves of the same moment.",
            format!("{late:.1} % of its moves"),
            Test::fact(late > 50.0),
            Verdict::Holds,
        )
        .add(
            "Under our NEO all honest players evict a cheat that tells them different moves, and nobody else.",
            format!("evicted by {two_faced:.0} %; {innocent} honest players evicted"),
            Test::fact(two_faced > 99.0 && innocent == 0),
            Verdict::Holds,
        )
        .all()
}

fn draw_sweep(results: &[DuelFigures], setup: &Setup<'_>) -> Figure {
    let (protocols, places) = (protocols(), late_ms(setup));
    let of = |protocol: usize, place: usize| results[protocol * places.len() + place];
    let curves = |figure: fn(&DuelFigures) -> f64| -> Vec<Curve> {
        let point = |protocol: usize, place: usize| CurvePoint {
            x: places[place] as f64,
            y: figure(&of(protocol, place)),
            spread: 0.0,
        };
        let curve = |protocol: usize| Curve {
            name: protocols[protocol].0.to_owned(),
            points: (0..places.len()).map(|place| point(protocol, place)).collect(),
        };
        (0..protocols.len()).map(curve).collect()
    };
    let frame = |y_label: &str, curves| Plot {
        title: String::new(),
        x_label: "how late the cheat sends (ms)".to_owned(),
        y_label: y_label.to_owned(),
        drawing: Drawing::Curves(curves),
    };
    let mut head = vec!["protocol".to_owned(), "measure".to_owned()];
    head.extend(places.iter().map(|ms| format!("{ms} ms late")));
    let row = |protocol: usize, name: &str, figure: fn(&DuelFigures) -> f64| {
        let mut row = vec![protocols[protocol].0.to_owned(), name.to_owned()];
        row.extend((0..places.len()).map(|place| format!("{:.1}", figure(&of(protocol, place)))));
        row
    };
    let rows = (0..protocols.len()).flat_map(|one| {
        [row(one, "foresight (%)", |one| one.foresight), row(one, "accepted (%)", |one| one.accepted)]
    });
    let ours = protocols.len() - 1;
    let worst = (0..places.len()).map(|place| of(ours, place).foresight).fold(0.0, f64::max);
    Figure {
        key: key("look-ahead"),
        title: "However late a cheat sends, under NEO its moves are either blind or not used".to_owned(),
        caption: format!(
            "{PLAYERS} players, one of them a cheat whose machine lives this much in the past. As in the figure before."
        ),
        plots: vec![
            frame("foresight (% of accepted moves)", curves(|one| one.foresight)),
            frame("moves of the cheat accepted (%)", curves(|one| one.accepted)),
        ],
        columns: 2,
        table: Table { head, rows: rows.collect() },
        claims: claims("look-ahead")
            .add(
                "Under our NEO no delay gives foresight.",
                format!("at most {worst:.1} % of the accepted moves"),
                Test::fact(worst < NOTHING),
                Verdict::Holds,
            )
            .all(),
    }
}
