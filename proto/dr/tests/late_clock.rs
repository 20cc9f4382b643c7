//! Late session clocks: peers that join before the clock is fixed are not forgotten, and a clock that steps fires
//! timers.

use std::cell::Cell;
use std::rc::Rc;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, SessionTime, Span, Vec3,
};
use evenkeel_dr::message::{Header, VERSION};
use evenkeel_dr::{DrCommand, DrConfig, DrPeer, DrRelay, EntityId, MotionState, Topology};

/// A clock without a time until it is fixed.
#[derive(Clone, Default)]
struct Unfixed(Rc<Cell<bool>>);

impl SessionClock for Unfixed {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        self.0.get().then_some(SessionTime::from_nanos(now.as_nanos()))
    }

    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        self.0.get().then_some(LocalTime::from_nanos(at.as_nanos()))
    }
}

const OTHER: PeerId = PeerId(4);
const JOINED: PeerChange = PeerChange::Joined { peer: OTHER, datagram_max: 1200 };

fn at(millis: i64) -> LocalTime {
    LocalTime::default() + Span::from_millis(millis)
}

#[test]
fn an_early_peer_is_introduced_once_the_clock_is_fixed() {
    let clock = Unfixed::default();
    let mut peer = DrPeer::with_clock(&DrConfig::default(), clock.clone());
    let state = MotionState { velocity: Vec3::xy(3.0, 0.0), ..MotionState::default() };
    let mut bytes = Vec::new();
    peer.handle_peer(at(0), JOINED);
    peer.observe(at(20), EntityId(1), state);
    assert_eq!(peer.poll_transmit(at(20), &mut bytes), None, "there is no session time yet");
    let introduction = introduction();
    assert_eq!(peer.handle_message(at(30), OTHER, Channel::Reliable, &introduction), Ok(()));
    assert_eq!(peer.position(at(30), OTHER, EntityId(9)), None);

    clock.0.set(true);
    peer.observe(at(40), EntityId(1), state);
    assert_eq!(peer.poll_transmit(at(40), &mut bytes), Some((OTHER, Channel::Reliable)));
    assert!(peer.position(at(40), OTHER, EntityId(9)).is_some(), "reliable messages wait");
}

#[test]
fn an_entity_that_ends_while_there_is_no_time_is_not_introduced() {
    let clock = Unfixed::default();
    clock.0.set(true);
    let relay = DrConfig { topology: Topology::Relay(OTHER), ..DrConfig::default() };
    let mut peer = DrPeer::with_clock(&relay, clock.clone());
    let mut bytes = Vec::new();
    let mut introduced = |peer: &mut DrPeer<Unfixed>, millis: i64| {
        let transmitted = core::iter::from_fn(|| peer.poll_transmit(at(millis), &mut bytes));
        transmitted.filter(|(_, channel)| *channel == Channel::Reliable).count()
    };
    peer.handle_peer(at(0), JOINED);
    peer.observe(at(10), EntityId(1), MotionState::default());
    peer.observe(at(10), EntityId(2), MotionState::default());
    assert_eq!(introduced(&mut peer, 10), 2);
    peer.handle_peer(at(20), PeerChange::Left { peer: OTHER });
    clock.0.set(false);
    peer.handle_command(at(30), DrCommand::End { entity: EntityId(1) });
    clock.0.set(true);
    peer.handle_peer(at(40), JOINED);
    assert_eq!(introduced(&mut peer, 40), 1, "only the other entity");
}

/// Two machines, connected without delay: delivers everything that is ready.
fn deliver<A: Endpoint, B: Endpoint>(now: LocalTime, (a, b): (&mut A, &mut B), ids: (PeerId, PeerId)) {
    let mut bytes = Vec::new();
    loop {
        if let Some((_, channel)) = a.poll_transmit(now, &mut bytes) {
            // Without a time, it may be refused.
            let _ = b.handle_message(now, ids.0, channel, &bytes);
        } else if let Some((_, channel)) = b.poll_transmit(now, &mut bytes) {
            let _ = a.handle_message(now, ids.1, channel, &bytes);
        } else {
            return;
        }
    }
}

/// An owner, and the clock that it may lose.
fn owner_with_a_clock(topology: Topology) -> (Unfixed, DrPeer<Unfixed>) {
    let clock = Unfixed::default();
    clock.0.set(true);
    let owner = DrPeer::with_clock(&DrConfig { topology, ..DrConfig::default() }, clock.clone());
    (clock, owner)
}

const OWNER: PeerId = PeerId(1);
const FROM_OWNER: PeerChange = PeerChange::Joined { peer: OWNER, datagram_max: 1200 };

#[test]
fn an_entity_that_ends_while_the_clock_is_lost_does_not_stay_at_a_receiver() {
    let (clock, mut owner) = owner_with_a_clock(Topology::Direct);
    let mut receiver = DrPeer::new(&DrConfig::default());
    owner.handle_peer(at(0), JOINED);
    receiver.handle_peer(at(0), FROM_OWNER);
    owner.observe(at(10), EntityId(1), MotionState::default());
    owner.observe(at(10), EntityId(2), MotionState::default());
    deliver(at(10), (&mut owner, &mut receiver), (OWNER, OTHER));
    assert_eq!(receiver.copies(at(10)).count(), 2);
    clock.0.set(false);
    owner.handle_command(at(20), DrCommand::End { entity: EntityId(1) });
    deliver(at(20), (&mut owner, &mut receiver), (OWNER, OTHER));
    clock.0.set(true);
    owner.handle_timeout(at(30));
    deliver(at(30), (&mut owner, &mut receiver), (OWNER, OTHER));
    let left: Vec<_> = receiver.copies(at(30)).map(|(_, entity, _)| entity).collect();
    assert_eq!(left, [EntityId(2)]);
    owner.observe(at(40), EntityId(1), MotionState::default());
    deliver(at(40), (&mut owner, &mut receiver), (OWNER, OTHER));
    assert_eq!(receiver.copies(at(40)).count(), 2, "it may come back");
}

#[test]
fn an_entity_that_ends_while_the_clock_is_lost_does_not_stay_at_a_relay() {
    let (clock, mut owner) = owner_with_a_clock(Topology::Relay(OTHER));
    let mut relay = DrRelay::new(&DrConfig::default());
    owner.handle_peer(at(0), JOINED);
    relay.handle_peer(at(0), FROM_OWNER);
    owner.observe(at(10), EntityId(1), MotionState::default());
    owner.observe(at(10), EntityId(2), MotionState::default());
    deliver(at(10), (&mut owner, &mut relay), (OWNER, OTHER));
    assert_eq!(relay.entities().count(), 2);
    clock.0.set(false);
    owner.handle_command(at(20), DrCommand::End { entity: EntityId(1) });
    clock.0.set(true);
    owner.handle_timeout(at(30));
    deliver(at(30), (&mut owner, &mut relay), (OWNER, OTHER));
    assert_eq!(relay.entities().map(|entity| entity.entity).collect::<Vec<_>>(), [EntityId(2)]);
}

#[test]
fn entities_whose_owner_leaves_while_the_relay_has_no_clock_end_once_it_has() {
    let (clock, mut owner) = owner_with_a_clock(Topology::Relay(OTHER));
    let mut relay = DrRelay::with_clock(&DrConfig::default(), clock.clone());
    owner.handle_peer(at(0), JOINED);
    relay.handle_peer(at(0), FROM_OWNER);
    owner.observe(at(10), EntityId(1), MotionState::default());
    deliver(at(10), (&mut owner, &mut relay), (OWNER, OTHER));
    assert_eq!(relay.entities().count(), 1);
    clock.0.set(false);
    relay.handle_peer(at(20), PeerChange::Left { peer: OWNER });
    clock.0.set(true);
    relay.handle_timeout(at(30));
    assert_eq!(relay.entities().count(), 0);
}

#[test]
fn an_entity_that_is_not_observed_after_a_long_break_is_introduced_a_little_later() {
    let clock = Unfixed::default();
    clock.0.set(true);
    let relay = DrConfig { topology: Topology::Relay(OTHER), ..DrConfig::default() };
    let mut peer = DrPeer::with_clock(&relay, clock.clone());
    let mut bytes = Vec::new();
    let mut introduced = |peer: &mut DrPeer<Unfixed>, millis: i64| {
        let transmitted = core::iter::from_fn(|| peer.poll_transmit(at(millis), &mut bytes));
        transmitted.filter(|(_, channel)| *channel == Channel::Reliable).count()
    };
    peer.handle_peer(at(0), JOINED);
    for entity in 1..=3 {
        peer.observe(at(10), EntityId(entity), MotionState::default());
    }
    assert_eq!(introduced(&mut peer, 10), 3);
    peer.handle_peer(at(20), PeerChange::Left { peer: OTHER });
    peer.handle_peer(at(5_000), JOINED);
    assert_eq!(introduced(&mut peer, 5_000), 0, "they may have moved on");
    peer.observe(at(5_010), EntityId(2), MotionState::default());
    assert_eq!(introduced(&mut peer, 5_010), 1);
    let due = peer.poll_timeout().expect("the others are awaited");
    assert!(due <= at(5_600), "{due:?}");
    peer.handle_timeout(at(5_600));
    assert_eq!(introduced(&mut peer, 5_600), 2);
    assert!(peer.poll_timeout().is_none_or(|due| due > at(5_600)), "nothing is awaited any more");
}

/// The introduction of another owner's entity.
fn introduction() -> Vec<u8> {
    let mut other = DrPeer::new(&DrConfig::default());
    other.handle_peer(at(0), JOINED);
    other.observe(at(10), EntityId(9), MotionState::default());
    let mut bytes = Vec::new();
    assert_eq!(other.poll_transmit(at(10), &mut bytes), Some((OTHER, Channel::Reliable)));
    bytes
}

#[test]
fn a_relay_remembers_early_peers_unless_they_left() {
    let clock = Unfixed::default();
    let mut relay = DrRelay::with_clock(&DrConfig::default(), clock.clone());
    relay.handle_peer(at(0), JOINED);
    relay.handle_peer(at(10), PeerChange::Joined { peer: PeerId(5), datagram_max: 1200 });
    relay.handle_peer(at(20), PeerChange::Left { peer: PeerId(5) });
    let mut message = Vec::new();
    Header { nonce: 1, stamp: None }.emit(VERSION, &mut message);
    let early = relay.handle_message(at(25), OTHER, Channel::Datagram, &message);
    assert_eq!(early, Err(Rejected::NoSessionTime));
    clock.0.set(true);
    relay.handle_timeout(at(30));
    assert_eq!(relay.handle_message(at(40), OTHER, Channel::Datagram, &message), Ok(()));
    let gone = relay.handle_message(at(40), PeerId(5), Channel::Datagram, &message);
    assert_eq!(gone, Err(Rejected::UnknownPeer));
}

/// A clock that steps forward when it is polled after a given time.
struct Stepping {
    at: LocalTime,
    step: Span,
    ahead: Span,
}

impl SessionClock for Stepping {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        Some(SessionTime::from_nanos(now.as_nanos()) + self.ahead)
    }

    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        Some(LocalTime::from_nanos(at.as_nanos()) - self.ahead)
    }

    fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        if now >= self.at {
            self.ahead = self.step;
        }
        None
    }
}

#[test]
fn timers_that_a_clock_step_makes_due_fire_in_the_same_call() {
    let clock = Stepping { at: at(900), step: Span::from_millis(400), ahead: Span::ZERO };
    let mut peer = DrPeer::with_clock(&DrConfig::default(), clock);
    peer.handle_peer(at(0), JOINED);
    let result = peer.handle_message(at(20), OTHER, Channel::Reliable, &introduction());
    assert_eq!(result, Ok(()));
    let mut bytes = Vec::new();
    while peer.poll_transmit(at(20), &mut bytes).is_some() {}
    assert_eq!(peer.poll_timeout(), Some(at(1_020)), "the arrival is to be repeated");
    peer.handle_timeout(at(900));
    assert_eq!(peer.poll_transmit(at(900), &mut bytes), Some((OTHER, Channel::Datagram)));
    assert!(peer.poll_timeout() > Some(at(900)), "a handled timeout is no longer due");
}
