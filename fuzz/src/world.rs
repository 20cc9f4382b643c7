//! A room of machines and its network, in which the fuzzer decides everything: what games say, what arrives, when, how
//! damaged, who comes and goes, and what the clocks show.
//!
//! Each machine has a twin that is told the same, but for what the machine rejected. Checked is the contract of every
//! machine, and that its queues keep their limits, that it sends only what can be read, and that its books hold numbers.

use std::collections::BTreeMap;

use evenkeel_core::{Channel, ClockFrame, Endpoint, LocalTime, PeerChange, PeerId, SessionTime, Span};
use evenkeel_dr::message::{CLOCK_LEN_MAX, Frame, HEADER_LEN, frames};
use evenkeel_session::outbox::{DATAGRAMS_MAX, RELIABLE_MAX};
use evenkeel_dr::receiver::EVENTS_MAX;

use crate::feed::Feed;
use crate::forge::{Overheard, check_roundtrip, damage};
use crate::node::{Command, Node};
use crate::settings::{command, relay_command};

/// Messages under way; of more, the oldest is lost.
const FLIGHT_MAX: usize = 256;
/// What is overheard and kept of each sort.
const OVERHEARD_MAX: usize = 32;
/// Decisions in one run.
const STEPS_MAX: usize = 300;
/// The latest that it gets: arithmetic with times saturates far behind.
const NOW_MAX: i64 = 1 << 59;
/// Events that wait beside those of the receiver: the clock's, and one for each peer.
const OTHER_EVENTS_MAX: usize = 64;

struct InFlight {
    from: usize,
    to: PeerId,
    channel: Channel,
    bytes: Vec<u8>,
}

/// A machine and its twin, and what the network knows about them.
struct Twins {
    pair: [Node; 2],
    /// Its clock, before that of the world.
    offset: i64,
    joined: BTreeMap<PeerId, usize>,
}

/// A room.
pub struct World {
    nodes: Vec<Twins>,
    flight: Vec<InFlight>,
    nonces: Vec<u32>,
    probes: Vec<LocalTime>,
    now: i64,
}

impl World {
    /// A room of so many machines that all know each other; `build` makes each of them, twice.
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

    /// Does what the bytes say.
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
                25..28 => self.get_along(),
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
            Node::Peer(_) | Node::Bot(_) => Command::Peer(command(feed)),
            Node::Relay(_) => Command::Relay(relay_command(feed)),
        };
        self.each(node, |machine, now| machine.handle_command(now, command.clone()));
        // Some calls are not drained, so that queues fill up.
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
            assert!(again.is_ok(), "node {node} takes a message that its twin rejects: {again:?}");
        }
        self.drain(node);
    }

    /// Everything that is under way arrives.
    fn deliver_all(&mut self) {
        for InFlight { from, to, channel, bytes } in core::mem::take(&mut self.flight) {
            if (to.0 as usize) < self.nodes.len() {
                self.message(to.0 as usize, PeerId(from as u32), channel, &bytes);
            }
        }
    }

    /// A while in which all is well: long enough for clocks to be fixed and for books to be balanced.
    fn get_along(&mut self) {
        for _ in 0..10 {
            self.tick(Span::from_millis(20));
            self.deliver_all();
        }
    }

    /// One message arrives: whole or damaged, in disorder, once or twice, or not at all.
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

    /// A node's clock jumps; backwards it is held, as its contract says.
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

    /// Time passes; whatever is due then is handled, and nothing stays due.
    fn tick(&mut self, pause: Span) {
        self.now = (self.now + pause.as_nanos()).min(NOW_MAX);
        for node in 0..self.nodes.len() {
            let now = self.local(node);
            self.each(node, |machine, now| machine.handle_timeout(now));
            self.drain(node);
            if let Some(at) = self.nodes[node].pair[0].poll_timeout() {
                assert!(at > now, "node {node} was told of its timeout {at:?} at {now:?} and wants it again");
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
            let datagram_max = joined.get(&to).expect("nothing is sent to a peer that is not here");
            check_sent(node, channel, &bytes, *datagram_max);
            overhear(&bytes, &mut self.nonces, &mut self.probes);
            if self.flight.len() == FLIGHT_MAX {
                self.flight.remove(0);
            }
            self.flight.push(InFlight { from: node, to, channel, bytes: bytes.clone() });
        }
        for count in 0.. {
            assert!(count <= EVENTS_MAX + OTHER_EVENTS_MAX, "node {node} has more events than it may keep");
            let event = machine.poll_event();
            assert_eq!(event, twin.poll_event(), "node {node} and its twin tell different things");
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
                assert!(error.is_finite() && error >= 0.0, "node {node} has {error} in its books");
            }
        }
    }
}

/// What a machine sends can be read, comes back as it is, and fits.
fn check_sent(node: usize, channel: Channel, bytes: &[u8], datagram_max: usize) {
    let read = frames(bytes).err();
    assert_eq!(read, None, "node {node} sends what nobody can read: {bytes:02x?}");
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
