//! Figures 8a and 8b: the toss vectors, with exact Sync-out and estimated Sync-in.

use super::judged::{UnderLaw, exceeds, judge, judge_read, measured};
use super::{Claims, PlayerFigure, claims, run_grid, under_both};
use crate::claims::Verdict;
use crate::figure::Figure;
use crate::papers::Setup;
use crate::papers::bars::{MUCH, SAME};
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;
use crate::sync_ms::{Grid, GridPlan, Service, Wait};

const TOSS: [Service; 3] =
    [Service::ExactOut(Wait::Toss(1)), Service::ExactOut(Wait::Toss(2)), Service::ExactOut(Wait::Toss(3))];
const FARTHEST: usize = 9;
/// Player 10's actions behind that the paper measured, in percent,
const PRINTED: [f64; 3] = [25.0, 45.0, 65.0];
/// and those it expected: whenever less than the longest delay is waited for.
const EXPECTED: [f64; 3] = [50.0, 70.0, 80.0];

pub(super) fn plan() -> GridPlan {
    under_both(&TOSS)
}

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let grid = run_grid(&plan(), setup)?;
    let at = |service| grid.of(0, service);
    let figures = [
        PlayerFigure {
            name: "fig8a",
            title: format!(
                "Waiting less often answers sooner: TossWait3 by {:.0} ms on average, compared with TossWait1",
                at(TOSS[0]).mean_response().value - at(TOSS[2]).mean_response().value
            ),
            label: "mean response time (ms)",
            services: &TOSS,
            value: |runs, player| runs.response(player),
            claims: response_claims(&grid),
        },
        PlayerFigure {
            name: "fig8b",
            title: format!(
                "and less fairly: player 10 is behind with {:.0}, {:.0} and {:.0} % of its actions",
                at(TOSS[0]).behind(FARTHEST).value,
                at(TOSS[1]).behind(FARTHEST).value,
                at(TOSS[2]).behind(FARTHEST).value
            ),
            label: "actions behind (%)",
            services: &TOSS,
            value: |runs, player| runs.behind(player),
            claims: behind_claims(&grid),
        },
    ];
    Ok(figures.into_iter().map(|figure| figure.draw(&grid, setup)).collect())
}

fn in_order(values: [Ratio; 3]) -> String {
    values.map(|value| value.in_words(1)).join(" / ")
}

fn response_claims(grid: &Grid) -> Claims {
    claims("fig8a", "6.2.3").add(
        "The less is waited for, the sooner answers come, for all players.",
        measured(grid, |law| {
            format!("{} ms on average", in_order(TOSS.map(|one| law.of(one).mean_response())))
        }),
        judge(grid, |law| {
            let sooner = |pair: &[Service]| {
                Test::all((0..=FARTHEST).map(|player| {
                    exceeds(law.of(pair[0]).response(player), law.of(pair[1]).response(player))
                }))
            };
            Test::all(TOSS.windows(2).map(sooner))
        }),
        Verdict::Holds,
    )
}

fn last(law: UnderLaw<'_>) -> [Ratio; 3] {
    TOSS.map(|one| law.of(one).behind(FARTHEST))
}

fn behind_claims(grid: &Grid) -> Claims {
    let ratios = |law: UnderLaw<'_>, of: [f64; 3]| {
        let behind = last(law);
        [0, 1, 2].map(|one| behind[one].times(1.0 / of[one]))
    };
    let words = |law: UnderLaw<'_>| format!("{} %", in_order(last(law)));
    claims("fig8b", "6.2.3")
        .add(
            "The sooner answers come, the more actions are behind.",
            measured(grid, |law| format!("{} % on average", in_order(TOSS.map(|one| law.of(one).mean_behind())))),
            judge(grid, |law| {
                Test::all(TOSS.windows(2).map(|pair| exceeds(law.of(pair[1]).mean_behind(), law.of(pair[0]).mean_behind())))
            }),
            Verdict::Holds,
        )
        .add(
            "Player 10 has 25, 45 and 65 % of its actions behind.",
            measured(grid, words),
            judge(grid, |law| Test::all(ratios(law, PRINTED).map(|ratio| Test::same(ratio, SAME)))),
            Verdict::Differs,
        )
        .add(
            "These are much lower than the 50, 70 and 80 % that the toss vectors let expect.",
            measured(grid, words) + "; read as: lower",
            judge_read(
                grid,
                |law| Test::all(ratios(law, EXPECTED).map(|ratio| Test::below(ratio, 1.0 / MUCH))),
                |law| Test::all(ratios(law, EXPECTED).map(|ratio| Test::below(ratio, 1.0))),
            ),
            Verdict::Differs,
        )
        .add(
            "The reason is that actions wait behind a head that waits longer: less than these shares are served before the longest delay.",
            measured(grid, |law| {
                format!("{} % are served before player 10's least delay has passed", in_order(TOSS.map(|one| brief(law, one))))
            }),
            judge(grid, |law| {
                Test::all([0, 1, 2].map(|one| Test::below(brief(law, TOSS[one]), EXPECTED[one])))
            }),
            Verdict::Holds,
        )
}

/// The share of all actions that were served before one of the farthest player could have arrived, in percent.
fn brief(law: UnderLaw<'_>, service: Service) -> Ratio {
    law.of(service).mean(|run| {
        let (brief, actions) = run
            .players
            .iter()
            .fold((0, 0), |(brief, actions), one| (brief + one.brief, actions + one.actions));
        100.0 * brief as f64 / actions as f64
    })
}
