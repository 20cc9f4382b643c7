//! The claims about figures 5a and 5b: who is behind, and who is ahead.

use super::super::judged::{UnderLaw, exceeds, judge, judge_read, measured, range};
use super::super::{Claims, claims};
use super::{
    BOTH, FAR, FARTHEST, IN_ONLY, MAX, NEAR, NOTHING, OUT_ONLY, SELECT, TOSS, all_players, in_order, rising,
    two_decimals,
};
use crate::claims::Verdict;
use crate::papers::bars::{CLOSE_POINTS, CLOSE_TO_ZERO, MUCH, SAME};
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::sync_ms::{Grid, Service};

/// Actions behind relative to those without the service: the mean over the players.
fn left(law: UnderLaw<'_>, service: Service) -> Ratio {
    law.of(service).mean_behind().over(law.of(NOTHING).mean_behind())
}

pub(super) fn behind_claims(grid: &Grid) -> Claims {
    let claims = claims("fig5a", "6.2.1")
        .add(
            "With both mechanisms fairness improves dramatically over having neither.",
            measured(grid, |law| {
                format!(
                    "{} of the actions behind remain",
                    two_decimals(BOTH.iter().map(|one| left(law, *one)))
                )
            }),
            judge(grid, |law| Test::all(BOTH.iter().map(|one| Test::below(left(law, *one), 1.0 / MUCH)))),
            Verdict::Holds,
        )
        .add(
            "Players 1 to 5 have almost no actions behind.",
            measured(grid, |law| {
                let behind = |services: &[Service]| {
                    let services = services.iter().map(|one| law.of(*one));
                    range(services.flat_map(|runs| NEAR.map(move |player| runs.behind(player))))
                };
                format!("{} % but for TossWait3, which has {} %,", behind(&BOTH[..4]), behind(&BOTH[4..]))
            }),
            judge_read(grid, |law| near_behind(law, &BOTH), |law| near_behind(law, &BOTH[..4])),
            Verdict::Differs,
        )
        .add(
            "Player 10 has 7 % of its actions behind with SelectWait.",
            measured(grid, |law| format!("{} %", law.of(SELECT).behind(FARTHEST).in_words(1))),
            judge(grid, |law| Test::same(law.of(SELECT).behind(FARTHEST).times(1.0 / 7.0), SAME)),
            Verdict::Differs,
        )
        .add(
            "Without either mechanism player 10 has 100 % of its actions behind.",
            measured(grid, |law| format!("{} %", law.of(NOTHING).behind(FARTHEST).in_words(2))),
            judge(grid, |law| Test::above(law.of(NOTHING).behind(FARTHEST), 99.5)),
            Verdict::Holds,
        )
        .add(
            "Either mechanism alone brings only a marginal improvement.",
            measured(grid, |law| {
                let [sync_in, sync_out] = [IN_ONLY, OUT_ONLY].map(|one| left(law, one).in_words(2));
                format!("{sync_in} of the actions behind remain with Sync-in alone, {sync_out} with Sync-out alone")
            }),
            judge(grid, |law| {
                Test::all([IN_ONLY, OUT_ONLY].map(|one| Test::above(left(law, one), 1.0 / MUCH)))
            }),
            Verdict::Holds,
        );
    conclusion_claims(grid, closeness_claims(grid, claims))
}

/// The claims that compare the ways of waiting.
fn closeness_claims(grid: &Grid, claims: Claims) -> Claims {
    let more = |law: UnderLaw<'_>, player| law.of(SELECT).behind(player).less(law.of(MAX).behind(player));
    claims
        .add(
            "SelectWait is slightly less fair than MaxWait, but close to it.",
            measured(grid, |law| {
                let mean = |one| law.of(one).mean_behind().in_words(1);
                let most = (0..=FARTHEST).map(|player| more(law, player).value).fold(0.0, f64::max);
                format!("{} instead of {} % behind, {most:.1} points more at most", mean(SELECT), mean(MAX))
            }),
            judge(grid, |law| {
                exceeds(law.of(SELECT).mean_behind(), law.of(MAX).mean_behind())
                    .and(all_players(|player| Test::below(more(law, player), CLOSE_POINTS)))
            }),
            Verdict::Holds,
        )
        .add(
            "From TossWait1 to TossWait3, more and more actions are out of fair order.",
            measured(grid, |law| format!("{} % behind", in_order(TOSS.map(|one| law.of(one).mean_behind())))),
            judge(grid, |law| rising(TOSS.map(|one| law.of(one).mean_behind()))),
            Verdict::Holds,
        )
        .add(
            "TossWait3 delivers more actions out of fair order than SelectWait, for all players.",
            measured(grid, |law| {
                let mean = |one| law.of(one).mean_behind().in_words(1);
                format!("{} instead of {} % behind", mean(TOSS[2]), mean(SELECT))
            }) + "; player 1 has as many behind, so it holds only for ahead and behind together",
            judge_read(
                grid,
                |law| {
                    all_players(|player| {
                        exceeds(law.of(TOSS[2]).behind(player), law.of(SELECT).behind(player))
                    })
                },
                |law| {
                    all_players(|player| {
                        exceeds(out_of_order(law, TOSS[2], player), out_of_order(law, SELECT, player))
                    })
                },
            ),
            Verdict::Differs,
        )
}

/// The claims of the conclusion and the abstract.
fn conclusion_claims(grid: &Grid, claims: Claims) -> Claims {
    claims
        .at("7")
        .add(
            "Players with longer delays have less than 10 % of their actions behind instead of 100 %.",
            measured(grid, |law| {
                let far = |one| range(FAR.map(|player| law.of(one).behind(player)));
                format!(
                    "players 6 to 10: {} % with MaxWait, {} % with SelectWait, {} % without",
                    far(MAX),
                    far(SELECT),
                    far(NOTHING)
                )
            }),
            judge(grid, |law| {
                let with = [MAX, SELECT]
                    .map(|one| Test::all(FAR.map(|player| Test::below(law.of(one).behind(player), 10.0))));
                Test::all(with)
                    .and(Test::all(FAR.map(|player| Test::above(law.of(NOTHING).behind(player), 99.5))))
            }),
            Verdict::Holds,
        )
        .at("abstract")
        .add(
            "Fairness improves dramatically for all players.",
            measured(grid, |law| {
                let left =
                    |player| out_of_order(law, SELECT, player).over(out_of_order(law, NOTHING, player));
                format!(
                    "{} of the actions ahead or behind remain with SelectWait",
                    two_decimals((0..=FARTHEST).map(left))
                )
            }),
            judge(grid, |law| {
                all_players(|player| {
                    let left = out_of_order(law, SELECT, player).over(out_of_order(law, NOTHING, player));
                    Test::below(left, 1.0 / MUCH)
                })
            }),
            Verdict::Holds,
        )
}

/// A player's actions ahead plus those behind, in percent.
fn out_of_order(law: UnderLaw<'_>, service: Service, player: usize) -> Ratio {
    law.of(service).mean(|run| run.players[player].behind() + run.players[player].ahead())
}

fn near_behind(law: UnderLaw<'_>, services: &[Service]) -> Test {
    let almost_none = |service: &Service| {
        let runs = law.of(*service);
        Test::all(NEAR.map(|player| Test::below(runs.behind(player), 100.0 * CLOSE_TO_ZERO)))
    };
    Test::all(services.iter().map(almost_none))
}

pub(super) fn ahead_claims(grid: &Grid) -> Claims {
    const PERCENT: f64 = 10.0;
    let few = |law: UnderLaw<'_>, services: &[Service]| {
        let of = |service: &Service| {
            let runs = law.of(*service);
            Test::all(NEAR.map(|player| Test::below(runs.ahead(player), PERCENT)))
        };
        Test::all(services.iter().map(of))
    };
    claims("fig5b", "6.2.1").add(
        "Less than 10 % of the actions of players 1 to 5 are ahead, except under TossWait2 and TossWait3.",
        measured(grid, |law| {
            let ahead = |service| range(NEAR.map(|player| law.of(service).ahead(player)));
            format!(
                "{} % with MaxWait, {} % with SelectWait, {} % with TossWait1",
                ahead(MAX),
                ahead(SELECT),
                ahead(TOSS[0])
            )
        }) + "; it holds for MaxWait and SelectWait",
        judge_read(grid, |law| few(law, &[MAX, SELECT, TOSS[0]]), |law| few(law, &[MAX, SELECT])),
        Verdict::Differs,
    )
}
