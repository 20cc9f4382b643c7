//! A room of machines and its network. The fuzzer decides everything: commands, which messages arrive when and how
//! damaged, who joins and leaves, and what the clocks show.
//!
//! Each machine has a twin that gets the same calls except for messages that the machine rejected. Checks that both behave
//! alike (a rejected message changes nothing), that queues keep their limits, that messages can be parsed and that ledgers
//! hold finite errors.

use std::collections::BTreeMap;

use evenkeel_core::{Channel, ClockFrame, Endpoint, LocalTime, PeerChange, PeerId, SessionTime, Span};
use evenkeel_dr::message::{CLOCK_LEN_MAX, Frame, HEADER_LEN, frames};
use evenkeel_dr::receiver::EVENTS_MAX;
use evenkeel_session::outbox::{DATAGRAMS_MAX, RELIABLE_MAX};

use crate::feed::Feed;
use crate::forge::{Overheard, check_roundtrip, damage};
use crate::node::{Node, NodeCommand};
use crate::settings::{command, relay_command};

/// The most messages in flight; beyond, the oldest is dropped.
const FLIGHT_MAX: usize = 256;
/// The most overheard nonces, and probes, kept.
const OVERHEARD_MAX: usize = 32;
/// The most decisions of a run.
const STEPS_MAX: usize = 300;
/// The latest time, far below where time arithmetic saturates.
const NOW_MAX: i64 = 1 << 59;
/// The most pending events besides the receiver's: those of the clock, and one per peer.
const OTHER_EVENTS_MAX: usize = 64;

struct InFlight {
    from: usize,
    to: PeerId,
    channel: Channel,
    bytes: Vec<u8>,
}

/// A machine, its twin, and what their network knows of them.
struct Twins {
    pair: [Node; 2],
    /// How far its clock is ahead of the world's.
    offset: i64,
    joined: BTreeMap<PeerId, usize>,
}

/// A room of machines and its network.
pub struct World {
    nodes: Vec<Twins>,
    flight: Vec<InFlight>,
    nonces: Vec<u32>,
    probes: Vec<LocalTime>,
    now: i64,
}

impl World {
    /// Creates a room whose machines have all joined each other. `build` is called twice per machine.
    pub fn new(nodes: usize, feed: &mut Feed<'_>, build: impl Fn(usize) -> Node) -> Self {
        let twins = |node| {
            let offset = i64::from(feed.short()) << 20;
            Twins { pair: [build(node), build(node)], offset, joined: BTreeMap::new() }
        };
        let nodes = (0..nodes).map(twins).collect();
        let (flight, nonces, probes) = (Vec::new(), Vec::new(), Vec::new());
        let mut world = Self { nodes, flight, nonces, probes, now: 100_000_000_000 };
        for node in 0..world.nodes.len() {
            for peer in (0..world.nodes.len()).filter(|peer| *peer != node) {
                world.peer(node, PeerChange::Joined { peer: PeerId(peer as u32), datagram_max: 1200 });
            }
        }
        world
    }

    /// Performs the decisions of the feed.
    ///
    /// # Panics
    /// If a machine breaks its contract.
    pub fn run(&mut self, feed: &mut Feed<'_>) {
        for _ in 0..STEPS_MAX {
            if feed.is_over() {
                break;
            }
            let choice = feed.byte();
            let node = usize::from(choice >> 5) % self.nodes.len();
            match choice & 31 {
                0..6 => self.command(node, feed),
                6..12 => self.deliver_all(),
                12..16 => self.deliver(feed),
                16 => self.raw(node, feed),
                17..21 => self.forged(node, feed),
                21 => self.flap(node, feed),
                22 => self.jump(node, feed),
                23..25 => self.timeout(node, feed),
                25..28 => self.calm(),
                28 => self.tick(Span::from_millis(1_000)),
                _ => self.tick(feed.millis()),
            }
        }
        (0..self.nodes.len()).for_each(|node| self.drain(node));
    }

    fn local(&self, node: usize) -> LocalTime {
        LocalTime::from_nanos(self.now + self.nodes[node].offset)
    }

    fn each(&mut self, node: usize, mut call: impl FnMut(&mut Node, LocalTime)) {
        let now = self.local(node);
        self.nodes[node].pair.iter_mut().for_each(|machine| call(machine, now));
    }

    fn command(&mut self, node: usize, feed: &mut Feed<'_>) {
        let command = match self.nodes[node].pair[0] {
            Node::Peer(_) | Node::Bot(_) => NodeCommand::Peer(command(feed)),
            Node::Relay(_) => NodeCommand::Relay(relay_command(feed)),
        };
        self.each(node, |machine, now| machine.handle_command(now, command.clone()));
        // Not draining after some calls fills the queues up.
        if !feed.once_in(4) {
            self.drain(node);
        }
    }

    fn peer(&mut self, node: usize, change: PeerChange) {
        self.each(node, |machine, now| machine.handle_peer(now, change));
        match change {
            PeerChange::Joined { peer, datagram_max } => self.nodes[node].joined.insert(peer, datagram_max),
            PeerChange::Left { peer } => self.nodes[node].joined.remove(&peer),
        };
    }

    fn message(&mut self, node: usize, from: PeerId, channel: Channel, bytes: &[u8]) {
        let now = self.local(node);
        let [machine, twin] = &mut self.nodes[node].pair;
        if machine.handle_message(now, from, channel, bytes).is_ok() {
            let again = twin.handle_message(now, from, channel, bytes);
            assert!(again.is_ok(), "node {node} accepts a message that its twin rejects: {again:?}");
        }
        self.drain(node);
    }

    /// Delivers everything in flight.
    fn deliver_all(&mut self) {
        for InFlight { from, to, channel, bytes } in core::mem::take(&mut self.flight) {
            if (to.0 as usize) < self.nodes.len() {
                self.message(to.0 as usize, PeerId(from as u32), channel, &bytes);
            }
        }
    }

    /// A calm period: long enough for clocks to synchronize and for vectors to be acknowledged.
    fn calm(&mut self) {
        for _ in 0..10 {
            self.tick(Span::from_millis(20));
            self.deliver_all();
        }
    }

    /// Delivers a message out of order, whole or damaged, once or twice, or drops it.
    fn deliver(&mut self, feed: &mut Feed<'_>) {
        if self.flight.is_empty() {
            return;
        }
        let index = feed.below(self.flight.len());
        let InFlight { from, to, mut channel, mut bytes } = self.flight.remove(index);
        let (node, mut sender) = (to.0 as usize, PeerId(from as u32));
        if node >= self.nodes.len() {
            return;
        }
        match feed.below(8) {
            0 => return,
            1 | 2 => damage(&mut bytes, feed),
            3 => channel = if channel == Channel::Datagram { Channel::Reliable } else { Channel::Datagram },
            4 => sender = PeerId(feed.byte().into()),
            5 => self.message(node, sender, channel, &bytes),
            _ => {}
        }
        self.message(node, sender, channel, &bytes);
    }

    fn stranger(&self, feed: &mut Feed<'_>) -> (PeerId, Channel) {
        let from = PeerId(feed.below(self.nodes.len() + 1) as u32);
        (from, feed.pick(&[Channel::Datagram, Channel::Reliable]))
    }

    fn raw(&mut self, node: usize, feed: &mut Feed<'_>) {
        let (from, channel) = self.stranger(feed);
        let len = feed.byte();
        let bytes = feed.slice(usize::from(len)).to_vec();
        self.message(node, from, channel, &bytes);
    }

    fn forged(&mut self, node: usize, feed: &mut Feed<'_>) {
        let (from, channel) = self.stranger(feed);
        let now = self.nodes[node].pair[0].session(self.local(node));
        let now = now.unwrap_or(SessionTime::from_nanos(self.now));
        let bytes = Overheard { now, nonces: &self.nonces, probes: &self.probes }.message(feed);
        self.message(node, from, channel, &bytes);
    }

    fn flap(&mut self, node: usize, feed: &mut Feed<'_>) {
        let peer = PeerId(feed.below(self.nodes.len() + 2) as u32);
        let datagram_max = feed.pick(&[1200, 0, 40, 120, 300, 65_535]);
        let (joined, left) = (PeerChange::Joined { peer, datagram_max }, PeerChange::Left { peer });
        let changes = [left, left, joined, joined];
        let changes = &changes[feed.below(3)..][..feed.pick(&[1, 2])];
        changes.iter().for_each(|change| self.peer(node, *change));
        if !feed.once_in(4) {
            self.drain(node);
        }
    }

    /// Lets a node's clock jump; machines hold it if it goes backwards, as their contract says.
    fn jump(&mut self, node: usize, feed: &mut Feed<'_>) {
        let jump = Span::from_nanos(feed.long().clamp(-NOW_MAX, NOW_MAX));
        let clock = (SessionTime::from_nanos(self.nodes[node].offset) + jump).as_nanos();
        self.nodes[node].offset = clock.clamp(-NOW_MAX, NOW_MAX);
    }

    fn timeout(&mut self, node: usize, feed: &mut Feed<'_>) {
        for _ in 0..=feed.below(3) {
            self.each(node, |machine, now| machine.handle_timeout(now));
        }
        self.drain(node);
    }

    /// Lets time pass and handles the timeouts that are due, after which none may stay due.
    fn tick(&mut self, pause: Span) {
        self.now = (self.now + pause.as_nanos()).min(NOW_MAX);
        for node in 0..self.nodes.len() {
            let now = self.local(node);
            self.each(node, |machine, now| machine.handle_timeout(now));
            self.drain(node);
            if let Some(at) = self.nodes[node].pair[0].poll_timeout() {
                assert!(at > now, "node {node} handled its timeout at {now:?} and {at:?} is still due");
            }
        }
    }

    fn drain(&mut self, node: usize) {
        let now = self.local(node);
        let Twins { pair: [machine, twin], joined, .. } = &mut self.nodes[node];
        let messages_max = joined.len() * (RELIABLE_MAX + DATAGRAMS_MAX + 2);
        let (mut bytes, mut twin_bytes) = (Vec::new(), Vec::new());
        for count in 0.. {
            assert!(count <= messages_max, "node {node} transmits more than its queues can hold");
            let sent = machine.poll_transmit(now, &mut bytes);
            let twin_sent = twin.poll_transmit(now, &mut twin_bytes);
            assert_eq!(sent, twin_sent, "node {node} and its twin transmit to different peers");
            let Some((to, channel)) = sent else { break };
            assert_eq!(bytes, twin_bytes, "node {node} and its twin transmit different bytes");
            let datagram_max = joined.get(&to).expect("no machine sends to an absent peer");
            check_sent(node, channel, &bytes, *datagram_max);
            overhear(&bytes, &mut self.nonces, &mut self.probes);
            if self.flight.len() == FLIGHT_MAX {
                self.flight.remove(0);
            }
            self.flight.push(InFlight { from: node, to, channel, bytes: bytes.clone() });
        }
        for count in 0.. {
            assert!(
                count <= EVENTS_MAX + OTHER_EVENTS_MAX,
                "node {node} has more events than its queues can hold"
            );
            let event = machine.poll_event();
            assert_eq!(event, twin.poll_event(), "node {node} and its twin have different events");
            if event.is_none() {
                break;
            }
        }
        assert_eq!(
            machine.poll_timeout(),
            twin.poll_timeout(),
            "node {node} and its twin wake at different times"
        );
        if let Some(at) = machine.session(now) {
            for receiver in joined.keys() {
                let error = machine.accumulated(*receiver, at);
                assert!(error.is_finite() && error >= 0.0, "node {node} has accumulated the error {error}");
            }
        }
    }
}

/// Checks that a message that a machine sends can be parsed, round-trips and fits.
fn check_sent(node: usize, channel: Channel, bytes: &[u8], datagram_max: usize) {
    let read = frames(bytes).err();
    assert_eq!(read, None, "node {node} sends what is no message: {bytes:02x?}");
    check_roundtrip(bytes);
    let least = HEADER_LEN + 2 * CLOCK_LEN_MAX;
    let fits = channel == Channel::Reliable || bytes.len() <= datagram_max.max(least);
    assert!(fits, "node {node} sends a datagram of {} bytes where {datagram_max} fit", bytes.len());
}

fn overhear(bytes: &[u8], nonces: &mut Vec<u32>, probes: &mut Vec<LocalTime>) {
    let Ok((header, frames)) = frames(bytes) else { return };
    nonces.push(header.nonce);
    for frame in frames {
        if let Frame::Clock(ClockFrame::Probe { sent }) = frame {
            probes.push(sent);
        }
    }
    nonces.drain(..nonces.len().saturating_sub(OVERHEARD_MAX));
    probes.drain(..probes.len().saturating_sub(OVERHEARD_MAX));
}
