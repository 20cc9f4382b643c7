//! Pacing: at most one datagram per peer and tick if everything fits, and a lone vector does not wait.

#[path = "support/net.rs"]
mod net;

use std::collections::BTreeMap;

use evenkeel_core::{Channel, Span};
use evenkeel_dr::message::{Frame, frames};
use evenkeel_dr::{DrCommand, DrConfig, EntityId, PolicyKind, Threshold};
use net::{Net, millis, moving};

const TICK: Span = Span::from_millis(20);

fn config() -> DrConfig {
    DrConfig {
        policy: PolicyKind::BASE,
        threshold: Threshold { distance: 0.01, time: None },
        tick: TICK,
        ..DrConfig::default()
    }
}

/// Drives entities that swerve every few milliseconds, each observed separately.
fn swerve(net: &mut Net, entities: u32, steps: i64, pause: Span) {
    for step in 0..steps {
        for entity in 0..entities {
            let side = if (step + i64::from(entity)) % 2 == 0 { 1.0 } else { -1.0 };
            net.observe(entity, moving((step as f64, side), (1.0, side)));
        }
        net.run_for(pause);
    }
    net.run_for(millis(200));
}

#[test]
fn two_datagrams_to_a_peer_are_a_tick_apart() {
    let mut net = Net::star(&config(), &[millis(30), millis(50)]);
    swerve(&mut net, 3, 200, millis(3));
    let mut last: BTreeMap<(usize, usize), _> = BTreeMap::new();
    let datagrams = net.sent.iter().filter(|sent| sent.channel == Channel::Datagram);
    for sent in datagrams {
        if let Some(before) = last.insert((sent.from, sent.to), sent.at) {
            assert!(
                sent.at - before >= TICK,
                "{:?} after {before:?} from {} to {}",
                sent.at,
                sent.from,
                sent.to
            );
        }
    }
    let vectors = net.vectors_to(1).len();
    assert!(vectors > 3 * 190, "only {vectors} vectors were sent");
}

#[test]
fn a_lone_vector_leaves_at_once() {
    let mut net = Net::star(&config(), &[millis(30)]);
    net.observe(1, moving((0.0, 0.0), (1.0, 0.0)));
    net.run_for(millis(1007));
    net.observe(1, moving((5.0, 5.0), (1.0, 0.0)));
    let vectors = net.vectors_to(1);
    assert_eq!(vectors.len(), 1);
    assert_eq!(vectors[0].0, net.now);
}

#[test]
fn vectors_that_do_not_fit_one_datagram_leave_in_several_at_once() {
    let mut net = Net::star(&config(), &[millis(30)]);
    let all = |y: f64| {
        let states = (0..100).map(|entity| (EntityId(entity), moving((0.0, y), (1.0, 0.0)))).collect();
        DrCommand::ObserveAll { states }
    };
    net.command(all(0.0));
    net.run_for(millis(500));
    let before = net.sent.len();
    net.command(all(1.0));
    let burst: Vec<_> = net.sent[before..].iter().collect();
    let vectors: usize = burst.iter().map(|sent| sent.vectors().len()).sum();
    assert_eq!(vectors, 100);
    assert!((3..=5).contains(&burst.len()), "{} datagrams of at most 1200 bytes", burst.len());
    assert!(burst.iter().all(|sent| sent.bytes.len() <= 1200));
}

#[test]
fn acknowledgments_and_vectors_share_datagrams() {
    let mut net = Net::star(&config(), &[millis(30)]);
    // The receiver owns an entity, too, so it sends both vectors and acknowledgments.
    for step in 0..300i64 {
        let side = if step % 2 == 0 { 1.0 } else { -1.0 };
        net.observe(1, moving((step as f64, side), (1.0, side)));
        let state = moving((step as f64, -side), (1.0, side));
        net.command_to(1, DrCommand::Observe { entity: EntityId(9), state });
        net.run_for(TICK);
    }
    let mixed =
        net.sent.iter().filter(|sent| sent.from == 1 && sent.channel == Channel::Datagram).filter(|sent| {
            let (_, all) = frames(&sent.bytes).expect("a valid message");
            let kinds: Vec<_> = all.map(|frame| matches!(frame, Frame::Vector(_))).collect();
            kinds.contains(&true) && kinds.contains(&false)
        });
    let mixed = mixed.count();
    assert!(mixed > 250, "{mixed} of about 300 datagrams hold both");
}
