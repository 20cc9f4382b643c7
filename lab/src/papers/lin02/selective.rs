//! Figures 7a and 7b: SelectWait and MaxWait, estimated and exact, with exact Sync-out.

use super::judged::{UnderLaw, exceeds, judge, judge_read, measured, range};
use super::{Claims, PlayerFigure, claims, run_grid, under_both};
use crate::claims::Verdict;
use crate::figure::Figure;
use crate::papers::Setup;
use crate::papers::bars::{CLOSE_POINTS, MUCH};
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;
use crate::sync_ms::{Grid, GridPlan, Service, Wait};

const MAX: Service = Service::ExactOut(Wait::Max);
const SELECT: Service = Service::ExactOut(Wait::Select);
const MAX_EXACT: Service = Service::Exact(Wait::Max);
const SELECT_EXACT: Service = Service::Exact(Wait::Select);
const DRAWN: [Service; 4] = [MAX, MAX_EXACT, SELECT, SELECT_EXACT];

const ALL: core::ops::Range<usize> = 0..10;
const NEAR: core::ops::Range<usize> = 0..5;
const FAR: core::ops::Range<usize> = 5..10;

pub(super) fn plan() -> GridPlan {
    under_both(&DRAWN)
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let grid = run_grid(&plan(), setup)?;
    let at = |service| grid.of(0, service);
    let figures = [
        PlayerFigure {
            name: "fig7a",
            title: format!(
                "SelectWait answers {:.0} ms sooner than MaxWait, and sooner than MaxWait with exact delays",
                at(MAX).mean_response().value - at(SELECT).mean_response().value
            ),
            label: "mean response time (ms)",
            services: &DRAWN,
            value: |runs, player| runs.response(player),
            claims: response_claims(&grid),
        },
        PlayerFigure {
            name: "fig7b",
            title: format!(
                "With exact delays SelectWait is as fair as MaxWait; {:.1} % stay behind, because the order goes by sending times",
                at(SELECT_EXACT).mean_behind().value
            ),
            label: "actions behind (%)",
            services: &DRAWN,
            value: |runs, player| runs.behind(player),
            claims: behind_claims(&grid),
        },
    ];
    Ok(figures.into_iter().map(|figure| figure.draw(&grid, setup)).collect())
}

/// By how much sooner one answers a player than the other.
fn saved(law: UnderLaw<'_>, one: Service, than: Service, player: usize) -> Ratio {
    law.of(than).response(player).less(law.of(one).response(player))
}

fn response_claims(grid: &Grid) -> Claims {
    let sooner = |law: UnderLaw<'_>, one: Service, than: Service, players: core::ops::Range<usize>| {
        Test::all(players.map(|player| Test::above(saved(law, one, than, player), 0.0)))
    };
    let range_of = |law: UnderLaw<'_>, players: core::ops::Range<usize>| {
        range(players.map(|player| saved(law, SELECT, MAX, player)))
    };
    claims("fig7a", "6.2.2")
        .add(
            "SelectWait answers all players faster than MaxWait, with estimated delays and with exact ones.",
            measured(grid, |law| format!("{} ms sooner", range_of(law, ALL))),
            judge(grid, |law| sooner(law, SELECT, MAX, ALL).and(sooner(law, SELECT_EXACT, MAX_EXACT, ALL))),
            Verdict::Holds,
        )
        .add(
            "The improvement is significant for players with shorter delays.",
            measured(grid, |law| {
                format!(
                    "players 1 to 5 {} ms sooner, the others {} ms",
                    range_of(law, NEAR),
                    range_of(law, FAR)
                )
            }) + "; read as: larger than for the others",
            judge_read(
                grid,
                |law| {
                    let part = |player| law.of(SELECT).response(player).over(law.of(MAX).response(player));
                    Test::all(NEAR.map(|player| Test::below(part(player), 1.0 / MUCH)))
                },
                |law| {
                    let mean = |players: core::ops::Range<usize>| {
                        let count = players.len() as f64;
                        let saved = |one: Service| {
                            law.of(one).mean(|run| {
                                players.clone().map(|player| run.players[player].response_ms).sum()
                            })
                        };
                        saved(MAX).less(saved(SELECT)).times(1.0 / count)
                    };
                    exceeds(mean(NEAR), mean(FAR))
                },
            ),
            Verdict::Differs,
        )
        .add(
            "SelectWait by estimates answers faster than MaxWait with exact delays.",
            measured(grid, |law| {
                let mean = |one| law.of(one).mean_response().in_words(1);
                let last = |one| law.of(one).response(9).in_words(1);
                format!(
                    "{} and {} ms on average, player 10 {} and {} ms",
                    mean(SELECT),
                    mean(MAX_EXACT),
                    last(SELECT),
                    last(MAX_EXACT)
                )
            }),
            judge_read(
                grid,
                |law| sooner(law, SELECT, MAX_EXACT, ALL),
                |law| exceeds(law.of(MAX_EXACT).mean_response(), law.of(SELECT).mean_response()),
            ),
            Verdict::Holds,
        )
}

fn behind_claims(grid: &Grid) -> Claims {
    claims("fig7b", "6.2.2")
        .add(
            "SelectWait by estimates has a slightly higher share behind for players with longer delays.",
            measured(grid, |law| {
                let far = |one| range(FAR.map(|player| law.of(one).behind(player)));
                format!("players 6 to 10: {} % instead of {} %", far(SELECT), far(MAX))
            }),
            judge(grid, |law| {
                let more = |player| law.of(SELECT).behind(player).less(law.of(MAX).behind(player));
                Test::all(FAR.map(|player| Test::below(more(player), CLOSE_POINTS)))
                    .and(Test::all((6..10).map(|player| Test::above(more(player), 0.0))))
            }),
            Verdict::Holds,
        )
        .add(
            "With exact knowledge SelectWait matches MaxWait completely in fairness.",
            measured(grid, |law| {
                let same = ALL.filter(|player| same_counts(law, *player)).count();
                format!("the same numbers of actions ahead and behind for {same} of 10 players in every run")
            }),
            judge(grid, |law| Test::all(ALL.map(|player| Test::fact(same_counts(law, player))))),
            Verdict::Holds,
        )
        .at("5.1")
        .add(
            "Even MaxWait does not guarantee the fair order.",
            measured(grid, |law| {
                format!(
                    "{} % behind by estimates and {} % with exact delays",
                    law.of(MAX).mean_behind().in_words(2),
                    law.of(MAX_EXACT).mean_behind().in_words(2)
                )
            }),
            judge(grid, |law| Test::above(law.of(MAX_EXACT).mean_behind(), 0.0)),
            Verdict::Holds,
        )
}

/// Whether a player is ahead and behind equally often in every run.
fn same_counts(law: UnderLaw<'_>, player: usize) -> bool {
    let counts = |one: Service| -> Vec<(u64, u64)> {
        law.of(one).runs.iter().map(|run| (run.players[player].ahead, run.players[player].behind)).collect()
    };
    counts(MAX_EXACT) == counts(SELECT_EXACT)
}
