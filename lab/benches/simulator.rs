//! How fast the simulator turns the real machines: events per second and core, and the papers' whole experiment.
//!
//! `cargo bench -p evenkeel-lab`. An event is an arrival, a timeout or a command that a machine handled.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use evenkeel_core::{PeerId, Seed, Span};
use evenkeel_dr::{DrCommand, DrConfig, DrPeer, DrRelay, EntityId, MotionState, PolicyKind, Topology};
use evenkeel_games::{Driver, Mover};
use evenkeel_lab::dr::node::{DrNode, NodeCommand};
use evenkeel_lab::dr::run;
use evenkeel_lab::parallel::{self, Progress};
use evenkeel_lab::scenario::Scenario;
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, TrueTime};
use evenkeel_sim::{NodeId, World};

fn main() {
    divan::main();
}

const TICK: Span = Span::from_millis(20);
const SECONDS: i64 = 300;

/// The motion, computed beforehand: the bench is about the machines.
fn motion() -> Vec<MotionState> {
    let mut mover = Mover::tank(Driver::Random, Seed::new(1));
    (0..SECONDS as u64 * 50).filter_map(|tick| mover.at(2 * tick)).map(|sample| sample.state).collect()
}

fn link(millis: i64) -> LinkFaults {
    let jitter = Jitter::Uniform { half_width: Span::from_millis(millis / 8) };
    LinkFaults { delay: DelayLaw { base: Span::from_millis(millis), jitter }, ..LinkFaults::default() }
}

/// Runs 300 s with so many receivers; gives the number of events.
fn events(motion: &[MotionState], receivers: u32, policy: &str, relay: bool) -> u64 {
    let mut world = World::new(Seed::new(1));
    let policy: PolicyKind = policy.parse().expect("a policy of ours");
    let topology = if relay { Topology::Relay(PeerId(1)) } else { Topology::Direct };
    let config = DrConfig { policy, topology, ..DrConfig::default() };
    let peer = || DrNode::Peer(Box::new(DrPeer::new(&config)));
    let owner = world.add_node(peer(), ClockFaults::default());
    let mut sender = owner;
    if relay {
        sender = world.add_node(DrNode::Relay(Box::new(DrRelay::new(&config))), ClockFaults::default());
        world.connect(owner, sender, link(30), link(30));
        world.join(owner, sender, 1200);
    }
    for index in 0..receivers {
        let node = world.add_node(peer(), ClockFaults::default());
        let millis = 200 + 600 * i64::from(index) / i64::from(receivers.max(2) - 1);
        world.connect(sender, node, link(millis), link(millis));
        world.join(sender, node, 1200);
    }
    let mut at = TrueTime::default();
    for state in motion {
        world.run_until(at, &mut |_: TrueTime, _: NodeId, event| {
            black_box(event);
        });
        let command = DrCommand::Observe { entity: EntityId(0), state: *state };
        world.command(owner, NodeCommand::Peer(command));
        at += TICK;
    }
    world.events_handled()
}

#[divan::bench(args = ["base", "base-1/3", "deterministic-budget", "netgames05", "netgames05-consistent"])]
fn three_receivers(bencher: Bencher<'_, '_>, policy: &str) {
    let motion = motion();
    let count = events(&motion, 3, policy, false);
    bencher.counter(ItemsCount::new(count)).bench(|| events(&motion, 3, policy, false));
}

#[divan::bench(args = ["base", "deterministic-budget"])]
fn three_receivers_behind_a_relay(bencher: Bencher<'_, '_>, policy: &str) {
    let motion = motion();
    let count = events(&motion, 3, policy, true);
    bencher.counter(ItemsCount::new(count)).bench(|| events(&motion, 3, policy, true));
}

#[divan::bench(args = [30, 100])]
fn many_receivers(bencher: Bencher<'_, '_>, receivers: u32) {
    let motion = motion();
    let count = events(&motion, receivers, "base", false);
    bencher.counter(ItemsCount::new(count)).bench(|| events(&motion, receivers, "base", false));
}

/// 300 s of the papers' setting, truth and real error included, all policies, 20 seeds, on all cores.
#[divan::bench(sample_count = 1, sample_size = 1)]
fn papers_setting_all_policies_20_seeds() -> usize {
    let scenario = Scenario::papers(Span::from_millis(100), 0.09);
    let jobs: Vec<_> =
        scenario.policies.iter().flat_map(|policy| (1..=20u64).map(move |seed| (*policy, seed))).collect();
    let progress = Progress::default();
    let results =
        parallel::map(&jobs, &progress, |(policy, seed)| Some(run(&scenario, *policy, *seed, None)));
    results.map_or(0, |results| results.len())
}
