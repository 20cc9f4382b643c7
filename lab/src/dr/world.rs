//! Builds a simulated world from a scenario: owner, relay, receivers and links.

use evenkeel_core::{PeerId, Seed, ServerClock, SessionClock, Span};
use evenkeel_dr::{DrConfig, DrPeer, DrRelay, PolicyKind, Topology};
use evenkeel_games::Mover;
use evenkeel_link::{ClockFaults, LinkFaults, TrueTime};
use evenkeel_sim::{NodeId, World};

use super::liar::Liar;
use super::node::DrNode;
use super::truth::session;
use crate::clock::LabClock;
use crate::scenario::{Motion, Scenario, ScenarioClock, ScenarioTopology};

/// The largest datagram in the simulated network.
pub(super) const DATAGRAM_MAX: usize = 1200;

const MOTION: u64 = 1;
const NETWORK: u64 = 2;
const POLICY: u64 = 3;

/// A simulated world and the roles of its nodes.
pub(super) struct SimSession {
    pub(super) world: World<DrNode>,
    /// The node that owns the entities.
    pub(super) owner: NodeId,
    /// The node that runs the policy: the relay or the owner.
    pub(super) sender: NodeId,
    /// The receivers, in the scenario's order.
    pub(super) receivers: Vec<NodeId>,
}

impl SimSession {
    /// Builds the world. Only owner and relay have joined each other; receivers join later.
    pub(super) fn new(scenario: &Scenario, policy: PolicyKind, seed: u64) -> Self {
        let mut world = World::new(Seed::new(seed).child(NETWORK));
        let relay = NodeId(1);
        let topology = match scenario.topology {
            ScenarioTopology::Direct => Topology::Direct,
            ScenarioTopology::Relay { .. } => Topology::Relay(relay.into()),
        };
        let config = machine_config(scenario, policy, seed, topology);
        let follows = match scenario.clock {
            ScenarioClock::Synchronized => None,
            ScenarioClock::Session(filter) => Some((filter, PeerId::from(relay))),
        };
        let clock = || follows.map(|(filter, relay)| LabClock::new(filter, relay));
        let honest = (Span::ZERO, Span::ZERO);
        let owner = world.add_node(player(&config, clock(), honest), scenario.owner_clock.clone());
        let mut sender = owner;
        if let ScenarioTopology::Relay { uplink } = scenario.topology {
            let relay = match follows {
                None => DrNode::Relay(Box::new(DrRelay::new(&config))),
                Some(_) => {
                    DrNode::SessionRelay(Box::new(DrRelay::with_clock(&config, ServerClock::default())))
                }
            };
            // Without faults the relay's clock, which defines session time, shows the true time.
            sender = world.add_node(relay, ClockFaults::default());
            world.connect(owner, sender, LinkFaults::constant(uplink), LinkFaults::constant(uplink));
            world.join(owner, sender, DATAGRAM_MAX);
        }
        let receivers = scenario
            .receivers
            .iter()
            .map(|receiver| {
                let lies = (receiver.claims_extra, receiver.holds_acks);
                let node = world.add_node(player(&config, clock(), lies), receiver.clock.clone());
                world.connect(sender, node, receiver.forward.clone(), receiver.back.clone());
                node
            })
            .collect();
        Self { world, owner, sender, receivers }
    }

    /// The error of a player's session clock, and its error bound.
    pub(super) fn clock_error(&self, player: NodeId, now: TrueTime) -> Option<(Span, Span)> {
        let local = self.world.clock(player).local(now);
        let (shown, error_max) = self.world.node(player).shown(local)?;
        Some((shown - session(now), error_max))
    }
}

/// The configuration of every machine of a run, simulated or on sockets.
pub(super) fn machine_config(
    scenario: &Scenario,
    policy: PolicyKind,
    seed: u64,
    topology: Topology,
) -> DrConfig {
    DrConfig {
        topology,
        threshold: scenario.threshold,
        kind: scenario.kind,
        placement: scenario.placement,
        policy,
        budget: scenario.budget,
        compensation: scenario.compensation,
        seed: Seed::new(seed).child(POLICY),
        ..DrConfig::default()
    }
}

/// The entities' motion in a run with this seed.
pub(crate) fn movers(scenario: &Scenario, seed: u64) -> Vec<Mover> {
    match &scenario.motion {
        Motion::Driven(driver) => vec![Mover::tank(*driver, Seed::new(seed).child(MOTION))],
        Motion::Recorded(cursors) => cursors.iter().cloned().map(Mover::trace).collect(),
    }
}

/// A player with these lies, and with a session clock unless clocks are synchronized.
fn player(config: &DrConfig, clock: Option<LabClock>, lies: (Span, Span)) -> DrNode {
    match clock {
        None => liar_or(DrPeer::new(config), lies, DrNode::Peer, DrNode::Liar),
        Some(clock) => {
            let peer = DrPeer::with_clock(config, clock);
            liar_or(peer, lies, DrNode::SessionPeer, DrNode::SessionLiar)
        }
    }
}

fn liar_or<C: SessionClock>(
    peer: DrPeer<C>,
    (claims_extra, holds_acks): (Span, Span),
    honest: fn(Box<DrPeer<C>>) -> DrNode,
    liar: fn(Box<Liar<C>>) -> DrNode,
) -> DrNode {
    if claims_extra == Span::ZERO && holds_acks == Span::ZERO {
        honest(Box::new(peer))
    } else {
        liar(Box::new(Liar::new(peer, claims_extra, holds_acks)))
    }
}
