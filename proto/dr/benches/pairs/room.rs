//! A room that is cranked by hand: one owner of many entities, many receivers, all of them real machines. Messages take
//! a few ticks each way.

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

struct Message {
    /// The receiver's number; the owner is at the other end.
    receiver: usize,
    to_owner: bool,
    channel: Channel,
    bytes: Vec<u8>,
}

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

pub(crate) struct Room {
    pub(crate) owner: DrPeer,
    pub(crate) figures: Figures,
    receivers: Vec<DrPeer>,
    movers: Vec<Mover>,
    /// What arrives at which of the next ticks.
    wheel: Vec<Vec<Message>>,
    draws: Draws,
    tick: u64,
    /// Whether what is sent arrives.
    pub(crate) is_delivering: bool,
    /// Whether it is what is measured, or what comes before.
    pub(crate) is_measured: bool,
}

pub(crate) fn even() -> PolicyKind {
    "even".parse().expect("a policy of ours")
}

/// A third of the receivers are sent each vector, on average.
pub(crate) fn budget(receivers: usize) -> Budget {
    Budget::new(receivers as f64 / 3.0).expect("a number")
}

impl Room {
    pub(crate) fn new(entities: usize, receivers: usize, policy: PolicyKind, distance: f64) -> Self {
        let threshold = Threshold { distance, ..Threshold::default() };
        let config =
            DrConfig { policy, threshold, budget: budget(receivers), tick: TICK, ..DrConfig::default() };
        let mut owner = DrPeer::new(&config);
        let start = LocalTime::from_nanos(0);
        let joined =
            |peer: usize| PeerChange::Joined { peer: PeerId(peer as u32), datagram_max: DATAGRAM_MAX };
        let mut others: Vec<DrPeer> = (0..receivers).map(|_| DrPeer::new(&config)).collect();
        for (receiver, peer) in others.iter_mut().enumerate() {
            owner.handle_peer(start, joined(1 + receiver));
            peer.handle_peer(start, joined(0));
        }
        let mover = |entity: usize| Mover::tank(Driver::Random, Seed::new(1 + entity as u64));
        Self {
            owner,
            figures: Figures::default(),
            receivers: others,
            movers: (0..entities).map(mover).collect(),
            wheel: (0..2 * DELAY_MAX).map(|_| Vec::new()).collect(),
            draws: Seed::new(9).draws(),
            tick: 0,
            is_delivering: true,
            is_measured: false,
        }
    }

    fn now(&self) -> LocalTime {
        LocalTime::from_nanos(0) + TICK.times(self.tick as i64)
    }

    pub(crate) fn states(&mut self) -> Vec<(EntityId, MotionState)> {
        let step = 2 * self.tick;
        let state = |mover: &mut Mover| mover.at(step).expect("a driven tank never dies").state;
        (0..).map(EntityId).zip(self.movers.iter_mut().map(state)).collect()
    }

    /// So many ticks, of which figures are taken.
    pub(crate) fn measure(&mut self, ticks: u32) -> Figures {
        (self.is_measured, self.figures) = (true, Figures::default());
        (0..ticks).for_each(|_| self.step());
        self.figures
    }

    /// What arrives does, then the owner looks at its entities.
    pub(crate) fn step(&mut self) {
        let states = self.states();
        self.step_with(states);
    }

    pub(crate) fn step_with(&mut self, states: Vec<(EntityId, MotionState)>) {
        let now = self.now();
        let place = self.tick as usize % self.wheel.len();
        let arrived = std::mem::take(&mut self.wheel[place]);
        let (to_owner, to_receivers): (Vec<_>, Vec<_>) =
            arrived.into_iter().partition(|message| message.to_owner);
        self.acknowledge(&to_owner, now);
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
        let started = Instant::now();
        if self.is_measured {
            look_at_all(&mut self.owner, now, states);
        } else {
            self.owner.handle_command(now, DrCommand::ObserveAll { states });
        }
        self.figures.looking += started.elapsed();
        let started = Instant::now();
        let mut sent = Vec::new();
        if self.is_measured {
            hand_over(&mut self.owner, now, &mut sent);
        } else {
            poll_all(&mut self.owner, now, &mut sent);
        }
        self.figures.sending += started.elapsed();
        for (to, channel, bytes) in sent {
            self.send(Message { receiver: to.0 as usize - 1, to_owner: false, channel, bytes });
        }
        while let Some(event) = self.owner.poll_event() {
            self.figures.triggers += u64::from(matches!(event, DrEvent::Generated { .. }));
        }
        self.tick += 1;
        self.figures.ticks += 1;
    }

    fn send(&mut self, message: Message) {
        if !self.is_delivering {
            return;
        }
        let usual = 1 + (DELAY_MAX - 1) * message.receiver / self.receivers.len();
        let late = usize::from(self.draws.unit() < 0.2);
        let place = (self.tick as usize + usual + late) % self.wheel.len();
        self.wheel[place].push(message);
    }

    /// What has come to the owner by now. The clock is read once for all of it: to read it takes a part of what a message takes.
    fn acknowledge(&mut self, messages: &[Message], now: LocalTime) {
        let started = Instant::now();
        for Message { receiver, channel, bytes, .. } in messages {
            let from = PeerId(1 + *receiver as u32);
            let taken = if self.is_measured {
                take_acknowledgment(&mut self.owner, now, from, *channel, bytes)
            } else {
                self.owner.handle_message(now, from, *channel, bytes)
            };
            taken.expect("a peer takes what a peer sends");
        }
        self.figures.settling += started.elapsed();
    }

    fn drain_receiver(&mut self, receiver: usize, now: LocalTime) {
        let mut bytes = Vec::new();
        while let Some((_, channel)) = self.receivers[receiver].poll_transmit(now, &mut bytes) {
            self.send(Message { receiver, to_owner: true, channel, bytes: std::mem::take(&mut bytes) });
        }
        while let Some(event) = self.receivers[receiver].poll_event() {
            self.figures.settled += u64::from(matches!(event, DrEvent::Arrived { .. }));
        }
    }

    /// Everybody else goes.
    pub(crate) fn into_owner(self) -> DrPeer {
        self.owner
    }
}

/// What is measured as ticks of pairs; its name is what instructions are counted under.
#[inline(never)]
pub(crate) fn look_at_all(owner: &mut DrPeer, now: LocalTime, states: Vec<(EntityId, MotionState)>) {
    owner.handle_command(now, DrCommand::ObserveAll { states });
}

/// What is measured as handing over what is sent.
#[inline(never)]
fn hand_over(owner: &mut DrPeer, now: LocalTime, sent: &mut Vec<(PeerId, Channel, Vec<u8>)>) {
    poll_all(owner, now, sent);
}

fn poll_all(owner: &mut DrPeer, now: LocalTime, sent: &mut Vec<(PeerId, Channel, Vec<u8>)>) {
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
