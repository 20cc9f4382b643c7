//! The policies: their names, and which vectors each of them sends.

#[path = "support/net.rs"]
mod net;

use evenkeel_core::{LocalTime, Span};
use evenkeel_dr::policy::deterministic_budget::PATIENCE;
use evenkeel_dr::policy::even::EvenSettings;
use evenkeel_dr::policy::frequency::{Weights, cap};
use evenkeel_dr::{Budget, DrCommand, DrConfig, PolicyKind, RelayCommand, Threshold};
use net::{Net, millis, moving};
use proptest::prelude::*;

fn policy(name: &str) -> PolicyKind {
    name.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn config(name: &str, budget: f64) -> DrConfig {
    let threshold = Threshold { distance: 0.1, time: None };
    let budget = Budget::new(budget).expect("a valid budget");
    DrConfig { threshold, policy: policy(name), budget, ..DrConfig::default() }
}

/// Makes an entity zigzag, so that each observation triggers, and lets time pass after each.
fn trigger(net: &mut Net, count: usize, apart: Span) {
    for _ in 0..count {
        let number = net.now.as_nanos() as f64 / 1e9;
        let north = if net.sent.len().is_multiple_of(2) { 3.0 } else { -3.0 };
        net.observe(1, moving((7.0 * number, 40.0 * number), (5.0, north)));
        net.run_for(apart);
    }
}

/// The numbers of the vectors that were sent to a receiver.
fn sent_to(net: &Net, receiver: usize) -> Vec<u32> {
    net.vectors_to(receiver).iter().map(|(_, vector)| vector.seq.0).collect()
}

/// The numbers of the vectors that a policy sends to a lone receiver.
fn sendings(name: &str, budget: f64, triggers: usize) -> Vec<u32> {
    let mut net = Net::star(&config(name, budget), &[millis(10)]);
    trigger(&mut net, triggers + 1, millis(100));
    sent_to(&net, 1)
}

#[test]
fn every_policy_is_named_as_it_is_parsed() {
    for kind in PolicyKind::all() {
        assert_eq!(policy(&kind.to_string()), kind);
    }
    for name in [
        "deterministic-budget:mix=0.5,0.25,0.25",
        "probabilistic-budget:pi:pick-one",
        "base-1/7",
        "even:phi=0.5",
        "even:kappa=1.2",
        "even:phi=1,kappa=1",
        "even:keep=0.9",
        "even:phi=1,kappa=1,keep=1",
    ] {
        assert_eq!(policy(name).to_string(), name);
    }
    assert_eq!(policy("even:phi=0.5:kappa=2"), policy("even:kappa=2,phi=0.5"));
    assert_eq!(policy("even:keep=0.8,phi=0.5"), policy("even:phi=0.5,keep=0.8"));
}

#[test]
fn every_documented_name_is_a_policy_and_every_policy_is_documented() {
    for documented in PolicyKind::NAMES {
        let name =
            documented.replace("KAPPA", "1.5").replace("PHI", "0.5").replace("KEEP", "0.9").replace('K', "4");
        policy(name.split('[').next().unwrap_or(&name));
        // Try each option in brackets.
        for options in name.split('[').skip(1) {
            for option in options.trim_end_matches(']').split('|') {
                let option = option.replace("A1,A2,A3", "0.2,0.3,0.5");
                policy(&format!("{}{option}", name.split('[').next().unwrap_or(&name)));
            }
        }
    }
    for kind in PolicyKind::all() {
        let name = kind.to_string().replace('3', "K");
        let name = name.split(':').next().unwrap_or(&name);
        let known = PolicyKind::NAMES.iter().any(|documented| documented.split('[').next() == Some(name));
        assert!(known, "{name} is undocumented");
    }
}

#[test]
fn an_unknown_name_is_rejected_with_the_known_ones() {
    for name in ["", "bas", "base-1/0", "base-1/x", "probabilistic", "Netgames05", "base-1/1001"] {
        let error = name.parse::<PolicyKind>().expect_err("unknown policy").to_string();
        assert!(error.contains(&format!("\"{name}\"")), "{error}");
        for right in PolicyKind::NAMES {
            assert!(error.contains(right), "{error} does not mention {right}");
        }
    }
}

#[test]
fn an_unknown_option_is_rejected_with_the_known_ones() {
    for (name, wrong) in [
        ("deterministic-budget", "pick-one"),
        ("deterministic-budget", "mix=0.5,0.5,0.5"),
        ("probabilistic-budget", "mix=1,0"),
        ("probabilistic-budget", "px"),
    ] {
        let error = format!("{name}:{wrong}").parse::<PolicyKind>().expect_err("unknown option").to_string();
        assert!(error.contains(name) && error.contains(wrong) && error.contains("pa, pi, pt"), "{error}");
    }
    let phis = ["phi", "phi=", "phi=1.1", "phi=-0.1", "phi=nan"];
    let others = ["kappa=0.9", "kappa=inf", "kappa=", "keep=", "keep=1.1", "keep=-0.1", "keep=nan", "pa", ""];
    for wrong in phis.into_iter().chain(others) {
        let error = format!("even:{wrong}").parse::<PolicyKind>().expect_err("unknown option").to_string();
        assert!(error.contains("\"even\"") && error.contains("phi=PHI"), "{error}");
    }
    let error = "base:pa".parse::<PolicyKind>().expect_err("base has no options").to_string();
    assert!(error.contains("none at all"), "{error}");
}

#[test]
fn the_base_case_sends_everything_at_once() {
    assert_eq!(sendings("base", 1.0, 6), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn one_in_three_sends_every_third_vector() {
    assert_eq!(sendings("base-1/3", 1.0, 10), [3, 6, 9]);
}

#[test]
fn probabilistic_one_in_three_sends_about_every_third_vector() {
    let sent = sendings("probabilistic-1/3", 1.0, 900).len();
    // Ten standard deviations would be 141.
    assert!((240..360).contains(&sent), "{sent} of 900");
}

#[test]
fn a_frequency_of_two_in_seven_alternates_intervals_of_four_and_three() {
    assert_eq!(sendings("deterministic-budget", 1.0 / 3.5, 30), [4, 7, 11, 14, 18, 21, 25, 28]);
}

#[test]
fn rounding_does_not_lengthen_an_interval_of_three() {
    assert_eq!(sendings("deterministic-budget", 1.0 / 3.0, 20), [3, 6, 9, 12, 15, 18]);
}

#[test]
fn a_receiver_without_a_share_of_the_budget_is_not_starved() {
    // The second receiver has each vector before the next is made, so its share of the instantaneous error is nearly 0.
    let mut net = Net::star(&config("deterministic-budget:pi", 1.0), &[millis(900), millis(0)]);
    trigger(&mut net, 80, millis(100));
    let sent = sent_to(&net, 2);
    let longest = sent.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(longest <= Some(2 * PATIENCE as u32), "{sent:?}");
    assert!(sent.len() >= 8, "{sent:?}");
}

#[test]
fn exactly_one_receiver_is_picked_at_each_trigger() {
    let mut net = Net::star(&config("probabilistic-budget:pick-one", 1.0), &[millis(10); 3]);
    trigger(&mut net, 61, millis(100));
    let mut sent: Vec<_> = (1..=3).flat_map(|receiver| sent_to(&net, receiver)).collect();
    sent.sort_unstable();
    assert_eq!(sent, (1..=60).collect::<Vec<_>>());
}

#[test]
fn a_budget_of_one_is_kept_on_average() {
    for name in ["deterministic-budget", "deterministic-budget:pt", "probabilistic-budget"] {
        let mut net = Net::star(&config(name, 1.0), &[millis(80), millis(50), millis(20)]);
        trigger(&mut net, 301, millis(100));
        let sent: usize = (1..=3).map(|receiver| sent_to(&net, receiver).len()).sum();
        assert!((225..375).contains(&sent), "{name} sent {sent} for 300 triggers");
    }
}

/// Makes vector 3 while vector 2 is held for the near one of two receivers. Returns the vectors that the near one was
/// sent, and the time of the last trigger.
fn superseded(name: &str) -> (Vec<(LocalTime, u32)>, LocalTime) {
    let mut net = Net::star(&config(name, 1.0), &[millis(300), millis(20)]);
    trigger(&mut net, 2, Span::from_secs(2));
    trigger(&mut net, 1, millis(10));
    assert_eq!(sent_to(&net, 1).last(), Some(&2), "{name} sends to the far receiver at once");
    assert_eq!(sent_to(&net, 2).last(), Some(&1), "{name} holds it for the near receiver");
    let last = net.now;
    trigger(&mut net, 1, Span::from_secs(10));
    (net.vectors_to(2).iter().map(|(at, vector)| (*at, vector.seq.0)).collect(), last)
}

#[test]
fn a_newer_vector_flushes_the_held_one() {
    for name in ["netgames05", "netgames05-consistent", "scheduling-1", "scheduling-1-estimate"] {
        let (sent, last) = superseded(name);
        assert!(sent.iter().all(|(_, seq)| *seq != 2), "{name} sends the superseded vector: {sent:?}");
        let newest = sent.iter().find(|(_, seq)| *seq == 3);
        assert!(newest.is_some_and(|(at, _)| *at >= last), "{name} does not hold the newer vector: {sent:?}");
    }
}

#[test]
fn scheduling_2_sends_the_held_vector_when_a_newer_one_is_made() {
    let (sent, last) = superseded("scheduling-2");
    assert!(sent.contains(&(last, 2)), "{sent:?}");
    assert!(sent.iter().any(|(at, seq)| *seq == 3 && *at > last), "{sent:?}");
}

#[test]
fn scheduling_2_newest_sends_the_newer_vector_in_its_place() {
    let (sent, last) = superseded("scheduling-2-newest");
    assert!(sent.contains(&(last, 3)) && sent.iter().all(|(_, seq)| *seq != 2), "{sent:?}");
}

#[test]
fn switching_policies_drops_held_vectors() {
    // The near receiver's vector is held until the next trigger when the policy changes.
    let mut config = config("scheduling-1", 1.0);
    config.threshold.time = Some(millis(500));
    let mut net = Net::star(&config, &[millis(900), millis(1)]);
    trigger(&mut net, 3, Span::from_secs(2));
    let before = sent_to(&net, 2);
    assert_eq!(before.last(), Some(&1), "the second vector is held: {before:?}");
    net.command(DrCommand::Policy(RelayCommand::Switch {
        policy: policy("scheduling-2"),
        budget: Budget::ONE,
    }));
    trigger(&mut net, 1, millis(1));
    assert!(!sent_to(&net, 2).contains(&2), "{:?}", sent_to(&net, 2));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shares_of_any_mix_are_named_as_they_are_parsed(a in 0.0..1.0f64, b in 0.0..1.0f64, pick_one: bool) {
        let (accumulated, instantaneous) = (a * b, a * (1.0 - b));
        let weights = Weights { accumulated, instantaneous, time: 1.0 - accumulated - instantaneous };
        for kind in [
            PolicyKind::ProbabilisticBudget { weights, pick_one },
            PolicyKind::DeterministicBudget { weights },
        ] {
            prop_assert_eq!(kind.to_string().parse::<PolicyKind>(), Ok(kind));
        }
    }

    #[test]
    fn settings_of_even_are_named_as_they_are_parsed(
        phi in 0.0..=1.0f64,
        kappa in proptest::option::of(1.0..=1000.0f64),
        keep in proptest::option::of(0.0..=1.0f64),
    ) {
        let settings = EvenSettings::new(phi, kappa).expect("valid settings");
        let settings = keep.map_or(Some(settings), |keep| settings.keeping(keep)).expect("valid settings");
        let kind = PolicyKind::Even(settings);
        prop_assert_eq!(kind.to_string().parse::<PolicyKind>(), Ok(kind));
    }

    #[test]
    fn a_budget_is_spent_in_full_but_never_more_than_one_vector_each(
        shares in proptest::collection::vec(0.0..1.0f64, 1..9), budget in 0.0..12.0f64,
    ) {
        let total: f64 = shares.iter().sum();
        prop_assume!(total > 1e-6);
        let wanted: Vec<f64> = shares.iter().map(|share| share / total * budget).collect();
        let mut frequencies = wanted.clone();
        cap(&mut frequencies);
        let sum: f64 = frequencies.iter().sum();
        prop_assert!((sum - budget.min(shares.len() as f64)).abs() < 1e-9, "{sum} of {budget}");
        for (frequency, wanted) in frequencies.iter().zip(&wanted) {
            prop_assert!(*frequency <= 1.0);
            prop_assert!(*frequency >= wanted.min(1.0), "capping only adds surplus");
        }
        // All that stay below one get the same surplus.
        let extra: Vec<f64> = frequencies.iter().zip(&wanted).filter(|(f, _)| **f < 1.0).map(|(f, w)| f - w).collect();
        prop_assert!(extra.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-9), "{extra:?}");
    }

    #[test]
    fn parsing_a_name_never_panics(name in "\\PC*") {
        let _ = name.parse::<PolicyKind>();
    }
}
