//! The interface of the world: building it, running it, and reading results.

use evenkeel_core::{Endpoint, PeerChange, Seed, Wire};
use evenkeel_link::{ClockFaults, LinkFaults, NodeClock, TrueTime};

use crate::network::{LinkCounters, MessageLabel, Network};
use crate::node::{Node, NodeId};
use crate::observer::{Observer, PendingEvents};
use crate::recording::Recording;

const LINKS: u64 = 1;

/// A world of nodes and links. True time begins at zero.
///
/// Methods act at the current time; only [`run_until`](Self::run_until) and [`step`](Self::step) let time
/// pass. Events that nodes raise in between are kept for the observer of the next such call.
#[derive(Debug)]
pub struct World<E: Endpoint> {
    pub(crate) now: TrueTime,
    pub(crate) nodes: Vec<Node<E>>,
    pub(crate) network: Network,
    /// The buffer for a node's next message.
    pub(crate) outgoing: Vec<u8>,
    pub(crate) pending: PendingEvents<E::Event>,
    pub(crate) recording: Option<Recording<E::Command>>,
    pub(crate) calls: u64,
    pub(crate) peer_calls: u64,
    pub(crate) rejected: u64,
}

impl<E: Endpoint> World<E> {
    /// Makes an empty world. All random numbers come from the seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            now: TrueTime::default(),
            nodes: Vec::new(),
            network: Network::new(seed.child(LINKS)),
            outgoing: Vec::new(),
            pending: PendingEvents::default(),
            recording: None,
            calls: 0,
            peer_calls: 0,
            rejected: 0,
        }
    }

    /// Adds a machine with a clock. If the machine already wants a timeout, it is scheduled.
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

    /// Connects two nodes by a link in each direction. The nodes learn of each other when they
    /// [`join`](Self::join).
    ///
    /// # Panics
    /// If the nodes are connected already, or the faults do not validate.
    pub fn connect(&mut self, a: NodeId, b: NodeId, a_to_b: LinkFaults, b_to_a: LinkFaults) {
        self.network.add_lane(a, b, a_to_b);
        self.network.add_lane(b, a, b_to_a);
    }

    /// Keys the fates of datagrams between two connected nodes by their contents, in both directions. Experiments compare
    /// protocols in this way whose messages leave at different times, but should take equally long.
    ///
    /// # Panics
    /// If the nodes are not connected.
    pub fn label_messages(&mut self, a: NodeId, b: NodeId, label: MessageLabel) {
        self.network.label(a, b, label);
    }

    /// Tells two connected nodes, `a` first, that they can reach each other with datagrams of up to
    /// `datagram_max` bytes.
    ///
    /// # Panics
    /// If the nodes are not connected, or have joined already.
    pub fn join(&mut self, a: NodeId, b: NodeId, datagram_max: usize) {
        self.network.join(a, b, datagram_max);
        self.peer_change(a, PeerChange::Joined { peer: b.into(), datagram_max });
        self.peer_change(b, PeerChange::Joined { peer: a.into(), datagram_max });
    }

    /// Tells two nodes, `a` first, that the other one is gone. Packets in flight between them are dropped.
    ///
    /// # Panics
    /// If the nodes have not joined.
    pub fn leave(&mut self, a: NodeId, b: NodeId) {
        self.network.leave(a, b);
        self.peer_change(a, PeerChange::Left { peer: b.into() });
        self.peer_change(b, PeerChange::Left { peer: a.into() });
    }

    /// Passes a command to a node.
    pub fn command(&mut self, id: NodeId, command: E::Command) {
        self.calls += 1;
        let node = &mut self.nodes[id.0 as usize];
        let local = node.clock.local(self.now);
        if let Some(recording) = &mut self.recording {
            recording.command(id, local, &command);
        }
        node.endpoint.handle_command(local, command);
        self.settle_unobserved(id, local);
    }

    /// Runs up to and including a time. A time in the past changes nothing.
    pub fn run_until(&mut self, until: TrueTime, observer: &mut impl Observer<E>) {
        self.pending.deliver(observer);
        while let Some((at, event)) = self.network.queue.pop_until(until) {
            self.dispatch(at, event, observer);
        }
        self.now = self.now.max(until);
    }

    /// Runs up to the next arrival or timeout at a node. Returns false if there is none.
    pub fn step(&mut self, observer: &mut impl Observer<E>) -> bool {
        self.pending.deliver(observer);
        while let Some((at, event)) = self.network.queue.pop_until(TrueTime::MAX) {
            if self.dispatch(at, event, observer) {
                return true;
            }
        }
        false
    }

    /// Returns the true time.
    #[must_use]
    pub const fn now(&self) -> TrueTime {
        self.now
    }

    /// Returns the machine of a node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &E {
        &self.nodes[id.0 as usize].endpoint
    }

    /// Returns the clock of a node.
    #[must_use]
    pub fn clock(&self, id: NodeId) -> &NodeClock {
        &self.nodes[id.0 as usize].clock
    }

    /// Returns the number of arrivals, timeouts and commands that nodes have handled.
    #[must_use]
    pub const fn events_handled(&self) -> u64 {
        self.calls
    }

    /// Returns the number of messages that nodes have rejected.
    #[must_use]
    pub const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Returns the number of messages to peers without a connection or that had not joined.
    #[must_use]
    pub const fn undeliverable(&self) -> u64 {
        self.network.undeliverable
    }

    /// Returns the counters of the link from one node to another, or `None` if they are not connected.
    #[must_use]
    pub fn counters(&self, from: NodeId, to: NodeId) -> Option<LinkCounters> {
        self.network.counters(from, to)
    }

    /// Starts recording every call in a [transcript](evenkeel_core::transcript) with this configuration and
    /// seed.
    ///
    /// # Panics
    /// If a node has handled a call before, because such a transcript could not be replayed.
    pub fn record(&mut self, config: &[u8], seed: u64)
    where
        E::Command: Wire,
    {
        assert!(self.calls + self.peer_calls == 0, "recording must start before the first call");
        self.recording = Some(Recording::new(config, seed));
    }

    /// Returns the transcript since the last call of this method; empty if the world is not recorded.
    #[must_use]
    pub fn take_transcript(&mut self) -> Vec<u8> {
        self.recording.as_mut().map_or_else(Vec::new, |recording| recording.recorder.take())
    }
}
