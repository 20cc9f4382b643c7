//! A player that claims to have reacted faster than it did, and whose answers and promises are to make that believed.

use evenkeel_core::Span;

use super::liar::LIAR;
use super::{Grid, GridPlan, PathLaw, SETTING_WORDS, Service, SyncSetting, claims, key, run_grid, seeds};
use crate::claims::Verdict;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;
use crate::sync_ms::{Answers, PlayerRole, SmcLie};

/// By how much earlier the liar claims to have acted.
const EARLY: Span = Span::from_millis(200);
/// By how much all answers are late in the last case.
const ALL_LATE: Span = Span::from_millis(30);
const LIE: SmcLie = SmcLie { early: EARLY, ahead: Span::ZERO, answers: Answers::AtOnce };
const CASES: [(&str, Option<SmcLie>); 7] = [
    ("honest", None),
    ("answers at once", Some(LIE)),
    ("promises the far future", Some(SmcLie { ahead: Span::from_secs(1_000_000), ..LIE })),
    ("one answer in 600 is late by 300 ms", Some(late(600, Span::from_millis(300)))),
    ("one answer in 50 is late by 100 ms", Some(late(50, Span::from_millis(100)))),
    ("never answers", Some(SmcLie { answers: Answers::Never, ..LIE })),
    ("all answers are late by 30 ms", Some(late(1, ALL_LATE))),
];
/// The case in which the liar looks farther away.
const FARTHER: usize = CASES.len() - 1;

const fn late(one_in: u64, late: Span) -> SmcLie {
    SmcLie { answers: Answers::Late(one_in, late), ..LIE }
}

pub(super) fn plan() -> GridPlan {
    let lying = |law, lie: Option<SmcLie>| {
        let mut setting = SyncSetting::paper(law);
        if let Some(lie) = lie {
            setting.players[LIAR].role = PlayerRole::Lies(lie);
        }
        (setting, vec![Service::Reaction])
    };
    PathLaw::READINGS.into_iter().flat_map(|law| CASES.map(move |(_, lie)| lying(law, lie))).collect()
}

/// By how much earlier the liar is believed to have acted, in milliseconds.
fn gained(grid: &Grid, law: usize, case: usize) -> Ratio {
    grid.of(law * CASES.len() + case, Service::Reaction).player(LIAR, |one| one.gained_ms)
}

/// The jitter of its path, in milliseconds, as it is measured while it is honest.
fn jitter(grid: &Grid, law: usize) -> Ratio {
    grid.of(law * CASES.len(), Service::Reaction).player(LIAR, |one| {
        let (_, jitter) = one.report.and_then(|report| report.round_trip).unwrap_or_default();
        jitter.as_millis_f64()
    })
}

/// The share of actions behind of the other player that fares worst.
fn others_behind(grid: &Grid, law: usize, case: usize) -> Ratio {
    let runs = grid.of(law * CASES.len() + case, Service::Reaction);
    let others = (0..runs.players()).filter(|player| *player != LIAR).map(|player| runs.behind(player));
    others.max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default()
}

fn largest(grid: &Grid, law: usize, cases: core::ops::Range<usize>) -> Ratio {
    let gains = cases.map(|case| gained(grid, law, case));
    gains.max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default()
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let grid = run_grid(&plan(), setup)?;
    let laws = || PathLaw::READINGS.into_iter().enumerate();
    let in_words = |of: &dyn Fn(usize) -> Ratio| {
        let each =
            laws().map(|(law, name)| format!("{} ms under {} delays", of(law).in_words(1), name.name()));
        each.collect::<Vec<_>>().join(", ")
    };
    let few = |law: usize| largest(&grid, law, 1..FARTHER);
    let all = |law: usize| gained(&grid, law, FARTHER);
    let claims = claims("answers")
        .add(
            "Whether it answers, delays few answers or promises anything: a liar gains at most the jitter that is measured on its path \
             while it is honest.",
            in_words(&few),
            Test::all(laws().map(|(law, _)| Test::below(few(law).less(jitter(&grid, law)), 0.0))),
            Verdict::Holds,
        )
        .add(
            "Who delays all answers looks like a player that is farther away, and gains no more than it delays and the jitter.",
            in_words(&all),
            Test::all(laws().map(|(law, _)| {
                let beyond = all(law).less(jitter(&grid, law));
                Test::below(beyond, ALL_LATE.as_millis_f64())
            })),
            Verdict::Holds,
        );
    let row = |(law, case): (usize, usize)| {
        vec![
            PathLaw::READINGS[law].name().to_owned(),
            CASES[case].0.to_owned(),
            gained(&grid, law, case).in_words(2),
            jitter(&grid, law).in_words(1),
            others_behind(&grid, law, case).in_words(3),
        ]
    };
    let head = ["delays", "the liar", "gain (ms)", "jitter (ms)", "worst other behind (%)"];
    let rows = (0..PathLaw::READINGS.len()).flat_map(|law| (0..CASES.len()).map(move |case| (law, case)));
    let bars = |(law, name): (usize, PathLaw)| Bars {
        name: name.name().to_owned(),
        heights: (0..CASES.len()).map(|case| gained(&grid, law, case).value).collect(),
    };
    Ok(vec![Figure {
        key: key("answers"),
        title: format!(
            "However it answers, a liar gains at most {:.0} ms, unless it delays every answer",
            few(0).value.max(few(1).value)
        ),
        caption: format!(
            "{SETTING_WORDS}, by reactions; player 6, 15 ms away, claims to have acted 200 ms earlier than it did; {}. Gain: by how much \
             earlier than it was the service believes its virtual sending time.",
            seeds(setup)
        ),
        plots: vec![Plot {
            title: String::new(),
            x_label: "the liar".to_owned(),
            y_label: "gain (ms)".to_owned(),
            drawing: Drawing::Bars {
                categories: CASES.map(|(name, _)| name.to_owned()).to_vec(),
                groups: laws().map(bars).collect(),
            },
        }],
        columns: 1,
        table: Table { head: head.map(str::to_owned).to_vec(), rows: rows.map(row).collect() },
        claims: claims.all(),
    }])
}
