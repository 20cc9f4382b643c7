//! A receiver's claims about its delay are believed as far as the sender's evidence goes.

#[path = "support/net.rs"]
mod net;

use std::cell::Cell;
use std::rc::Rc;

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, SessionTime, Span};
use evenkeel_dr::message::{Arrival, Header, VERSION, emit_feedback, frames};
use evenkeel_dr::{Compensation, DrConfig, DrPeer, DrSeq, EntityId, PolicyKind, Threshold};
use net::{Net, millis, moving};

const RECEIVER: PeerId = PeerId(1);
const TANK: EntityId = EntityId(3);

fn config() -> DrConfig {
    DrConfig {
        policy: PolicyKind::BASE,
        threshold: Threshold { distance: 0.05, time: Some(millis(100)) },
        ..DrConfig::default()
    }
}

fn at(ms: i64) -> LocalTime {
    LocalTime::default() + millis(ms)
}

fn session(ms: i64) -> SessionTime {
    SessionTime::default() + millis(ms)
}

/// An owner that has introduced its tank at 0 ms, and the nonce of the introduction.
fn introduced() -> (DrPeer, u32) {
    let mut owner = DrPeer::new(&config());
    owner.handle_peer(at(0), PeerChange::Joined { peer: RECEIVER, datagram_max: 1200 });
    owner.observe(at(0), TANK, moving((0.0, 0.0), (1.0, 0.0)));
    let mut bytes = Vec::new();
    assert_eq!(owner.poll_transmit(at(0), &mut bytes), Some((RECEIVER, Channel::Reliable)));
    let (header, _) = frames(&bytes).expect("a valid message");
    (owner, header.nonce)
}

/// The receiver claims at `now` that the introduction arrived at `arrived`.
fn acknowledge(owner: &mut DrPeer, nonce: u32, arrived: i64, now: i64) {
    let mut bytes = Vec::new();
    Header { nonce: 0, stamp: Some(session(now)) }.emit(VERSION, &mut bytes);
    let arrival = Arrival { entity: TANK, seq: DrSeq(0), at: session(arrived), nonce };
    emit_feedback(0, 0, session(now), [arrival].iter(), &mut bytes);
    assert_eq!(owner.handle_message(at(now), RECEIVER, Channel::Datagram, &bytes), Ok(()));
}

fn ledger(owner: &DrPeer) -> &evenkeel_dr::ledger::ErrorLedger {
    owner.ledger().expect("the owner runs the policy")
}

#[test]
fn an_acknowledgment_without_the_nonce_is_counted_and_not_believed() {
    let (mut owner, nonce) = introduced();
    acknowledge(&mut owner, nonce.wrapping_add(1), 5, 10);
    assert_eq!(ledger(&owner).clamped(RECEIVER), 1);
    assert_eq!(ledger(&owner).delay(RECEIVER), None, "nothing is known about its delay");
    assert_eq!(ledger(&owner).settled(RECEIVER), Some(0.0));

    let (mut owner, nonce) = introduced();
    acknowledge(&mut owner, nonce, 5, 10);
    assert_eq!(ledger(&owner).clamped(RECEIVER), 0);
    assert_eq!(ledger(&owner).delay(RECEIVER), Some((millis(5), millis(5))));
}

#[test]
fn a_claimed_delay_is_clamped_to_the_measured_round_trip() {
    let (mut owner, nonce) = introduced();
    acknowledge(&mut owner, nonce, 400, 30);
    let (compensated, claimed) = ledger(&owner).delay(RECEIVER).expect("it has reported");
    assert_eq!((compensated, claimed), (millis(30), millis(30)));
    assert_eq!(ledger(&owner).clamped(RECEIVER), 1, "an arrival in the future is counted");
    assert_eq!(ledger(&owner).least_round_trip(RECEIVER), Some(millis(30)));
}

/// The compensated and the claimed delay, each second, of a receiver whose delay steps from 40 to 240 ms after ten
/// seconds.
fn stepping(config: &DrConfig) -> Vec<(Span, Span)> {
    let slow = Rc::new(Cell::new(false));
    let steps = slow.clone();
    let mut net = Net::new(config, 1, move |_| vec![if steps.get() { millis(240) } else { millis(40) }]);
    let mut delays = Vec::new();
    for tick in 0..40 * 50 {
        slow.set(tick >= 10 * 50);
        let t = f64::from(tick) * 0.02;
        net.observe(TANK.0, moving((10.0 * t, 0.0), (10.0, 0.0)));
        net.run_for(millis(20));
        if tick % 50 == 49 {
            delays.extend(ledger(&net.peers[0]).delay(RECEIVER));
        }
    }
    delays
}

#[test]
fn the_compensated_delay_grows_slowly_and_up_to_a_limit() {
    let bound = Compensation { delay_max: millis(140), growth_per_second: millis(10) };
    let delays = stepping(&DrConfig { compensation: Some(bound), ..config() });
    let (before, claimed_before) = delays[8];
    assert_eq!((before, claimed_before), (millis(40), millis(40)));
    let (_, claimed) = *delays.last().expect("40 s of delays");
    assert!((claimed - millis(240)).abs() < millis(5), "{claimed:?}");
    for pair in delays.windows(2).skip(8) {
        let growth = pair[1].0 - pair[0].0;
        assert!(growth <= millis(11), "{growth:?} in a second");
    }
    let last = delays.last().expect("40 s of delays").0;
    assert_eq!(last, millis(140), "the limit is reached and kept");
}

#[test]
fn without_a_bound_claims_are_fully_believed() {
    let delays = stepping(&DrConfig { compensation: None, ..config() });
    assert!(delays.iter().all(|(compensated, claimed)| compensated == claimed), "{delays:?}");
}
