//! A room that is cranked by hand: one owner of many entities, many receivers, all of them real machines. Messages take
//! a few ticks each way.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use evenkeel_core::{Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed, Span};
use evenkeel_dr::{
    Budget, DrCommand, DrConfig, DrEvent, DrPeer, EntityId, MotionState, PolicyKind, Threshold,
};
use evenkeel_games::{Driver, Mover};

/// 50 in a second.
pub(crate) const TICK: Span = Span::from_millis(20);
/// The farthest receiver's delay: 400 ms.
const DELAY_MAX: usize = 20;
const DATAGRAM_MAX: usize = 1200;

/// What comes to a machine, or leaves it.
#[derive(Clone)]
pub(crate) struct Message {
    /// The receiver's number; the owner is at the other end.
    receiver: usize,
    to_owner: bool,
    channel: Channel,
    bytes: Vec<u8>,
}

/// To whom, how, and what.
type Sent = (PeerId, Channel, Vec<u8>);

/// What was done, and how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) ticks: u64,
    pub(crate) triggers: u64,
    pub(crate) settled: u64,
    pub(crate) looking: Duration,
    pub(crate) sending: Duration,
    pub(crate) settling: Duration,
}

pub(crate) fn even() -> PolicyKind {
    "even".parse().expect("a policy of ours")
}

/// A third of the receivers are sent each vector, on average.
pub(crate) fn budget(receivers: usize) -> Budget {
    Budget::new(receivers as f64 / 3.0).expect("a number")
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
pub(crate) struct Side {
    pub(crate) owner: DrPeer,
    pub(crate) figures: Figures,
    movers: Vec<Mover>,
    tick: u64,
    /// Whether it is what is measured, or what comes before.
    is_measured: bool,
}

impl Side {
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

    /// Figures are taken from now on.
    pub(crate) fn begin(&mut self) {
        (self.is_measured, self.figures) = (true, Figures::default());
    }

    /// The owner hears what has come by now, looks at its entities, and hands over what it sends. The clock is read once for all that has
    /// come: to read it takes a part of what a message takes.
    pub(crate) fn step(&mut self, heard: &[Message], states: Vec<(EntityId, MotionState)>) -> Vec<Sent> {
        let (now, mut sent) = (self.now(), Vec::new());
        // A socket has just written what it hands over.
        let heard = heard.to_vec();
        let started = Instant::now();
        for Message { receiver, channel, bytes, .. } in &heard {
            let from = PeerId(1 + *receiver as u32);
            let taken = if self.is_measured {
                take_acknowledgment(&mut self.owner, now, from, *channel, bytes)
            } else {
                self.owner.handle_message(now, from, *channel, bytes)
            };
            taken.expect("a peer takes what a peer sends");
        }
        self.figures.settling += started.elapsed();
        let started = Instant::now();
        if self.is_measured {
            look_at_all(&mut self.owner, now, states);
        } else {
            self.owner.handle_command(now, DrCommand::ObserveAll { states });
        }
        self.figures.looking += started.elapsed();
        let started = Instant::now();
        if self.is_measured {
            hand_over(&mut self.owner, now, &mut sent);
        } else {
            poll_all(&mut self.owner, now, &mut sent);
        }
        self.figures.sending += started.elapsed();
        while let Some(event) = self.owner.poll_event() {
            self.figures.triggers += u64::from(matches!(event, DrEvent::Generated { .. }));
        }
        self.tick += 1;
        self.figures.ticks += 1;
        sent
    }
}

/// What an owner heard in a tick, how many arrivals there were at its receivers meanwhile, and what it sent, as a number.
pub(crate) struct Heard {
    pub(crate) messages: Vec<Message>,
    pub(crate) arrived: u64,
    pub(crate) sent: u64,
}

/// What was sent, as a number.
pub(crate) fn digest(sent: &[Sent]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (to, channel, bytes) in sent {
        (to.0, *channel == Channel::Reliable, bytes).hash(&mut hasher);
    }
    hasher.finish()
}

/// A room with everybody in it.
pub(crate) struct Room {
    pub(crate) side: Side,
    receivers: Vec<DrPeer>,
    /// What arrives at which of the next ticks.
    wheel: Vec<Vec<Message>>,
    draws: Draws,
    /// Whether what is sent arrives.
    pub(crate) is_delivering: bool,
}

impl Room {
    pub(crate) fn new(entities: usize, receivers: usize, policy: PolicyKind, distance: f64) -> Self {
        let config = config(receivers, policy, distance);
        let mut others: Vec<DrPeer> = (0..receivers).map(|_| DrPeer::new(&config)).collect();
        others.iter_mut().for_each(|peer| peer.handle_peer(START, joined(0)));
        Self {
            side: Side::new(entities, receivers, &config),
            receivers: others,
            wheel: (0..2 * DELAY_MAX).map(|_| Vec::new()).collect(),
            draws: Seed::new(9).draws(),
            is_delivering: true,
        }
    }

    /// So many ticks, of which figures are taken.
    pub(crate) fn measure(&mut self, ticks: usize) -> Figures {
        self.side.begin();
        (0..ticks).for_each(|_| self.step());
        self.side.figures
    }

    /// What arrives does, then the owner looks at its entities.
    pub(crate) fn step(&mut self) {
        let states = self.side.states();
        self.step_with(states);
    }

    pub(crate) fn step_with(&mut self, states: Vec<(EntityId, MotionState)>) {
        self.write_down(states);
    }

    /// The same. Gives what the owner heard.
    pub(crate) fn write_down(&mut self, states: Vec<(EntityId, MotionState)>) -> Heard {
        let (now, before) = (self.side.now(), self.side.figures.settled);
        let place = self.side.tick as usize % self.wheel.len();
        let arrived = std::mem::take(&mut self.wheel[place]);
        let (messages, to_receivers): (Vec<_>, Vec<_>) =
            arrived.into_iter().partition(|message| message.to_owner);
        for message in to_receivers {
            let Message { receiver, channel, bytes, .. } = message;
            let taken = self.receivers[receiver].handle_message(now, PeerId(0), channel, &bytes);
            taken.expect("a peer takes what a peer sends");
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
        Heard { messages, arrived: self.side.figures.settled - before, sent }
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

    /// Everybody else goes.
    pub(crate) fn into_owner(self) -> DrPeer {
        self.side.owner
    }
}

/// What is measured as ticks of pairs; its name is what instructions are counted under.
#[inline(never)]
pub(crate) fn look_at_all(owner: &mut DrPeer, now: LocalTime, states: Vec<(EntityId, MotionState)>) {
    owner.handle_command(now, DrCommand::ObserveAll { states });
}

/// What is measured as handing over what is sent.
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

/// What is measured as acknowledgments.
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
