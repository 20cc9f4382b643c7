//! The study of NEO at the size that its authors wanted: the ladder from the thesis' rules to ours, 2 to 50 peers, its
//! ancestors beside it, and what cheats gain under each of them.

mod ancestors;
mod cheats;
mod ladder;

use super::{MoveProtocol, NeoFigures, NeoSetting, exponential, run_setting};
use crate::papers::study::quarter;
use crate::papers::view::{ClaimSource, Claims};
use crate::papers::{FigureGroup, Paper, PaperKind, Setup, Work};
use crate::parallel::{self, Cancelled};

const SOURCE: ClaimSource = ClaimSource { paper: "neo", citation: "Evenkeel: NEO among peers" };

/// The study, listed beside the papers.
pub(crate) const STUDY: Paper = Paper {
    key: SOURCE.paper,
    title: "NEO at 2 to 50 peers: from the thesis' rules to ours, its ancestors, and what cheats gain",
    source: "Evenkeel's own study",
    kind: PaperKind::Study,
    readings: &[],
    first_seed: 1,
    is_long: true,
    groups: &[
        FigureGroup {
            figures: &[
                ("ladder", "From the thesis' rules to ours, one improvement at a time"),
                ("peers", "Playout, age, unused moves and upload of ours, 2 to 50 peers"),
            ],
            work: Work::Own { jobs: |setup| jobs(&ladder::plan(setup), setup), run: ladder::run },
        },
        FigureGroup {
            figures: &[("ancestors", "NEO beside the protocols it descends from, and client-server")],
            work: Work::Own { jobs: |setup| jobs(&ancestors::plan(setup), setup), run: ancestors::run },
        },
        FigureGroup {
            figures: &[
                ("cheats", "What each cheat gains under each protocol"),
                ("look-ahead", "Foresight over how late a cheat sends"),
            ],
            work: Work::Own { jobs: cheats::jobs, run: cheats::run },
        },
    ],
};

/// Below so many seeds, as in tests, the study is small: short games of up to ten peers.
const FULL_FROM: usize = 5;

fn is_quick(setup: &Setup<'_>) -> bool {
    setup.runs < FULL_FROM
}

const fn claims(figure: &'static str) -> Claims {
    Claims::about(SOURCE, figure, "requirements")
}

fn key(figure: &str) -> String {
    format!("{}/{figure}", SOURCE.paper)
}

/// The numbers of peers.
fn counts(setup: &Setup<'_>) -> &'static [usize] {
    if is_quick(setup) { &[2, 4, 10] } else { &[2, 4, 5, 10, 20, 50] }
}

/// A game of the study.
fn setting(protocol: MoveProtocol, peers: usize, setup: &Setup<'_>) -> NeoSetting {
    let demanding = NeoSetting::demanding(protocol, peers);
    let seconds = match (is_quick(setup), peers) {
        (true, _) => 12,
        (false, 0..=10) => 65,
        (false, 11..=20) => 35,
        (false, _) => 20,
    };
    NeoSetting { duration: evenkeel_core::Span::from_secs(seconds), delay: exponential(45.0), ..demanding }
}

/// More peers give more pairs, so fewer seeds do.
fn seeds(setting: &NeoSetting, setup: &Setup<'_>) -> usize {
    match setting.peers {
        0..=10 => quarter(setup.runs),
        11..=20 => quarter(setup.runs).min(2),
        _ => 1,
    }
}

fn jobs(plan: &[NeoSetting], setup: &Setup<'_>) -> usize {
    plan.iter().map(|setting| seeds(setting, setup)).sum()
}

/// Runs settings; the results are those of each seed, in the order of the plan.
fn run_all(plan: &[NeoSetting], setup: &Setup<'_>) -> Result<Vec<Vec<NeoFigures>>, Cancelled> {
    let of = |(index, setting): (usize, &NeoSetting)| {
        (1..=seeds(setting, setup) as u64).map(move |seed| (index, seed))
    };
    let mut jobs: Vec<(usize, u64)> = plan.iter().enumerate().flat_map(of).collect();
    // The longest first, so that no core waits at the end.
    jobs.sort_by_key(|(index, seed)| (core::cmp::Reverse(plan[*index].peers), *index, *seed));
    let figures = parallel::map(&jobs, setup.progress, |(index, seed)| {
        run_setting(&plan[*index], *seed, setup.progress)
    })?;
    let mut results = vec![Vec::new(); plan.len()];
    for ((index, _), figures) in jobs.into_iter().zip(figures) {
        results[index].push(figures);
    }
    Ok(results)
}

/// The network of the study, for captions.
const NETWORK: &str = "Eater with bots; 45 ms mean exponential delay each way, 1 % loss, clocks up to 500 ms apart; payload handed to the transport";
