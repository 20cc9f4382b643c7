//! What modified clients gain, and what they cost the others.

mod support;

use evenkeel_core::Span;
use evenkeel_sync_ms::{Order, Standing, SyncConfig};
use proptest::prelude::*;

use support::cheat::{Cheat, Pongs};
use support::{Path, World, ms, peer};

/// Ada is far away, Bo is near, Mallory in between. Mallory's path has some jitter.
const ADA: usize = 0;
const BO: usize = 1;
const MALLORY: usize = 2;

fn config(sync_out: bool) -> SyncConfig {
    SyncConfig { order: Order::Reaction, sync_out, ..SyncConfig::default() }
}

fn paths() -> [Path; 3] {
    [Path::of(60), Path::of(5), Path { jitter: 1.0, ..Path::of(20) }]
}

fn three(config: &SyncConfig) -> World {
    let mut world = World::new(config, &paths());
    world.updates(0, 30_000, 50);
    world
}

/// Whether Ada, who reacts faster than Bo but is farther away, is served first.
fn is_ada_served_first(world: &mut World, from: i64) -> bool {
    let before = world.served.len();
    // Both react to the update that left at this time.
    world.act(from + 60 + 200, ADA, b"ada");
    world.act(from + 5 + 210, BO, b"bo");
    world.run_until(from + 500);
    let served: Vec<&[u8]> = world.served().split_off(before);
    let at = |who: &[u8]| served.iter().position(|bytes| *bytes == who).expect("it was served");
    at(b"ada") < at(b"bo")
}

#[test]
fn a_promise_for_the_far_future_ends_nobodys_order() {
    for ahead in [ms(1_000), Span::from_nanos((1 << 60) - (1 << 40))] {
        let mut world = three(&config(false));
        world.run_until(2_000);
        world.cheats.insert(MALLORY, Cheat { ahead, ..Cheat::default() });
        (0..20).for_each(|n| world.act(2_000 + 50 * n, MALLORY, b"mallory"));
        world.run_until(4_000);
        world.cheats.clear();
        assert!((8..12).all(|half| is_ada_served_first(&mut world, 500 * half)), "{ahead:?}");
        let late: Vec<_> =
            world.served.iter().filter(|(_, action)| action.is_late && action.bytes != b"mallory").collect();
        assert!(late.is_empty(), "{late:?}");
        let report = world.sms.report(peer(BO)).expect("it is here");
        assert_eq!(report.counts.behind, 0, "the meter is not fooled, either");
    }
}

#[test]
fn whoever_is_served_out_of_turn_makes_nobody_else_late() {
    let mut world = three(&config(false));
    world.run_until(2_000);
    // A flood whose actions claim to have no delay at all.
    world.cheats.insert(MALLORY, Cheat { early: ms(-500), ahead: ms(500), ..Cheat::default() });
    (0..20_000).for_each(|n| world.act(2_000 + n / 10, MALLORY, &[7; 1_000]));
    assert!((4..8).all(|half| is_ada_served_first(&mut world, 500 * half)));
    assert!(world.sms.report(peer(MALLORY)).is_some_and(|report| report.counts.crowded_out > 1_000));
}

/// The mean time between Mallory's virtual sending times and when it acted.
fn placed_before(sync_out: bool, cheat: Option<Cheat>) -> (f64, World) {
    let mut world = three(&config(sync_out));
    if let Some(cheat) = cheat {
        world.cheats.insert(MALLORY, cheat);
    }
    for n in 0..1_000 {
        let at = 3_000 + 26 * n;
        world.act(at, MALLORY, &at.to_le_bytes());
        world.act(at + 7, ADA, b"");
        world.act(at + 11, BO, b"");
    }
    world.run_until(30_000);
    let acted = |bytes: &[u8]| Some(i64::from_le_bytes(bytes.try_into().ok()?) as f64);
    let places = world
        .served
        .iter()
        .filter_map(|(_, action)| Some(acted(&action.bytes)? - action.virtual_at.as_nanos() as f64 / 1e6));
    let places: Vec<f64> = places.collect();
    assert_eq!(places.len(), 1_000);
    (places.iter().sum::<f64>() / places.len() as f64, world)
}

/// How much earlier than an honest player's Mallory's actions are placed, on average.
fn gain(sync_out: bool, cheat: Cheat) -> (f64, World) {
    let (honest, _) = placed_before(sync_out, None);
    let (placed, world) = placed_before(sync_out, Some(cheat));
    (placed - honest, world)
}

/// The jitter of Mallory's path, as it is measured of an honest player.
fn jitter() -> f64 {
    let (_, world) = placed_before(false, None);
    let report = world.sms.report(peer(MALLORY)).expect("it is here");
    report.round_trip.map_or(0.0, |(_, jitter)| jitter.as_millis_f64())
}

#[test]
fn a_liar_gains_at_most_the_jitter_of_its_path_whenever_it_answers() {
    let jitter = jitter();
    assert!((2.0..15.0).contains(&jitter), "{jitter}");
    for sync_out in [false, true] {
        for pongs in
            [Pongs::AtOnce, Pongs::Late(600, ms(300)), Pongs::Late(200, ms(300)), Pongs::Late(50, ms(100))]
        {
            for early in [ms(30), ms(200)] {
                let (gain, world) = gain(sync_out, Cheat::early(early, pongs));
                assert!(gain <= jitter, "Sync-out {sync_out}, {early:?}, {pongs:?}: {gain} ms of {jitter}");
                let clamped = world.sms.report(peer(MALLORY)).map(|report| report.counts.clamped);
                assert!(clamped > Some(500), "{clamped:?}");
            }
        }
    }
}

#[test]
fn late_answers_alone_gain_nothing() {
    for one_in in [1, 2, 600] {
        let (gain, _) = gain(false, Cheat::early(Span::ZERO, Pongs::Late(one_in, ms(100))));
        assert!(gain <= 0.5, "one answer in {one_in} is late: {gain} ms");
    }
}

#[test]
fn who_delays_all_answers_gains_at_most_what_it_delays_and_the_jitter() {
    let jitter = jitter();
    let (gain, world) = gain(false, Cheat::early(ms(200), Pongs::Late(1, ms(30))));
    assert!(gain <= 30.0 + jitter, "{gain}");
    let (least, _) =
        world.sms.report(peer(MALLORY)).and_then(|report| report.round_trip).expect("it is measured");
    assert!(least >= ms(70), "it looks farther away: {least:?}");
}

#[test]
fn who_does_not_answer_comes_in_the_order_of_arrival_and_is_not_waited_for() {
    let (gain, world) = gain(false, Cheat::early(ms(200), Pongs::Never));
    assert!(gain < 0.0, "an honest player's place is before its arrival: {gain}");
    assert_eq!(world.sms.report(peer(MALLORY)).map(|report| report.standing), Some(Standing::Silent));
    assert!(world.served.iter().all(|(_, action)| action.virtual_at <= action.arrived));
    // It is not served before its turn, either.
    assert!(world.served.iter().all(|(_, action)| action.behind == 0 && !action.is_late));
    // The others have their order all the same.
    assert!([ADA, BO].iter().all(|player| {
        world.sms.report(peer(*player)).is_some_and(|report| report.standing == Standing::Guaranteed)
    }));
}

#[test]
fn a_claimed_delay_is_made_up_for_slowly() {
    // Mallory's answers are late by 100 ms from now on, and it claims that updates are, too.
    let rising = SyncConfig { hold_rise: Some(ms(10)), ..config(true) };
    let mut world = three(&rising);
    world.run_until(15_000);
    let held = |world: &World| world.sms.report(peer(BO)).map(|report| report.hold).unwrap_or_default();
    let before = held(&world);
    assert!(before >= ms(59), "{before:?}");
    world.paths[MALLORY] = Path::of(140);
    world.run_until(17_000);
    let after = held(&world);
    assert!(after <= before + ms(10), "{before:?}, then {after:?}: Mallory's share starts at what it was");
    world.run_until(27_000);
    assert!(held(&world) > before + ms(40), "{:?}", held(&world));
}

#[test]
fn a_player_that_keeps_silent_until_it_acts_waits_for_its_turn() {
    let mut world = three(&config(false));
    world.run_until(2_000);
    // It sends nothing but its actions.
    world.cheats.insert(BO, Cheat { is_terse: true, ..Cheat::default() });
    for half in 6..20 {
        // Bo, the nearest, is slower than Ada by 10 ms, and has been silent for half a second.
        assert!(is_ada_served_first(&mut world, 500 * half), "{half}");
    }
    assert_eq!(world.sms.report(peer(BO)).map(|report| report.standing), Some(Standing::Silent));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_a_client_claims_no_action_is_placed_after_its_arrival(
        sync_out: bool,
        early in -(1_i64 << 60)..1 << 60,
        ahead in -(1_i64 << 58)..1 << 58,
        shift in 0..60_u32,
        acts in prop::collection::vec((0..3_usize, 0..2_000_i64), 1..60),
    ) {
        let mut world = three(&config(sync_out));
        world.run_until(1_000);
        let span = |nanos: i64| Span::from_nanos((nanos >> shift) / 2);
        world.cheats.insert(MALLORY, Cheat { early: span(early), ahead: span(ahead), ..Cheat::default() });
        for (player, millis) in &acts {
            world.act(1_000 + millis, *player, b"act");
        }
        world.run_until(4_000);
        prop_assert_eq!(world.served.len(), acts.len());
        for (_, action) in &world.served {
            prop_assert!(action.virtual_at <= action.arrived && action.waited <= ms(150), "{:?}", action);
            prop_assert!(action.from == peer(MALLORY) || !action.is_late, "{:?}", action);
        }
    }
}
