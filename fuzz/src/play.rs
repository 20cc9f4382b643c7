//! Machines of any protocol and their network, driven by the fuzzer's bytes: commands, messages that are delivered, lost,
//! repeated, damaged and forged, time that passes, peers that join and leave.
//!
//! As in [`World`](crate::world::World), each machine has a twin that gets the same calls except for messages that the machine
//! rejected, so both must behave alike. The input chooses one of two networks. On the hostile one anything may happen. On the
//! honest one datagrams are lost, repeated and reordered, but what is reliable arrives in order until a connection ends, at
//! both sides; at the end everybody is connected for a while, and then [`Rules::check_settled`] says what must be true.

use std::collections::BTreeMap;
use std::fmt::Debug;

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Span};

use crate::feed::Feed;
use crate::forge::damage;

/// The most messages in flight on a hostile network; beyond, the oldest is dropped.
const FLIGHT_MAX: usize = 256;
/// The most decisions of a run.
const STEPS_MAX: usize = 200;
/// A drain that yields more messages than this counts as endless.
const DRAIN_MAX: usize = 100_000;
/// The latest time, far below where time arithmetic saturates.
const NOW_MAX: i64 = 1 << 59;
/// The pause between deliveries in calm periods.
const STEP: Span = Span::from_millis(20);
/// The most steps of calm periods in a run.
const CALM_MAX: usize = 400;

/// The event of a machine.
pub type Event<R> = <<R as Rules>::Node as Endpoint>::Event;
/// The command of a machine.
pub type Command<R> = <<R as Rules>::Node as Endpoint>::Command;

/// What a target knows of its machines.
pub trait Rules {
    /// A machine.
    type Node: Endpoint<Command: Clone, Event: PartialEq + Debug>;

    /// How many there are.
    const NODES: usize;

    /// How many steps of 20 ms the machines are left alone before what must be true at the end is checked.
    const SETTLE_STEPS: usize = 150;

    /// Makes a machine. Called twice for each.
    fn build(&self, node: usize) -> Self::Node;

    /// Whether two machines connect to each other.
    fn is_linked(&self, one: usize, other: usize) -> bool;

    /// Chooses a command for a machine.
    fn command(&mut self, node: usize, feed: &mut Feed<'_>) -> Command<Self>;

    /// Forges a message.
    fn forge(&self, feed: &mut Feed<'_>) -> Vec<u8>;

    /// Whether a machine behaves as if a message that it rejected had never come, and sends nothing to absent peers.
    fn is_well_behaved(&self, node: usize) -> bool {
        let _ = node;
        true
    }

    /// Checks what a machine reports.
    fn check_event(&mut self, node: usize, event: &Event<Self>) {
        let _ = (node, event);
    }

    /// Checks a machine after it was drained.
    fn check_node(&self, node: usize, machine: &Self::Node) {
        let _ = (node, machine);
    }

    /// Checks the machines of an honest network after a calm time.
    fn check_settled(&self, machines: &[&Self::Node]) {
        let _ = machines;
    }
}

struct InFlight {
    from: usize,
    to: PeerId,
    channel: Channel,
    bytes: Vec<u8>,
}

/// A machine, its twin, and what their network knows of them.
struct Twins<E> {
    pair: [E; 2],
    /// How far its clock is ahead of the network's.
    offset: i64,
    joined: BTreeMap<PeerId, usize>,
}

/// Machines and their network.
pub struct Play<R: Rules> {
    rules: R,
    nodes: Vec<Twins<R::Node>>,
    flight: Vec<InFlight>,
    now: i64,
    calm_left: usize,
    is_honest: bool,
}

impl<R: Rules> Play<R> {
    /// Connects all machines.
    pub fn new(rules: R, feed: &mut Feed<'_>) -> Self {
        let is_honest = feed.once_in(2);
        let twins = |node| {
            let offset = if is_honest { 0 } else { i64::from(feed.short()) << 20 };
            Twins { pair: [rules.build(node), rules.build(node)], offset, joined: BTreeMap::new() }
        };
        let nodes = (0..R::NODES).map(twins).collect();
        let (now, calm_left) = (100_000_000_000, CALM_MAX);
        let mut play = Self { rules, nodes, flight: Vec::new(), now, calm_left, is_honest };
        play.join_all();
        play
    }

    /// Performs the decisions of the feed.
    ///
    /// # Panics
    /// If a machine breaks its contract, or a rule.
    pub fn run(&mut self, feed: &mut Feed<'_>) {
        for _ in 0..STEPS_MAX {
            if feed.is_over() {
                break;
            }
            let choice = feed.byte();
            let node = usize::from(choice >> 5) % R::NODES;
            match choice & 31 {
                0..8 => self.command(node, feed),
                8..11 => self.deliver_all(),
                11..17 => self.deliver(feed),
                17..20 if !self.is_honest => self.forged(node, feed),
                20 | 21 => self.flap(node, feed),
                22 => self.timeout(node, feed),
                23..26 => self.calm(10),
                26 => self.calm(50),
                27 => self.tick(Span::from_millis(1_000)),
                28 if !self.is_honest => self.tick(Span::from_secs(i64::from(feed.byte()))),
                _ => self.tick(feed.millis()),
            }
        }
        if self.is_honest {
            self.join_all();
            self.calm_left = R::SETTLE_STEPS;
            self.calm(R::SETTLE_STEPS);
            let machines: Vec<&R::Node> = self.nodes.iter().map(|twins| &twins.pair[0]).collect();
            self.rules.check_settled(&machines);
        }
        (0..R::NODES).for_each(|node| self.drain(node));
    }

    fn local(&self, node: usize) -> LocalTime {
        LocalTime::from_nanos(self.now + self.nodes[node].offset)
    }

    fn each(&mut self, node: usize, mut call: impl FnMut(&mut R::Node, LocalTime)) {
        let now = self.local(node);
        self.nodes[node].pair.iter_mut().for_each(|machine| call(machine, now));
    }

    fn command(&mut self, node: usize, feed: &mut Feed<'_>) {
        let command = self.rules.command(node, feed);
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

    fn join_all(&mut self) {
        for node in 0..R::NODES {
            for other in (0..R::NODES).filter(|other| *other != node) {
                let peer = PeerId(other as u32);
                if self.rules.is_linked(node, other) && !self.nodes[node].joined.contains_key(&peer) {
                    self.peer(node, PeerChange::Joined { peer, datagram_max: 1_200 });
                }
            }
        }
    }

    fn message(&mut self, node: usize, from: PeerId, channel: Channel, bytes: &[u8]) {
        let now = self.local(node);
        let is_well_behaved = self.rules.is_well_behaved(node);
        let [machine, twin] = &mut self.nodes[node].pair;
        let answer = machine.handle_message(now, from, channel, bytes);
        if answer.is_ok() || !is_well_behaved {
            let again = twin.handle_message(now, from, channel, bytes);
            assert_eq!(answer.is_ok(), again.is_ok(), "node {node} and its twin disagree: {again:?}");
        }
        let is_wrong = self.is_honest && matches!(answer, Err(Rejected::Malformed(_)));
        let is_wrong = is_wrong && self.rules.is_well_behaved(from.0 as usize);
        assert!(!is_wrong, "node {node} cannot read an honest message: {answer:?}, {bytes:02x?}");
        self.drain(node);
    }

    /// Delivers everything in flight.
    fn deliver_all(&mut self) {
        for InFlight { from, to, channel, bytes } in core::mem::take(&mut self.flight) {
            if (to.0 as usize) < R::NODES {
                self.message(to.0 as usize, PeerId(from as u32), channel, &bytes);
            }
        }
    }

    fn calm(&mut self, steps: usize) {
        let steps = steps.min(self.calm_left);
        self.calm_left -= steps;
        for _ in 0..steps {
            self.tick(STEP);
            self.deliver_all();
        }
    }

    /// Delivers a message out of order, once or twice, or drops it.
    fn deliver(&mut self, feed: &mut Feed<'_>) {
        if self.flight.is_empty() {
            return;
        }
        let mut index = feed.below(self.flight.len());
        if self.is_honest && self.flight[index].channel == Channel::Reliable {
            let InFlight { from, to, .. } = self.flight[index];
            let is_earlier =
                |one: &InFlight| (one.from, one.to, one.channel) == (from, to, Channel::Reliable);
            index = self.flight.iter().position(is_earlier).unwrap_or(index);
        }
        let InFlight { from, to, mut channel, mut bytes } = self.flight.remove(index);
        let (node, mut sender) = (to.0 as usize, PeerId(from as u32));
        if node >= R::NODES {
            return;
        }
        match feed.below(8) {
            _ if self.is_honest && channel == Channel::Reliable => {}
            0 => return,
            1 => self.message(node, sender, channel, &bytes),
            2 | 3 if !self.is_honest => damage(&mut bytes, feed),
            4 if !self.is_honest => sender = PeerId(feed.byte().into()),
            5 if !self.is_honest => {
                channel = if channel == Channel::Datagram { Channel::Reliable } else { Channel::Datagram };
            }
            _ => {}
        }
        self.message(node, sender, channel, &bytes);
    }

    fn forged(&mut self, node: usize, feed: &mut Feed<'_>) {
        let from = PeerId(feed.below(R::NODES + 1) as u32);
        let channel = feed.pick(&[Channel::Datagram, Channel::Reliable]);
        let bytes = self.rules.forge(feed);
        self.message(node, from, channel, &bytes);
    }

    /// Ends a connection, makes one, or both. An honest network tells both sides, and loses what was between them.
    fn flap(&mut self, node: usize, feed: &mut Feed<'_>) {
        let other = feed.below(R::NODES + usize::from(!self.is_honest));
        let peer = PeerId(other as u32);
        if self.is_honest {
            if other == node || !self.rules.is_linked(node, other) {
                return;
            }
            let pair = [(node, peer), (other, PeerId(node as u32))];
            self.flight.retain(|one| !pair.contains(&(one.from, one.to)));
            pair.iter().for_each(|(node, peer)| self.peer(*node, PeerChange::Left { peer: *peer }));
            if feed.once_in(2) {
                let datagram_max = feed.pick(&[1_200, 600]);
                for (node, peer) in pair {
                    self.peer(node, PeerChange::Joined { peer, datagram_max });
                }
            }
        } else {
            let datagram_max = feed.pick(&[1_200, 0, 40, 120, 300, 65_535]);
            let (joined, left) = (PeerChange::Joined { peer, datagram_max }, PeerChange::Left { peer });
            let changes = [left, left, joined, joined];
            let changes = &changes[feed.below(3)..][..feed.pick(&[1, 2])];
            changes.iter().for_each(|change| self.peer(node, *change));
        }
        if !feed.once_in(4) {
            self.drain(node);
        }
    }

    fn timeout(&mut self, node: usize, feed: &mut Feed<'_>) {
        for _ in 0..=feed.below(3) {
            self.each(node, |machine, now| machine.handle_timeout(now));
        }
        self.drain(node);
    }

    /// Lets time pass and handles the timeouts, after which none may stay due.
    fn tick(&mut self, pause: Span) {
        self.now = (self.now + pause.as_nanos()).min(NOW_MAX);
        for node in 0..R::NODES {
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
        let (mut bytes, mut twin_bytes) = (Vec::new(), Vec::new());
        for count in 0.. {
            assert!(count < DRAIN_MAX, "node {node} never stops transmitting");
            let sent = machine.poll_transmit(now, &mut bytes);
            let twin_sent = twin.poll_transmit(now, &mut twin_bytes);
            assert_eq!(sent, twin_sent, "node {node} and its twin transmit to different peers");
            let Some((to, channel)) = sent else { break };
            assert_eq!(bytes, twin_bytes, "node {node} and its twin transmit different bytes");
            if !joined.contains_key(&to) {
                assert!(!self.rules.is_well_behaved(node), "node {node} sends to {to:?}, which is absent");
                continue;
            }
            if self.flight.len() >= FLIGHT_MAX && !self.is_honest {
                self.flight.remove(0);
            }
            self.flight.push(InFlight { from: node, to, channel, bytes: bytes.clone() });
        }
        for count in 0.. {
            assert!(count < DRAIN_MAX, "node {node} has endless events");
            let event = machine.poll_event();
            assert_eq!(event, twin.poll_event(), "node {node} and its twin have different events");
            let Some(event) = event else { break };
            self.rules.check_event(node, &event);
        }
        let (at, twin_at) = (machine.poll_timeout(), twin.poll_timeout());
        assert_eq!(at, twin_at, "node {node} and its twin wake at different times");
        self.rules.check_node(node, machine);
    }
}
