//! Peers, a simulated network and a virtual clock.

// Each test uses a part of it.
#![allow(dead_code)]

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Span, Vec3};
use evenkeel_dr::message::{Frame, VectorFrame, frames};
use evenkeel_dr::{DrCommand, DrConfig, DrEvent, DrPeer, EntityId, MotionState};

/// A message that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: LocalTime,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) channel: Channel,
    pub(crate) bytes: Vec<u8>,
}

impl Sent {
    /// The DR vectors in it, introductions not included.
    pub(crate) fn vectors(&self) -> Vec<VectorFrame> {
        let vector = |frame| match frame {
            Frame::Vector(vector) => Some(vector),
            _ => None,
        };
        frames(&self.bytes).expect("a valid message").1.filter_map(vector).collect()
    }
}

/// Decides the delays of a message's copies. Without a copy it is lost.
type Fate = Box<dyn FnMut(&Sent) -> Vec<Span>>;

pub(crate) struct Net {
    pub(crate) now: LocalTime,
    pub(crate) peers: Vec<DrPeer>,
    /// Every message so far.
    pub(crate) sent: Vec<Sent>,
    /// Every event so far, with its time and peer.
    pub(crate) events: Vec<(LocalTime, usize, DrEvent)>,
    flight: Vec<(LocalTime, Sent)>,
    fate: Fate,
}

pub(crate) fn millis(millis: i64) -> Span {
    Span::from_millis(millis)
}

/// A state of motion in the plane.
pub(crate) fn moving(position: (f64, f64), velocity: (f64, f64)) -> MotionState {
    MotionState {
        position: Vec3::xy(position.0, position.1),
        velocity: Vec3::xy(velocity.0, velocity.1),
        ..MotionState::default()
    }
}

impl Net {
    /// Connects peer 0, the owner, to receivers with these constant delays each way.
    pub(crate) fn star(config: &DrConfig, delays: &[Span]) -> Self {
        let delays = delays.to_vec();
        Self::new(config, delays.len(), move |sent| vec![delays[sent.from.max(sent.to) - 1]])
    }

    /// Connects peer 0, the owner, to some receivers. `fate` gives the delays of each message's copies.
    pub(crate) fn new(
        config: &DrConfig,
        receivers: usize,
        fate: impl FnMut(&Sent) -> Vec<Span> + 'static,
    ) -> Self {
        let mut net = Self {
            now: LocalTime::from_nanos(0),
            peers: (0..=receivers).map(|_| DrPeer::new(config)).collect(),
            sent: Vec::new(),
            events: Vec::new(),
            flight: Vec::new(),
            fate: Box::new(fate),
        };
        let joined = |peer: usize| PeerChange::Joined { peer: PeerId(peer as u32), datagram_max: 1200 };
        for receiver in 1..=receivers {
            net.peers[0].handle_peer(net.now, joined(receiver));
            net.peers[receiver].handle_peer(net.now, joined(0));
        }
        net
    }

    /// Reports the state of an entity to the owner.
    pub(crate) fn observe(&mut self, entity: u32, state: MotionState) {
        self.command(DrCommand::Observe { entity: EntityId(entity), state });
    }

    /// Gives the owner a command.
    pub(crate) fn command(&mut self, command: DrCommand) {
        self.command_to(0, command);
    }

    /// Gives a peer a command.
    pub(crate) fn command_to(&mut self, peer: usize, command: DrCommand) {
        self.peers[peer].handle_command(self.now, command);
        self.drain(peer);
    }

    /// Lets time pass.
    pub(crate) fn run_for(&mut self, span: Span) {
        let until = self.now + span;
        loop {
            let arrival = self.flight.iter().map(|(at, _)| *at).min();
            let timeout = self.peers.iter().filter_map(DrPeer::poll_timeout).min();
            let Some(next) = [arrival, timeout].into_iter().flatten().min().filter(|next| *next <= until)
            else {
                break;
            };
            self.now = self.now.max(next);
            match self.flight.iter().position(|(at, _)| *at <= self.now) {
                Some(index) => {
                    let (_, sent) = self.flight.remove(index);
                    let from = PeerId(sent.from as u32);
                    let result =
                        self.peers[sent.to].handle_message(self.now, from, sent.channel, &sent.bytes);
                    assert_eq!(result, Ok(()), "peers accept each other's messages");
                    self.drain(sent.to);
                }
                None => (0..self.peers.len()).for_each(|peer| {
                    self.peers[peer].handle_timeout(self.now);
                    self.drain(peer);
                }),
            }
        }
        self.now = until;
    }

    fn drain(&mut self, from: usize) {
        let mut bytes = Vec::new();
        while let Some((to, channel)) = self.peers[from].poll_transmit(self.now, &mut bytes) {
            let sent = Sent { at: self.now, from, to: to.0 as usize, channel, bytes: bytes.clone() };
            for delay in (self.fate)(&sent) {
                self.flight.push((self.now + delay, sent.clone()));
            }
            self.sent.push(sent);
        }
        while let Some(event) = self.peers[from].poll_event() {
            self.events.push((self.now, from, event));
        }
    }

    /// The vectors that were sent to a receiver, with their sending times. Introductions are not included.
    pub(crate) fn vectors_to(&self, receiver: usize) -> Vec<(LocalTime, VectorFrame)> {
        let messages = self.sent.iter().filter(|sent| sent.to == receiver);
        messages.flat_map(|sent| sent.vectors().into_iter().map(|vector| (sent.at, vector))).collect()
    }
}
