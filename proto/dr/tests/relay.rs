//! A relay with several owners: who controls which entity, hostile owners, and players that return.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, SessionTime, Span, Vec3};
use evenkeel_dr::message::{
    Frame, Header, VERSION, VectorFrame, emit_ended, emit_introduce, emit_vector, frames,
};
use evenkeel_dr::{
    Budget, DrCommand, DrConfig, DrPeer, DrRelay, DrSeq, DrVector, EntityId, MotionKind, MotionState,
    RelayCommand, Threshold, Topology,
};

const RELAY: PeerId = PeerId(0);

/// A relay and peers, numbered from 1, without delays.
struct Room {
    now: LocalTime,
    relay: DrRelay,
    peers: Vec<DrPeer>,
}

fn config() -> DrConfig {
    DrConfig { topology: Topology::Relay(RELAY), ..DrConfig::default() }
}

fn joined(peer: PeerId) -> PeerChange {
    PeerChange::Joined { peer, datagram_max: 1200 }
}

impl Room {
    fn new(peers: usize) -> Self {
        let peers = (0..peers).map(|_| DrPeer::new(&config())).collect();
        let now = LocalTime::default() + Span::from_secs(1);
        Self { now, relay: DrRelay::new(&config()), peers }
    }

    fn join(&mut self, peer: u32) {
        self.relay.handle_peer(self.now, joined(PeerId(peer)));
        self.peers[peer as usize - 1].handle_peer(self.now, joined(RELAY));
        self.settle();
    }

    fn leave(&mut self, peer: u32) {
        self.relay.handle_peer(self.now, PeerChange::Left { peer: PeerId(peer) });
        self.peers[peer as usize - 1].handle_peer(self.now, PeerChange::Left { peer: RELAY });
        self.settle();
    }

    /// Delivers messages until there are none.
    fn settle(&mut self) {
        let mut bytes = Vec::new();
        loop {
            let mut quiet = true;
            while let Some((to, channel)) = self.relay.poll_transmit(self.now, &mut bytes) {
                quiet = false;
                let _ = self.peers[to.0 as usize - 1].handle_message(self.now, RELAY, channel, &bytes);
            }
            for index in 0..self.peers.len() {
                while let Some((_, channel)) = self.peers[index].poll_transmit(self.now, &mut bytes) {
                    quiet = false;
                    let _ = self.relay.handle_message(self.now, PeerId(index as u32 + 1), channel, &bytes);
                }
            }
            if quiet {
                return;
            }
        }
    }

    /// Lets some seconds pass in which an owner's entity goes east.
    fn drive(&mut self, peer: u32, entity: u32, seconds: i64) {
        for _ in 0..seconds * 10 {
            self.now += Span::from_millis(100);
            let x = self.now.as_nanos() as f64 / 1e9;
            let state = MotionState { position: Vec3::xy(x, 0.0), ..MotionState::default() };
            self.peers[peer as usize - 1].observe(self.now, EntityId(entity), state);
            self.relay.handle_timeout(self.now);
            self.settle();
        }
    }

    fn sees(&self, peer: u32, entity: u32) -> Option<Vec3> {
        self.peers[peer as usize - 1].position(self.now, RELAY, EntityId(entity))
    }

    /// A hostile player sends this to the relay.
    fn forge(&mut self, from: u32, channel: Channel, emit: impl FnOnce(SessionTime, &mut Vec<u8>)) {
        let bytes = self.message(emit);
        let _ = self.relay.handle_message(self.now, PeerId(from), channel, &bytes);
        self.settle();
    }

    fn message(&self, emit: impl FnOnce(SessionTime, &mut Vec<u8>)) -> Vec<u8> {
        let stamp = SessionTime::from_nanos(self.now.as_nanos());
        let mut bytes = Vec::new();
        Header { nonce: 0, stamp: Some(stamp) }.emit(VERSION, &mut bytes);
        emit(stamp, &mut bytes);
        bytes
    }

    fn frame(&self, entity: u32, first: u32, seq: u32, x: f64) -> VectorFrame {
        let generated = SessionTime::from_nanos(self.now.as_nanos());
        let state = MotionState { position: Vec3::xy(x, 0.0), ..MotionState::default() };
        VectorFrame {
            entity: EntityId(entity),
            first: DrSeq(first),
            seq: DrSeq(seq),
            sent: generated,
            vector: DrVector::generate(generated, &state, MotionKind::Linear),
        }
    }
}

fn introduce(frame: &VectorFrame, stamp: SessionTime, bytes: &mut Vec<u8>) {
    emit_introduce(frame, &Threshold::default(), stamp, bytes);
}

#[test]
fn everybody_but_its_owner_is_sent_an_entity() {
    let mut room = Room::new(3);
    (1..=3).for_each(|peer| room.join(peer));
    room.drive(1, 7, 2);
    assert!(room.sees(1, 7).is_none());
    assert!(room.sees(2, 7).is_some() && room.sees(3, 7).is_some());
}

#[test]
fn a_player_that_returns_is_seen_again_at_once() {
    let mut room = Room::new(2);
    (1..=2).for_each(|peer| room.join(peer));
    room.drive(1, 7, 2);
    room.leave(1);
    assert!(room.sees(2, 7).is_none(), "its entity left with it");
    room.join(1);
    room.drive(1, 7, 1);
    assert!(room.sees(2, 7).is_some());
}

#[test]
fn a_player_that_restarts_is_seen_again_at_once() {
    let mut room = Room::new(2);
    (1..=2).for_each(|peer| room.join(peer));
    room.drive(1, 7, 2);
    room.leave(1);
    room.peers[0] = DrPeer::new(&config());
    room.join(1);
    room.drive(1, 7, 1);
    let seen = room.sees(2, 7).expect("placed");
    assert!((seen.x - room.now.as_nanos() as f64 / 1e9).abs() < 0.5, "{seen:?} at {:?}", room.now);
}

/// The mean distance between an entity and its copies at two players, over two minutes in which a fourth player's
/// entity stands still or jumps about.
fn error_beside(jumps: bool) -> f64 {
    let mut room = Room::new(4);
    (1..=4).for_each(|peer| room.join(peer));
    let (mut sum, mut position) = (0.0, Vec3::ZERO);
    for step in 0..1_200i32 {
        room.now += Span::from_millis(100);
        let velocity = if step / 15 % 2 == 0 { Vec3::xy(5.0, 3.0) } else { Vec3::xy(5.0, -3.0) };
        position = position + velocity * 0.1;
        let state = MotionState { position, velocity, ..MotionState::default() };
        room.peers[0].observe(room.now, EntityId(7), state);
        let far = if jumps { f64::from(step % 7) * 1_000.0 } else { 0.0 };
        let state = MotionState { position: Vec3::xy(far, 0.0), ..MotionState::default() };
        room.peers[3].observe(room.now, EntityId(9), state);
        room.relay.handle_timeout(room.now);
        room.settle();
        sum += [2, 3]
            .map(|peer| room.sees(peer, 7).map_or(0.0, |seen| seen.distance(position)))
            .iter()
            .sum::<f64>();
    }
    sum / 2_400.0
}

#[test]
fn an_entity_that_jumps_about_does_not_use_up_the_budget_of_the_others() {
    let (calm, wild) = (error_beside(false), error_beside(true));
    assert!(calm > 0.0 && wild <= 1.05 * calm, "{wild} instead of {calm}");
}

/// The errors of three receivers after an entity, in a room without heartbeats, has driven and then parked. The policy
/// switches from `first` to `then` after it has parked.
fn parked(first: &str, then: &str, budget: f64) -> Vec<f64> {
    let threshold = Threshold { distance: 0.09, time: None };
    let budget = Budget::new(budget).expect("a valid budget");
    let policy = |name: &str| name.parse().expect("a policy");
    let config = DrConfig { threshold, policy: policy(first), budget, ..config() };
    let mut room = Room::new(4);
    room.relay = DrRelay::new(&config);
    room.peers = (0..4).map(|_| DrPeer::new(&config)).collect();
    (1..=4).for_each(|peer| room.join(peer));
    let mut position = Vec3::ZERO;
    for step in 0..1_500i32 {
        room.now += Span::from_millis(100);
        let velocity = match step {
            200.. => Vec3::ZERO,
            _ if step / 7 % 2 == 0 => Vec3::xy(5.0, 3.0),
            _ => Vec3::xy(5.0, -3.0),
        };
        position = position + velocity * 0.1;
        let state = MotionState { position, velocity, ..MotionState::default() };
        room.peers[0].observe(room.now, EntityId(7), state);
        if step == 250 && first != then {
            room.relay.handle_command(room.now, RelayCommand::Switch { policy: policy(then), budget });
        }
        room.relay.handle_timeout(room.now);
        room.settle();
    }
    [2, 3, 4].map(|peer| room.sees(peer, 7).map_or(f64::INFINITY, |seen| seen.distance(position))).to_vec()
}

#[test]
fn a_parked_entity_is_placed_where_it_is_whatever_the_budget() {
    for budget in [0.05, 0.3, 1.0] {
        let errors = parked("even", "even", budget);
        assert!(errors.iter().all(|error| *error < 0.2), "{errors:?} with {budget}");
    }
}

#[test]
fn a_policy_that_takes_over_corrects_parked_entities() {
    let errors = parked("base-1/100", "even", 1.0);
    assert!(errors.iter().all(|error| *error < 0.2), "{errors:?}");
}

#[test]
fn only_its_owner_moves_or_ends_an_entity() {
    let mut room = Room::new(3);
    (1..=3).for_each(|peer| room.join(peer));
    room.drive(1, 7, 2);
    let before = room.sees(2, 7).expect("placed");
    for first in [0, 1, 1000] {
        let frame = room.frame(7, first, first + 900, -1e6);
        room.forge(3, Channel::Reliable, |stamp, bytes| introduce(&frame, stamp, bytes));
        room.forge(3, Channel::Datagram, |stamp, bytes| emit_vector(&frame, stamp, bytes));
        let at = frame.sent;
        room.forge(3, Channel::Reliable, |stamp, bytes| {
            emit_ended(EntityId(7), DrSeq(900), at, stamp, bytes)
        });
    }
    let after = room.sees(2, 7).expect("still placed");
    assert!(after.distance(before) < 1.0, "{before:?} {after:?}");
}

#[test]
fn one_owner_cannot_fill_the_room_and_its_entities_leave_with_it() {
    let mut room = Room::new(3);
    (1..=3).for_each(|peer| room.join(peer));
    for entity in 0..5000 {
        // Ever smaller first numbers, and several lives of each entity.
        let frame = room.frame(100 + entity % 3000, 1_000_000 - entity, 1_000_000 - entity, 0.0);
        room.forge(3, Channel::Reliable, |stamp, bytes| introduce(&frame, stamp, bytes));
        if entity % 2 == 0 {
            let (entity, at) = (frame.entity, frame.sent);
            room.forge(3, Channel::Reliable, |stamp, bytes| emit_ended(entity, frame.seq, at, stamp, bytes));
        }
        room.now += Span::from_nanos(1000);
    }
    room.drive(1, 7, 1);
    assert!(room.sees(2, 7).is_some(), "there is room for other owners");
    room.leave(3);
    for entity in 100..3100 {
        assert!(room.sees(2, entity).is_none(), "{entity} outlives its owner");
    }
    room.drive(1, 150, 1);
    assert!(room.sees(2, 150).is_some(), "its id is free again");
}

#[test]
fn a_refused_vector_is_not_recorded() {
    let mut room = Room::new(2);
    (1..=2).for_each(|peer| room.join(peer));
    let introduction = room.frame(7, 0, 0, 0.0);
    room.forge(1, Channel::Reliable, |stamp, bytes| introduce(&introduction, stamp, bytes));
    room.now += Span::from_millis(10);
    let far_ahead = room.frame(7, 0, 500_000, 1.0);
    let mut bytes = room.message(|stamp, bytes| emit_vector(&far_ahead, stamp, bytes));
    room.relay.handle_message(room.now, PeerId(1), Channel::Datagram, &bytes).expect("a valid message");
    while let Some((to, _)) = room.relay.poll_transmit(room.now, &mut bytes) {
        let recorded = |frame: Frame<'_>| matches!(frame, Frame::Recorded { .. });
        assert!(to != PeerId(1) || !frames(&bytes).expect("a valid message").1.any(recorded));
    }
}

#[test]
fn short_lives_in_quick_succession_are_all_seen() {
    let mut room = Room::new(2);
    (1..=2).for_each(|peer| room.join(peer));
    for entity in 0..600 {
        room.now += Span::from_millis(20);
        room.peers[0].observe(room.now, EntityId(entity), MotionState::default());
        room.settle();
        assert!(room.sees(2, entity).is_some(), "entity {entity}");
        room.peers[0].handle_command(room.now, DrCommand::End { entity: EntityId(entity) });
        room.relay.handle_timeout(room.now);
        room.settle();
        assert!(room.sees(2, entity).is_none(), "entity {entity}");
    }
}

#[test]
fn an_owner_does_not_repeat_vectors_of_a_refused_entity() {
    let mut room = Room::new(3);
    (1..=3).for_each(|peer| room.join(peer));
    room.drive(1, 7, 1);
    let mut bytes = Vec::new();
    let mut vectors = 0;
    for tick in 0..200 {
        room.now += Span::from_millis(20);
        let state = MotionState { position: Vec3::xy(f64::from(tick), 0.0), ..MotionState::default() };
        room.peers[1].observe(room.now, EntityId(7), state);
        room.peers[1].handle_timeout(room.now);
        while let Some((_, channel)) = room.peers[1].poll_transmit(room.now, &mut bytes) {
            let is_vector = |frame: &Frame<'_>| matches!(frame, Frame::Vector(_));
            vectors += frames(&bytes).expect("a valid message").1.filter(is_vector).count();
            room.relay.handle_message(room.now, PeerId(2), channel, &bytes).expect("a valid message");
        }
        room.settle();
    }
    assert!(vectors <= 200, "{vectors} vectors for 199 triggers");
    assert!(room.sees(2, 7).is_some(), "the refused owner sees the other's entity");
}

#[test]
fn an_id_that_becomes_free_goes_to_an_owner_that_was_refused() {
    let mut room = Room::new(3);
    (1..=3).for_each(|peer| room.join(peer));
    room.drive(1, 7, 1);
    room.drive(2, 7, 1);
    assert!(room.sees(1, 7).is_none(), "the second owner is refused");
    room.leave(1);
    room.drive(2, 7, 1);
    assert!(room.sees(3, 7).is_some(), "the second owner gets the id when the first has left");
}
