//! The world as its user sees it: what is in it, what is done to it, and what can be read off it.

use evenkeel_core::{Endpoint, PeerChange, Seed, Wire};
use evenkeel_link::{ClockFaults, LinkFaults, NodeClock, TrueTime};

use crate::network::{LinkCounters, Network};
use crate::node::{Node, NodeId};
use crate::observer::{Observer, Unheard};
use crate::recording::Recording;

const LINKS: u64 = 1;

/// A world of nodes and links, at some true time; it begins at zero.
///
/// What the methods do happens now; only [`run_until`](Self::run_until) and [`step`](Self::step) let time
/// pass. Events that nodes come up with in between are kept and told to the observer when time passes next.
#[derive(Debug)]
pub struct World<E: Endpoint> {
    pub(crate) now: TrueTime,
    pub(crate) nodes: Vec<Node<E>>,
    pub(crate) network: Network,
    /// The buffer that nodes write their next message into.
    pub(crate) outgoing: Vec<u8>,
    pub(crate) unheard: Unheard<E::Event>,
    pub(crate) recording: Option<Recording<E::Command>>,
    pub(crate) calls: u64,
    pub(crate) peer_calls: u64,
    pub(crate) rejected: u64,
}

impl<E: Endpoint> World<E> {
    /// An empty world. All that is random in it comes from the seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            now: TrueTime::default(),
            nodes: Vec::new(),
            network: Network::new(seed.child(LINKS)),
            outgoing: Vec::new(),
            unheard: Unheard::default(),
            recording: None,
            calls: 0,
            peer_calls: 0,
            rejected: 0,
        }
    }

    /// Adds a machine with this clock. If it names a timeout already, that is heeded.
    ///
    /// # Panics
    /// If the clock's faults do not validate.
    pub fn add_node(&mut self, endpoint: E, clock: ClockFaults) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        self.nodes.push(Node::new(endpoint, &clock));
        self.network.add_node();
        self.reschedule(id);
        id
    }

    /// Lays a link each way between two nodes. They are not told: see [`join`](Self::join).
    ///
    /// # Panics
    /// If there are links between them already, or the faults do not validate.
    pub fn connect(&mut self, a: NodeId, b: NodeId, a_to_b: LinkFaults, b_to_a: LinkFaults) {
        self.network.add_lane(a, b, a_to_b);
        self.network.add_lane(b, a, b_to_a);
    }

    /// Tells two connected nodes, `a` first, that the other can be reached with datagrams of up to this many
    /// bytes.
    ///
    /// # Panics
    /// If there is no link between them, or they have joined already.
    pub fn join(&mut self, a: NodeId, b: NodeId, datagram_max: usize) {
        self.network.join(a, b, datagram_max);
        self.tell(a, PeerChange::Joined { peer: b.into(), datagram_max });
        self.tell(b, PeerChange::Joined { peer: a.into(), datagram_max });
    }

    /// Tells two nodes, `a` first, that the other is gone. What is under way between them never arrives.
    ///
    /// # Panics
    /// If they have not joined.
    pub fn leave(&mut self, a: NodeId, b: NodeId) {
        self.network.leave(a, b);
        self.tell(a, PeerChange::Left { peer: b.into() });
        self.tell(b, PeerChange::Left { peer: a.into() });
    }

    /// Gives a node a command of its application.
    pub fn command(&mut self, id: NodeId, command: E::Command) {
        self.calls += 1;
        let node = &mut self.nodes[id.0 as usize];
        let local = node.clock.local(self.now);
        if let Some(recording) = &mut self.recording {
            recording.command(id, local, &command);
        }
        node.endpoint.handle_command(local, command);
        self.settle_unheard(id, local);
    }

    /// Lets time pass up to and including this instant. A time that has passed already changes nothing.
    pub fn run_until(&mut self, until: TrueTime, observer: &mut impl Observer<E>) {
        self.unheard.tell(observer);
        while let Some((at, happening)) = self.network.queue.pop_until(until) {
            self.happen(at, happening, observer);
        }
        self.now = self.now.max(until);
    }

    /// Lets time pass up to the next arrival or timeout that a node learns of; `false` if there is none.
    pub fn step(&mut self, observer: &mut impl Observer<E>) -> bool {
        self.unheard.tell(observer);
        while let Some((at, happening)) = self.network.queue.pop_until(TrueTime::MAX) {
            if self.happen(at, happening, observer) {
                return true;
            }
        }
        false
    }

    /// What time it is.
    #[must_use]
    pub const fn now(&self) -> TrueTime {
        self.now
    }

    /// The machine of a node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &E {
        &self.nodes[id.0 as usize].endpoint
    }

    /// The clock of a node.
    #[must_use]
    pub fn clock(&self, id: NodeId) -> &NodeClock {
        &self.nodes[id.0 as usize].clock
    }

    /// Arrivals, timeouts and commands that nodes were told of.
    #[must_use]
    pub const fn events_handled(&self) -> u64 {
        self.calls
    }

    /// Messages that nodes rejected.
    #[must_use]
    pub const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Messages to peers that the sender has no link to or that had not joined.
    #[must_use]
    pub const fn undeliverable(&self) -> u64 {
        self.network.undeliverable
    }

    /// What happened on the way from one node to another; `None` if they are not connected.
    #[must_use]
    pub fn counters(&self, from: NodeId, to: NodeId) -> Option<LinkCounters> {
        self.network.counters(from, to)
    }

    /// Records every call from now on in a [transcript](evenkeel_core::transcript) with this configuration
    /// and seed.
    ///
    /// # Panics
    /// If a node was told anything before, because such a transcript could not be replayed.
    pub fn record(&mut self, config: &[u8], seed: u64)
    where
        E::Command: Wire,
    {
        assert!(self.calls + self.peer_calls == 0, "recording starts before the first call");
        self.recording = Some(Recording::new(config, seed));
    }

    /// The transcript since the last time it was taken; empty if nothing is recorded.
    #[must_use]
    pub fn take_transcript(&mut self) -> Vec<u8> {
        self.recording.as_mut().map_or_else(Vec::new, |recording| recording.recorder.take())
    }
}
