//! Acknowledgments cope with many entities in one datagram and with outages of the return path.

#[path = "support/net.rs"]
mod net;

use std::collections::BTreeMap;

use evenkeel_core::{Endpoint, PeerId, SessionTime, Span};
use evenkeel_dr::{DrCommand, DrConfig, DrEvent, DrVector, EntityId, PolicyKind, Threshold, export_error};
use net::{Net, Sent, millis, moving};
use proptest::prelude::*;

const TICK: Span = Span::from_millis(20);
const RECEIVER: PeerId = PeerId(1);

fn config() -> DrConfig {
    DrConfig {
        policy: PolicyKind::BASE,
        threshold: Threshold { distance: 0.05, time: None },
        ..DrConfig::default()
    }
}

/// Makes all entities swerve at each tick, and drains the owner after the last, so their vectors share datagrams.
fn play(net: &mut Net, entities: u32, ticks: i64) {
    for tick in 0..ticks {
        for entity in 0..entities {
            let (t, side) =
                (tick as f64 / 50.0, if (tick / 3 + i64::from(entity)) % 2 == 0 { 1.0 } else { -1.0 });
            let state = moving((10.0 * t, side * 0.4 + f64::from(entity)), (10.0, 8.0 * side));
            net.peers[0].handle_command(net.now, DrCommand::Observe { entity: EntityId(entity), state });
        }
        // Ending an unknown entity does nothing but drain the owner.
        net.command(DrCommand::End { entity: EntityId(u32::MAX) });
        net.run_for(TICK);
    }
}

/// The receiver's true error, from the events of both machines.
fn truth(net: &Net, until: SessionTime) -> f64 {
    let mut exported: BTreeMap<EntityId, DrVector> = BTreeMap::new();
    let mut shown: BTreeMap<EntityId, (DrVector, SessionTime)> = BTreeMap::new();
    let mut sum = 0.0;
    let mut count =
        |exported: &BTreeMap<EntityId, DrVector>, entity, shown: &mut (DrVector, SessionTime), at| {
            sum += export_error(&exported[&entity], &shown.0, shown.1, at);
            shown.1 = at;
        };
    let mut events: Vec<_> = net.events.iter().collect();
    events.sort_by_key(|(at, ..)| *at);
    for (at, node, event) in events {
        let at = SessionTime::from_nanos(at.as_nanos());
        match *event {
            DrEvent::Generated { entity, vector, .. } => {
                if let Some(shown) = shown.get_mut(&entity) {
                    count(&exported, entity, shown, at);
                }
                exported.insert(entity, vector);
            }
            DrEvent::Arrived { entity, placed: Some(vector), .. } if *node == 1 => {
                let shown = shown.entry(entity).or_insert((vector, at));
                count(&exported, entity, shown, at);
                shown.0 = vector;
            }
            _ => {}
        }
    }
    for (entity, shown) in &mut shown {
        count(&exported, *entity, shown, until);
    }
    sum
}

fn check(mut net: Net, entities: u32, ticks: i64) -> Result<(), TestCaseError> {
    play(&mut net, entities, ticks);
    net.run_for(Span::from_secs(20));
    let now = SessionTime::from_nanos(net.now.as_nanos());
    let ledger = net.peers[0].ledger().expect("the owner runs the policy");
    let (known, truth) = (ledger.accumulated(RECEIVER, now), truth(&net, now));
    prop_assert_eq!(ledger.estimated(), 0, "reports were given up");
    prop_assert_eq!(ledger.clamped(RECEIVER), 0, "an honest receiver was clamped");
    prop_assert!((known - truth).abs() <= 1e-9 * truth, "the ledger says {known}, the truth is {truth}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_ledger_is_exact_however_many_vectors_share_a_datagram(entities in 1u32..64, delay in 1i64..300) {
        check(Net::star(&config(), &[millis(delay)]), entities, 60)?;
    }

    #[test]
    fn the_ledger_is_exact_after_an_outage_of_the_return_path(
        entities in 1u32..20,
        delay in 1i64..200,
        begins in 100i64..500,
        lasts in 0i64..2000,
    ) {
        let outage = millis(begins).as_nanos()..millis(begins + lasts).as_nanos();
        let fate = move |sent: &Sent| {
            let lost = sent.from == 1 && outage.contains(&sent.at.as_nanos());
            if lost { Vec::new() } else { vec![millis(delay)] }
        };
        check(Net::new(&config(), 1, fate), entities, 120)?;
    }

    #[test]
    fn the_ledger_is_exact_under_random_loss_of_acknowledgments(entities in 1u32..30, seed: u64, percent in 0u64..60) {
        let mut draws = evenkeel_core::Seed::new(seed).draws();
        let fate = move |sent: &Sent| {
            let lost = sent.from == 1 && draws.below(100) < percent;
            if lost { Vec::new() } else { vec![millis(50)] }
        };
        check(Net::new(&config(), 1, fate), entities, 80)?;
    }
}

#[test]
fn vectors_do_not_count_as_lost_when_reports_stop() {
    let silent_from = millis(2000).as_nanos();
    let fate = move |sent: &Sent| {
        let lost = sent.from == 1 && sent.at.as_nanos() > silent_from;
        if lost { Vec::new() } else { vec![millis(50)] }
    };
    let mut net = Net::new(&config(), 1, fate);
    play(&mut net, 1, 1000);
    let now = SessionTime::from_nanos(net.now.as_nanos());
    let known = net.peers[0].ledger().expect("the owner runs the policy").accumulated(RECEIVER, now);
    let truth = truth(&net, now);
    assert!(
        (known / truth - 1.0).abs() < 0.05,
        "after 18 s of silence the ledger says {known}, the truth is {truth}"
    );
}

#[test]
fn reports_that_are_lost_for_good_are_estimated_and_repaired_without_a_storm() {
    for delay in [100, 300] {
        let outage = millis(1000).as_nanos()..millis(9000).as_nanos();
        let fate = move |sent: &Sent| {
            let lost = sent.from == 1 && outage.contains(&sent.at.as_nanos());
            if lost { Vec::new() } else { vec![millis(delay)] }
        };
        let mut net = Net::new(&config(), 1, fate);
        play(&mut net, 64, 600);
        net.run_for(Span::from_secs(20));
        let now = SessionTime::from_nanos(net.now.as_nanos());
        let ledger = net.peers[0].ledger().expect("the owner runs the policy");
        let (known, truth) = (ledger.accumulated(RECEIVER, now), truth(&net, now));
        assert!(ledger.estimated() > 0, "the receiver's log holds less than eight seconds of 64 entities");
        assert!(
            (known / truth - 1.0).abs() < 0.02,
            "{delay} ms: the ledger says {known}, the truth is {truth}"
        );
        let arrivals: usize = net.vectors_to(1).len();
        let reported: usize =
            net.sent.iter().filter(|sent| sent.from == 1).map(|sent| sent.bytes.len()).sum();
        assert!(reported < 16 * 12 * arrivals, "{delay} ms: {reported} bytes report {arrivals} arrivals");
    }
}
