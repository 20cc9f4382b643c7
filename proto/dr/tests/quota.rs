//! Quotas: a player that floods the relay causes only bounded traffic for the others.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, SessionTime, Span};
use evenkeel_dr::message::{
    Arrival, Header, VERSION, VectorFrame, emit_feedback, emit_introduce, emit_vector,
};
use evenkeel_dr::sender::ENTITIES_MAX;
use evenkeel_dr::{
    DrConfig, DrRelay, DrSeq, DrVector, EntityId, Limits, MotionKind, MotionState, PolicyKind, Threshold,
};

/// A relay with players from 1 on.
struct Room {
    now: LocalTime,
    relay: DrRelay,
}

impl Room {
    fn new(players: u32) -> Self {
        let limits = Limits { vectors_per_second: 100.0, births_per_second: 10.0, ..Limits::default() };
        let config = DrConfig { limits, policy: PolicyKind::BASE, ..DrConfig::default() };
        let mut relay = DrRelay::new(&config);
        let now = LocalTime::default() + Span::from_secs(1);
        for peer in (1..=players).map(PeerId) {
            relay.handle_peer(now, PeerChange::Joined { peer, datagram_max: 1200 });
        }
        Self { now, relay }
    }

    fn stamp(&self) -> SessionTime {
        SessionTime::from_nanos(self.now.as_nanos())
    }

    fn frame(&self, entity: u32, first: u32, seq: u32) -> VectorFrame {
        let (generated, sent) = (self.stamp(), self.stamp());
        let vector = DrVector { generated, state: MotionState::default(), kind: MotionKind::Linear };
        VectorFrame { entity: EntityId(entity), first: DrSeq(first), seq: DrSeq(seq), sent, vector }
    }

    /// A player sends a message.
    fn send(&mut self, from: u32, channel: Channel, emit: impl FnOnce(SessionTime, &mut Vec<u8>)) {
        let (stamp, mut bytes) = (self.stamp(), Vec::new());
        Header { nonce: 1, stamp: Some(stamp) }.emit(VERSION, &mut bytes);
        emit(stamp, &mut bytes);
        self.relay.handle_message(self.now, PeerId(from), channel, &bytes).expect("a valid message");
    }

    fn introduce(&mut self, from: u32, entity: u32, first: u32) {
        let frame = self.frame(entity, first, first);
        self.send(from, Channel::Reliable, |stamp, bytes| {
            emit_introduce(&frame, &Threshold::default(), stamp, bytes)
        });
    }

    /// The reliable messages and the bytes of datagrams that leave for a player now.
    fn leaving(&mut self, player: u32) -> (usize, usize) {
        let (mut bytes, mut reliable, mut datagrams) = (Vec::new(), 0, 0);
        while let Some((to, channel)) = self.relay.poll_transmit(self.now, &mut bytes) {
            match channel {
                Channel::Reliable if to.0 == player => reliable += 1,
                Channel::Datagram if to.0 == player => datagrams += bytes.len(),
                _ => {}
            }
        }
        (reliable, datagrams)
    }
}

#[test]
fn a_flood_of_lives_is_bounded_for_other_players() {
    let mut room = Room::new(3);
    for number in 0..5_000 {
        room.introduce(3, 7, number);
    }
    let (reliable, _) = room.leaving(2);
    // A burst of as many entities as an owner may have, and the end of each.
    assert!((256..=2 * 256).contains(&reliable), "{reliable}");
    room.now += Span::from_secs(1);
    for number in 5_000..10_000 {
        room.introduce(3, 7, number);
    }
    let (reliable, _) = room.leaving(2);
    assert!((10..=22).contains(&reliable), "{reliable}");
    assert!(room.relay.over_quota() > 9_000);
    room.introduce(1, 8, 0);
    assert_eq!(room.leaving(2).0, 1, "the others are not affected");
}

#[test]
fn a_flood_of_vectors_is_bounded_for_other_players() {
    let mut room = Room::new(3);
    room.introduce(3, 7, 0);
    room.leaving(2);
    for number in 1..5_000 {
        room.now += Span::from_millis(1);
        let frame = room.frame(7, 0, number);
        room.send(3, Channel::Datagram, |stamp, bytes| emit_vector(&frame, stamp, bytes));
    }
    room.leaving(2);
    let sent = room.relay.ledger().sent_to(PeerId(2));
    // Ignored vectors leave holes in the exported path, which are never filled here.
    assert!((200..=720).contains(&sent), "{sent}");
}

#[test]
fn the_last_places_are_reserved_for_owners_with_few_entities() {
    let mut room = Room::new(20);
    for owner in 1..20 {
        for number in 0..256 {
            room.introduce(owner, owner * 1000 + number, 0);
        }
    }
    room.leaving(20);
    for number in 0..5 {
        room.introduce(20, 90_000 + number, 0);
    }
    assert_eq!(room.leaving(1).0, 2, "half of {ENTITIES_MAX} is used up, and the rest is reserved");
}

#[test]
fn claims_of_lost_reports_are_believed_once_a_second() {
    let mut room = Room::new(3);
    room.introduce(1, 7, 0);
    room.leaving(2);
    room.now += Span::from_secs(2);
    for number in 1..1_000_u64 {
        room.now += Span::from_millis(1);
        let at = room.stamp();
        let arrival = Arrival { entity: EntityId(7), seq: DrSeq(0), at, nonce: 5 };
        room.send(2, Channel::Datagram, |stamp, bytes| {
            emit_feedback(10 * number, 10 * number, stamp, [arrival].iter(), bytes)
        });
    }
    assert_eq!(room.relay.ledger().estimated(), 1);
}
