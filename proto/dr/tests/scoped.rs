//! Scoped entities: policies are as fair among those who see an entity as in a room of nobody else, weights outlast a life, and
//! entities stay where they move.

#[path = "support/tank.rs"]
mod tank;

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionTime, Span, Vec3};
use evenkeel_dr::{
    Budget, DrCommand, DrConfig, DrPeer, DrRelay, EntityId, MotionSpace, MotionState, PairWeight, PolicyKind,
    RelayCommand, Topology,
};
use tank::{TICK, Tank};

const RELAY: PeerId = PeerId(0);
/// Who owns every entity.
const OWNER: PeerId = PeerId(1);
/// The delays of the receivers that see the entities, in milliseconds.
const DELAYS: [i64; 4] = [20, 60, 120, 240];
/// The local number from which entities are scoped.
const SCOPED: u32 = 1_000;

fn entity(number: u32) -> EntityId {
    EntityId::of(OWNER, SCOPED + number)
}

/// The receivers that see the entities, and those that do not.
fn seers() -> impl Iterator<Item = PeerId> {
    (0..DELAYS.len() as u32).map(|receiver| PeerId(2 + receiver))
}

fn blind() -> impl Iterator<Item = PeerId> {
    (0..3).map(|receiver| PeerId(20 + receiver))
}

struct Room {
    now: LocalTime,
    relay: DrRelay,
    peers: Vec<(PeerId, DrPeer)>,
    flight: Vec<(LocalTime, PeerId, bool, Channel, Vec<u8>)>,
    rejected: Vec<Rejected>,
}

impl Room {
    fn new(policy: PolicyKind, receivers: impl Iterator<Item = PeerId>) -> Self {
        let config = DrConfig { policy, budget: Budget::ONE, tick: TICK, ..DrConfig::default() };
        let mut relay = DrRelay::new(&config);
        let now = LocalTime::from_nanos(0);
        let peer_config = DrConfig { topology: Topology::Relay(RELAY), ..config };
        let mut peers = Vec::new();
        for number in core::iter::once(OWNER).chain(receivers) {
            let mut peer = DrPeer::new(&peer_config);
            relay.handle_peer(now, PeerChange::Joined { peer: number, datagram_max: 1_200 });
            peer.handle_peer(now, PeerChange::Joined { peer: RELAY, datagram_max: 1_200 });
            peers.push((number, peer));
        }
        Self { now, relay, peers, flight: Vec::new(), rejected: Vec::new() }
    }

    /// A room in which only some see the entities.
    fn scoped(policy: PolicyKind) -> Self {
        let mut room = Self::new(policy, seers().chain(blind()));
        room.relay.scope_from(SCOPED);
        for number in 0..2 {
            room.relay.grant(room.now, entity(number), Some(OWNER));
            seers().for_each(|receiver| room.relay.show(room.now, entity(number), receiver));
        }
        room
    }

    fn delay(peer: PeerId) -> Span {
        let delay = peer.0.checked_sub(2).and_then(|index| DELAYS.get(index as usize));
        Span::from_millis(delay.copied().unwrap_or(10))
    }

    fn run(&mut self, ticks: u32, tanks: &mut [Tank]) {
        for _ in 0..ticks {
            let states: Vec<MotionState> = tanks.iter_mut().map(Tank::drive).collect();
            self.tick(&states);
        }
    }

    fn tick(&mut self, states: &[MotionState]) {
        self.now += TICK;
        let now = self.now;
        for (number, state) in states.iter().enumerate() {
            self.peers[0].1.observe(now, entity(number as u32), *state);
        }
        let (due, rest) = core::mem::take(&mut self.flight).into_iter().partition(|(at, ..)| *at <= now);
        self.flight = rest;
        for (_, peer, is_up, channel, bytes) in due {
            let handled = if is_up {
                self.relay.handle_message(now, peer, channel, &bytes)
            } else {
                let (_, machine) = self.peers.iter_mut().find(|(number, _)| *number == peer).expect("a peer");
                machine.handle_message(now, RELAY, channel, &bytes)
            };
            self.rejected.extend(handled.err());
        }
        self.relay.handle_timeout(now);
        let mut bytes = Vec::new();
        while let Some((to, channel)) = self.relay.poll_transmit(now, &mut bytes) {
            self.flight.push((now + Self::delay(to), to, false, channel, bytes.clone()));
        }
        for (number, peer) in &mut self.peers {
            peer.handle_timeout(now);
            while let Some((_, channel)) = peer.poll_transmit(now, &mut bytes) {
                self.flight.push((now + Self::delay(*number), *number, true, channel, bytes.clone()));
            }
        }
    }

    fn errors(&self) -> Vec<f64> {
        let now = SessionTime::from_nanos(self.now.as_nanos());
        seers().map(|receiver| self.relay.ledger().accumulated(receiver, now)).collect()
    }

    fn sees(&self, receiver: PeerId, entity: EntityId) -> bool {
        let (_, peer) = self.peers.iter().find(|(number, _)| *number == receiver).expect("a peer");
        peer.position(self.now, RELAY, entity).is_some()
    }
}

fn tanks() -> [Tank; 2] {
    [Tank::new(5), Tank::new(6)]
}

/// How far apart the errors are, as a part of their mean.
fn spread(errors: &[f64]) -> f64 {
    let (least, most) = errors.iter().fold((f64::MAX, 0.0f64), |(a, b), each| (a.min(*each), b.max(*each)));
    (most - least) * errors.len() as f64 / errors.iter().sum::<f64>()
}

#[test]
fn policies_are_fair_among_those_who_see_an_entity() {
    for policy in PolicyKind::all() {
        let mut alone = Room::new(policy, seers());
        let mut scoped = Room::scoped(policy);
        for room in [&mut alone, &mut scoped] {
            room.run(3_000, &mut tanks());
        }
        for receiver in blind() {
            assert!(scoped.relay.ledger().pair(entity(0), receiver).is_none(), "{policy}");
            assert!(!scoped.sees(receiver, entity(0)) && !scoped.sees(receiver, entity(1)), "{policy}");
        }
        let (expected, found) = (alone.errors(), scoped.errors());
        assert!(expected.iter().all(|error| *error > 0.0), "{policy}: {expected:?}");
        let (expected, found) = (spread(&expected), spread(&found));
        assert!((found - expected).abs() < 0.1, "{policy}: spread {found} among seers, {expected} alone");
    }
}

#[test]
fn weights_of_scoped_pairs_outlast_a_life() {
    let mut room = Room::scoped(PolicyKind::default());
    let (near, far) = (PeerId(2), PeerId(3));
    // Before the entity has moved at all, and again in its next life.
    for receiver in [near, far] {
        let weight = PairWeight::new(if receiver == near { 20.0 } else { 1.0 }).expect("in range");
        room.relay.handle_command(room.now, RelayCommand::Weigh { entity: entity(0), receiver, weight });
    }
    let grown = |room: &mut Room, tanks: &mut [Tank]| {
        let before = room.errors();
        room.run(3_000, tanks);
        let after = room.errors();
        (after[0] - before[0], after[1] - before[1])
    };
    let (mut first, mut second) = (tanks(), [Tank::new(7), Tank::new(8)]);
    let (weighty, other) = grown(&mut room, &mut first);
    assert!(weighty < 0.8 * other, "{weighty} against {other}");
    for number in 0..2 {
        let end = DrCommand::End { entity: entity(number) };
        let now = room.now;
        room.peers[0].1.handle_command(now, end);
    }
    (0..20).for_each(|_| room.tick(&[]));
    let (weighty, other) = grown(&mut room, &mut second);
    assert!(weighty < 0.8 * other, "{weighty} against {other} in the next life");
}

#[test]
fn entities_stay_where_they_move() {
    let high = Vec3::new(1.0, 2.0, 3.0);
    let flat = MotionState { position: Vec3::xy(1.0, 2.0), turn_rate: 0.5, ..MotionState::default() };
    let states = [
        (flat, [false, true, false]),
        (MotionState { position: high, ..MotionState::default() }, [false, false, true]),
        (MotionState { velocity: high, ..MotionState::default() }, [false, false, true]),
        (MotionState { acceleration: high, ..MotionState::default() }, [false, false, true]),
        (MotionState { turn_rate: 0.1, position: high, ..MotionState::default() }, [false, false, false]),
    ];
    for (state, allowed) in states {
        for (space, allowed) in
            [MotionSpace::Nowhere, MotionSpace::Plane, MotionSpace::Space].into_iter().zip(allowed)
        {
            assert_eq!(space.has(&state), allowed, "{state:?} in {space:?}");
            let mut room = Room::scoped(PolicyKind::BASE);
            room.relay.confine(entity(0), space);
            (0..30).for_each(|_| room.tick(&[state]));
            assert_eq!(room.sees(PeerId(2), entity(0)), allowed, "{state:?} in {space:?}");
            assert_eq!(room.rejected.contains(&Rejected::OutOfRange), !allowed);
        }
    }
}
