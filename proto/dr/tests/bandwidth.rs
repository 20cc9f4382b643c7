//! Budgets in bits per second: everything is sent while it fits; otherwise the rate is kept.

#[path = "support/net.rs"]
mod net;
#[path = "support/tank.rs"]
mod tank;

use evenkeel_core::Channel;
use evenkeel_dr::{Budget, DrConfig, Threshold};
use net::{Net, millis};
use tank::{TICK, Tank};

const TANKS: u64 = 12;
const RECEIVERS: usize = 3;

/// Bits and vectors per second and receiver, once the share has settled.
struct Rates {
    bits: f64,
    vectors: f64,
}

fn run(policy: &str, budget: &str, seconds: usize) -> (Net, Rates) {
    let config = DrConfig {
        threshold: Threshold { distance: 0.1, time: None },
        policy: policy.parse().unwrap_or_else(|error| panic!("{error}")),
        budget: budget.parse().unwrap_or_else(|error| panic!("{error}")),
        tick: TICK,
        ..DrConfig::default()
    };
    let mut net = Net::star(&config, &[millis(150), millis(60), millis(10)]);
    let mut tanks: Vec<Tank> = (0..TANKS).map(Tank::new).collect();
    let mut drive = |net: &mut Net, ticks: usize| {
        for _ in 0..ticks {
            for (entity, tank) in (0..).zip(&mut tanks) {
                net.observe(entity, tank.drive());
            }
            net.run_for(TICK);
        }
    };
    // The share needs some seconds to settle.
    drive(&mut net, 20 * 50);
    let before = (bits(&net), vectors(&net));
    drive(&mut net, seconds * 50);
    let each = |count: f64| count / seconds as f64 / RECEIVERS as f64;
    let rates = Rates { bits: each(bits(&net) - before.0), vectors: each(vectors(&net) - before.1) };
    (net, rates)
}

/// The vectors that have left for all receivers.
fn vectors(net: &Net) -> f64 {
    (1..=RECEIVERS).map(|receiver| net.vectors_to(receiver).len()).sum::<usize>() as f64
}

/// Bits of all datagrams from the owner, with 58 bytes of headers each.
fn bits(net: &Net) -> f64 {
    let datagrams = net.sent.iter().filter(|sent| sent.from == 0 && sent.channel == Channel::Datagram);
    datagrams.map(|sent| 8.0 * (sent.bytes.len() + 58) as f64).sum()
}

#[test]
fn everything_is_sent_while_it_fits() {
    let (all, Rates { bits, .. }) = run("base", "100%", 20);
    for policy in ["base-matched", "even", "scheduling-1", "deterministic-budget"] {
        let (fits, _) = run(policy, "1 Mbit/s", 20);
        for receiver in 1..=RECEIVERS {
            let counts = [&all, &fits].map(|net| net.vectors_to(receiver).len());
            assert_eq!(counts[0], counts[1], "{policy} to {receiver}, {bits} bit/s");
        }
    }
}

#[test]
fn limits_are_kept_within_5_percent() {
    let (_, all) = run("base", "100%", 60);
    for policy in ["base-matched", "even", "deterministic-budget"] {
        // `even` leaves unspent what could only go to those who are better off already.
        let least = if policy == "even" { 0.8 } else { 0.95 };
        for part in [0.75, 0.5, 0.3] {
            let limit = part * all.bits;
            let kept = run(policy, &format!("{limit} bit/s"), 60).1.bits / limit;
            assert!((least..1.05).contains(&kept), "{policy}: {kept} of {limit} bit/s");
            let limit = part * all.vectors;
            let kept = run(policy, &format!("{limit} /s"), 60).1.vectors / limit;
            assert!((least..1.05).contains(&kept), "{policy}: {kept} of {limit} vectors a second");
        }
    }
}

#[test]
fn budgets_are_named_as_they_are_parsed() {
    for name in ["64 kbit/s", "1.5 Mbit/s", "800 bit/s", "30 /s", "0.5 /s", "40%", "1.5"] {
        assert_eq!(name.parse::<Budget>().expect("a budget").to_string(), name);
    }
    assert_eq!("64kbit/s".parse(), Ok(Budget::bits_per_second(64e3).expect("a bandwidth")));
    assert_eq!("30/s".parse(), Ok(Budget::vectors_per_second(30.0).expect("a rate")));
    for wrong in
        ["64 kB/s", "-1 kbit/s", "0 /s", "-3 /s", "/s", "kbit/s", "0 bit/s", "NaN kbit/s", "64 kbit", ""]
    {
        assert!(wrong.parse::<Budget>().is_err(), "{wrong}");
    }
}
