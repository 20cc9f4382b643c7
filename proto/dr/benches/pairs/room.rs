//! A room of real machines: one owner of many entities, and many receivers. Messages take a few ticks each way.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use evenkeel_core::{Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed, Span};
use evenkeel_dr::{
    Budget, DrCommand, DrConfig, DrEvent, DrPeer, EntityId, MotionState, PolicyKind, Threshold,
};
use evenkeel_games::{Driver, Mover};

/// 50 ticks per second.
pub(crate) const TICK: Span = Span::from_millis(20);
/// The farthest receiver's delay in ticks: 400 ms.
const DELAY_MAX: usize = 20;
const DATAGRAM_MAX: usize = 1200;

/// A message between the owner and a receiver.
#[derive(Clone)]
pub(crate) struct Message {
    /// The receiver's index.
    receiver: usize,
    to_owner: bool,
    channel: Channel,
    bytes: Vec<u8>,
}

/// Destination, channel and bytes of a message from the owner.
type Sent = (PeerId, Channel, Vec<u8>);

/// Numbers of operations, and how long they took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) ticks: u64,
    pub(crate) triggers: u64,
    pub(crate) settled: u64,
    pub(crate) observing: Duration,
    pub(crate) transmitting: Duration,
    pub(crate) settling: Duration,
}

pub(crate) fn even() -> PolicyKind {
    "even".parse().expect("a policy")
}

/// The budget to send each vector to a third of the receivers.
pub(crate) fn budget(receivers: usize) -> Budget {
    Budget::new(receivers as f64 / 3.0).expect("a valid budget")
}

pub(crate) fn config(receivers: usize, policy: PolicyKind, distance: f64) -> DrConfig {
    let threshold = Threshold { distance, ..Threshold::default() };
    DrConfig { policy, threshold, budget: budget(receivers), tick: TICK, ..DrConfig::default() }
}

fn joined(peer: usize) -> PeerChange {
    PeerChange::Joined { peer: PeerId(peer as u32), datagram_max: DATAGRAM_MAX }
}

const START: LocalTime = LocalTime::from_nanos(0);

/// The owner and its entities.
pub(crate) struct OwnerSide {
    pub(crate) owner: DrPeer,
    pub(crate) figures: Figures,
    movers: Vec<Mover>,
    tick: u64,
    /// Whether figures are taken, or it is still warming up.
    is_measured: bool,
}

impl OwnerSide {
    pub(crate) fn new(entities: usize, receivers: usize, config: &DrConfig) -> Self {
        let mut owner = DrPeer::new(config);
        (0..receivers).for_each(|receiver| owner.handle_peer(START, joined(1 + receiver)));
        let mover = |entity: usize| Mover::tank(Driver::Random, Seed::new(1 + entity as u64));
        let movers = (0..entities).map(mover).collect();
        Self { owner, figures: Figures::default(), movers, tick: 0, is_measured: false }
    }

    fn now(&self) -> LocalTime {
        START + TICK.times(self.tick as i64)
    }

    pub(crate) fn states(&mut self) -> Vec<(EntityId, MotionState)> {
        let step = 2 * self.tick;
        let state = |mover: &mut Mover| mover.at(step).expect("a driven tank never dies").state;
        (0..).map(EntityId).zip(self.movers.iter_mut().map(state)).collect()
    }

    /// Begins to take figures.
    pub(crate) fn begin(&mut self) {
        (self.is_measured, self.figures) = (true, Figures::default());
    }

    /// Runs the owner for a tick: it handles messages, observes its entities, and transmits. All messages are timed
    /// together, because reading the clock costs a considerable part of what a message costs.
    pub(crate) fn step(&mut self, messages: &[Message], states: Vec<(EntityId, MotionState)>) -> Vec<Sent> {
        let (now, mut sent) = (self.now(), Vec::new());
        // Copy them into the cache, as a socket does.
        let messages = messages.to_vec();
        let started = Instant::now();
        for Message { receiver, channel, bytes, .. } in &messages {
            let from = PeerId(1 + *receiver as u32);
            let result = if self.is_measured {
                take_acknowledgment(&mut self.owner, now, from, *channel, bytes)
            } else {
                self.owner.handle_message(now, from, *channel, bytes)
            };
            result.expect("peers accept each other's messages");
        }
        self.figures.settling += started.elapsed();
        let started = Instant::now();
        if self.is_measured {
            look_at_all(&mut self.owner, now, states);
        } else {
            self.owner.handle_command(now, DrCommand::ObserveAll { states });
        }
        self.figures.observing += started.elapsed();
        let started = Instant::now();
        if self.is_measured {
            hand_over(&mut self.owner, now, &mut sent);
        } else {
            poll_all(&mut self.owner, now, &mut sent);
        }
        self.figures.transmitting += started.elapsed();
        while let Some(event) = self.owner.poll_event() {
            self.figures.triggers += u64::from(matches!(event, DrEvent::Generated { .. }));
        }
        self.tick += 1;
        self.figures.ticks += 1;
        sent
    }
}

/// A tick of an owner: the messages it received, the number of arrivals at its receivers, and the digest of what it
/// sent.
pub(crate) struct RecordedTick {
    pub(crate) messages: Vec<Message>,
    pub(crate) arrived: u64,
    pub(crate) sent: u64,
}

/// A digest of sent messages.
pub(crate) fn digest(sent: &[Sent]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (to, channel, bytes) in sent {
        (to.0, *channel == Channel::Reliable, bytes).hash(&mut hasher);
    }
    hasher.finish()
}

/// The owner, its receivers, and the messages in flight.
pub(crate) struct Room {
    pub(crate) side: OwnerSide,
    receivers: Vec<DrPeer>,
    /// The messages that arrive at each of the next ticks.
    wheel: Vec<Vec<Message>>,
    draws: Draws,
    /// Whether messages arrive.
    pub(crate) is_delivering: bool,
}

impl Room {
    pub(crate) fn new(entities: usize, receivers: usize, policy: PolicyKind, distance: f64) -> Self {
        let config = config(receivers, policy, distance);
        let mut others: Vec<DrPeer> = (0..receivers).map(|_| DrPeer::new(&config)).collect();
        others.iter_mut().for_each(|peer| peer.handle_peer(START, joined(0)));
        Self {
            side: OwnerSide::new(entities, receivers, &config),
            receivers: others,
            wheel: (0..2 * DELAY_MAX).map(|_| Vec::new()).collect(),
            draws: Seed::new(9).draws(),
            is_delivering: true,
        }
    }

    /// Runs some ticks and takes figures of them.
    pub(crate) fn measure(&mut self, ticks: usize) -> Figures {
        self.side.begin();
        (0..ticks).for_each(|_| self.step());
        self.side.figures
    }

    /// Runs one tick.
    pub(crate) fn step(&mut self) {
        let states = self.side.states();
        self.step_with(states);
    }

    /// Runs one tick with these states of the entities, and records it.
    pub(crate) fn step_with(&mut self, states: Vec<(EntityId, MotionState)>) -> RecordedTick {
        let (now, before) = (self.side.now(), self.side.figures.settled);
        let place = self.side.tick as usize % self.wheel.len();
        let arrived = std::mem::take(&mut self.wheel[place]);
        let (messages, to_receivers): (Vec<_>, Vec<_>) =
            arrived.into_iter().partition(|message| message.to_owner);
        for message in to_receivers {
            let Message { receiver, channel, bytes, .. } = message;
            let result = self.receivers[receiver].handle_message(now, PeerId(0), channel, &bytes);
            result.expect("peers accept each other's messages");
            self.drain_receiver(receiver, now);
        }
        for receiver in 0..self.receivers.len() {
            self.receivers[receiver].handle_timeout(now);
            self.drain_receiver(receiver, now);
        }
        let tick = self.side.tick;
        let all = self.side.step(&messages, states);
        let sent = digest(&all);
        for (to, channel, bytes) in all {
            self.send(tick, Message { receiver: to.0 as usize - 1, to_owner: false, channel, bytes });
        }
        RecordedTick { messages, arrived: self.side.figures.settled - before, sent }
    }

    fn send(&mut self, tick: u64, message: Message) {
        if !self.is_delivering {
            return;
        }
        let usual = 1 + (DELAY_MAX - 1) * message.receiver / self.receivers.len();
        let late = usize::from(self.draws.unit() < 0.2);
        let place = (tick as usize + usual + late) % self.wheel.len();
        self.wheel[place].push(message);
    }

    fn drain_receiver(&mut self, receiver: usize, now: LocalTime) {
        let (mut bytes, tick) = (Vec::new(), self.side.tick);
        while let Some((_, channel)) = self.receivers[receiver].poll_transmit(now, &mut bytes) {
            self.send(tick, Message { receiver, to_owner: true, channel, bytes: std::mem::take(&mut bytes) });
        }
        while let Some(event) = self.receivers[receiver].poll_event() {
            self.side.figures.settled += u64::from(matches!(event, DrEvent::Arrived { .. }));
        }
    }

    /// Drops everything but the owner.
    pub(crate) fn into_owner(self) -> DrPeer {
        self.side.owner
    }
}

/// Measured as ticks. `cargo xtask instructions` finds this function by its name.
#[inline(never)]
pub(crate) fn look_at_all(owner: &mut DrPeer, now: LocalTime, states: Vec<(EntityId, MotionState)>) {
    owner.handle_command(now, DrCommand::ObserveAll { states });
}

/// Measured as transmitting.
#[inline(never)]
fn hand_over(owner: &mut DrPeer, now: LocalTime, sent: &mut Vec<Sent>) {
    poll_all(owner, now, sent);
}

fn poll_all(owner: &mut DrPeer, now: LocalTime, sent: &mut Vec<Sent>) {
    owner.handle_timeout(now);
    let mut bytes = Vec::new();
    while let Some((to, channel)) = owner.poll_transmit(now, &mut bytes) {
        sent.push((to, channel, std::mem::take(&mut bytes)));
    }
}

/// Measured as acknowledgments. `cargo xtask instructions` finds this function by its name.
#[inline(never)]
fn take_acknowledgment(
    owner: &mut DrPeer,
    now: LocalTime,
    from: PeerId,
    channel: Channel,
    bytes: &[u8],
) -> Result<(), Rejected> {
    owner.handle_message(now, from, channel, bytes)
}
