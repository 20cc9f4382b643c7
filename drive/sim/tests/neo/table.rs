//! A table of NEO's peers in the simulator, with faults that no link has: partitions, crashes and restarts.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{
    Channel, Endpoint, LocalTime, MedianClock, PeerChange, PeerId, Rejected, Seed, Span, delegate_endpoint,
};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, Loss, TrueTime};
use evenkeel_neo::{Cheat, CheatingPeer, Identity, NeoCommand, NeoConfig, NeoEvent, NeoStats, PublicKey};
use evenkeel_sim::{NodeId, World};

pub(crate) const DATAGRAM_MAX: usize = 1_200;

/// What happens to a node.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// The application asks something.
    Neo(NeoCommand),
    /// Nothing passes to and from these peers until this is called again. Reliable messages wait.
    Cut(BTreeSet<PeerId>),
    /// The process stops.
    Crash,
    /// A new process starts with the same key.
    Restart,
}

/// A peer that can be cut off, and crash.
pub(crate) struct Node {
    config: NeoConfig,
    secret: [u8; 32],
    peer: CheatingPeer<MedianClock>,
    cut: BTreeSet<PeerId>,
    waiting: Vec<(PeerId, Vec<u8>)>,
    is_down: bool,
}

impl Node {
    fn new(config: &NeoConfig, secret: [u8; 32], cheat: Cheat) -> Self {
        let peer = CheatingPeer::new(config, Identity::from_secret(secret), cheat);
        let (cut, waiting) = (BTreeSet::new(), Vec::new());
        Self { config: config.clone(), secret, peer, cut, waiting, is_down: false }
    }

    pub(crate) fn stats(&self) -> NeoStats {
        self.peer.peer().stats()
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.peer.peer().key()
    }

    pub(crate) fn present(&self) -> usize {
        self.peer.peer().present().count()
    }

    pub(crate) fn tempo(&self) -> (Span, u32) {
        self.peer.peer().tempo()
    }
}

impl Endpoint for Node {
    type Command = Act;
    type Event = NeoEvent;

    fn handle_command(&mut self, now: LocalTime, act: Act) {
        match act {
            Act::Neo(command) if !self.is_down => self.peer.handle_command(now, command),
            Act::Neo(_) => {}
            Act::Cut(peers) => {
                self.cut = peers;
                for (from, bytes) in std::mem::take(&mut self.waiting) {
                    if self.cut.contains(&from) {
                        self.waiting.push((from, bytes));
                    } else if !self.is_down {
                        let _ = self.peer.handle_message(now, from, Channel::Reliable, &bytes);
                    }
                }
            }
            Act::Crash => self.is_down = true,
            Act::Restart => *self = Self::new(&self.config, self.secret, self.peer.cheat().clone()),
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if self.is_down {
            return Ok(());
        }
        if self.cut.contains(&from) {
            if channel == Channel::Reliable {
                self.waiting.push((from, bytes.to_vec()));
            }
            return Ok(());
        }
        self.peer.handle_message(now, from, channel, bytes)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.waiting.retain(|(from, _)| *from != change.peer());
        if !self.is_down {
            self.peer.handle_peer(now, change);
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        if !self.is_down {
            self.peer.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        if self.is_down { None } else { self.peer.poll_transmit(now, bytes) }
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        if self.is_down { None } else { self.peer.poll_timeout() }
    }

    delegate_endpoint!(self.peer: poll_event);
}

/// A link with an exponential delay and independent loss.
pub(crate) fn exponential(mean: Span, loss: f64) -> LinkFaults {
    LinkFaults {
        delay: DelayLaw { base: Span::ZERO, jitter: Jitter::Exponential { mean } },
        loss: if loss > 0.0 { Loss::Independent { probability: loss } } else { Loss::None },
        ..LinkFaults::default()
    }
}

pub(crate) fn millis(millis: i64) -> TrueTime {
    TrueTime::from_nanos(millis * 1_000_000)
}

/// Peers, all connected.
pub(crate) struct Table {
    pub(crate) world: World<Node>,
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) events: Vec<(TrueTime, NodeId, NeoEvent)>,
}

impl Table {
    pub(crate) fn new(
        seed: u64,
        config: &NeoConfig,
        cheats: Vec<Cheat>,
        clock: impl Fn(usize) -> ClockFaults,
        link: impl Fn(usize, usize) -> LinkFaults,
    ) -> Self {
        let mut world = World::new(Seed::new(seed));
        let nodes: Vec<NodeId> = cheats
            .into_iter()
            .enumerate()
            .map(|(i, cheat)| world.add_node(Node::new(config, secret(i), cheat), clock(i)))
            .collect();
        for a in 0..nodes.len() {
            for b in a + 1..nodes.len() {
                world.connect(nodes[a], nodes[b], link(a, b), link(b, a));
                world.join(nodes[a], nodes[b], DATAGRAM_MAX);
            }
        }
        Self { world, nodes, events: Vec::new() }
    }

    /// Peers with equal clocks, and links with exponential delays of this mean.
    pub(crate) fn plain(seed: u64, config: &NeoConfig, cheats: Vec<Cheat>, mean: i64, loss: f64) -> Self {
        let link = |_, _| exponential(Span::from_millis(mean), loss);
        Self::new(seed, config, cheats, |_| ClockFaults::default(), link)
    }

    pub(crate) fn run_until(&mut self, at: TrueTime) {
        let events = &mut self.events;
        self.world.run_until(at, &mut |at, node, event| events.push((at, node, event)));
    }

    /// Runs until a time, in milliseconds; every 50 ms each peer sets a new move: its number, and the time.
    pub(crate) fn play_until(&mut self, until: i64) {
        let mut at = self.world.now().as_nanos() / 50_000_000 * 50 + 25;
        while at < until {
            self.run_until(millis(at));
            for i in 0..self.nodes.len() {
                let bytes = [&(i as u16).to_le_bytes()[..], &(at as u32).to_le_bytes(), &[0; 2]].concat();
                self.act(i, NeoCommand::Submit(bytes));
            }
            at += 50;
        }
        self.run_until(millis(until));
    }

    pub(crate) fn act(&mut self, node: usize, command: NeoCommand) {
        self.world.command(self.nodes[node], Act::Neo(command));
    }

    pub(crate) fn node(&self, i: usize) -> &Node {
        self.world.node(self.nodes[i])
    }

    /// The peers that some peer played a move of, and how many.
    pub(crate) fn played(&self) -> BTreeMap<(NodeId, PeerId), u64> {
        let mut played = BTreeMap::new();
        for (_, node, event) in &self.events {
            if let NeoEvent::Played(made) = event {
                *played.entry((*node, made.from)).or_default() += 1;
            }
        }
        played
    }

    /// Who was evicted by whom.
    pub(crate) fn evicted(&self) -> BTreeSet<(NodeId, PublicKey)> {
        let evicted = |(_, node, event): &(TrueTime, NodeId, NeoEvent)| match event {
            NeoEvent::Evicted { key, .. } => Some((*node, *key)),
            _ => None,
        };
        self.events.iter().filter_map(evicted).collect()
    }
}

/// The secret of a peer.
pub(crate) fn secret(i: usize) -> [u8; 32] {
    let mut secret = [7; 32];
    secret[0] = i as u8 + 1;
    secret
}
