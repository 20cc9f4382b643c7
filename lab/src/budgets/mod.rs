//! Budgets per second in rooms of 2 to 100 players: whether they are kept while players come and go, and what a game gets for
//! them with our default policy and without it.

mod room;

use evenkeel_dr::{Budget, PolicyKind};

use self::room::{Attendance, RoomCase, RoomFigures, SECONDS, SecondRates, THRESHOLD, WARM_UP, play};
use crate::claims::{Claim, Verdict};
use crate::figure::{Bars, Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::papers::view::{ClaimSource, Claims};
use crate::papers::{FigureGroup, Paper, PaperKind, Setup, Work, seeds_in_words};
use crate::parallel::{self, Cancelled};

const SOURCE: ClaimSource = ClaimSource { paper: "budget", citation: "Evenkeel: budgets per second" };
const FIRST_SEED: u64 = 401;
/// The most seeds: a hundred players take a while.
const SEEDS_MAX: usize = 3;

/// The study, listed beside the papers.
pub(crate) const STUDY: Paper = Paper {
    key: SOURCE.paper,
    title: "Budgets per second, as players join, crowd and leave",
    source: "Evenkeel's own study",
    kind: PaperKind::Study,
    readings: &[],
    first_seed: FIRST_SEED,
    is_long: true,
    groups: &[FigureGroup {
        figures: &[
            ("error", "Error against the real path at 24 kbit/s per player, 2 to 100 players"),
            ("kept", "What leaves per player as a crowd comes and goes"),
        ],
        work: Work::Own { jobs: |setup| cases().len() * seeds(setup), run },
    }],
};

/// The budgets, and the rate that each limits.
const BANDWIDTH: &str = "24 kbit/s";
const BITS: f64 = 24e3;
const VECTORS: &str = "30 /s";
const VECTORS_PER_SECOND: f64 = 30.0;
/// How closely a budget is to be kept.
const KEPT: f64 = 0.05;
/// The players in the rooms.
const PLAYERS: [usize; 5] = [2, 5, 20, 60, 100];
/// The players in the rooms that a crowd visits.
const CROWD: usize = 20;
/// Without us, and the default of relay rooms.
const MATCHED: &str = "base-matched";
const OURS: &str = "even:kappa=3,keep=0.9";
const EVEN: &str = "even";
const POLICIES: [&str; 3] = [MATCHED, OURS, EVEN];
/// The windows in which the rates of a crowd's room are judged: all of its phases but the first ten seconds of each.
const WINDOWS: [(u64, u64); 3] = [(20, Attendance::COMES), (60, Attendance::GOES), (110, SECONDS)];

fn seeds(setup: &Setup<'_>) -> usize {
    setup.runs.min(SEEDS_MAX)
}

fn policy(name: &str) -> PolicyKind {
    name.parse().expect("a policy of the study")
}

fn budget(text: &str) -> Budget {
    text.parse().expect("a budget of the study")
}

fn cases() -> Vec<RoomCase> {
    let case = |players, name: &str, text: &str, attendance| RoomCase {
        players,
        policy: policy(name),
        budget: budget(text),
        attendance,
    };
    let constant = PLAYERS
        .into_iter()
        .flat_map(|players| POLICIES.map(|name| case(players, name, BANDWIDTH, Attendance::Constant)));
    let crowds = [BANDWIDTH, VECTORS]
        .into_iter()
        .flat_map(|text| POLICIES.map(|name| case(CROWD, name, text, Attendance::Crowd)));
    constant.chain(crowds).collect()
}

/// The rooms of one case, one per seed.
struct Rooms<'a>(&'a [RoomFigures]);

impl Rooms<'_> {
    fn mean(&self, of: impl Fn(&RoomFigures) -> f64) -> Ratio {
        Ratio::mean(&self.0.iter().map(of).collect::<Vec<_>>())
    }

    fn rate(&self, (from, until): (u64, u64), of: fn(&SecondRates) -> f64) -> Ratio {
        self.mean(|room| room.rate(from, until, of))
    }
}

fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let (cases, seeds) = (cases(), seeds(setup));
    let jobs: Vec<(RoomCase, u64)> = cases
        .iter()
        .flat_map(|case| (FIRST_SEED..FIRST_SEED + seeds as u64).map(move |seed| (*case, seed)))
        .collect();
    let played = parallel::map(&jobs, setup.progress, |(case, seed)| play(*case, *seed, setup.progress))?;
    let rooms: Vec<Rooms<'_>> = played.chunks(seeds).map(Rooms).collect();
    let (constant, crowds) = rooms.split_at(PLAYERS.len() * POLICIES.len());
    Ok(vec![errors(constant, seeds), kept(crowds, seeds)])
}

fn key(figure: &str) -> String {
    format!("{}/{figure}", SOURCE.paper)
}

fn setting(seeds: usize) -> String {
    format!(
        "A relay and players 10 to 200 ms away, gamma jitter of a tenth, a tank each, random motion, threshold {THRESHOLD}, \
         {SECONDS} s of which the first {WARM_UP} do not count; {}",
        seeds_in_words(FIRST_SEED, seeds)
    )
}

/// The rooms with the same players all the time, by the number of players and by policy.
fn errors(rooms: &[Rooms<'_>], seeds: usize) -> Figure {
    let of = |players: usize, policy: usize| &rooms[players * POLICIES.len() + policy];
    let all =
        || (0..PLAYERS.len()).flat_map(|players| (0..POLICIES.len()).map(move |policy| (players, policy)));
    let row = |(players, policy): (usize, usize)| {
        let room = of(players, policy);
        let end = |pick: fn(&[f64]) -> f64| room.mean(|room| pick(&room.errors)).in_words(3);
        vec![
            PLAYERS[players].to_string(),
            POLICIES[policy].to_owned(),
            format!("{:.1}", room.rate((WARM_UP, SECONDS), |second| second.bits).value / 1e3),
            format!("{:.1}", room.rate((WARM_UP, SECONDS), |second| second.vectors).value),
            room.mean(RoomFigures::mean_error).in_words(3),
            room.mean(RoomFigures::spread).in_words(3),
            end(|errors| errors[0]),
            end(|errors| errors[errors.len() - 1]),
        ]
    };
    let bars = |(policy, name): (usize, &str)| Bars {
        name: name.to_owned(),
        heights: (0..PLAYERS.len()).map(|at| of(at, policy).mean(RoomFigures::mean_error).value).collect(),
    };
    let relative =
        |at: usize| of(at, 1).mean(RoomFigures::mean_error).over(of(at, 0).mean(RoomFigures::mean_error));
    let last = PLAYERS.len() - 1;
    let head =
        ["players", "policy", "kbit/s", "vectors/s", "mean (units)", "spread (units)", "nearest", "farthest"];
    Figure {
        key: key("error"),
        title: format!(
            "At {BANDWIDTH} per player, the default policy has {:.2} times the mean error of base-matched with {} players, and {:.2} \
             times with {}",
            relative(2).value,
            PLAYERS[2],
            relative(last).value,
            PLAYERS[last]
        ),
        caption: format!(
            "{}. Errors are distances from the real position, averaged over the others' tanks.",
            setting(seeds)
        ),
        plots: vec![Plot {
            title: String::new(),
            x_label: "players".to_owned(),
            y_label: "mean distance from the real position (units)".to_owned(),
            drawing: Drawing::Bars {
                categories: PLAYERS.iter().map(ToString::to_string).collect(),
                groups: POLICIES.into_iter().enumerate().map(bars).collect(),
            },
        }],
        columns: 1,
        table: Table { head: head.map(str::to_owned).to_vec(), rows: all().map(row).collect() },
        claims: error_claims(rooms),
    }
}

fn error_claims(rooms: &[Rooms<'_>]) -> Vec<Claim> {
    let of = |players: usize, policy: usize| &rooms[players * POLICIES.len() + policy];
    let within =
        (0..PLAYERS.len()).flat_map(|players| (0..POLICIES.len()).map(move |policy| (players, policy)));
    let rates: Vec<Ratio> = within
        .map(|(players, policy)| of(players, policy).rate((WARM_UP, SECONDS), |second| second.bits / BITS))
        .collect();
    let most = rates.iter().copied().max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default();
    let lower = (1..PLAYERS.len())
        .map(|at| of(at, 1).mean(RoomFigures::mean_error).over(of(at, 0).mean(RoomFigures::mean_error)));
    let lower: Vec<Ratio> = lower.collect();
    let words =
        |ratios: &[Ratio]| ratios.iter().map(|ratio| ratio.in_words(2)).collect::<Vec<_>>().join(" / ");
    Claims::about(SOURCE, "error", "our questions")
        .add(
            "At most 5 % more than the budget leaves for the average player, whatever the policy.",
            format!("at most {} times the budget", most.in_words(3)),
            Test::below(most, 1.0 + KEPT),
            Verdict::Holds,
        )
        .add(
            "With 5 to 100 players, the mean error is lower with the default policy than with base-matched.",
            format!("{} times, with 5 / 20 / 60 / 100 players", words(&lower)),
            Test::all(lower.iter().map(|ratio| Test::below(*ratio, 1.0))),
            Verdict::Fails,
        )
        .all()
}

/// The rooms that a crowd visits, by budget and by policy.
fn kept(rooms: &[Rooms<'_>], seeds: usize) -> Figure {
    type Rate = fn(&SecondRates) -> f64;
    let budgets: [(&str, Rate); 2] =
        [(BANDWIDTH, |second| second.bits / BITS), (VECTORS, |second| second.vectors / VECTORS_PER_SECOND)];
    let all = || (0..budgets.len()).flat_map(|text| (0..POLICIES.len()).map(move |policy| (text, policy)));
    let rates = |(text, policy): (usize, usize)| {
        WINDOWS.map(|window| rooms[text * POLICIES.len() + policy].rate(window, budgets[text].1))
    };
    let row = |(text, policy): (usize, usize)| {
        let shares = rates((text, policy)).map(|rate| rate.in_words(3));
        [budgets[text].0.to_owned(), POLICIES[policy].to_owned()].into_iter().chain(shares).collect()
    };
    let off: Vec<Ratio> = all().flat_map(rates).map(|rate| rate.plus(-1.0)).collect();
    let worst = off.into_iter().max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default();
    let curve = |(policy, name): (usize, &str)| Curve {
        name: name.to_owned(),
        points: (0..SECONDS)
            .map(|second| CurvePoint {
                x: second as f64,
                y: rooms[policy].rate((second, second + 1), |rates| rates.bits / 1e3).value,
                spread: 0.0,
            })
            .collect(),
    };
    let head = ["budget", "policy", "before the crowd", "with the crowd", "after the crowd"];
    let claims = Claims::about(SOURCE, "kept", "our questions").add(
        "From ten seconds after a crowd comes or goes, at most 5 % more than the budget leaves per player.",
        format!("{} more at most", worst.in_words(3)),
        Test::below(worst, KEPT),
        Verdict::Holds,
    );
    Figure {
        key: key("kept"),
        title: format!(
            "From ten seconds after a crowd comes or goes, budgets are exceeded by at most {:.1} %",
            100.0 * worst.value.max(0.0)
        ),
        caption: format!(
            "{}. {} players, then {CROWD}, then {}. The table has what left per player relative to the budget, without the first ten \
             seconds of each phase.",
            setting(seeds),
            Attendance::Crowd.present(CROWD, 0),
            Attendance::Crowd.present(CROWD, SECONDS)
        ),
        plots: vec![Plot {
            title: format!("budget {BANDWIDTH}"),
            x_label: "time (s)".to_owned(),
            y_label: "kbit/s per player".to_owned(),
            drawing: Drawing::Curves(POLICIES.into_iter().enumerate().map(curve).collect()),
        }],
        columns: 1,
        table: Table { head: head.map(str::to_owned).to_vec(), rows: all().map(row).collect() },
        claims: claims.all(),
    }
}
