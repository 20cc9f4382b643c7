//! The simulator's speed with the real machines: events per second and core, and the papers' whole experiment.
//!
//! `cargo bench -p evenkeel-lab`. An event is an arrival, a timeout or a command that a machine handles.

// Shared with the simulator's own benchmark, which runs the machines without the lab's node type.
#[path = "../../drive/sim/benches/machines/run.rs"]
mod run;

use divan::Bencher;
use divan::counter::ItemsCount;
use evenkeel_core::Span;
use evenkeel_lab::dr::node::{DrNode, NodeCommand};
use evenkeel_lab::dr::run as scenario_run;
use evenkeel_lab::parallel::{self, Progress};
use evenkeel_lab::scenario::Scenario;
use run::{Kinds, let_time_pass, motion, stage};

fn main() {
    divan::main();
}

const SECONDS: u64 = 300;

const DIRECT: Kinds<DrNode> = Kinds { peer: DrNode::Peer, relay: None, command: NodeCommand::Peer };
const RELAYED: Kinds<DrNode> = Kinds { relay: Some(DrNode::Relay), ..DIRECT };

fn bench(bencher: Bencher<'_, '_>, kinds: &Kinds<DrNode>, receivers: u32, policy: &str) {
    let motion = motion(SECONDS);
    let run = || let_time_pass(&mut stage(kinds, receivers, policy), kinds, &motion);
    bencher.counter(ItemsCount::new(run())).bench(run);
}

#[divan::bench(args = ["base", "base-1/3", "deterministic-budget", "netgames05", "netgames05-consistent"])]
fn three_receivers(bencher: Bencher<'_, '_>, policy: &str) {
    bench(bencher, &DIRECT, 3, policy);
}

#[divan::bench(args = ["base", "deterministic-budget"])]
fn three_receivers_behind_a_relay(bencher: Bencher<'_, '_>, policy: &str) {
    bench(bencher, &RELAYED, 3, policy);
}

#[divan::bench(args = [30, 100])]
fn many_receivers(bencher: Bencher<'_, '_>, receivers: u32) {
    bench(bencher, &DIRECT, receivers, "base");
}

/// 300 s of the papers' experiment with all policies and 20 seeds, on all cores, including the true and real errors.
#[divan::bench(sample_count = 1, sample_size = 1)]
fn papers_setting_all_policies_20_seeds() -> usize {
    let scenario = Scenario::papers(Span::from_millis(100), 0.09);
    let jobs: Vec<_> =
        scenario.policies.iter().flat_map(|policy| (1..=20u64).map(move |seed| (*policy, seed))).collect();
    let progress = Progress::default();
    let results =
        parallel::map(&jobs, &progress, |(policy, seed)| Some(scenario_run(&scenario, *policy, *seed, None)));
    results.map_or(0, |results| results.len())
}
