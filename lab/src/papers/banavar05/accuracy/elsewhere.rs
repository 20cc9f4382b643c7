//! Local and global clocks beyond the thesis: other jitter, today's delays, a relay, recorded tanks, more players,
//! and fewer vectors, either every third one or as many with a coarser threshold.

use evenkeel_dr::PolicyKind;

use super::placement_runs::PlacementRuns;
use super::{AccuracyCase, measure};
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::calibration::Search;
use crate::papers::cells::Contender;
use crate::papers::contender::BASE_THIRD;
use crate::papers::setting::{ELSEWHERE, ELSEWHERE_WORDS, ExperimentSetting, Variation, elsewhere_seeds};
use crate::papers::study::Setup;
use crate::parallel::Cancelled;

/// The setting with fewer vectors.
const FEWER_VECTORS_SETTING: ExperimentSetting = ExperimentSetting::Short(Variation::Moderate);
/// The contenders that send fewer vectors.
const FEWER_VECTORS: [Contender; 2] = [Contender::THIRD, Contender::COARSER];

/// Returns the number of single runs: every row under both placements.
pub(super) fn jobs(setup: &Setup<'_>) -> usize {
    let rows = ELSEWHERE.map(|setting| setting.runs(setup.runs)).into_iter().sum::<usize>();
    2 * (rows + FEWER_VECTORS.len() * setup.runs)
}

/// Returns the rows with fewer vectors, and the distance of the coarser threshold; `None` if cancelled.
fn fewer_vectors(setup: &Setup<'_>) -> Option<(Vec<AccuracyCase>, f64)> {
    let scenario = FEWER_VECTORS_SETTING.scenario();
    let coarser = Search::Coarser(FEWER_VECTORS_SETTING, BASE_THIRD).find(&scenario, setup.progress)?;
    let distance = coarser.threshold.distance;
    let scenarios = [scenario, coarser].into_iter().zip(FEWER_VECTORS);
    let rows = scenarios.map(|(scenario, contender)| AccuracyCase {
        name: contender.label(),
        scenario,
        policy: contender.policy(),
    });
    Some((rows.collect(), distance))
}

/// Returns the indices of the farthest player, the middle one, and the nearest.
fn shown(one: &PlacementRuns) -> [usize; 3] {
    let last = one.scenario.receivers.len() - 1;
    [0, last / 2, last]
}

/// Runs the figure: a row for each setting, a mark for each receiver shown.
pub(super) fn figure(setup: &Setup<'_>) -> Result<Figure, Cancelled> {
    let (fewer, coarser) = fewer_vectors(setup).ok_or_else(|| setup.progress.cancelled())?;
    let mut measured = Vec::new();
    for setting in ELSEWHERE {
        let setup = Setup { runs: setting.runs(setup.runs), ..*setup };
        let case =
            AccuracyCase { name: setting.label(), scenario: setting.scenario(), policy: PolicyKind::BASE };
        measured.extend(measure(&setup, vec![case], None)?);
    }
    measured.extend(measure(setup, fewer, None)?);
    Ok(Figure {
        key: "banavar05/fig2.2-elsewhere".to_owned(),
        title: "With local clocks copies lag behind at any delay, including today's".to_owned(),
        caption: format!(
            "Distance between real and placed position, relative to that with global clocks. {ELSEWHERE_WORDS}; in the last rows, ±100 \
             ms with every third vector, and base with a threshold coarse enough ({coarser:.2} units) to send as many. Far, middle, \
             near: the farthest, the middle and the nearest player. Distances to recorded tanks are summed over four tanks. \
             Every row: {:.0} s, {}.",
            FEWER_VECTORS_SETTING.scenario().duration.as_secs_f64(),
            elsewhere_seeds(setup)
        ),
        plots: vec![plot(&measured)],
        columns: 1,
        table: table(&measured),
        claims: Vec::new(),
    })
}

fn plot(measured: &[PlacementRuns]) -> Plot {
    let marks = |(place, name): (usize, &str)| Bars {
        name: name.to_owned(),
        heights: measured.iter().map(|one| one.distance_ratio(shown(one)[place]).value).collect(),
    };
    Plot {
        title: "distance, local / global".to_owned(),
        x_label: "distance with local / with global clocks".to_owned(),
        y_label: String::new(),
        drawing: Drawing::Dots {
            rows: measured.iter().map(|one| one.name.clone()).collect(),
            groups: ["far", "middle", "near"].into_iter().enumerate().map(marks).collect(),
            mark: Some(1.0),
        },
    }
}

fn table(measured: &[PlacementRuns]) -> Table {
    let head = ["setting", "player", "local, mean (units)", "global, mean (units)", "local / global"];
    let mut rows = Vec::new();
    for one in measured {
        for index in shown(one) {
            let mut row = vec![one.name.clone(), one.scenario.receivers[index].name.clone()];
            row.extend(one.distances(index).map(|distance| format!("{distance:.3}")));
            row.push(one.distance_ratio(index).to_string());
            rows.push(row);
        }
    }
    Table { head: head.map(str::to_owned).to_vec(), rows }
}
