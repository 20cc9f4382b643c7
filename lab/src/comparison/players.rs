//! Each player's error with `even` and without it: who gains and who pays.

use super::{
    CASES, MATCHED, MATCHED_WORDS, SETTING_WORDS, claims, key, player_ratio, players_of, seconds, short,
    units_off,
};
use crate::claims::{Claim, Verdict};
use crate::dr::RunFigures;
use crate::even::{EvenCase, cells_for, percent, runs_of, seeds};
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio, ratios_in_words};
use crate::papers::judgement::Test;
use crate::papers::view::Claims;

/// Everything as often as made; without us, calibrated and live; the papers' best policy at the same budget; ours.
const CONTENDERS: [Contender; 5] =
    [Contender::BASE, MATCHED, Contender::MATCHED, Contender::DETERMINISTIC_PA, Contender::EVEN];
/// How far the live policy may be from the calibrated one, as a share of the error and of the messages.
const AGREES: f64 = 0.05;
const PLAYERS: [&str; 3] = ["far", "middle", "near"];

pub(super) fn cells() -> Vec<Cell> {
    cells_for(&CASES, &CONTENDERS)
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let [fars, nears] = [0, 2].map(|player| CASES.map(|case| change(cells, case, player).value));
    let less = |ratio: f64| 100.0 * (1.0 - ratio);
    vec![Figure {
        key: key("players"),
        title: format!(
            "At as many messages, even gives the far player {:.0} % less error at the papers' delays and {:.0} % less at today's, and \
             the near one {:.1} times and {:.1} times as much",
            less(fars[0]),
            less(fars[1]),
            nears[0],
            nears[1]
        ),
        caption: format!(
            "How far from its real position each player sees the tank on average; a tank is {:.0} units long. {SETTING_WORDS}; {}. \
             {MATCHED_WORDS}. base-matched is the policy of that name, which keeps the budget with the vectors that the owner makes. base sends three times \
             as many. Spread: standard deviation over the players. Export: the papers' error, \
             against the exported path, which ignores how far a coarser threshold moves that path from the real one.",
            evenkeel_games::LENGTH,
            seeds(setup)
        ),
        plots: CASES.iter().map(|case| plot(cells, *case)).collect(),
        columns: 2,
        table: table(cells),
        claims: answers(cells),
    }]
}

/// Returns a player's error under `even` relative to that without us.
fn change(cells: &Cells, case: EvenCase, player: usize) -> Ratio {
    player_ratio(&runs_of(cells, case, Contender::EVEN), &runs_of(cells, case, MATCHED), player)
}

fn plot(cells: &Cells, case: EvenCase) -> Plot {
    let bars = |contender: &Contender| {
        let off = units_off(&runs_of(cells, case, *contender), seconds(cells, case));
        Bars { name: contender.label(), heights: off.iter().map(|off| off.value).collect() }
    };
    Plot {
        title: case.label(),
        x_label: "player".to_owned(),
        y_label: "mean distance from the real position (units)".to_owned(),
        drawing: Drawing::Bars {
            categories: players_of(cells, case),
            // The live policy's bars would be those of the calibrated one again.
            groups: CONTENDERS.iter().filter(|one| **one != Contender::MATCHED).map(bars).collect(),
        },
    }
}

fn table(cells: &Cells) -> Table {
    let head = [
        "delays (ms)",
        "policy",
        "far (units off)",
        "middle (units off)",
        "near (units off)",
        "mean (units off)",
        "spread (units)",
        "messages (per s)",
        "export: mean (units)",
        "export: spread (units)",
    ];
    let row = |case: EvenCase, contender: Contender| {
        let (runs, seconds) = (runs_of(cells, case, contender), seconds(cells, case));
        let per_second =
            |figure: fn(&RunFigures) -> f64| Ratio::mean(&runs.by_run(figure)).times(1.0 / seconds);
        let mut row = vec![case.delays().trim_end_matches(" ms").to_owned(), runs.name.clone()];
        row.extend(units_off(&runs, seconds).iter().map(|off| short(*off, 2)));
        row.push(short(per_second(RunFigures::mean_real_error), 2));
        row.push(short(per_second(RunFigures::std_real_error), 3));
        row.push(short(per_second(|run| run.sent as f64), 1));
        row.push(short(per_second(RunFigures::mean_aee), 2));
        row.push(short(per_second(RunFigures::std_aee), 3));
        row
    };
    let rows = CASES.iter().flat_map(|case| CONTENDERS.iter().map(|one| row(*case, *one)));
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}

fn answers(cells: &Cells) -> Vec<Claim> {
    let mut claims = claims("players");
    for (case, who, mean) in [
        (CASES[0], [Verdict::Holds, Verdict::Fails, Verdict::Fails], Verdict::Fails),
        (CASES[1], [Verdict::Holds, Verdict::Fails, Verdict::Fails], Verdict::Holds),
    ] {
        let (even, matched) = (runs_of(cells, case, Contender::EVEN), runs_of(cells, case, MATCHED));
        let deterministic = runs_of(cells, case, Contender::DETERMINISTIC_PA);
        let at = case.delays();
        let [spread, means] = even.real_ratios(&matched);
        let [papers_spread, papers_mean] = deterministic.real_ratios(&matched);
        claims = claims.add(
            &format!("At {at} even leaves at most 2 % of the spread without it."),
            format!(
                "{} with {} of the messages; deterministic (PA) leaves {}",
                percent(spread),
                even.sent_ratio(&matched),
                percent(papers_spread)
            ),
            Test::below(spread, 0.02),
            Verdict::Holds,
        );
        for (player, expected) in who.into_iter().enumerate() {
            claims = player_claim(claims, (cells, case), player, expected);
        }
        claims = claims.add(
            &format!("At {at} the mean error is lower with even than without it."),
            format!("{means} times; with deterministic (PA) {papers_mean} times"),
            Test::below(means, 1.0),
            mean,
        );
    }
    let live = CASES.map(|case| {
        let (live, matched) = (runs_of(cells, case, Contender::MATCHED), runs_of(cells, case, MATCHED));
        [0, 1, 2].map(|player| player_ratio(&live, &matched, player))
    });
    let sent =
        CASES.map(|case| runs_of(cells, case, Contender::MATCHED).sent_ratio(&runs_of(cells, case, MATCHED)));
    claims = claims.add(
        "The live policy base-matched agrees with the calibrated one: each player's error and the messages within 5 %.",
        format!(
            "far, middle and near player's error {} times at {}, {} times at {}; messages {} times",
            ratios_in_words(&live[0]),
            CASES[0].delays(),
            ratios_in_words(&live[1]),
            CASES[1].delays(),
            ratios_in_words(&sent)
        ),
        Test::all(live.iter().flatten().map(|ratio| Test::same(*ratio, AGREES)))
            .and(Test::all(sent.iter().map(|ratio| Test::same(*ratio, AGREES)))),
        Verdict::Holds,
    );
    claims.all()
}

/// Adds the claim that a player gains.
fn player_claim(
    claims: Claims,
    (cells, case): (&Cells, EvenCase),
    player: usize,
    expected: Verdict,
) -> Claims {
    let matched = runs_of(cells, case, MATCHED);
    let ratio = |contender: Contender| player_ratio(&runs_of(cells, case, contender), &matched, player);
    let even = ratio(Contender::EVEN);
    claims.add(
        &format!(
            "At {} the {} player's error is lower with even than without it.",
            case.delays(),
            PLAYERS[player]
        ),
        format!("{even} times; with deterministic (PA) {} times", ratio(Contender::DETERMINISTIC_PA)),
        Test::below(even, 1.0),
        expected,
    )
}
