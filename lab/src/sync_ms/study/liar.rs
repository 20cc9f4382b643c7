//! A player that claims to have reacted faster than it did.

use evenkeel_core::Span;

use super::{
    Grid, GridPlan, PathLaw, SELECT, SETTING_WORDS, Service, SyncSetting, claims, key, run_grid, seeds,
};
use crate::claims::Verdict;
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;
use crate::sync_ms::{PlayerRole, SmcLie};

/// By how much earlier the liar claims to have acted, in milliseconds.
const LIES_MS: [f64; 6] = [0.0, 5.0, 10.0, 20.0, 40.0, 200.0];
const SERVICES: [Service; 2] = [SELECT, Service::Reaction];
/// The liar: in the middle between near and far.
pub(super) const LIAR: usize = 5;

pub(super) fn plan() -> GridPlan {
    let lying = |law, millis| {
        let mut setting = SyncSetting::paper(law);
        if millis > 0.0 {
            setting.players[LIAR].role =
                PlayerRole::Lies(SmcLie { early: Span::from_millis_f64(millis), ..SmcLie::default() });
        }
        (setting, SERVICES.to_vec())
    };
    PathLaw::READINGS.into_iter().flat_map(|law| LIES_MS.map(move |millis| lying(law, millis))).collect()
}

/// By how much earlier the liar is believed to have acted, and the jitter of its path as the service measures it.
fn gained(grid: &Grid, law: usize, lie: usize) -> (Ratio, Ratio) {
    let runs = grid.of(law * LIES_MS.len() + lie, Service::Reaction);
    let jitter = runs.player(LIAR, |one| {
        let (_, jitter) = one.report.and_then(|report| report.round_trip).unwrap_or_default();
        jitter.as_millis_f64()
    });
    (runs.player(LIAR, |one| one.gained_ms), jitter)
}

/// How many places ahead of its fair one the liar is served, per action.
fn places(grid: &Grid, law: usize, lie: usize, service: Service) -> Ratio {
    grid.of(law * LIES_MS.len() + lie, service)
        .player(LIAR, |one| one.places_ahead as f64 / one.actions.max(1) as f64)
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let grid = run_grid(&plan(), setup)?;
    let last = LIES_MS.len() - 1;
    let most = |law: usize| {
        let gains = (0..LIES_MS.len()).map(|lie| gained(&grid, law, lie));
        gains.max_by(|(a, _), (b, _)| a.value.total_cmp(&b.value)).unwrap_or_default()
    };
    let (gain, jitter) = most(0);
    let claims = claims("liar").add(
        "Whatever a player claims, it gains at most the measured jitter of its path, on average.",
        PathLaw::READINGS
            .into_iter()
            .enumerate()
            .map(|(law, name)| {
                let (gain, jitter) = most(law);
                format!("{} of {} ms under {} delays", gain.in_words(1), jitter.in_words(1), name.name())
            })
            .collect::<Vec<_>>()
            .join(", "),
        Test::all([0, 1].map(|law| {
            let (gain, jitter) = most(law);
            Test::below(gain.less(jitter), 0.0)
        })),
        Verdict::Holds,
    );
    Ok(vec![Figure {
        key: key("liar"),
        title: format!(
            "A liar gains at most {:.0} ms, within the {:.0} ms of jitter that its path was measured to have",
            gain.value, jitter.value
        ),
        caption: format!(
            "{SETTING_WORDS}; player 6, 15 ms away, claims to have acted earlier than it did; {}. Gain: by how much earlier than it was the \
             service believes its virtual sending time. Places: how many actions that are earlier in fair order it overtakes. Bands: one \
             standard error.",
            seeds(setup)
        ),
        plots: vec![gain_plot(&grid), places_plot(&grid)],
        columns: 2,
        table: table(&grid, last),
        claims: claims.all(),
    }])
}

fn curve(name: String, value: impl Fn(usize) -> Ratio) -> Curve {
    let point = |lie: usize| {
        let Ratio { value, error } = value(lie);
        CurvePoint { x: LIES_MS[lie], y: value.max(0.0), spread: error }
    };
    // The longest lies are in the table.
    Curve { name, points: (0..LIES_MS.len() - 1).map(point).collect() }
}

fn gain_plot(grid: &Grid) -> Plot {
    let laws = PathLaw::READINGS.into_iter().enumerate();
    let curves = laws.flat_map(|(law, name)| {
        [
            curve(format!("gain, {}", name.name()), |lie| gained(grid, law, lie).0),
            curve(format!("jitter, {}", name.name()), |lie| gained(grid, law, lie).1),
        ]
    });
    Plot {
        title: "gain by reactions, and measured jitter".to_owned(),
        x_label: "claimed (ms)".to_owned(),
        y_label: "ms".to_owned(),
        drawing: Drawing::Curves(curves.collect()),
    }
}

fn places_plot(grid: &Grid) -> Plot {
    let curves =
        SERVICES.map(|service| curve(service.name().to_owned(), |lie| places(grid, 0, lie, service)));
    Plot {
        title: "places gained, shifted exponential delays".to_owned(),
        x_label: "claimed (ms)".to_owned(),
        y_label: "places ahead per action".to_owned(),
        drawing: Drawing::Curves(curves.to_vec()),
    }
}

fn table(grid: &Grid, last: usize) -> Table {
    let head = [
        "delays",
        "claimed (ms)",
        "gain (ms)",
        "jitter (ms)",
        "places: Reaction",
        "places: SelectWait",
        "claims held back (%)",
    ];
    let row = |law: usize, lie: usize| {
        let (gain, jitter) = gained(grid, law, lie);
        let held = grid.of(law * LIES_MS.len() + lie, Service::Reaction).player(LIAR, |one| {
            let counts = one.report.map(|report| report.counts).unwrap_or_default();
            100.0 * counts.clamped as f64 / counts.actions.max(1) as f64
        });
        vec![
            PathLaw::READINGS[law].name().to_owned(),
            format!("{}", LIES_MS[lie]),
            gain.in_words(2),
            jitter.in_words(1),
            places(grid, law, lie, Service::Reaction).in_words(2),
            places(grid, law, lie, SELECT).in_words(2),
            held.in_words(1),
        ]
    };
    let rows = (0..PathLaw::READINGS.len()).flat_map(|law| (0..=last).map(move |lie| row(law, lie)));
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}
