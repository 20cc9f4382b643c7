//! From a scenario to a world: owner, relay if there is one, receivers, links.

use evenkeel_core::{Seed, Span};
use evenkeel_dr::{DrConfig, DrPeer, DrRelay, PolicyKind, Topology};
use evenkeel_games::Mover;
use evenkeel_link::{ClockFaults, LinkFaults};
use evenkeel_sim::{NodeId, World};

use super::liar::Liar;
use super::node::DrNode;
use crate::scenario::{Motion, Receiver, Scenario, ScenarioTopology};

/// The largest datagram in the simulated network.
pub(super) const DATAGRAM_MAX: usize = 1200;

const MOTION: u64 = 1;
const NETWORK: u64 = 2;
const POLICY: u64 = 3;

/// A world with its roles.
pub(super) struct Stage {
    pub(super) world: World<DrNode>,
    /// Who owns the entities.
    pub(super) owner: NodeId,
    /// Who runs the policy.
    pub(super) sender: NodeId,
    /// Who watches, in the scenario's order.
    pub(super) receivers: Vec<NodeId>,
}

impl Stage {
    /// Sets the stage. Nobody but owner and relay has met yet.
    pub(super) fn new(scenario: &Scenario, policy: PolicyKind, seed: u64) -> Self {
        let mut world = World::new(Seed::new(seed).child(NETWORK));
        let relay = NodeId(1);
        let topology = match scenario.topology {
            ScenarioTopology::Direct => Topology::Direct,
            ScenarioTopology::Relay { .. } => Topology::Relay(relay.into()),
        };
        let config = machine(scenario, policy, seed, topology);
        let peer = |config| DrNode::Peer(Box::new(DrPeer::new(config)));
        let owner = world.add_node(peer(&config), ClockFaults::default());
        let mut sender = owner;
        if let ScenarioTopology::Relay { uplink } = scenario.topology {
            let relay = DrNode::Relay(Box::new(DrRelay::new(&config)));
            sender = world.add_node(relay, ClockFaults::default());
            world.connect(owner, sender, LinkFaults::constant(uplink), LinkFaults::constant(uplink));
            world.join(owner, sender, DATAGRAM_MAX);
        }
        let receivers = scenario
            .receivers
            .iter()
            .map(|receiver| {
                let node = world.add_node(watcher(receiver, &config), ClockFaults::default());
                world.connect(sender, node, receiver.forward.clone(), receiver.back.clone());
                node
            })
            .collect();
        Self { world, owner, sender, receivers }
    }
}

/// The settings of every machine in a run, simulated or not.
pub(super) fn machine(scenario: &Scenario, policy: PolicyKind, seed: u64, topology: Topology) -> DrConfig {
    DrConfig {
        topology,
        threshold: scenario.threshold,
        kind: scenario.kind,
        placement: scenario.placement,
        policy,
        budget: scenario.budget,
        // The papers believe what receivers say.
        compensation: None,
        seed: Seed::new(seed).child(POLICY),
        ..DrConfig::default()
    }
}

/// The entities of a run with this seed.
pub(super) fn movers(scenario: &Scenario, seed: u64) -> Vec<Mover> {
    match &scenario.motion {
        Motion::Driven(driver) => vec![Mover::tank(*driver, Seed::new(seed).child(MOTION))],
        Motion::Recorded(cursors) => cursors.iter().cloned().map(Mover::trace).collect(),
    }
}

fn watcher(receiver: &Receiver, config: &DrConfig) -> DrNode {
    let peer = DrPeer::new(config);
    if receiver.claims_extra == Span::ZERO && receiver.holds_acks == Span::ZERO {
        DrNode::Peer(Box::new(peer))
    } else {
        DrNode::Liar(Box::new(Liar::new(peer, receiver.claims_extra, receiver.holds_acks)))
    }
}
