//! A small machine for tests of the world: it pings on command, answers pings, and sets timeouts on command.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of it")]

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Reader, Rejected, Seed, Span, Wire,
};
use evenkeel_link::{ClockFaults, LinkFaults, TrueTime};
use evenkeel_sim::{NodeId, World};

const PING: u8 = 0;
const PONG: u8 = 1;
const QUEUE_MAX: usize = 1_000;

#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// Pings a peer with this number.
    Ping(PeerId, Channel, u64),
    /// Pings all peers at this time and then at this interval; `Span::ZERO`: only once.
    Wake(LocalTime, Span),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Pinged { now: LocalTime, from: PeerId, number: u64 },
    Ponged { now: LocalTime, from: PeerId, number: u64 },
    Woke { now: LocalTime },
    Peer { now: LocalTime, change: PeerChange },
}

#[derive(Debug, Default)]
pub struct Pinger {
    answer_offset: u64,
    peers: Vec<PeerId>,
    outbox: VecDeque<(PeerId, Channel, u8, u64)>,
    events: VecDeque<Event>,
    wake: Option<(LocalTime, Span)>,
}

impl Pinger {
    /// A machine of another version, whose answers differ by `answer_offset`.
    pub fn changed(answer_offset: u64) -> Self {
        Self { answer_offset, ..Self::default() }
    }

    fn note(&mut self, event: Event) {
        if self.events.len() < QUEUE_MAX {
            self.events.push_back(event);
        }
    }

    fn send(&mut self, to: PeerId, channel: Channel, tag: u8, number: u64) {
        if self.outbox.len() < QUEUE_MAX {
            self.outbox.push_back((to, channel, tag, number));
        }
    }
}

impl Endpoint for Pinger {
    type Command = Command;
    type Event = Event;

    fn handle_command(&mut self, _: LocalTime, command: Command) {
        match command {
            Command::Ping(to, channel, number) => self.send(to, channel, PING, number),
            Command::Wake(at, every) => self.wake = Some((at, every)),
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        let mut reader = Reader::new(bytes);
        let (tag, number): (u8, u64) = (reader.read()?, reader.read()?);
        reader.finish()?;
        if !self.peers.contains(&from) {
            return Err(Rejected::UnknownPeer);
        }
        match tag {
            PING => {
                self.note(Event::Pinged { now, from, number });
                self.send(from, channel, PONG, number.wrapping_add(self.answer_offset));
            }
            PONG => self.note(Event::Ponged { now, from, number }),
            other => return Err(Malformed::UnknownTag(other).into()),
        }
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.peers.retain(|peer| *peer != change.peer());
        if let PeerChange::Joined { peer, .. } = change {
            self.peers.push(peer);
        }
        self.note(Event::Peer { now, change });
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        let Some((at, every)) = self.wake else { return };
        if at > now {
            return;
        }
        self.wake = (every > Span::ZERO).then(|| (now + every, every));
        self.note(Event::Woke { now });
        for peer in self.peers.clone() {
            self.send(peer, Channel::Datagram, PING, now.as_nanos() as u64);
        }
    }

    fn poll_transmit(&mut self, _: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let (to, channel, tag, number) = self.outbox.pop_front()?;
        bytes.clear();
        tag.emit(bytes);
        number.emit(bytes);
        Some((to, channel))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.wake.map(|(at, _)| at)
    }
}

impl Wire for Command {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match *self {
            Self::Ping(to, channel, number) => {
                bytes.push(0);
                to.0.emit(bytes);
                channel.emit(bytes);
                number.emit(bytes);
            }
            Self::Wake(at, every) => {
                bytes.push(1);
                at.emit(bytes);
                every.as_nanos().emit(bytes);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            0 => Ok(Self::Ping(PeerId(reader.read()?), reader.read()?, reader.read()?)),
            1 => Ok(Self::Wake(reader.read()?, Span::from_nanos(reader.read()?))),
            other => Err(Malformed::UnknownTag(other)),
        }
    }
}

pub type Log = Vec<(TrueTime, NodeId, Event)>;

pub fn millis(millis: i64) -> TrueTime {
    TrueTime::from_nanos(millis * 1_000_000)
}

pub fn local_millis(millis: i64) -> LocalTime {
    LocalTime::from_nanos(millis * 1_000_000)
}

pub fn delay(millis: i64) -> LinkFaults {
    LinkFaults::constant(Span::from_millis(millis))
}

pub fn ping(to: NodeId, number: u64) -> Command {
    Command::Ping(to.into(), Channel::Datagram, number)
}

/// Makes a world of two joined nodes with perfect clocks and these links.
pub fn pair(a_to_b: LinkFaults, b_to_a: LinkFaults) -> (World<Pinger>, NodeId, NodeId) {
    let mut world = World::new(Seed::new(1));
    let a = world.add_node(Pinger::default(), ClockFaults::default());
    let b = world.add_node(Pinger::default(), ClockFaults::default());
    world.connect(a, b, a_to_b, b_to_a);
    world.join(a, b, 1200);
    world.run_until(TrueTime::default(), &mut ());
    (world, a, b)
}

/// Runs a world and returns the events that came up.
pub fn run(world: &mut World<Pinger>, until: TrueTime) -> Log {
    let mut log = Log::new();
    world.run_until(until, &mut |at, node, event| log.push((at, node, event)));
    log
}
