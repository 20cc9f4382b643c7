//! The runs of the simulator's benchmarks: an owner and its receivers.

use std::hint::black_box;

use evenkeel_core::{Endpoint, PeerId, Seed, Span};
use evenkeel_dr::{DrCommand, DrConfig, DrPeer, DrRelay, EntityId, MotionState, PolicyKind, Topology};
use evenkeel_games::{Driver, Mover};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, TrueTime};
use evenkeel_sim::{NodeId, World};

const TICK: Span = Span::from_millis(20);
const DATAGRAM_MAX: usize = 1200;

/// The motion, computed in advance so that only the machines are measured.
pub(crate) fn motion(seconds: u64) -> Vec<MotionState> {
    let mut mover = Mover::tank(Driver::Random, Seed::new(1));
    (0..seconds * 50).filter_map(|tick| mover.at(2 * tick)).map(|sample| sample.state).collect()
}

fn link(millis: i64) -> LinkFaults {
    let jitter = Jitter::Uniform { half_width: Span::from_millis(millis / 8) };
    LinkFaults { delay: DelayLaw { base: Span::from_millis(millis), jitter }, ..LinkFaults::default() }
}

/// How machines become the nodes of a world, and a player's commands those of a node.
pub(crate) struct Kinds<E: Endpoint> {
    pub(crate) peer: fn(Box<DrPeer>) -> E,
    /// Present in runs with a relay.
    pub(crate) relay: Option<fn(Box<DrRelay>) -> E>,
    pub(crate) command: fn(DrCommand) -> E::Command,
}

/// Builds a world with an owner and the receivers of its entity, with delays of 200 to 800 ms and jitter.
pub(crate) fn stage<E: Endpoint>(kinds: &Kinds<E>, receivers: u32, policy: &str) -> World<E> {
    let mut world = World::new(Seed::new(1));
    let policy: PolicyKind = policy.parse().expect("a known policy");
    let topology = kinds.relay.map_or(Topology::Direct, |_| Topology::Relay(PeerId(1)));
    let config = DrConfig { policy, topology, ..DrConfig::default() };
    let peer = || (kinds.peer)(Box::new(DrPeer::new(&config)));
    let owner = world.add_node(peer(), ClockFaults::default());
    let mut sender = owner;
    if let Some(relay) = kinds.relay {
        sender = world.add_node(relay(Box::new(DrRelay::new(&config))), ClockFaults::default());
        world.connect(owner, sender, link(30), link(30));
        world.join(owner, sender, DATAGRAM_MAX);
    }
    for index in 0..receivers {
        let node = world.add_node(peer(), ClockFaults::default());
        let millis = 200 + 600 * i64::from(index) / i64::from(receivers.max(2) - 1);
        world.connect(sender, node, link(millis), link(millis));
        world.join(sender, node, DATAGRAM_MAX);
    }
    world
}

/// Runs the world while the owner observes its entity at every tick. Returns the number of events.
#[inline(never)]
pub(crate) fn let_time_pass<E: Endpoint>(
    world: &mut World<E>,
    kinds: &Kinds<E>,
    motion: &[MotionState],
) -> u64 {
    let mut at = TrueTime::default();
    for state in motion {
        world.run_until(at, &mut |_: TrueTime, _: NodeId, event| {
            black_box(event);
        });
        let command = DrCommand::Observe { entity: EntityId(0), state: *state };
        world.command(NodeId(0), (kinds.command)(command));
        at += TICK;
    }
    world.events_handled()
}
