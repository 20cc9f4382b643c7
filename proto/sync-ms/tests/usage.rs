//! What a game that uses little of the service costs, and that a pause costs nobody its place.

mod support;

use evenkeel_core::Span;
use evenkeel_sync_ms::{Respective, SyncConfig};

use support::{Path, World};

fn config() -> SyncConfig {
    SyncConfig { respective: Respective::Newest, ..SyncConfig::default() }
}

fn far_and_near() -> World {
    World::new(&config(), &[Path::of(60), Path::of(5)])
}

/// Packets that the server and the players send in these milliseconds.
fn sent_until(world: &mut World, millis: i64) -> [u64; 2] {
    let before = world.sent;
    world.run_until(millis);
    [world.sent[0] - before[0], world.sent[1] - before[1]]
}

#[test]
fn a_game_without_updates_and_actions_sends_nothing() {
    let mut world = far_and_near();
    assert_eq!(sent_until(&mut world, 60_000), [0, 0]);
}

#[test]
fn a_game_without_actions_is_asked_for_no_heartbeats() {
    let mut world = far_and_near();
    world.updates(0, 20_000, 50);
    world.run_until(10_000);
    let [down, up] = sent_until(&mut world, 20_000);
    assert!(down <= 2 * (200 + 100), "updates, and ten pings a second: {down} packets");
    assert!((190..=200).contains(&up), "their answers: {up} packets");
    assert!(world.guarantees.is_empty(), "nobody who is not asked counts as silent: {:?}", world.guarantees);
    let late = world.seen.iter().filter(|seen| seen.late > Span::ZERO).count();
    assert!(late <= 4, "{late} updates came late");
}

#[test]
fn ten_seconds_after_the_last_use_all_is_silent_again() {
    let mut world = far_and_near();
    world.updates(0, 2_000, 50);
    world.act(1_500, 0, b"once");
    world.run_until(2_000);
    let [_, up] = sent_until(&mut world, 3_000);
    assert!((150..250).contains(&up), "a heartbeat of 10 ms from each: {up} packets");
    world.run_until(13_500);
    assert_eq!(sent_until(&mut world, 60_000), [0, 0]);
}

#[test]
fn the_first_actions_after_a_pause_are_served_in_fair_order() {
    let mut world = far_and_near();
    world.updates(0, 2_000, 50);
    for action in 0..10 {
        world.act(1_000 + 50 * action, 0, b"warm");
        world.act(1_000 + 50 * action, 1, b"warm");
    }
    world.run_until(60_000);
    assert!(world.guarantees.is_empty(), "{:?}", world.guarantees);
    world.served.clear();
    // Everybody sees the first update after the pause at the same time. Ada reacts to it 10 ms sooner than Bo.
    world.update(60_000, b"draw!");
    world.act(60_200 + 62, 0, b"ada");
    world.act(60_210 + 62, 1, b"bo");
    world.run_until(61_000);
    assert_eq!(world.served(), [b"ada", &b"bo"[..]]);
    assert!(world.served.iter().all(|(_, action)| action.behind == 0 && !action.is_late));
}
