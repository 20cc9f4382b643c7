//! Nodes live by their own clocks: the times they see, and when their timeouts fire.

mod pinger;

use evenkeel_core::{Endpoint, LocalTime, PeerChange, Seed, Span, delegate_endpoint};
use evenkeel_link::{ClockFaults, ClockStep};
use evenkeel_sim::World;
use pinger::{Command, Event, Pinger, delay, local_millis, millis, ping, run};

#[test]
fn a_node_sees_the_time_of_its_own_clock() {
    let mut world = World::new(Seed::new(1));
    let a = world.add_node(Pinger::default(), ClockFaults::default());
    let late = ClockFaults { offset: Span::from_millis(-500), skew_ppm: 1_000.0, ..ClockFaults::default() };
    let b = world.add_node(Pinger::default(), late);
    world.connect(a, b, delay(1_000), delay(1_000));
    world.join(a, b, 1200);
    world.command(a, ping(b, 1));
    let log = run(&mut world, millis(2_000));
    let peer_b = Event::Peer {
        now: local_millis(-500),
        change: PeerChange::Joined { peer: a.into(), datagram_max: 1200 },
    };
    assert!(log.contains(&(millis(0), b, peer_b)), "{log:?}");
    // After one true second the clock is one millisecond fast, less half a second of offset.
    let pinged = Event::Pinged { now: local_millis(501), from: a.into(), number: 1 };
    assert!(log.contains(&(millis(1_000), b, pinged)), "{log:?}");
}

#[test]
fn timeouts_fire_when_the_nodes_clock_shows_them() {
    let fast = ClockFaults { skew_ppm: 250_000.0, ..ClockFaults::default() };
    let stepped = ClockFaults {
        steps: vec![
            ClockStep { at: millis(500), by: Span::from_millis(300) },
            ClockStep { at: millis(900), by: Span::from_millis(-250) },
        ],
        ..ClockFaults::default()
    };
    // A clock that runs a quarter too fast shows 1000 ms at 800 ms. One that jumps from 500 to 800 ms shows
    // 700 ms at its jump; then it stands at 1200 ms from 900 ms on and goes on at 1150 ms.
    for (clock, wake, shown, at) in [
        (ClockFaults::default(), 1_000, 1_000, 1_000),
        (fast, 1_000, 1_000, 800),
        (stepped.clone(), 700, 800, 500),
        (stepped.clone(), 1_100, 1_100, 800),
        (stepped, 1_300, 1_300, 1_250),
    ] {
        let mut world = World::new(Seed::new(1));
        let node = world.add_node(Pinger::default(), clock);
        world.command(node, Command::Wake(local_millis(wake), Span::ZERO));
        let log = run(&mut world, millis(5_000));
        assert_eq!(log, [(millis(at), node, Event::Woke { now: local_millis(shown) })]);
    }
}

#[test]
fn a_new_deadline_replaces_the_old_one_whether_earlier_or_later() {
    let mut world = World::new(Seed::new(1));
    let node = world.add_node(Pinger::default(), ClockFaults::default());
    for wake in [100, 50, 80] {
        world.command(node, Command::Wake(local_millis(wake), Span::ZERO));
    }
    assert_eq!(run(&mut world, millis(200)), [(millis(80), node, Event::Woke { now: local_millis(80) })]);
    assert_eq!(world.events_handled(), 4, "no timeout is handled needlessly");
    // A deadline that has passed is due now.
    world.command(node, Command::Wake(local_millis(10), Span::from_millis(300)));
    let woke = |at| (millis(at), node, Event::Woke { now: local_millis(at) });
    assert_eq!(run(&mut world, millis(1_000)), [woke(200), woke(500), woke(800)]);
}

#[test]
fn a_deadline_at_the_end_of_time_never_fires() {
    let mut world = World::new(Seed::new(1));
    let ahead = ClockFaults { offset: Span::from_secs(5), ..ClockFaults::default() };
    let node = world.add_node(Pinger::default(), ahead);
    world.command(node, Command::Wake(LocalTime::MAX, Span::ZERO));
    assert!(!world.step(&mut ()));
}

/// A pinger with a bug: it ignores its timeout.
#[derive(Default)]
struct Restless {
    pinger: Pinger,
}

impl Endpoint for Restless {
    type Command = Command;
    type Event = Event;

    delegate_endpoint!(
        self.pinger: handle_command, handle_message, handle_peer, poll_transmit, poll_event, poll_timeout
    );

    fn handle_timeout(&mut self, _: LocalTime) {}
}

#[test]
#[should_panic(expected = "still wants it")]
fn a_machine_that_ignores_its_timeout_is_caught() {
    let mut world = World::new(Seed::new(1));
    let node = world.add_node(Restless::default(), ClockFaults::default());
    world.command(node, Command::Wake(local_millis(10), Span::ZERO));
    world.run_until(millis(20), &mut ());
}
