//! `base-matched`: it keeps its budget, and equals base with a coarser threshold.

#[path = "support/net.rs"]
mod net;
#[path = "support/tank.rs"]
mod tank;

use evenkeel_core::PeerId;
use evenkeel_dr::{Budget, DrConfig, EntityId, Threshold};
use net::{Net, millis};
use tank::{TICK, Tank};

const TANKS: u64 = 4;
const RECEIVERS: usize = 3;
const SECONDS: usize = 120;

fn config(policy: &str, distance: f64, share: f64) -> DrConfig {
    DrConfig {
        threshold: Threshold { distance, time: None },
        policy: policy.parse().unwrap_or_else(|error| panic!("{error}")),
        budget: Budget::of_receivers(share).expect("a valid budget"),
        ..DrConfig::default()
    }
}

/// The vectors sent to each receiver, and the mean distance between each tank and its copies.
struct Outcome {
    sent: Vec<usize>,
    real_error: f64,
}

fn outcome(config: &DrConfig) -> Outcome {
    let mut net = Net::star(config, &[millis(150), millis(60), millis(10)]);
    let mut tanks: Vec<Tank> = (0..TANKS).map(Tank::new).collect();
    let (mut sum, mut count) = (0.0, 0.0);
    for _ in 0..SECONDS * 50 {
        for (entity, tank) in (0..).zip(&mut tanks) {
            net.observe(entity, tank.drive());
            for receiver in &net.peers[1..] {
                if let Some(shown) = receiver.position(net.now, PeerId(0), EntityId(entity)) {
                    sum += (shown - tank.state.position).length();
                    count += 1.0;
                }
            }
        }
        net.run_for(TICK);
    }
    let sent = (1..=RECEIVERS).map(|receiver| net.vectors_to(receiver).len()).collect();
    Outcome { sent, real_error: sum / count }
}

#[test]
fn budget_is_kept() {
    let all = outcome(&config("base", 0.1, 1.0)).sent[0] as f64;
    for share in [0.5, 1.0 / 3.0, 0.1] {
        for sent in outcome(&config("base-matched", 0.1, share)).sent {
            let kept = sent as f64 / all;
            assert!((kept / share - 1.0).abs() < 0.08, "{kept} for {share}");
        }
    }
}

#[test]
fn full_budget_is_base() {
    let outcomes = ["base", "base-matched"].map(|policy| outcome(&config(policy, 0.1, 1.0)));
    assert_eq!(outcomes[0].sent, outcomes[1].sent);
    assert_eq!(outcomes[0].real_error.to_bits(), outcomes[1].real_error.to_bits());
}

#[test]
fn error_is_that_of_base_with_coarser_threshold() {
    let matched = outcome(&config("base-matched", 0.1, 1.0 / 3.0));
    let (mut low, mut high) = (0.1, 3.0);
    for _ in 0..10 {
        let middle = (low + high) / 2.0;
        let is_low = outcome(&config("base", middle, 1.0)).sent[0] > matched.sent[0];
        (low, high) = if is_low { (middle, high) } else { (low, middle) };
    }
    let coarser = outcome(&config("base", high, 1.0));
    let ratio = matched.real_error / coarser.real_error;
    assert!((0.9..1.15).contains(&ratio), "{ratio} at threshold {high}");
    // Every third vector, however far the paths have diverged, is worse.
    let third = outcome(&config("base-1/3", 0.1, 1.0));
    assert!(third.real_error > 1.1 * matched.real_error, "{} {}", third.real_error, matched.real_error);
}
