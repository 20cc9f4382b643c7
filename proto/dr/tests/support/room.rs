//! A relay and its players, each with a clock, in which anybody can pause. It integrates what the players see.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::clock::{FollowerClock, ServerClock};
use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, SessionTime, Span, Vec3};
use evenkeel_dr::{DrConfig, DrPeer, DrRelay, EntityId, MotionState, PolicyKind, Threshold, Topology};

/// The relay's number at its players.
const RELAY: PeerId = PeerId(1_000_000);
const STEP: Span = Span::from_millis(1);
const TICK: i64 = 20;
/// The delay of each link.
const DELAY: Span = Span::from_millis(15);
const SPEED: f64 = 25.0;

pub(crate) fn millis(millis: i64) -> Span {
    Span::from_millis(millis)
}

struct Player {
    peer: DrPeer<FollowerClock>,
    /// Its clock minus the true time.
    offset: Span,
    sleeps: bool,
    is_joined: bool,
    /// What it saw since it joined.
    error: f64,
}

type Packet = (LocalTime, PeerId, PeerId, Channel, Vec<u8>);

/// The room. Messages to who pauses wait.
pub(crate) struct Room {
    now: LocalTime,
    relay: DrRelay<ServerClock>,
    relay_pauses: bool,
    players: BTreeMap<PeerId, Player>,
    flight: VecDeque<Packet>,
    connected: BTreeMap<PeerId, bool>,
}

fn joined(peer: PeerId) -> PeerChange {
    PeerChange::Joined { peer, datagram_max: 1161 }
}

/// A tank that weaves. Its velocity is that of its position.
fn driven(player: PeerId, at: LocalTime) -> MotionState {
    let (t, phase) = (at.as_nanos() as f64 / 1e9, f64::from(player.0));
    let (wide, rate) = (0.6 * SPEED, 1.1);
    let (sin, cos) = libm::sincos(rate * t + phase);
    MotionState {
        position: Vec3::xy(0.8 * SPEED * t, wide / rate * sin),
        velocity: Vec3::xy(0.8 * SPEED, wide * cos),
        ..MotionState::default()
    }
}

impl Room {
    pub(crate) fn new(policy: PolicyKind, players: u32) -> Self {
        let config = DrConfig {
            policy,
            topology: Topology::Relay(RELAY),
            threshold: Threshold { distance: 0.3, ..Threshold::default() },
            tick: millis(TICK),
            compensation: Some(evenkeel_dr::Compensation::default()),
            ..DrConfig::default()
        };
        let player = |number: u32| {
            let peer = DrPeer::with_clock(&config, FollowerClock::new(RELAY));
            let offset = Span::from_secs(100 * i64::from(number));
            (PeerId(number), Player { peer, offset, sleeps: false, is_joined: false, error: 0.0 })
        };
        Self {
            now: LocalTime::from_nanos(0),
            relay: DrRelay::with_clock(&config, ServerClock::default()),
            relay_pauses: false,
            players: (1..=players).map(player).collect(),
            flight: VecDeque::new(),
            connected: BTreeMap::new(),
        }
    }

    /// Connects a player.
    pub(crate) fn join(&mut self, player: u32) {
        let peer = PeerId(player);
        self.relay.handle_peer(self.now, joined(peer));
        let player = self.players.get_mut(&peer).expect("a player");
        player.peer.handle_peer(self.now + player.offset, joined(RELAY));
        (player.is_joined, player.error) = (true, 0.0);
        self.connected.insert(peer, true);
    }

    /// A player finds its connection dead. What is in flight on it is lost.
    pub(crate) fn player_loses(&mut self, player: u32) {
        let peer = PeerId(player);
        self.flight.retain(|(_, from, to, ..)| *from != peer && *to != peer);
        let player = self.players.get_mut(&peer).expect("a player");
        player.peer.handle_peer(self.now + player.offset, PeerChange::Left { peer: RELAY });
        player.is_joined = false;
    }

    /// The relay finds a player's connection dead.
    pub(crate) fn relay_loses(&mut self, player: u32) {
        let peer = PeerId(player);
        self.flight.retain(|(_, from, to, ..)| *from != peer && *to != peer);
        self.relay.handle_peer(self.now, PeerChange::Left { peer });
        self.connected.remove(&peer);
    }

    pub(crate) fn relay_pauses(&mut self, pauses: bool) {
        self.relay_pauses = pauses;
    }

    pub(crate) fn player_sleeps(&mut self, player: u32, sleeps: bool) {
        self.players.get_mut(&PeerId(player)).expect("a player").sleeps = sleeps;
    }

    /// Steps a player's clock forward.
    pub(crate) fn step_clock(&mut self, player: u32, by: Span) {
        let player = self.players.get_mut(&PeerId(player)).expect("a player");
        player.offset += by;
    }

    /// The error booked for a player.
    pub(crate) fn booked(&self, player: u32) -> f64 {
        self.relay.ledger().accumulated(PeerId(player), SessionTime::from_nanos(self.now.as_nanos()))
    }

    /// The error that a player saw.
    pub(crate) fn shown(&self, player: u32) -> f64 {
        self.players[&PeerId(player)].error
    }

    pub(crate) fn run_for(&mut self, span: Span) {
        let until = self.now + span;
        while self.now < until {
            self.now += STEP;
            self.deliver();
            self.time_out();
            self.look();
        }
    }

    fn deliver(&mut self) {
        let mut waiting = VecDeque::new();
        while let Some((at, from, to, channel, bytes)) = self.flight.pop_front() {
            let pauses = if to == RELAY { self.relay_pauses } else { self.players[&to].sleeps };
            if at > self.now || pauses {
                waiting.push_back((at, from, to, channel, bytes));
            } else if to == RELAY {
                let _ = self.relay.handle_message(self.now, from, channel, &bytes);
                self.drain_relay();
            } else {
                let player = self.players.get_mut(&to).expect("a player");
                let _ = player.peer.handle_message(self.now + player.offset, from, channel, &bytes);
                self.drain_player(to);
            }
        }
        // What was sent meanwhile comes after what waits.
        waiting.append(&mut self.flight);
        self.flight = waiting;
    }

    fn time_out(&mut self) {
        if !self.relay_pauses {
            if self.relay.poll_timeout().is_some_and(|at| at <= self.now) {
                self.relay.handle_timeout(self.now);
            }
            self.drain_relay();
        }
        let numbers: Vec<PeerId> = self.players.keys().copied().collect();
        for number in numbers {
            let player = self.players.get_mut(&number).expect("a player");
            if player.sleeps {
                continue;
            }
            let local = self.now + player.offset;
            if player.peer.poll_timeout().is_some_and(|at| at <= local) {
                player.peer.handle_timeout(local);
            }
            // Each plays at ticks of its own.
            if (self.now.as_nanos() / 1_000_000 + 3 * i64::from(number.0)) % TICK == 0 {
                player.peer.observe(local, EntityId(number.0), driven(number, self.now));
            }
            self.drain_player(number);
        }
    }

    fn drain_relay(&mut self) {
        let mut bytes = Vec::new();
        while let Some((to, channel)) = self.relay.poll_transmit(self.now, &mut bytes) {
            if self.players[&to].is_joined {
                self.flight.push_back((self.now + DELAY, RELAY, to, channel, bytes.clone()));
            }
        }
        while self.relay.poll_event().is_some() {}
    }

    fn drain_player(&mut self, number: PeerId) {
        let player = self.players.get_mut(&number).expect("a player");
        let mut bytes = Vec::new();
        while let Some((to, channel)) = player.peer.poll_transmit(self.now + player.offset, &mut bytes) {
            self.flight.push_back((self.now + DELAY, number, to, channel, bytes.clone()));
        }
        while player.peer.poll_event().is_some() {}
    }

    /// Adds what everybody sees now. Where a player that sleeps is, nobody can know.
    fn look(&mut self) {
        let mut exported: BTreeMap<EntityId, Option<Vec3>> = BTreeMap::new();
        for (number, owner) in self.players.iter().filter(|(_, owner)| owner.is_joined && !owner.sleeps) {
            let local = self.now + owner.offset;
            let entity = EntityId(number.0);
            exported.insert(entity, owner.peer.exported(local, entity));
        }
        for player in self.players.values_mut().filter(|player| player.is_joined) {
            let local = self.now + player.offset;
            let seen: Vec<_> = player.peer.copies(local).collect();
            for (_, entity, position) in seen {
                if let Some(Some(truth)) = exported.get(&entity) {
                    player.error += truth.distance(position) * STEP.as_secs_f64();
                }
            }
        }
    }
}
