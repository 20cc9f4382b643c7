//! Games that have broken an invariant once, and what a campaign makes of games.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use evenkeel_campaign::run::{Campaign, Failure, Progress, play_one, run};
use evenkeel_campaign::{Fault, Faults, Game, Invariant, Machine};

#[track_caller]
fn holds(game: Game) {
    if let Some(failure) = play_one(&game) {
        panic!("{}\n{}", failure.what, failure.test);
    }
}

fn campaign(games: u64, jobs: usize, machine: Option<Machine>) -> Campaign {
    Campaign { games, seed: 3, machine, jobs, failures_max: 20 }
}

fn play(campaign: &Campaign) -> Progress {
    let progress = Progress::new(campaign);
    run(campaign, progress, None, &AtomicBool::new(false), |_| ()).expect("nothing is written")
}

/// An action behind a head that comes later waited for the head's sake, for longer than the cap.
#[test]
fn no_action_waits_longer_than_the_cap() {
    let played = play(&campaign(150, 2, Some(Machine::SyncMs)));
    assert_eq!((played.games, played.failures.as_slice()), (150, &[][..]));
}

/// Messages arrived twice after a lost welcome or a fresh server, values that fit no packet were sent for ever, copies were not
/// those of the server after their owner had changed, and what travelled on a slow stream was repeated until it stood still.
#[test]
fn players_agree_on_objects_and_messages_arrive_once() {
    let played = play(&campaign(600, 2, Some(Machine::Objects)));
    assert_eq!((played.games, played.failures.as_slice()), (600, &[][..]));
}

#[test]
fn peers_of_neo_agree() {
    let played = play(&campaign(60, 2, Some(Machine::Neo)));
    assert_eq!((played.games, played.failures.as_slice()), (60, &[][..]));
}

/// What a returning player had overwrote what had happened to its object meanwhile, and what had been destroyed was born anew.
#[test]
fn players_who_come_back_find_their_objects_as_they_are() {
    let (machine, players, entities) = (Machine::Objects, 3, 1);
    let faults = Faults::of(&[Fault::DelaySteps, Fault::Crashes, Fault::Leaves]);
    holds(Game { machine, seed: 1_099_511_641_061, players, entities, ticks: 59, faults });
    let faults = Faults::of(&[Fault::Bursts, Fault::Reordering, Fault::DelaySteps, Fault::Leaves]);
    holds(Game { machine, seed: 1_099_511_642_374, players, entities, ticks: 65, faults });
}

/// A relay settled arrivals by what it knew, because too many waited for vectors of their owner, or one for longer than those are
/// kept, and did not count that.
#[test]
fn what_a_relay_settles_by_estimate_is_counted() {
    let faults = Faults::of(&[Fault::Loss]);
    let seed = 1_099_511_642_859;
    holds(Game { machine: Machine::DrRelay, seed, players: 3, entities: 1, ticks: 1, faults });
    let faults = Faults::of(&[Fault::Loss, Fault::DelaySteps]);
    let seed = 1_099_511_640_264;
    holds(Game { machine: Machine::DrRelay, seed, players: 4, entities: 1, ticks: 77, faults });
}

/// A damaged introduction took another player's name.
#[test]
fn nobody_takes_the_names_of_others() {
    let faults = Faults::of(&[Fault::Bursts, Fault::Garbage]);
    let seed = 1_099_511_647_484;
    holds(Game { machine: Machine::DrRelay, seed, players: 3, entities: 1, ticks: 1, faults });
}

/// One of the games that last long enough.
fn steady(seed: u64, planted: &[Fault]) -> Game {
    let faults = Faults::of(planted);
    Game { machine: Machine::DrRelay, seed, players: 4, entities: 1, ticks: 1_000, faults }
}

#[test]
fn errors_do_not_spread_under_even_and_do_without_it() {
    (0..8).for_each(|seed| holds(steady(seed, &[])));
    let failures = (0..8).filter_map(|seed| steady(seed, &[Fault::PlantedUneven]).play().err());
    let spread: Vec<_> = failures.map(|violation| violation.invariant).collect();
    assert!(spread.len() >= 4 && spread.iter().all(|rule| *rule == Invariant::Spread), "{spread:?}");
}

/// The median clock stood still while a local clock showed a time before zero.
#[test]
fn peers_whose_clocks_differ_find_a_session_time() {
    for seed in 0..20 {
        let faults = Faults::of(&[Fault::Clocks]);
        holds(Game { machine: Machine::DrDirect, seed, players: 3, entities: 1, ticks: 10, faults });
    }
}

#[test]
fn a_game_is_a_function_of_its_values() {
    for machine in Machine::ALL {
        let game = Game::of_seed(11, Some(machine));
        let [one, other] = [game.play(), game.play()].map(|played| played.map(|played| played.calls));
        assert_eq!(one, other, "{game}");
    }
}

#[test]
fn a_campaign_that_is_taken_up_again_ends_like_one_in_one_go() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("campaign.json");
    let _ = std::fs::remove_file(&file);
    let at_once = play(&campaign(200, 2, None));
    let is_stopped = AtomicBool::new(false);
    let first = campaign(70, 1, None);
    let fresh = Progress::read(&first, &file).expect("a fresh one");
    let half = run(&first, fresh, Some(&file), &is_stopped, |_| ()).expect("it is written");
    assert_eq!(half.games, 70);
    let rest = campaign(200, 2, None);
    let read = Progress::read(&rest, &file).expect("what was written");
    let taken_up = run(&rest, read, Some(&file), &is_stopped, |_| ()).expect("it is written");
    let games = |progress: &Progress| progress.machines.values().map(|tally| tally.games).collect::<Vec<_>>();
    assert_eq!((taken_up.games, games(&taken_up)), (200, games(&at_once)));
    let other = Campaign { seed: 4, ..rest };
    let refused = Progress::read(&other, &file).expect_err("it is of another campaign");
    assert!(refused.to_string().contains("is of another campaign (seed 3)"), "{refused}");
}

#[test]
fn a_game_prints_as_a_test() {
    let faults = Faults::of(&[Fault::Loss, Fault::Pauses]);
    let game = Game { machine: Machine::DrRelay, seed: 7, players: 3, entities: 1, ticks: 12, faults };
    let test = game.to_string();
    assert!(test.starts_with("#[test]\nfn dr_relay_7() {\n    holds(Game {"), "{test}");
    assert!(test.contains("faults: Faults::of(&[Fault::Loss, Fault::Pauses]),"), "{test}");
}

/// The first failure of games with a planted fault, and the game that showed it.
fn found(machine: Machine, planted: Fault) -> (Game, Failure) {
    let games = (0..200).map(|seed| {
        let faults = Faults::of(&[Fault::Jitter, planted]);
        Game { faults, players: 3, entities: 2, ticks: 60, ..Game::of_seed(seed, Some(machine)) }
    });
    let mut failures = games.filter_map(|game| play_one(&game).map(|failure| (game, failure)));
    failures.next().unwrap_or_else(|| panic!("no game of {machine:?} shows {planted:?}"))
}

#[test]
fn every_planted_fault_is_found_and_shrunk() {
    for (machine, planted, rule) in [
        (Machine::SyncMs, Fault::PlantedDouble, "Reliable: "),
        (Machine::SyncMs, Fault::PlantedLoss, "Reliable: "),
        (Machine::Objects, Fault::PlantedDouble, "Reliable: "),
        (Machine::Objects, Fault::PlantedLoss, "Reliable: "),
        (Machine::Objects, Fault::PlantedExcess, "Budget: "),
        (Machine::DrDirect, Fault::PlantedError, "Ledger: "),
        (Machine::DrRelay, Fault::PlantedError, "Ledger: "),
    ] {
        let (game, Failure { what, test, .. }) = found(machine, planted);
        assert!(what.starts_with(rule), "{machine:?}, {planted:?}: {what}");
        let ticks = test.split("ticks: ").nth(1).and_then(|text| text.split(',').next());
        let ticks: u32 = ticks.and_then(|ticks| ticks.parse().ok()).expect("the test names the ticks");
        assert!(ticks < game.ticks && test.contains("faults: Faults::of(&[])"), "{test}");
    }
}
