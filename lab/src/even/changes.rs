//! Changes in the middle of a run: a delay steps up, a player joins, a player leaves.

use super::case::{COMES_AT, LEAVES_AT, STEP_AT};
use super::windows::growths;
use super::{EvenCase, cells_for, key, percent, runs_of, seeds};
use crate::claims::Verdict;
use crate::dr::RunFigures;
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, ContenderRuns, Ratio};
use crate::papers::judgement::Test;
use crate::papers::setting::ExperimentSetting;
use crate::stats::{mean, population_sd};

const CONTENDERS: [Contender; 3] = [Contender::EVEN, Contender::DETERMINISTIC_PA, Contender::THIRD];
/// Figures show the error of this many seconds; runs are sampled once a second.
const WINDOW: usize = 20;
const SPREAD_MAX: f64 = 0.03;

pub(super) fn cells() -> Vec<Cell> {
    cells_for(&[EvenCase::Step, EvenCase::Visitors], &CONTENDERS)
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    vec![draw_step(setup, cells), draw_visitors(setup, cells)]
}

/// Plots how far off each player sees the tank, over the last seconds, while the player is present.
fn players(cells: &Cells, case: EvenCase, contender: Contender) -> Plot {
    let one = runs_of(cells, case, contender);
    let runs: Vec<Vec<(f64, Vec<f64>)>> = one.runs.iter().map(|run| growths(run, WINDOW).collect()).collect();
    let receivers = &cells.scenario(ExperimentSetting::Even(case)).receivers;
    let curve = |(player, receiver): (usize, &crate::scenario::Receiver)| {
        let there = |at: f64| {
            let from = receiver.absence.joins.as_secs_f64() + WINDOW as f64;
            at >= from && receiver.absence.leaves.is_none_or(|leaves| at <= leaves.as_secs_f64())
        };
        let looks = (0..runs[0].len()).filter(|look| there(runs[0][*look].0));
        let point = |look: usize| {
            let off: Vec<f64> = runs.iter().map(|run| run[look].1[player] / WINDOW as f64).collect();
            CurvePoint { x: runs[0][look].0, y: mean(&off), spread: 0.0 }
        };
        Curve { name: receiver.name.clone(), points: looks.map(point).collect() }
    };
    Plot {
        title: one.name,
        x_label: "time (s)".to_owned(),
        y_label: format!("units off, last {WINDOW} s"),
        drawing: Drawing::Curves(receivers.iter().enumerate().map(curve).collect()),
    }
}

/// Returns the spread of the increase of each player's error between two samples.
fn spread_between(run: &RunFigures, from: usize, until: usize) -> f64 {
    let grown: Vec<f64> =
        run.samples[until].aee.iter().zip(&run.samples[from].aee).map(|(now, before)| now - before).collect();
    population_sd(&grown)
}

/// Returns a table with a row for each contender: the spread in each stretch of time, relative to 1/3 base's.
fn table(
    cells: &Cells,
    case: EvenCase,
    stretches: &[(usize, usize)],
    last: fn(&ContenderRuns<'_>, &ContenderRuns<'_>) -> Ratio,
) -> Table {
    let third = runs_of(cells, case, Contender::THIRD);
    let row = |contender: &Contender| {
        let one = runs_of(cells, case, *contender);
        let spreads = stretches
            .iter()
            .map(|(from, until)| one.ratio(&third, |run| spread_between(run, *from, *until)).to_string());
        let all = [last(&one, &third).to_string(), one.mean_ratio(&third).to_string()];
        [one.name.clone()].into_iter().chain(spreads).chain(all).collect()
    };
    let head = stretches.iter().map(|(from, until)| format!("spread from {from} to {until} s / 1/3 base"));
    let all = ["spread, whole run / 1/3 base", "mean, whole run / 1/3 base"].map(str::to_owned);
    Table {
        head: ["policy".to_owned()].into_iter().chain(head).chain(all).collect(),
        rows: CONTENDERS.iter().map(row).collect(),
    }
}

fn draw_step(setup: &Setup<'_>, cells: &Cells) -> Figure {
    let [even, third] = [Contender::EVEN, Contender::THIRD].map(|one| runs_of(cells, EvenCase::Step, one));
    let spread = even.spread_ratio(&third);
    let at = STEP_AT.as_secs_f64() as usize;
    Figure {
        key: key("step"),
        title: format!(
            "When the near player's delay triples, even leaves {} of 1/3 base's spread",
            percent(spread)
        ),
        caption: format!(
            "The near player's delay steps from 200 to 600 ms after {at} s, both ways; the others are at 800 and 500 ms, all ±100 ms \
             uniform. How far off each sees the tank, averaged over the last {WINDOW} s and the seeds. Random motion, threshold 0.3, \
             heartbeat 1 s, budget 1 per trigger; {}.",
            seeds(setup)
        ),
        plots: vec![
            players(cells, EvenCase::Step, Contender::THIRD),
            players(cells, EvenCase::Step, Contender::EVEN),
        ],
        columns: 2,
        table: table(cells, EvenCase::Step, &[(0, at), (at, at + 30), (at + 30, 300)], |one, to| {
            one.spread_ratio(to)
        }),
        claims: super::claims("step")
            .add(
                "After a step of a delay, at most 3 % of 1/3 base's spread remains at the end.",
                percent(spread),
                Test::below(spread, SPREAD_MAX),
                Verdict::Holds,
            )
            .all(),
    }
}

fn draw_visitors(setup: &Setup<'_>, cells: &Cells) -> Figure {
    let [even, third] =
        [Contender::EVEN, Contender::THIRD].map(|one| runs_of(cells, EvenCase::Visitors, one));
    let (comes, leaves) = (COMES_AT.as_secs_f64() as usize, LEAVES_AT.as_secs_f64() as usize);
    let together = even.ratio(&third, |run| spread_between(run, comes, leaves));
    Figure {
        key: key("joins"),
        title: format!(
            "While a newcomer and a player who later leaves are both present, even leaves {} of 1/3 base's spread among the five",
            percent(together)
        ),
        caption: format!(
            "Three players stay, at 800, 500 and 200 ms; one at 350 ms joins after {comes} s, one at 650 ms leaves after {leaves} s; all \
             ±100 ms uniform. How far off each sees the tank, averaged over the last {WINDOW} s and the seeds. Over the whole run, \
             players who are not present all the time count with their error per second; under any policy they had a different share of \
             the turns than the others. Random motion, threshold 0.3, heartbeat 1 s, budget a third of the players per trigger; {}.",
            seeds(setup)
        ),
        plots: vec![
            players(cells, EvenCase::Visitors, Contender::THIRD),
            players(cells, EvenCase::Visitors, Contender::EVEN),
        ],
        columns: 2,
        table: table(cells, EvenCase::Visitors, &[(comes, leaves)], |one, to| one.spread_ratio(to)),
        claims: super::claims("joins")
            .add(
                "While all five are present, at most 3 % of 1/3 base's spread of the errors in that time remains.",
                percent(together),
                Test::below(together, SPREAD_MAX),
                Verdict::Holds,
            )
            .all(),
    }
}
