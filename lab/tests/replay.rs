//! A recorded session of the dead-reckoning machines, replayed with fresh machines, transmits the same bytes.

use evenkeel_core::transcript::{ReplayError, Transcript, replay};
use evenkeel_core::{PeerId, Seed, Span};
use evenkeel_dr::{DrCommand, DrConfig, DrPeer, DrRelay, EntityId, PolicyKind, Topology};
use evenkeel_games::{Driver, Mover};
use evenkeel_lab::dr::node::{DrNode, NodeCommand};
use evenkeel_link::{ClockFaults, ClockStep, DelayLaw, Jitter, LinkFaults, Loss, TrueTime};
use evenkeel_sim::World;

const RELAY: u32 = 1;

fn config(policy: &str) -> DrConfig {
    let policy: PolicyKind = policy.parse().expect("a policy");
    DrConfig { policy, topology: Topology::Relay(PeerId(RELAY)), seed: Seed::new(3), ..DrConfig::default() }
}

fn node(index: u32, config: &DrConfig) -> DrNode {
    if index == RELAY {
        DrNode::Relay(Box::new(DrRelay::new(config)))
    } else {
        DrNode::Peer(Box::new(DrPeer::new(config)))
    }
}

/// Records ten seconds of an owner, a relay and two receivers, with loss, duplicates and a clock step at a receiver.
fn recorded(seed: u64, config: &DrConfig) -> Vec<u8> {
    let mut world = World::new(Seed::new(seed));
    world.record(b"replay test", seed);
    let step = ClockStep { at: TrueTime::from_nanos(5_000_000_000), by: Span::from_millis(30) };
    let clocks = [
        ClockFaults::default(),
        ClockFaults::default(),
        ClockFaults { skew_ppm: 50.0, steps: vec![step], ..ClockFaults::default() },
        ClockFaults::default(),
    ];
    let nodes: Vec<_> = (0..4).zip(clocks).map(|(i, clock)| world.add_node(node(i, config), clock)).collect();
    let faults = |millis: i64| LinkFaults {
        delay: DelayLaw {
            base: Span::from_millis(millis),
            jitter: Jitter::Exponential { mean: Span::from_millis(30) },
        },
        loss: Loss::Independent { probability: 0.1 },
        duplicate: 0.05,
        ..LinkFaults::default()
    };
    for (peer, millis) in [(0, 20), (2, 200), (3, 60)] {
        world.connect(nodes[peer], nodes[1], faults(millis), faults(millis));
        world.join(nodes[peer], nodes[1], 1200);
    }
    let mut mover = Mover::tank(Driver::Random, Seed::new(seed));
    for tick in 0..500u64 {
        world.run_until(TrueTime::from_nanos(tick as i64 * 20_000_000), &mut ());
        let state = mover.at(2 * tick).expect("a driven tank lives").state;
        let command = DrCommand::Observe { entity: EntityId(9), state };
        world.command(nodes[0], NodeCommand::Peer(command));
    }
    world.take_transcript()
}

#[test]
fn equal_seeds_give_equal_transcripts() {
    for policy in ["deterministic-budget", "probabilistic-budget:pi", "scheduling-2"] {
        let config = config(policy);
        assert_eq!(recorded(5, &config), recorded(5, &config), "{policy}");
        assert_ne!(recorded(5, &config), recorded(6, &config), "{policy}");
    }
}

#[test]
fn fresh_machines_transmit_the_recorded_bytes() {
    for policy in ["base", "netgames05", "netgames05-consistent", "deterministic-budget"] {
        let config = config(policy);
        let bytes = recorded(8, &config);
        let transcript = Transcript::open(&bytes).expect("the transcript is valid");
        let replayed = replay(transcript, |index, _| Ok(node(index, &config))).expect("the replay matches");
        assert!(replayed.transmits > 100, "{replayed:?}");
    }
}

#[test]
fn replay_with_another_policy_diverges() {
    let bytes = recorded(8, &config("base"));
    let transcript = Transcript::open(&bytes).expect("the transcript is valid");
    let other = config("base-1/2");
    let diverged = replay(transcript, |index, _| Ok(node(index, &other)));
    assert!(matches!(diverged, Err(ReplayError::Diverged { node: RELAY, .. })), "{diverged:?}");
}
