//! The claims about figure 6: response times, and what the service costs.

use super::super::judged::{UnderLaw, exceeds, judge, measured, range};
use super::super::{Claims, claims};
use super::{
    BOTH, DRAWN, FARTHEST, IN_ONLY, MAX, NEAR, NOTHING, OUT_ONLY, SELECT, TOSS, all_players, in_order,
    two_decimals,
};
use crate::claims::Verdict;
use crate::papers::bars::{A_LITTLE, SAME};
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::sync_ms::{Grid, Service};

/// A player's response time relative to that under another service.
fn relative(law: UnderLaw<'_>, one: Service, to: Service, player: usize) -> Ratio {
    law.of(one).response(player).over(law.of(to).response(player))
}

pub(super) fn response_claims(grid: &Grid) -> Claims {
    let mean = |law: UnderLaw<'_>, one| law.of(one).mean_response();
    let sooner = |law: UnderLaw<'_>, one: Service, than: Service, player| {
        exceeds(law.of(than).response(player), law.of(one).response(player))
    };
    let claims = claims("fig6", "6.2.1")
        .add(
            "MaxWait gives all players the same response time, the longest of all players.",
            measured(grid, |law| {
                let all = |one| range((0..=FARTHEST).map(|player| law.of(one).response(player)));
                format!("{} ms; without the service {} ms", all(MAX), all(NOTHING))
            }),
            judge(grid, |law| {
                let all = law.of(MAX).mean_response();
                let alike = all_players(|player| Test::same(law.of(MAX).response(player).over(all), SAME));
                let others = DRAWN.iter().filter(|one| **one != MAX);
                alike.and(Test::all(others.map(|one| exceeds(all, law.of(*one).response(FARTHEST)))))
            }),
            Verdict::Holds,
        )
        .add(
            "All other ways of waiting answer faster than MaxWait, for all players.",
            measured(grid, |law| {
                format!(
                    "{} ms, MaxWait {} ms, on average",
                    in_order([1, 2, 3, 4].map(|one| mean(law, BOTH[one]))),
                    mean(law, MAX).in_words(1)
                )
            }),
            judge(grid, |law| {
                Test::all(BOTH[1..].iter().map(|one| all_players(|player| sooner(law, *one, MAX, player))))
            }),
            Verdict::Holds,
        )
        .add(
            "From TossWait1 to TossWait3, answers come sooner and sooner, for all players.",
            measured(grid, |law| format!("{} ms on average", in_order(TOSS.map(|one| mean(law, one))))),
            judge(grid, |law| {
                Test::all(
                    [1, 2].map(|one| all_players(|player| sooner(law, TOSS[one], TOSS[one - 1], player))),
                )
            }),
            Verdict::Holds,
        )
        .add(
            "TossWait3 answers players 1 to 5 faster than SelectWait.",
            measured(grid, |law| {
                let near = |one| range(NEAR.map(|player| law.of(one).response(player)));
                format!("{} instead of {} ms", near(TOSS[2]), near(SELECT))
            }),
            judge(grid, |law| Test::all(NEAR.map(|player| sooner(law, TOSS[2], SELECT, player)))),
            Verdict::Holds,
        );
    conclusion_claims(grid, cost_claims(grid, claims))
}

/// The claims about what the service costs, and what is possible.
fn cost_claims(grid: &Grid, claims: Claims) -> Claims {
    let mean = |law: UnderLaw<'_>, one| law.of(one).mean_response();
    claims
        .add(
            "With most players in the server's network, SelectWait answers faster than TossWait3 (footnote 2).",
            format!("8 players at 4 ms, the others at 10 and 15 ms: {}", measured(grid, |law| {
                let [select, toss] = [SELECT, TOSS[2]].map(|one| law.in_lan(one).mean_response().in_words(1));
                format!("{select} and {toss} ms")
            })),
            judge(grid, |law| exceeds(law.in_lan(TOSS[2]).mean_response(), law.in_lan(SELECT).mean_response())),
            Verdict::Holds,
        )
        .add(
            "The response time of SelectWait is the best possible in the most fair order possible.",
            measured(grid, |law| {
                let best = law.of(Service::Clairvoyant);
                format!(
                    "{} ms with {} % behind; a clairvoyant answers after {} ms with {} %",
                    mean(law, SELECT).in_words(1),
                    law.of(SELECT).mean_behind().in_words(1),
                    best.mean_response().in_words(1),
                    best.mean_behind().in_words(2)
                )
            }),
            judge(grid, |law| Test::same(mean(law, Service::Clairvoyant).over(mean(law, SELECT)), 0.01)),
            Verdict::Fails,
        )
        .add(
            "With Sync-out alone answers take slightly longer than with Sync-in alone, because N is always 4.",
            measured(grid, |law| format!("{} and {} ms", mean(law, OUT_ONLY).in_words(1), mean(law, IN_ONLY).in_words(1))),
            judge(grid, |law| {
                let ratio = mean(law, OUT_ONLY).over(mean(law, IN_ONLY));
                Test::above(ratio, 1.0).and(Test::below(ratio, 1.0 + A_LITTLE))
            }),
            Verdict::Holds,
        )
}

/// The claims of the abstract and the conclusion.
fn conclusion_claims(grid: &Grid, claims: Claims) -> Claims {
    let mean = |law: UnderLaw<'_>, one| law.of(one).mean_response();
    let slower = |law: UnderLaw<'_>, player| relative(law, SELECT, NOTHING, player);
    claims
        .at("abstract and 7")
        .add(
            "Players with shorter delays wait slightly longer for answers.",
            measured(grid, |law| {
                format!(
                    "players 1 to 5: {} times as long with SelectWait",
                    two_decimals(NEAR.map(|player| slower(law, player)))
                )
            }),
            judge(grid, |law| Test::all(NEAR.map(|player| Test::below(slower(law, player), 1.0 + A_LITTLE)))),
            Verdict::Fails,
        )
        .at("7")
        .add(
            "MaxWait is the fairest, and the slowest to answer.",
            measured(grid, |law| {
                format!(
                    "{} % behind, {} ms",
                    law.of(MAX).mean_behind().in_words(1),
                    mean(law, MAX).in_words(1)
                )
            }),
            judge(grid, |law| {
                Test::all(BOTH[1..].iter().map(|one| {
                    exceeds(law.of(*one).mean_behind(), law.of(MAX).mean_behind())
                        .and(exceeds(mean(law, MAX), mean(law, *one)))
                }))
            }),
            Verdict::Holds,
        )
        .at("6")
        .add(
            "Each player sends more than 4,000 actions, and all together more than 40,000.",
            measured(grid, |law| {
                let all =
                    law.of(NOTHING).mean(|run| run.players.iter().map(|player| player.actions as f64).sum());
                format!("{} that count", all.in_words(0))
            }),
            judge(grid, |law| {
                let runs = law.of(NOTHING);
                let each =
                    all_players(|player| Test::above(runs.player(player, |one| one.actions as f64), 4_000.0));
                each.and(Test::above(
                    runs.mean(|run| run.players.iter().map(|player| player.actions as f64).sum()),
                    40_000.0,
                ))
            }),
            Verdict::Holds,
        )
}
