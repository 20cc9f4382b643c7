//! Figures 5a, 5b and 6: all combinations of Sync-out and Sync-in, by estimated delays.

mod behind;
mod response;

use super::judged::exceeds;
use super::{PlayerFigure, run_grid, under_both};
use crate::figure::Figure;
use crate::papers::Setup;
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;
use crate::sync_ms::{GridPlan, PathLaw, Service, SyncSetting, Wait};

const NOTHING: Service = Service::NOTHING;
const IN_ONLY: Service = Service::In(Wait::Max);
const OUT_ONLY: Service = Service::Both(Wait::None);
const MAX: Service = Service::Both(Wait::Max);
const SELECT: Service = Service::Both(Wait::Select);
const TOSS: [Service; 3] =
    [Service::Both(Wait::Toss(1)), Service::Both(Wait::Toss(2)), Service::Both(Wait::Toss(3))];
/// Both mechanisms, with each way of waiting.
const BOTH: [Service; 5] = [MAX, SELECT, TOSS[0], TOSS[1], TOSS[2]];
const DRAWN: [Service; 8] = [NOTHING, IN_ONLY, OUT_ONLY, MAX, SELECT, TOSS[0], TOSS[1], TOSS[2]];

/// The players nearer to the server, and those farther away.
const NEAR: core::ops::Range<usize> = 0..5;
const FAR: core::ops::Range<usize> = 5..10;
const FARTHEST: usize = 9;

pub(super) fn plan() -> GridPlan {
    let mut plan =
        under_both(&[IN_ONLY, OUT_ONLY, MAX, SELECT, TOSS[0], TOSS[1], TOSS[2], Service::Clairvoyant]);
    // The environment of footnote 2.
    plan.extend(PathLaw::READINGS.map(|law| (SyncSetting::lan(law), vec![SELECT, TOSS[2]])));
    plan
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let grid = run_grid(&plan(), setup)?;
    let at = |service| grid.of(0, service);
    let figure = |name, title, label, value, claims| PlayerFigure {
        name,
        title,
        label,
        services: &DRAWN,
        value,
        claims,
    };
    let figures = [
        figure(
            "fig5a",
            format!(
                "Sync-out and SelectWait leave {:.0} % of player 10's actions behind, instead of {:.0} %",
                at(SELECT).behind(FARTHEST).value,
                at(NOTHING).behind(FARTHEST).value
            ),
            "actions behind (%)",
            |runs, player| runs.behind(player),
            behind::behind_claims(&grid),
        ),
        figure(
            "fig5b",
            format!(
                "The near players' advantage is gone: with SelectWait player 1 is ahead with {:.0} % of its actions, instead of {:.0} %",
                at(SELECT).ahead(0).value,
                at(NOTHING).ahead(0).value
            ),
            "actions ahead (%)",
            |runs, player| runs.ahead(player),
            behind::ahead_claims(&grid),
        ),
        figure(
            "fig6",
            format!(
                "Everybody gets about the response time of the farthest: player 1 waits {:.0} ms with SelectWait, {:.0} ms without",
                at(SELECT).response(0).value,
                at(NOTHING).response(0).value
            ),
            "mean response time (ms)",
            |runs, player| runs.response(player),
            response::response_claims(&grid),
        ),
    ];
    Ok(figures.into_iter().map(|figure| figure.draw(&grid, setup)).collect())
}

fn all_players(test: impl Fn(usize) -> Test) -> Test {
    Test::all((0..=FARTHEST).map(test))
}

fn two_decimals(values: impl Iterator<Item = Ratio>) -> String {
    let (low, high) = values
        .fold((f64::INFINITY, 0.0_f64), |(low, high), ratio| (low.min(ratio.value), high.max(ratio.value)));
    format!("{low:.2} to {high:.2}")
}

/// Values in words, in this order.
fn in_order<const N: usize>(values: [Ratio; N]) -> String {
    values.map(|value| value.in_words(1)).join(" / ")
}

/// Each is more than the one before.
fn rising<const N: usize>(values: [Ratio; N]) -> Test {
    Test::all(values.windows(2).map(|pair| exceeds(pair[1], pair[0])))
}
