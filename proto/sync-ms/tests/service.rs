//! What players get: the order of service, simultaneous updates, and who is waited for.

mod support;

use evenkeel_core::Span;
use evenkeel_sync_ms::{Order, Respective, Standing, SyncConfig};
use proptest::prelude::*;

use support::{Path, World, at, ms, peer};

fn config(order: &str, sync_out: bool) -> SyncConfig {
    let order = order.parse().expect("an order");
    SyncConfig { order, sync_out, respective: Respective::Newest, ..SyncConfig::default() }
}

/// Ada is far away, Bo is near. Updates come every 50 ms.
fn far_and_near(config: &SyncConfig) -> World {
    let mut world = World::new(config, &[Path::of(60), Path::of(5)]);
    world.updates(0, 5_000, 50);
    world.run_until(2_000);
    world
}

#[test]
fn the_faster_reaction_is_served_first_however_far_away() {
    for sync_out in [false, true] {
        let mut world = far_and_near(&config("reaction", sync_out));
        // Both react to the update of 2,000 ms, which Ada sees 55 ms later unless Sync-out shows it to both at once.
        let seen = if sync_out { [62, 62] } else { [60, 5] };
        world.act(2_000 + seen[0] + 200, 0, b"ada");
        world.act(2_000 + seen[1] + 210, 1, b"bo");
        world.run_until(2_500);
        assert_eq!(world.served(), [b"ada", &b"bo"[..]], "Sync-out: {sync_out}");
        let places: Vec<i64> = world.served.iter().map(|(_, action)| action.virtual_at.as_nanos()).collect();
        assert!((places[1] - places[0] - 10_000_000).abs() < 100_000, "{places:?}");
        assert!(world.served.iter().all(|(_, action)| !action.is_late && action.behind == 0));
    }
}

#[test]
fn without_an_order_the_nearest_is_served_first() {
    let mut world = far_and_near(&config("none", false));
    world.act(2_260, 0, b"ada");
    world.act(2_215, 1, b"bo");
    world.run_until(2_500);
    assert_eq!(world.served(), [b"bo", &b"ada"[..]]);
    assert_eq!(world.served[1].1.behind, 1, "the meter tells what it costs Ada");
}

#[test]
fn the_orders_of_the_paper_go_by_the_sending_time() {
    for order in ["max-wait", "select-wait", "toss-wait=100:100"] {
        let mut world = far_and_near(&config(order, true));
        for action in -1..20 {
            world.act(2_200 + 70 * action, 0, b"ada");
            world.act(2_210 + 70 * action, 1, b"bo");
        }
        world.run_until(4_500);
        // An action tells how long actions take, so the first ones are served as they come.
        let served = &world.served()[2..];
        assert!(served.chunks(2).all(|pair| pair == [b"ada", &b"bo"[..]]), "{order}: {served:?}");
    }
}

#[test]
fn everybody_sees_an_update_at_the_same_time() {
    let mut world = far_and_near(&config("reaction", true));
    world.run_until(3_000);
    let settled = |world: &World| {
        let seen = world.seen.iter().filter(|seen| seen.stamp.as_nanos() > 1_000_000_000);
        seen.map(|seen| (seen.stamp, seen.at, seen.late)).collect::<Vec<_>>()
    };
    let mut seen = settled(&world);
    seen.sort_unstable();
    assert!(seen.len() > 60);
    for pair in seen.chunks(2) {
        let [first, second] = pair else { panic!("an update that one player lacks") };
        assert_eq!((first, first.2), (second, Span::ZERO));
        assert!((59..75).contains(&((first.1.as_nanos() - first.0.as_nanos()) / 1_000_000)));
    }
}

#[test]
fn nobody_waits_for_a_silent_player_for_longer_than_its_actions_take() {
    let mut world = far_and_near(&config("reaction", false));
    world.silenced.push(0);
    world.act(2_100, 1, b"first");
    world.act(2_600, 1, b"later");
    world.run_until(3_000);
    assert_eq!(world.served(), [b"first", &b"later"[..]]);
    // Ada's actions take 120 ms, Bo's 10, and a lost packet would be repeated within a heartbeat.
    assert!(world.waited(b"first") <= ms(130), "{:?}", world.waited(b"first"));
    assert!(world.waited(b"later") <= ms(1), "she has lost the guarantee: {:?}", world.waited(b"later"));
    assert_eq!(world.guarantees, [(peer(0), false)]);
    world.silenced.clear();
    world.run_until(3_500);
    assert_eq!(world.guarantees.last(), Some(&(peer(0), true)));
}

#[test]
fn whoever_is_farther_away_than_the_cap_is_named_and_served_at_once() {
    let config = SyncConfig { cap: ms(50), ..config("reaction", true) };
    let mut world = World::new(&config, &[Path::of(100), Path::of(5), Path::of(20)]);
    world.updates(0, 5_000, 50);
    world.run_until(2_000);
    let standings: Vec<Standing> = world.sms.reports().map(|report| report.standing).collect();
    assert_eq!(standings, [Standing::BeyondCap, Standing::Guaranteed, Standing::Guaranteed]);
    world.act(2_100, 0, b"ada");
    world.act(2_100, 1, b"bo");
    world.run_until(2_500);
    assert_eq!(world.waited(b"ada"), Span::ZERO);
    assert!(world.waited(b"bo") <= ms(50));
    let late = world.seen.iter().filter(|seen| seen.at > at(1_000) && seen.late > Span::ZERO);
    assert!(late.clone().count() > 10 && late.clone().all(|seen| seen.player == 0));
}

#[test]
fn whoever_is_waited_for_sees_updates_in_time() {
    // Ada is farther away than the cap, but not farther from Bo: nobody is delayed by more than the cap for her.
    let mut world = World::new(&config("reaction", true), &[Path::of(160), Path::of(20)]);
    world.updates(0, 5_000, 50);
    world.run_until(5_000);
    assert!(world.sms.reports().all(|report| report.standing == Standing::Guaranteed));
    let late = world.seen.iter().filter(|seen| seen.at > at(1_500) && seen.late > Span::ZERO);
    assert_eq!(late.count(), 0);
    let hold = world.sms.report(peer(1)).map(|report| report.hold);
    assert!(hold >= Some(ms(160)) && hold <= Some(ms(170)), "{hold:?}");
}

#[test]
fn a_newcomer_whose_distance_is_unknown_changes_nobodys_standing() {
    let mut world = World::new(&config("reaction", true), &[Path::of(170), Path::of(180), Path::of(175)]);
    world.updates(0, 5_000, 50);
    world.run_until(3_000);
    assert_eq!(world.guarantees, []);
    world.rejoin(2);
    world.run_until(5_000);
    assert_eq!(world.guarantees, []);
}

#[test]
fn a_lost_packet_costs_nobody_its_place() {
    let path = Path { loss: 0.1, ..Path::of(40) };
    let mut world = World::new(&config("reaction", false), &[path, Path::of(5)]);
    world.updates(0, 60_000, 50);
    for action in 0..500 {
        world.act(2_000 + 100 * action, 0, &[0, action as u8]);
        world.act(2_000 + 100 * action, 1, &[1, action as u8]);
    }
    world.run_until(60_000);
    assert!(world.served.len() >= 999, "two more packets repeat each action: {}", world.served.len());
    let behind = world.served.iter().filter(|(_, action)| action.behind > 0).count();
    assert!(behind <= 5, "{behind} of 1,000 behind");
}

#[test]
fn a_flooding_player_delays_nobody_else() {
    let mut world = far_and_near(&config("reaction", false));
    (0..5_000).for_each(|n| world.act(2_000 + n / 50, 1, &[7; 1_000]));
    world.act(2_050, 0, b"ada");
    world.run_until(2_600);
    assert!(world.waited(b"ada") <= ms(1), "{:?}", world.waited(b"ada"));
    let report = world.sms.report(peer(1)).expect("it is here");
    assert!(report.counts.crowded_out > 1_000, "{:?}", report.counts);
}

#[test]
fn what_waits_of_a_player_stays_within_its_bytes() {
    let mut world = far_and_near(&config("reaction", false));
    // Small ones, then as many bytes as may wait, and more.
    (0..100).for_each(|_| world.act(2_000, 1, &[1; 10]));
    (0..18).for_each(|_| world.act(2_001, 1, &[2; 60_000]));
    world.run_until(2_010);
    let report = world.sms.report(peer(1)).expect("it is here");
    // One large action makes room for another, so many small ones had to leave for one.
    assert_eq!(report.counts.crowded_out, 101, "{:?}", report.counts);
    world.run_until(2_500);
    assert_eq!(world.served.len(), 118);
}

#[test]
fn a_client_that_loses_its_connection_shows_everything_that_it_holds() {
    let mut world = World::new(&config("max-wait", true), &[Path::of(5), Path::of(100)]);
    world.updates(0, 1_000, 50);
    world.run_until(1_000);
    (0..1_800).for_each(|n| world.update(1_000, &[n as u8]));
    world.run_until(1_010);
    let seen = world.seen.iter().filter(|seen| seen.player == 0).count();
    world.rejoin(0);
    let after = world.seen.iter().filter(|seen| seen.player == 0).count();
    assert!(after - seen >= 1_800, "{}", after - seen);
}

#[test]
fn long_payloads_arrive_whole() {
    let mut world = far_and_near(&config("reaction", true));
    let long: Vec<u8> = (0..65_507_u32).map(|i| (i % 251) as u8).collect();
    world.act(2_000, 0, &long);
    world.update(2_000, &long);
    world.update_to(2_001, Some(0), true, &long[1..]);
    world.run_until(2_500);
    assert_eq!(world.served(), [&long[..]]);
    let seen: Vec<_> =
        world.seen.iter().filter(|seen| seen.bytes.len() > 10).map(|seen| seen.player).collect();
    assert_eq!(seen, [0, 1, 0]);
}

#[test]
fn a_reliable_update_arrives_in_spite_of_loss_and_once() {
    let path = Path { loss: 0.3, ..Path::of(20) };
    let mut world = World::new(&config("reaction", true), &[path, Path::of(5)]);
    (0..200).for_each(|n: i64| world.update_to(20 * n, None, true, &n.to_le_bytes()));
    world.run_until(6_000);
    for player in 0..2 {
        let mut seen: Vec<_> =
            world.seen.iter().filter(|seen| seen.player == player).map(|seen| &seen.bytes).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 200);
    }
    assert_eq!(world.seen.len(), 400);
}

#[test]
fn a_switch_serves_what_waits_and_stops_what_is_sent_for_the_service() {
    let mut world = far_and_near(&config("reaction", true));
    world.act(2_100, 1, b"bo");
    world.run_until(2_106);
    assert_eq!(world.served.len(), 0);
    world.switch(2_106, Order::None, false);
    assert_eq!(world.served(), [b"bo"]);
    world.run_until(2_500);
    let sent = world.sent;
    world.run_until(4_500);
    assert_eq!(
        [world.sent[0] - sent[0], world.sent[1] - sent[1]],
        [80, 0],
        "40 updates to each, and no answer"
    );
}

#[test]
fn a_service_that_nobody_uses_sends_nothing() {
    let mut world = World::new(&config("none", false), &[Path::of(5), Path::of(9)]);
    world.run_until(10_000);
    assert_eq!(world.sent, [0, 0]);
}

#[test]
fn sync_out_and_the_order_of_reactions_share_the_cap() {
    // Ada's way there and back is 190 ms longer than Bo's: each way is within the cap of 150 ms.
    for (sync_out, standing) in [(true, Standing::Guaranteed), (false, Standing::BeyondCap)] {
        let mut world = World::new(&config("reaction", sync_out), &[Path::of(100), Path::of(5)]);
        world.updates(0, 6_000, 50);
        for action in 0..40 {
            world.act(1_000 + 50 * action, 0, b"ada");
            world.act(1_000 + 50 * action, 1, b"bo");
        }
        world.run_until(4_000);
        assert_eq!(world.sms.report(peer(0)).map(|report| report.standing), Some(standing), "{sync_out}");
        // What a moment of bad network did is forgotten when it is over.
        world.paths[0] = Path::of(250);
        world.run_until(5_000);
        world.paths[0] = Path::of(100);
        world.run_until(6_000);
        assert_eq!(world.sms.report(peer(0)).map(|report| report.standing), Some(standing), "{sync_out}");
    }
}

/// Players at these distances who act at these times after two seconds of updates.
fn played(config: &SyncConfig, delays: &[i64], acts: &[(usize, i64)]) -> World {
    let paths: Vec<Path> = delays.iter().map(|delay| Path::of(*delay)).collect();
    let mut world = World::new(config, &paths);
    world.updates(0, 5_000, 40);
    for (number, (player, millis)) in (0_u16..).zip(acts) {
        world.act(2_000 + millis, player % delays.len(), &number.to_le_bytes());
    }
    world.run_until(5_000);
    world
}

const ORDERS: [&str; 5] = ["none", "max-wait", "select-wait", "toss-wait=100:50,50:30,10:20", "reaction"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_action_is_served_once_and_nobody_waits_for_longer_than_the_cap(
        order in prop::sample::select(&ORDERS[..]),
        sync_out: bool,
        cap in 0..150_i64,
        delays in prop::collection::vec(1..200_i64, 2..5),
        acts in prop::collection::vec((0..4_usize, 0..2_000_i64), 1..60),
    ) {
        let config = SyncConfig { cap: ms(cap), ..config(order, sync_out) };
        let world = played(&config, &delays, &acts);
        let mut served = world.served();
        served.sort_unstable();
        let mut numbers: Vec<[u8; 2]> = (0_u16..).take(acts.len()).map(u16::to_le_bytes).collect();
        numbers.sort_unstable();
        prop_assert!(served == numbers, "{} of {}", served.len(), acts.len());
        for (_, action) in &world.served {
            prop_assert!(action.waited <= ms(cap), "{action:?}");
        }
        // Held for the others' sake: a player's own delay comes first.
        let held = |seen: &support::Seen| {
            seen.at.as_nanos() - seen.stamp.as_nanos() - delays[seen.player] * 1_000_000
        };
        prop_assert!(world.seen.iter().all(|seen| held(seen) <= ms(cap).as_nanos()));
    }

    #[test]
    fn on_steady_paths_actions_are_served_in_the_order_of_reactions(
        sync_out: bool,
        delays in prop::collection::vec(1..50_i64, 2..5),
        acts in prop::collection::vec((0..4_usize, 0..2_000_i64), 1..60),
    ) {
        let world = played(&config("reaction", sync_out), &delays, &acts);
        let places: Vec<_> = world.served.iter().map(|(_, action)| action.virtual_at).collect();
        prop_assert!(places.is_sorted(), "{places:?}");
        prop_assert!(world.served.iter().all(|(_, action)| action.behind == 0 && !action.is_late));
    }
}
