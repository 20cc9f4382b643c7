//! The guarantees of a world.

mod pinger;

use evenkeel_core::{Channel, PeerChange, PeerId, Seed, Span};
use evenkeel_link::{ClockFaults, DelayLaw, DelayStep, Jitter, LinkFaults, Loss};
use evenkeel_sim::{LinkCounters, NodeId, World};
use pinger::{Command, Event, Pinger, delay, local_millis, millis, pair, ping, run};

#[test]
fn a_lossless_constant_link_delivers_exactly_after_its_delay() {
    let (mut world, a, b) = pair(delay(30), delay(50));
    world.run_until(millis(7), &mut ());
    world.command(a, ping(b, 9));
    let log = run(&mut world, millis(1_000));
    let (a, b) = (PeerId::from(a), PeerId::from(b));
    assert_eq!(
        log,
        [
            (millis(37), b.into(), Event::Pinged { now: local_millis(37), from: a, number: 9 }),
            (millis(87), a.into(), Event::Ponged { now: local_millis(87), from: b, number: 9 }),
        ]
    );
    assert_eq!(world.now(), millis(1_000));
    assert_eq!(world.events_handled(), 3);
}

#[test]
fn time_never_runs_backwards_and_ties_keep_their_order() {
    let jitter = Jitter::Uniform { half_width: Span::from_millis(20) };
    let faults =
        LinkFaults { delay: DelayLaw { base: Span::from_millis(20), jitter }, ..LinkFaults::default() };
    let (mut world, a, b) = pair(faults.clone(), faults);
    for number in 0..200 {
        world.command(a, ping(b, number));
        world.command(b, ping(a, number));
    }
    let log = run(&mut world, millis(1_000));
    assert_eq!(log.len(), 800);
    assert!(log.is_sorted_by_key(|(at, _, _)| *at));

    let (mut world, a, b) = pair(delay(10), delay(10));
    for number in 0..50 {
        world.command(a, ping(b, number));
    }
    let numbers: Vec<u64> = run(&mut world, millis(10))
        .into_iter()
        .filter_map(|(_, _, event)| match event {
            Event::Pinged { number, .. } => Some(number),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
}

#[test]
fn the_reliable_channel_keeps_order_over_a_bad_link_and_loses_nothing() {
    let bad = LinkFaults {
        delay: DelayLaw {
            base: Span::from_millis(20),
            jitter: Jitter::Exponential { mean: Span::from_millis(30) },
        },
        loss: Loss::Independent { probability: 0.3 },
        duplicate: 0.2,
        ..LinkFaults::default()
    };
    let (mut world, a, b) = pair(bad.clone(), bad);
    let mut log = pinger::Log::new();
    for number in 0..500 {
        log.extend(run(&mut world, millis(number)));
        world.command(a, Command::Ping(b.into(), Channel::Reliable, number as u64));
    }
    log.extend(run(&mut world, millis(60_000)));
    let (mut pings, mut pongs) = (Vec::new(), Vec::new());
    for (_, _, event) in log {
        match event {
            Event::Pinged { number, .. } => pings.push(number),
            Event::Ponged { number, .. } => pongs.push(number),
            other => panic!("unexpected {other:?}"),
        }
    }
    let all: Vec<u64> = (0..500).collect();
    assert_eq!((pings, pongs), (all.clone(), all));
}

#[test]
fn counters_account_for_every_copy() {
    let bad = LinkFaults {
        delay: DelayLaw::constant(Span::from_millis(20)),
        loss: Loss::Independent { probability: 0.3 },
        duplicate: 0.2,
        ..LinkFaults::default()
    };
    let (mut world, a, b) = pair(bad, delay(1));
    for number in 0..1_000 {
        world.run_until(millis(number), &mut ());
        world.command(a, ping(b, number as u64));
    }
    world.leave(a, b);
    world.run_until(millis(5_000), &mut ());
    let LinkCounters { sent, bytes, lost, doubled, delivered, cut, oversized } =
        world.counters(a, b).unwrap();
    assert_eq!((sent, bytes, oversized), (1_000, 9_000, 0));
    assert_eq!(sent + doubled, lost + delivered + cut);
    assert!((200..400).contains(&lost) && (70..210).contains(&doubled), "{lost} {doubled}");
    assert!((5..40).contains(&cut), "{cut}");
    assert_eq!(world.counters(b, a).unwrap().delivered + world.counters(b, a).unwrap().cut, delivered);
    assert_eq!(world.counters(a, a), None);
}

#[test]
fn leaving_drops_packets_in_flight_and_rejoining_does_not_restore_them() {
    let (mut world, a, b) = pair(delay(30), delay(30));
    for channel in [Channel::Datagram, Channel::Reliable] {
        world.command(a, Command::Ping(b.into(), channel, 1));
    }
    world.run_until(millis(10), &mut ());
    world.leave(a, b);
    world.command(a, ping(b, 2));
    assert_eq!(world.undeliverable(), 1, "a peer that left cannot be reached");
    world.join(a, b, 1200);
    world.command(a, ping(b, 3));
    let log = run(&mut world, millis(100));
    let received: Vec<_> = log.iter().filter(|(_, _, event)| !matches!(event, Event::Peer { .. })).collect();
    let pinged = Event::Pinged { now: local_millis(40), from: a.into(), number: 3 };
    let ponged = Event::Ponged { now: local_millis(70), from: b.into(), number: 3 };
    assert_eq!(received, [&(millis(40), b, pinged), &(millis(70), a, ponged)]);
    assert_eq!(world.counters(a, b).unwrap().cut, 2);
    let changes: Vec<NodeId> = log
        .iter()
        .filter(|(_, _, event)| matches!(event, Event::Peer { change: PeerChange::Left { .. }, .. }))
        .map(|(_, node, _)| *node)
        .collect();
    assert_eq!(changes, [a, b]);
}

#[test]
fn a_new_connection_does_not_wait_for_the_stream_of_the_old_one() {
    let slow_first = LinkFaults {
        steps: vec![DelayStep { at: millis(5), delay: Span::from_millis(10) }],
        ..delay(10_000)
    };
    let (mut world, a, b) = pair(slow_first, delay(10));
    world.command(a, Command::Ping(b.into(), Channel::Reliable, 1));
    world.run_until(millis(5), &mut ());
    world.leave(a, b);
    world.join(a, b, 1200);
    world.command(a, Command::Ping(b.into(), Channel::Reliable, 2));
    let log = run(&mut world, millis(100));
    assert!(log.contains(&(
        millis(15),
        b,
        Event::Pinged { now: local_millis(15), from: a.into(), number: 2 }
    )));
}

#[test]
fn messages_to_unknown_peers_and_oversized_datagrams_are_counted_and_dropped() {
    let (mut world, a, b) = pair(delay(1), delay(1));
    for to in [a, NodeId(2), NodeId(u32::MAX)] {
        world.command(a, ping(to, 1));
    }
    assert_eq!(world.undeliverable(), 3);
    world.leave(a, b);
    world.join(a, b, 8);
    world.command(a, ping(b, 1));
    world.command(a, Command::Ping(b.into(), Channel::Reliable, 2));
    world.run_until(millis(10), &mut ());
    let counters = world.counters(a, b).unwrap();
    assert_eq!((counters.sent, counters.delivered, counters.oversized), (1, 1, 1));
}

#[test]
fn step_stops_at_every_call_and_returns_false_at_the_end() {
    let (mut world, a, b) = pair(delay(30), delay(50));
    world.command(a, ping(b, 1));
    let mut times = Vec::new();
    while world.step(&mut ()) {
        times.push(world.now());
    }
    assert_eq!(times, [millis(30), millis(80)]);
}

#[test]
fn fates_do_not_depend_on_the_order_of_connecting() {
    let jitter = Jitter::Uniform { half_width: Span::from_millis(20) };
    let faults =
        LinkFaults { delay: DelayLaw { base: Span::from_millis(20), jitter }, ..LinkFaults::default() };
    let build = |reversed: bool| {
        let mut world = World::new(Seed::new(3));
        let [a, b, c] = [(); 3].map(|()| world.add_node(Pinger::default(), ClockFaults::default()));
        let connect = |world: &mut World<Pinger>, a, b| world.connect(a, b, faults.clone(), faults.clone());
        if reversed {
            connect(&mut world, c, a);
            connect(&mut world, b, a);
        } else {
            connect(&mut world, a, b);
            connect(&mut world, a, c);
        }
        world.join(a, b, 1200);
        world.join(a, c, 1200);
        world.command(a, ping(b, 1));
        world.command(a, ping(c, 2));
        run(&mut world, millis(200))
    };
    assert_eq!(build(false), build(true));
}

#[test]
fn labelled_datagrams_meet_the_same_fate_whenever_they_are_sent() {
    let jitter = Jitter::Exponential { mean: Span::from_millis(20) };
    let faults = LinkFaults { delay: DelayLaw { base: Span::ZERO, jitter }, ..LinkFaults::default() };
    let delays = |start: i64| -> Vec<(u64, Span)> {
        let (mut world, a, b) = pair(faults.clone(), faults.clone());
        // The kind of message, then its number.
        world.label_messages(a, b, |bytes| bytes.last_chunk().map(|number| u64::from_le_bytes(*number)));
        world.run_until(millis(start), &mut ());
        (0..50).for_each(|number| world.command(a, ping(b, number)));
        let mut delays = Vec::new();
        for (at, _, event) in run(&mut world, millis(start + 1_000)) {
            if let Event::Pinged { number, .. } = event {
                delays.push((number, at - millis(start)));
            }
        }
        delays
    };
    assert_eq!(delays(0), delays(77));
    assert_ne!(delays(0)[0].1, delays(0)[1].1);
}
