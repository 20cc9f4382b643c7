//! A player that joins and leaves, rests, or is suspended: what the others bear.

use evenkeel_core::Span;

use super::{Grid, GridPlan, PathLaw, SETTING_WORDS, Service, SyncSetting, claims, key, run_grid, seeds};
use crate::claims::Verdict;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;
use crate::stats::mean;
use crate::sync_ms::PlayerRole;

const FROM: Span = Span::from_secs(20);
const UNTIL: Span = Span::from_secs(60);
/// Who changes: the farthest, for whom everybody waits.
const FARTHEST: usize = 9;
const CASES: [(&str, PlayerRole); 4] = [
    ("all present", PlayerRole::Honest),
    ("joins and leaves", PlayerRole::Visits { joins: FROM, leaves: UNTIL }),
    ("rests", PlayerRole::Rests { from: FROM, until: UNTIL }),
    ("is suspended", PlayerRole::Freezes { from: FROM, until: UNTIL }),
];
/// The bar for the others, in percent.
const OTHERS_MAX: f64 = 0.1;

pub(super) fn plan() -> GridPlan {
    let changing = |law, role| {
        let mut setting = SyncSetting::paper(law);
        setting.players[FARTHEST].role = role;
        (setting, vec![Service::Reaction])
    };
    PathLaw::READINGS.into_iter().flat_map(|law| CASES.map(move |(_, role)| changing(law, role))).collect()
}

/// The worst share behind of the others in each run, its mean.
fn others_behind(grid: &Grid, law: usize, case: usize) -> Ratio {
    let runs = grid.of(law * CASES.len() + case, Service::Reaction);
    let players = (0..FARTHEST).map(|player| runs.behind(player));
    players.max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default()
}

/// The others' mean response time.
fn others_response(grid: &Grid, law: usize, case: usize) -> Ratio {
    grid.of(law * CASES.len() + case, Service::Reaction).mean(|run| {
        mean(&run.players[..FARTHEST].iter().map(|player| player.response_ms).collect::<Vec<_>>())
    })
}

fn own_behind(grid: &Grid, law: usize, case: usize) -> Ratio {
    grid.of(law * CASES.len() + case, Service::Reaction).behind(FARTHEST)
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let grid = run_grid(&plan(), setup)?;
    let all = || (0..PathLaw::READINGS.len()).flat_map(|law| (0..CASES.len()).map(move |case| (law, case)));
    let worst = all().map(|(law, case)| others_behind(&grid, law, case));
    let worst = worst.max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default();
    let claims = claims("changes").add(
        "While a player joins, leaves, rests or is suspended, at most 0.1 % of the actions of each other player are behind.",
        format!("{} % at most", worst.in_words(3)),
        Test::below(worst, OTHERS_MAX),
        Verdict::Holds,
    );
    let plot = |label: &str, value: fn(&Grid, usize, usize) -> Ratio| Plot {
        title: String::new(),
        x_label: "the farthest player".to_owned(),
        y_label: label.to_owned(),
        drawing: Drawing::Bars {
            categories: CASES.map(|(name, _)| name.to_owned()).to_vec(),
            groups: PathLaw::READINGS
                .into_iter()
                .enumerate()
                .map(|(law, name)| Bars {
                    name: name.name().to_owned(),
                    heights: (0..CASES.len()).map(|case| value(&grid, law, case).value).collect(),
                })
                .collect(),
        },
    };
    let row = |(law, case): (usize, usize)| {
        vec![
            PathLaw::READINGS[law].name().to_owned(),
            CASES[case].0.to_owned(),
            others_behind(&grid, law, case).in_words(3),
            others_response(&grid, law, case).in_words(1),
            own_behind(&grid, law, case).in_words(3),
        ]
    };
    let head = [
        "delays",
        "the farthest player",
        "worst other behind (%)",
        "others' response (ms)",
        "its own behind (%)",
    ];
    Ok(vec![Figure {
        key: key("changes"),
        title: format!(
            "Whoever comes, goes or falls silent, the others keep their order: at most {:.2} % behind",
            worst.value
        ),
        caption: format!(
            "{SETTING_WORDS}, by reactions; the farthest player is there, acts or is connected only from 20 to 60 s, or is not from 20 to \
             60 s; {}. While it is suspended its own actions do not count.",
            seeds(setup)
        ),
        plots: vec![
            plot("worst other's actions behind (%)", others_behind),
            plot("others' mean response time (ms)", others_response),
        ],
        columns: 2,
        table: Table { head: head.map(str::to_owned).to_vec(), rows: all().map(row).collect() },
        claims: claims.all(),
    }])
}
