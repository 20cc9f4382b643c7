//! `even` at work: equal errors, a budget that is never exceeded, and trouble on the network.

#[path = "support/net.rs"]
mod net;
#[path = "support/tank.rs"]
mod tank;

use evenkeel_core::{Channel, Endpoint, PeerChange, PeerId, Seed, SessionTime, Span, Vec3};
use evenkeel_dr::{
    Budget, DrCommand, DrConfig, DrEvent, EntityId, MotionState, PairWeight, RelayCommand, Threshold,
};
use net::{Net, Sent, millis};
use proptest::prelude::*;
use tank::{TICK, Tank};

/// The size of the token bucket: the budget of this many triggers per entity, but at least the minimum.
const BUCKET_TRIGGERS: f64 = 30.0;
const BUCKET_MIN: f64 = 4.0;

fn config(policy: &str, budget: f64) -> DrConfig {
    DrConfig {
        threshold: Threshold { distance: 0.3, ..Threshold::default() },
        policy: policy.parse().unwrap_or_else(|error| panic!("{error}")),
        budget: Budget::new(budget).expect("a valid budget"),
        compensation: None,
        ..DrConfig::default()
    }
}

fn drive(net: &mut Net, tanks: &mut [Tank], ticks: usize) {
    for _ in 0..ticks {
        for (entity, tank) in tanks.iter_mut().enumerate() {
            net.observe(entity as u32, tank.drive());
        }
        net.run_for(TICK);
    }
}

/// Each receiver's error in the sender's ledger.
fn errors(net: &Net) -> Vec<f64> {
    let ledger = net.peers[0].ledger().expect("the owner runs the policy");
    let now = SessionTime::from_nanos(net.now.as_nanos());
    (1..net.peers.len()).map(|receiver| ledger.accumulated(PeerId(receiver as u32), now)).collect()
}

fn spread(errors: &[f64]) -> f64 {
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    (errors.iter().map(|error| (error - mean) * (error - mean)).sum::<f64>() / errors.len() as f64).sqrt()
}

/// Vectors sent, introductions not included.
fn sent(net: &Net) -> usize {
    net.sent.iter().map(|sent| sent.vectors().len()).sum()
}

/// DR vectors that the owner made, except each entity's first.
fn triggers(net: &Net, entities: usize) -> usize {
    let made = |event: &DrEvent| matches!(event, DrEvent::Generated { .. });
    net.events.iter().filter(|(_, peer, event)| *peer == 0 && made(event)).count() - entities
}

/// The errors after two minutes of one tank at three receivers.
fn after_two_minutes(policy: &str, loss: f64) -> Vec<f64> {
    after(6_000, 1, policy, loss)
}

/// The errors after some ticks of some tanks at three receivers.
fn after(ticks: usize, tanks: u64, policy: &str, loss: f64) -> Vec<f64> {
    let delays = [millis(400), millis(200), millis(60)];
    let mut draws = Seed::new(3).draws();
    let fate = move |sent: &Sent| {
        let lost = draws.chance(loss) && sent.channel == Channel::Datagram;
        if lost { Vec::new() } else { vec![delays[sent.from.max(sent.to) - 1]] }
    };
    let mut net = Net::new(&config(policy, 1.0), 3, fate);
    let mut tanks: Vec<Tank> = (0..tanks).map(|tank| Tank::new(5 + tank)).collect();
    drive(&mut net, &mut tanks, ticks);
    errors(&net)
}

#[test]
fn errors_are_equal_and_their_mean_is_hardly_worse() {
    let (base, even) = (after_two_minutes("base-1/3", 0.0), after_two_minutes("even", 0.0));
    assert!(spread(&even) < 0.04 * spread(&base), "{even:?} instead of {base:?}");
    assert!(even.iter().sum::<f64>() < 1.05 * base.iter().sum::<f64>(), "{even:?} instead of {base:?}");
}

#[test]
fn errors_are_equal_with_many_entities_too() {
    let (base, even) = (after(3_000, 120, "base-1/3", 0.0), after(3_000, 120, "even", 0.0));
    assert!(spread(&even) < 0.02 * spread(&base), "{even:?} instead of {base:?}");
    assert!(even.iter().sum::<f64>() < 1.05 * base.iter().sum::<f64>(), "{even:?} instead of {base:?}");
}

#[test]
fn loss_both_ways_changes_little() {
    let (base, even) = (after_two_minutes("base-1/3", 0.1), after_two_minutes("even", 0.1));
    assert!(spread(&even) < 0.1 * spread(&base), "{even:?} instead of {base:?}");
}

#[test]
fn phi_sets_the_part_of_the_spread_that_remains() {
    let base = spread(&after_two_minutes("base-1/3", 0.0));
    for (policy, remaining) in [("even:phi=0.8", 0.2), ("even:phi=0.5", 0.5), ("even:phi=0.2", 0.8)] {
        let spread = spread(&after_two_minutes(policy, 0.0)) / base;
        assert!((spread - remaining).abs() < 0.06, "{policy} leaves {spread}");
    }
}

#[test]
fn with_kappa_of_one_no_receiver_is_much_worse_off_than_without_the_policy() {
    let (base, even) = (after_two_minutes("base-1/3", 0.0), after_two_minutes("even:kappa=1", 0.0));
    for (even, base) in even.iter().zip(&base) {
        assert!(*even < 1.05 * base, "{even} instead of {base}");
    }
}

/// The sum of the errors of four near receivers after two minutes, and the vectors sent to each receiver; with a fifth
/// at two seconds that loses half of all messages, or without.
fn near_errors(policy: &str, far: bool) -> (f64, Vec<f64>) {
    let count = 4 + usize::from(far);
    let mut draws = Seed::new(3).draws();
    let fate = move |sent: &Sent| {
        let receiver = sent.from.max(sent.to);
        let lost = receiver == 5 && sent.channel == Channel::Datagram && draws.chance(0.5);
        if lost { Vec::new() } else { vec![if receiver == 5 { millis(2_000) } else { millis(40) }] }
    };
    let mut net = Net::new(&config(policy, 0.25 * count as f64), count, fate);
    drive(&mut net, &mut [Tank::new(5)], 6_000);
    let sent = (1..=count).map(|receiver| net.vectors_to(receiver).len() as f64);
    (errors(&net)[..4].iter().sum(), sent.collect())
}

#[test]
fn with_keep_a_receiver_that_cannot_be_served_costs_the_others_little() {
    let borne = |policy: &str| near_errors(policy, true).0 / near_errors(policy, false).0;
    let (even, keep) = (borne("even"), borne("even:keep=0.9"));
    assert!(even > 5.0 && keep < 1.5, "{even} times with even, {keep} times with keep");
    // The far one still gets about what its limit allows: a tenth of the others' equal shares on top of its own.
    let sent = near_errors("even:keep=0.9", true).1;
    let part = sent[4] / sent.iter().sum::<f64>();
    assert!((0.18..0.32).contains(&part), "{sent:?}");
}

#[test]
fn the_less_the_others_keep_the_more_is_evened_out() {
    let [base, most, some, none] = ["base-1/3", "even:keep=0.9", "even:keep=0.7", "even:keep=0.4"]
        .map(|policy| spread(&after_two_minutes(policy, 0.0)));
    assert!(most < 0.6 * base && some < 0.5 * most && none < some, "{none}, {some}, {most} of {base}");
}

#[test]
fn a_lost_vector_is_sent_again_without_a_trigger() {
    let mut config = config("even", 1.0);
    config.threshold.time = None;
    // The first vector after the turn is lost.
    let mut lost = 0;
    let fate = move |sent: &Sent| {
        let straight = sent.vectors().iter().any(|vector| vector.vector.state.velocity.x == 0.0);
        lost += usize::from(straight);
        if straight && lost == 1 { Vec::new() } else { vec![millis(50)] }
    };
    let mut net = Net::new(&config, 1, fate);
    let mut state = MotionState { velocity: Vec3::xy(10.0, 0.0), ..MotionState::default() };
    for tick in 0..500 {
        if tick == 250 {
            state.velocity = Vec3::xy(0.0, 10.0);
        }
        state.position = state.position + state.velocity * TICK.as_secs_f64();
        net.observe(0, state);
        net.run_for(TICK);
    }
    let shown = net.peers[1].position(net.now, PeerId(0), evenkeel_dr::EntityId(0)).expect("placed");
    assert!(shown.distance(state.position) < 1.0, "{shown:?} instead of {:?}", state.position);
    let sent = net.vectors_to(1);
    assert!(sent.len() <= 4, "{} vectors for one turn", sent.len());
}

#[test]
fn a_receiver_that_joins_late_is_served_like_the_others() {
    let delays = [millis(300), millis(100), millis(200)];
    let mut net = Net::star(&config("even", 1.0), &delays);
    let third = PeerId(3);
    net.peers[0].handle_peer(net.now, PeerChange::Left { peer: third });
    let mut tanks = [Tank::new(8)];
    drive(&mut net, &mut tanks, 2_000);
    net.peers[0].handle_peer(net.now, PeerChange::Joined { peer: third, datagram_max: 1200 });
    let before = errors(&net);
    drive(&mut net, &mut tanks, 4_000);
    let grown: Vec<f64> = errors(&net).iter().zip(&before).map(|(after, before)| after - before).collect();
    let mean = grown.iter().sum::<f64>() / 3.0;
    assert!(grown.iter().all(|grown| (grown / mean - 1.0).abs() < 0.1), "{grown:?}");
}

/// The growth of the error of one of nine receivers in two minutes, and the mean distance at which the other eight
/// place the tank, whether those eight answer or not.
fn beside_a_crowd(answers: bool, budget: f64) -> (f64, f64) {
    let silent_from = millis(30_000).as_nanos();
    let fate = move |sent: &Sent| {
        let is_lost = !answers && (1..9).contains(&sent.from) && sent.at.as_nanos() > silent_from;
        if is_lost { Vec::new() } else { vec![millis(100)] }
    };
    let mut net = Net::new(&config("even", budget), 9, fate);
    let mut tanks = [Tank::new(12)];
    drive(&mut net, &mut tanks, 4_000);
    let (before, mut off) = (errors(&net)[8], 0.0);
    for _ in 0..120 {
        drive(&mut net, &mut tanks, 50);
        for receiver in 1..9 {
            let shown = net.peers[receiver].position(net.now, PeerId(0), EntityId(0)).expect("placed");
            off += shown.distance(tanks[0].state.position) / (120.0 * 8.0);
        }
    }
    (errors(&net)[8] - before, off)
}

#[test]
fn silent_receivers_are_still_served_and_do_not_hold_up_the_others() {
    for budget in [1.0, 3.0] {
        let (silent, together) = (beside_a_crowd(false, budget), beside_a_crowd(true, budget));
        assert!(silent.0 < 1.1 * together.0, "{silent:?} instead of {together:?}");
        assert!(silent.1 < 1.5 * together.1, "{silent:?} instead of {together:?}");
    }
}

#[test]
fn a_receiver_is_served_like_the_others_again_after_an_outage() {
    let outage = millis(20_000).as_nanos()..millis(30_000).as_nanos();
    let fate = move |sent: &Sent| {
        // Cut off in both directions.
        let is_lost = sent.from.max(sent.to) == 1 && outage.contains(&sent.at.as_nanos());
        if is_lost { Vec::new() } else { vec![millis(100)] }
    };
    let mut net = Net::new(&config("even", 1.0), 3, fate);
    let mut tanks = [Tank::new(13)];
    drive(&mut net, &mut tanks, 900);
    let mut grown = [0.0; 3].to_vec();
    let mut before = errors(&net);
    for period in [800, 2_000] {
        drive(&mut net, &mut tanks, period);
        let after = errors(&net);
        grown = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        before = after;
    }
    let mean = grown.iter().sum::<f64>() / 3.0;
    assert!(grown.iter().all(|grown| (grown / mean - 1.0).abs() < 0.15), "{grown:?}");
}

#[test]
fn entities_of_one_sender_share_one_price() {
    let mut net = Net::star(&config("even", 1.0), &[millis(300), millis(150), millis(50)]);
    let mut tanks: Vec<Tank> = (20..24).map(Tank::new).collect();
    drive(&mut net, &mut tanks, 3_000);
    let errors = errors(&net);
    let mean = errors.iter().sum::<f64>() / 3.0;
    assert!(spread(&errors) < 0.02 * mean, "{errors:?}");
    let (sent, triggers) = (sent(&net) as f64, triggers(&net, 4) as f64);
    assert!(sent > 0.9 * triggers, "{sent} sent for {triggers} triggers");
}

#[test]
fn pairs_with_more_weight_are_sent_more_vectors() {
    let run = |weight: f64| {
        let mut net = Net::star(&config("even", 1.0), &[millis(100); 2]);
        let mut tanks = [Tank::new(31), Tank::new(32)];
        drive(&mut net, &mut tanks, 1);
        for (entity, receiver) in [(0, 1), (1, 2)] {
            let (entity, receiver) = (EntityId(entity), PeerId(receiver));
            let weight = PairWeight::new(weight).expect("a valid weight");
            net.command(DrCommand::Policy(RelayCommand::Weigh { entity, receiver, weight }));
        }
        drive(&mut net, &mut tanks, 3_000);
        // Vectors sent, by entity and receiver.
        let mut sent = [[0.0; 2]; 2];
        for message in &net.sent {
            for vector in message.vectors() {
                sent[vector.entity.0 as usize][message.to - 1] += 1.0;
            }
        }
        (sent[0][0] + sent[1][1]) / (sent[0][1] + sent[1][0])
    };
    let (alike, more, none) = (run(1.0), run(4.0), run(0.0));
    assert!((0.9..1.1).contains(&alike), "{alike}");
    assert!(more > 1.5, "{more}");
    assert!(none < 0.05, "{none}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    // Whatever the network does.
    #[test]
    fn no_more_is_sent_than_the_budget_and_a_full_bucket(
        budget in prop_oneof![0.01..0.5f64, 0.5..2.0f64, 2.0..8.0f64],
        delays in proptest::collection::vec(0..600_i64, 1..6),
        entities in 1..4_usize,
        loss in prop_oneof![Just(0.0), 0.0..0.5f64],
        settings in prop_oneof![
            Just("even"),
            Just("even:phi=0.3"),
            Just("even:phi=1,kappa=1"),
            Just("even:keep=0.9"),
        ],
        seed in any::<u64>(),
    ) {
        let mut draws = Seed::new(seed).draws();
        let spans: Vec<Span> = delays.iter().map(|delay| millis(*delay)).collect();
        let fate = move |sent: &Sent| {
            let jitter = millis(draws.below(80) as i64);
            let lost = draws.chance(loss) && sent.channel == Channel::Datagram;
            if lost { Vec::new() } else { vec![spans[sent.from.max(sent.to) - 1] + jitter] }
        };
        let mut net = Net::new(&config(settings, budget), delays.len(), fate);
        let mut tanks: Vec<Tank> = (0..entities as u64).map(|tank| Tank::new(seed ^ tank)).collect();
        let bucket = (BUCKET_TRIGGERS * budget * entities as f64).max(BUCKET_MIN);
        for _ in 0..4 {
            drive(&mut net, &mut tanks, 100);
            let (sent, triggers) = (sent(&net) as f64, triggers(&net, entities) as f64);
            prop_assert!(sent <= budget * triggers + bucket, "{sent} sent for {triggers} triggers");
        }
    }
}
