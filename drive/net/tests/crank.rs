//! Machines on cranks, connected by real sockets on loopback.

mod loopback;
mod pinger;

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use evenkeel_core::{Channel, Endpoint, PeerChange, PeerId, Seed, Span};
use evenkeel_link::{Link, LinkFaults, Loss};
use evenkeel_net::transport::{CloseCode, Closed};
use evenkeel_net::{Allowance, Attachment, Crank, CrankError, CrankHandle, Emulation, NodeId};

use loopback::{Relay, soon};
use pinger::{Command, Event, Pinger};

const RELAY: NodeId = NodeId(0);
const PLAYER: NodeId = NodeId(1);
const AT_RELAY: PeerId = PeerId(7);
const AT_PLAYER: PeerId = PeerId(9);

/// A crank whose callbacks can be waited for.
struct Watched {
    crank: CrankHandle<Pinger>,
    events: Receiver<(NodeId, Event)>,
    gone: Receiver<(NodeId, PeerId, Closed)>,
}

impl Watched {
    fn start() -> Self {
        let (event, events) = channel();
        let (leaving, gone) = channel();
        let crank = Crank::new()
            .on_event(move |node, _, what| event.send((node, what)).unwrap_or_default())
            .on_detached(move |node, peer, closed, _| {
                leaving.send((node, peer, closed.clone())).unwrap_or_default();
            })
            .start()
            .expect("a thread");
        Self { crank, events, gone }
    }

    /// Waits for a matching event of a node.
    fn wait(&self, node: NodeId, mut fits: impl FnMut(&Event) -> bool) -> Event {
        let start = Instant::now();
        loop {
            let left = Duration::from_secs(5).saturating_sub(start.elapsed());
            let (from, event) = self.events.recv_timeout(left).expect("an event");
            if from == node && fits(&event) {
                return event;
            }
        }
    }

    fn wait_joined(&self, node: NodeId) {
        self.wait(node, |event| matches!(event, Event::Peer { change: PeerChange::Joined { .. }, .. }));
    }

    fn wait_left(&self, node: NodeId) {
        self.wait(node, |event| matches!(event, Event::Peer { change: PeerChange::Left { .. }, .. }));
    }

    /// Sends a reliable ping and waits for the answer.
    fn ping(&self, number: u64) {
        self.crank.command(PLAYER, Command::Ping(AT_PLAYER, Channel::Reliable, number)).expect("running");
        self.wait(PLAYER, |event| matches!(event, Event::Ponged { number: back, .. } if *back == number));
    }
}

/// A relay's and a player's machine, connected.
async fn joined(relay: &mut Relay, emulation: Option<Emulation>) -> Watched {
    let watched = Watched::start();
    watched.crank.add(RELAY, Pinger::default()).expect("running");
    watched.crank.add(PLAYER, Pinger::default()).expect("running");
    let (served, client) = soon(relay.pair()).await;
    let attachment = Attachment { connection: client, emulation, allowance: None };
    watched.crank.attach(RELAY, AT_RELAY, served).expect("running");
    watched.crank.attach(PLAYER, AT_PLAYER, attachment).expect("running");
    watched.wait_joined(RELAY);
    watched.wait_joined(PLAYER);
    watched
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_ping_each_other_over_both_channels() {
    let mut relay = Relay::local();
    let watched = joined(&mut relay, None).await;
    for number in 0..20 {
        watched.ping(number);
    }
    // Datagrams may get lost even on loopback, but not all of them.
    for number in 100..200 {
        watched.crank.command(PLAYER, Command::Ping(AT_PLAYER, Channel::Datagram, number)).expect("running");
        std::thread::sleep(Duration::from_millis(1));
    }
    watched.wait(PLAYER, |event| matches!(event, Event::Ponged { number: 100.., .. }));
    let counts = watched.crank.counts();
    assert!(counts.reliable_in >= 40 && counts.datagrams_in > 0, "{counts:?}");
    assert_eq!((counts.panics, counts.queue_full, counts.no_such_peer), (0, 0, 0));
    let nodes = soon(watched.crank.stop(Duration::from_secs(1))).await.expect("running");
    assert_eq!(nodes.len(), 2);
    assert_eq!(watched.crank.add(RELAY, Pinger::default()), Err(CrankError::Stopped));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batched_datagrams_arrive_in_order_at_each_peer() {
    const COUNT: u64 = 900;
    let mut relay = Relay::local();
    let watched = joined(&mut relay, None).await;
    let (second, at_relay) = (NodeId(2), PeerId(8));
    watched.crank.add(second, Pinger::default()).expect("running");
    let (served, client) = soon(relay.pair()).await;
    watched.crank.attach(RELAY, at_relay, served).expect("running");
    watched.crank.attach(second, AT_PLAYER, client).expect("running");
    watched.wait_joined(second);
    // The machine sends all datagrams in one turn, alternating between the peers.
    let ping = move |number: u64| {
        let to = if number.is_multiple_of(2) { AT_RELAY } else { at_relay };
        Command::Ping(to, Channel::Datagram, number)
    };
    let say = move |machine: &mut Pinger, now| {
        (0..COUNT - 1).for_each(|number| machine.handle_command(now, ping(number)));
    };
    assert_eq!(watched.crank.with(RELAY, say).await, Ok(()));
    watched.crank.command(RELAY, ping(COUNT - 1)).expect("running");
    let mut last = [None; 2];
    while last != [Some(COUNT - 2), Some(COUNT - 1)] {
        let (node, event) = watched.events.recv_timeout(Duration::from_secs(5)).expect("an event");
        if let Event::Pinged { number, .. } = event {
            let place = usize::from(node == second);
            assert_eq!(number % 2, place as u64, "{number} came to {node:?}");
            assert!(last[place] < Some(number), "{number} after {last:?}");
            last[place] = Some(number);
        }
    }
    let counts = watched.crank.counts();
    assert!(counts.datagrams_out >= COUNT && counts.send_queue_full == 0, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_connection_of_a_peer_replaces_the_first() {
    let mut relay = Relay::local();
    let watched = Watched::start();
    watched.crank.add(RELAY, Pinger::default()).expect("running");
    let (first, at_first) = soon(relay.pair()).await;
    let (second, at_second) = soon(relay.pair()).await;
    watched.crank.attach(RELAY, AT_RELAY, first).expect("running");
    watched.wait_joined(RELAY);
    watched.crank.attach(RELAY, AT_RELAY, second).expect("running");
    watched.wait_left(RELAY);
    watched.wait_joined(RELAY);
    assert_eq!(soon(at_first.closed()).await, Closed::ByPeer(CloseCode::Replaced.into()));
    assert!(!at_second.is_closed());
    at_second.close(CloseCode::Done);
    watched.wait_left(RELAY);
    let gone = watched.gone.recv_timeout(Duration::from_secs(5)).expect("the first");
    assert_eq!(gone.2, Closed::ByUs(CloseCode::Replaced.into()));
    let gone = watched.gone.recv_timeout(Duration::from_secs(5)).expect("the second");
    assert_eq!(gone.2.code(), Some(CloseCode::Done));
    // Each left only once.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(watched.events.try_iter().next().is_none());
    assert!(watched.gone.try_iter().next().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_delivers_queued_messages_and_the_reason() {
    let mut relay = Relay::local();
    let watched = Watched::start();
    watched.crank.add(RELAY, Pinger::default()).expect("running");
    let (served, client) = soon(relay.pair()).await;
    watched.crank.attach(RELAY, AT_RELAY, served).expect("running");
    for number in 0..200 {
        watched.crank.command(RELAY, Command::Ping(AT_RELAY, Channel::Reliable, number)).expect("running");
    }
    let stopping = {
        let crank = watched.crank.clone();
        tokio::spawn(async move { crank.stop(Duration::from_secs(2)).await })
    };
    let mut reader = client.take_reader().expect("first");
    for _ in 0..200 {
        soon(reader.next()).await.expect("a message");
    }
    assert_eq!(soon(reader.next()).await, Err(Closed::ByPeer(CloseCode::ShuttingDown.into())));
    soon(stopping).await.expect("no panic").expect("running");
    watched.wait_left(RELAY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliable_messages_wait_for_a_busy_crank_and_none_is_lost() {
    let mut relay = Relay::local();
    let watched = Watched::start();
    watched.crank.add(RELAY, Pinger::default()).expect("running");
    let (served, client) = soon(relay.pair()).await;
    watched.crank.attach(RELAY, AT_RELAY, served).expect("running");
    watched.wait_joined(RELAY);
    // A slow closure blocks the crank.
    let held_up = watched.crank.with(RELAY, |_, _| std::thread::sleep(Duration::from_millis(200)));
    for number in 0..900u64 {
        let ping = [&[0], number.to_le_bytes().as_slice()].concat();
        client.send_reliable(ping).expect("sent");
    }
    soon(held_up).await.expect("running");
    for wanted in 0..900 {
        let event = watched.wait(RELAY, |event| matches!(event, Event::Pinged { .. }));
        assert!(matches!(event, Event::Pinged { number, .. } if number == wanted), "{event:?}");
    }
}

fn link(delay_millis: i64, loss: f64, seed: u64) -> Link {
    let faults = LinkFaults {
        loss: if loss > 0.0 { Loss::Independent { probability: loss } } else { Loss::default() },
        ..LinkFaults::constant(Span::from_millis(delay_millis))
    };
    Link::new(faults, Seed::new(seed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emulated_link_delays_and_never_delivers_early() {
    let mut relay = Relay::local();
    let emulation = Emulation { outgoing: link(30, 0.0, 1), incoming: link(40, 0.0, 2) };
    let watched = joined(&mut relay, Some(emulation)).await;
    let clock = watched.crank.clock();
    let mut trips = Vec::new();
    for number in 0..10 {
        let start = clock.now();
        watched.ping(number);
        trips.push(clock.now() - start);
    }
    trips.sort_unstable();
    assert!(trips[0] >= Span::from_millis(70), "{trips:?}");
    assert!(trips[0] < Span::from_millis(100), "{trips:?}");
    // The machine sees the emulated arrival time, not the time at which the thread handled the message.
    let start = clock.now();
    watched.crank.command(PLAYER, Command::Ping(AT_PLAYER, Channel::Reliable, 77)).expect("running");
    let event = watched.wait(PLAYER, |event| matches!(event, Event::Ponged { number: 77, .. }));
    let Event::Ponged { now, .. } = event else { unreachable!("matched above") };
    assert!(now - start >= Span::from_millis(70) && now <= clock.now());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emulated_link_loses_datagrams() {
    let mut relay = Relay::local();
    let watched = joined(&mut relay, None).await;
    let (served, client) = soon(relay.pair()).await;
    let emulation = Emulation { outgoing: link(1, 1.0, 1), incoming: link(1, 0.0, 2) };
    watched.crank.attach(RELAY, AT_RELAY, served).expect("running");
    let attachment = Attachment { connection: client, emulation: Some(emulation), allowance: None };
    let counters = watched.crank.attach(PLAYER, AT_PLAYER, attachment).expect("running");
    for number in 0..50 {
        let ping = Command::Ping(AT_PLAYER, Channel::Datagram, number);
        watched.crank.command(PLAYER, ping).expect("running");
    }
    watched.crank.with(PLAYER, |_, _| ()).await.expect("running");
    let counts = counters.read();
    assert_eq!((counts.emulated_losses, counts.datagrams_out), (50, 0), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn datagrams_beyond_the_allowance_are_dropped_and_a_flood_is_closed() {
    let mut relay = Relay::local();
    let watched = Watched::start();
    watched.crank.add(RELAY, Pinger::default()).expect("running");
    let (served, client) = soon(relay.pair()).await;
    let allowance = Some(Allowance { messages_per_second: 50, bytes_per_second: 100_000 });
    let attachment = Attachment { connection: served, emulation: None, allowance };
    let counters = watched.crank.attach(RELAY, AT_RELAY, attachment).expect("running");
    let start = Instant::now();
    while !client.is_closed() && start.elapsed() < Duration::from_secs(5) {
        let _ = client.send_datagram(Bytes::from_static(b"noise"));
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
    assert_eq!(soon(client.closed()).await, Closed::ByPeer(CloseCode::Flooding.into()));
    let counts = counters.read();
    assert!(counts.over_allowance > 100, "{counts:?}");
    // What did reach the machine was no message of its protocol.
    assert!(counts.rejected[0] > 0 && counts.rejected[0] <= 200, "{counts:?}");
    watched.wait_left(RELAY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_join_has_one_leave_however_connections_end() {
    let mut relay = Relay::local();
    let watched = Watched::start();
    watched.crank.add(RELAY, Pinger::default()).expect("running");
    let mut clients = Vec::new();
    for round in 0..30u32 {
        let (served, client) = soon(relay.pair()).await;
        let peer = PeerId(round % 3);
        watched.crank.attach(RELAY, peer, served.clone()).expect("running");
        match round % 5 {
            0 => client.close(CloseCode::Done),
            1 => served.close(CloseCode::Internal),
            2 => watched.crank.detach(RELAY, peer, CloseCode::Removed).expect("running"),
            3 => drop(client),
            _ => clients.push(client),
        }
    }
    soon(watched.crank.stop(Duration::ZERO)).await.expect("running");
    let mut here = [false; 3];
    let mut joins = 0;
    for (_, event) in watched.events.try_iter() {
        let Event::Peer { change, .. } = event else { continue };
        let is_joined = matches!(change, PeerChange::Joined { .. });
        let is_here = &mut here[change.peer().0 as usize];
        assert_ne!(*is_here, is_joined, "{change:?}");
        *is_here = is_joined;
        joins += u32::from(is_joined);
    }
    assert_eq!((joins, here), (30, [false; 3]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attaching_to_a_missing_machine_closes_the_connection() {
    let mut relay = Relay::local();
    let watched = Watched::start();
    let (served, client) = soon(relay.pair()).await;
    watched.crank.attach(RELAY, AT_RELAY, served).expect("running");
    let gone = watched.gone.recv_timeout(Duration::from_secs(5)).expect("the callback");
    assert_eq!(gone, (RELAY, AT_RELAY, Closed::ByUs(CloseCode::RoomClosed.into())));
    assert_eq!(soon(client.closed()).await, Closed::ByPeer(CloseCode::RoomClosed.into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_last_handle_stops_the_crank() {
    let mut relay = Relay::local();
    let crank = Crank::new().start().expect("a thread");
    crank.add(RELAY, Pinger::default()).expect("running");
    let (served, client) = soon(relay.pair()).await;
    crank.attach(RELAY, AT_RELAY, served).expect("running");
    drop(crank);
    assert_eq!(soon(client.closed()).await, Closed::ByPeer(CloseCode::ShuttingDown.into()));
}

#[test]
fn a_machine_that_panics_or_is_always_overdue_does_not_hold_up_the_others() {
    let watched = Watched::start();
    let crank = &watched.crank;
    let clock = crank.clock();
    crank.add(NodeId(3), Pinger::restless()).expect("running");
    crank.add(NodeId(4), Pinger::default()).expect("running");
    crank.add(PLAYER, Pinger::default()).expect("running");
    crank.command(NodeId(3), Command::Wake(clock.now(), Span::from_millis(1))).expect("running");
    crank.command(NodeId(4), Command::Panic).expect("running");
    crank.command(PLAYER, Command::Wake(clock.now(), Span::from_millis(2))).expect("running");
    for _ in 0..20 {
        watched.wait(PLAYER, |event| matches!(event, Event::Woke { .. }));
    }
    assert_eq!(crank.with_blocking(NodeId(4), |_, _| ()), Err(CrankError::NoSuchNode));
    assert_eq!(crank.with_blocking(PLAYER, |machine, _| format!("{machine:?}").len() > 1), Ok(true));
    let counts = crank.counts();
    assert_eq!(counts.panics, 1);
    assert!(counts.overdue > 0 && counts.timeouts > 20, "{counts:?}");
}
