//! A player's machine: owner of its own entities, receiver of everybody else's.

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, SessionTime, Synchronized, Vec3,
};

use crate::command::{DrCommand, DrEvent};
use crate::config::{DrConfig, Topology};
use crate::intake::OWNER_ENTITIES_MAX;
use crate::ledger::ErrorLedger;
use crate::message::{Frame, frames};
use crate::outbox::Outbox;
use crate::owner::{Generated, Owner};
use crate::receiver::{Events, Receiver};
use crate::sender::{ENTITIES_MAX, Sender};
use crate::uplink::Uplink;
use crate::vector::{EntityId, MotionState};

#[derive(Debug)]
enum Outward {
    Direct(Box<Sender>),
    Relay(Uplink),
}

/// A player's machine.
#[derive(Debug)]
pub struct DrPeer<C = Synchronized> {
    clock: C,
    latest: LocalTime,
    owner: Owner,
    outward: Outward,
    receiver: Receiver,
    outbox: Outbox,
    events: Events,
    /// Peers that came before there was a session time to introduce entities at.
    waiting: Vec<PeerId>,
}

impl DrPeer {
    /// A peer whose clock shows the session's time.
    #[must_use]
    pub fn new(config: &DrConfig) -> Self {
        Self::with_clock(config, Synchronized)
    }
}

impl<C: SessionClock> DrPeer<C> {
    /// A peer with this clock.
    #[must_use]
    pub fn with_clock(config: &DrConfig, clock: C) -> Self {
        let entities_max = match config.topology {
            Topology::Direct => ENTITIES_MAX,
            Topology::Relay(_) => OWNER_ENTITIES_MAX,
        };
        let outward = match config.topology {
            Topology::Direct => Outward::Direct(Box::new(Sender::new(
                config.policy,
                config.budget,
                config.placement,
                config.seed,
            ))),
            Topology::Relay(relay) => Outward::Relay(Uplink::new(relay)),
        };
        Self {
            clock,
            latest: LocalTime::MIN,
            owner: Owner::new(config.threshold, config.kind, entities_max),
            outward,
            receiver: Receiver::new(config.placement),
            outbox: Outbox::default(),
            events: Events::default(),
            waiting: Vec::new(),
        }
    }

    /// One of this peer's entities is here and moves like this.
    pub fn observe(&mut self, now: LocalTime, entity: EntityId, state: MotionState) {
        self.handle_command(now, DrCommand::Observe { entity, state });
    }

    /// Where this peer sees somebody else's entity.
    #[must_use]
    pub fn position(&self, now: LocalTime, from: PeerId, entity: EntityId) -> Option<Vec3> {
        self.receiver.position(from, entity, self.clock.session(now)?)
    }

    /// Where this peer's own entity is by what it told the others.
    #[must_use]
    pub fn exported(&self, now: LocalTime, entity: EntityId) -> Option<Vec3> {
        let at = self.clock.session(now)?;
        self.owner.exported(entity).map(|vector| vector.project(at))
    }

    /// What this peer knows of its receivers' errors; `None` where a relay keeps the books.
    #[must_use]
    pub const fn ledger(&self) -> Option<&ErrorLedger> {
        match &self.outward {
            Outward::Direct(sender) => Some(sender.ledger()),
            Outward::Relay(_) => None,
        }
    }

    /// The session's time; a clock that runs backwards is held. Whoever waited for it is welcomed now.
    fn session(&mut self, now: LocalTime) -> Option<SessionTime> {
        self.latest = self.latest.max(now);
        let now = self.clock.session(self.latest)?;
        for peer in core::mem::take(&mut self.waiting) {
            self.welcome(peer, now);
        }
        Some(now)
    }

    /// A peer learns of our entities.
    fn welcome(&mut self, peer: PeerId, now: SessionTime) {
        match &mut self.outward {
            Outward::Direct(sender) => sender.join(peer, now, &mut self.outbox),
            Outward::Relay(uplink) if uplink.relay() == peer => {
                uplink.join(self.owner.frames(now), &mut self.outbox);
            }
            Outward::Relay(_) => {}
        }
    }

    fn observed(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) {
        let Some(generated) = self.owner.observe(entity, state, now) else { return };
        let (Generated::First(frame) | Generated::Next(frame)) = generated;
        self.events.push(DrEvent::Generated { entity, seq: frame.seq, vector: frame.vector });
        match (&mut self.outward, generated) {
            (Outward::Direct(sender), Generated::First(frame)) => {
                sender.introduce(None, &frame, now, &mut self.outbox);
            }
            (Outward::Direct(sender), Generated::Next(frame)) => {
                sender.trigger(&frame, now, &mut self.outbox);
            }
            (Outward::Relay(uplink), Generated::First(frame)) => uplink.introduce(&frame, &mut self.outbox),
            (Outward::Relay(uplink), Generated::Next(frame)) => uplink.trigger(&frame, &mut self.outbox),
        }
        self.start_over(now);
    }

    /// If the relay has missed too much to be told of it, it learns of every entity anew.
    fn start_over(&mut self, now: SessionTime) {
        if let Outward::Relay(uplink) = &mut self.outward
            && uplink.gave_up()
        {
            uplink.join(self.owner.frames(now), &mut self.outbox);
        }
    }

    fn expects(&self, from: PeerId, channel: Channel, frame: &Frame<'_>) -> bool {
        let allowed_peer = match &self.outward {
            Outward::Direct(_) => true,
            Outward::Relay(uplink) => uplink.relay() == from,
        };
        let direct = matches!(self.outward, Outward::Direct(_));
        allowed_peer
            && match frame {
                Frame::Vector(_) | Frame::Confirm(_) => channel == Channel::Datagram,
                Frame::Feedback(_) => channel == Channel::Datagram && direct,
                Frame::Recorded { .. } => channel == Channel::Datagram && !direct,
                Frame::Introduce(_) | Frame::Ended { .. } => channel == Channel::Reliable,
            }
    }

    fn apply(&mut self, from: PeerId, frame: &Frame<'_>, now: SessionTime) {
        match frame {
            Frame::Vector(vector) => self.receiver.on_vector(from, vector, false, now, &mut self.events),
            Frame::Introduce(vector) => self.receiver.on_vector(from, vector, true, now, &mut self.events),
            Frame::Ended { entity, .. } => self.receiver.on_ended(from, *entity, &mut self.events),
            Frame::Confirm(confirm) => self.receiver.on_confirm(from, confirm, now, &mut self.outbox),
            Frame::Feedback(feedback) => {
                if let Outward::Direct(sender) = &mut self.outward {
                    sender.on_feedback(from, feedback, now, &mut self.outbox);
                }
            }
            Frame::Recorded { entity, contiguous, newest } => {
                if let Outward::Relay(uplink) = &mut self.outward {
                    uplink.on_recorded(*entity, *contiguous, *newest, now);
                }
            }
        }
    }
}

impl<C: SessionClock> Endpoint for DrPeer<C> {
    type Command = DrCommand;
    type Event = DrEvent;

    fn handle_command(&mut self, now: LocalTime, command: DrCommand) {
        let Some(now) = self.session(now) else { return };
        match (command, &mut self.outward) {
            (DrCommand::Observe { entity, state }, _) => self.observed(entity, &state, now),
            (DrCommand::End { entity }, outward) => {
                if let Some(last) = self.owner.end(entity) {
                    match outward {
                        Outward::Direct(sender) => sender.end(entity, last, now, &mut self.outbox),
                        Outward::Relay(uplink) => uplink.end(entity, last, now, &mut self.outbox),
                    }
                }
            }
            (DrCommand::Switch { policy, budget }, Outward::Direct(sender)) => sender.switch(policy, budget),
            (DrCommand::Switch { .. }, Outward::Relay(_)) => {}
        }
    }

    fn handle_message(
        &mut self,
        at: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if !self.outbox.has(from) {
            return Err(Rejected::UnknownPeer);
        }
        let frames = frames(bytes)?;
        if !frames.clone().all(|frame| self.expects(from, channel, &frame)) {
            return Err(Rejected::Unexpected);
        }
        if self.clock.session(self.latest.max(at)).is_none() {
            return Err(Rejected::NoSessionTime);
        }
        let now = self.session(at).ok_or(Rejected::NoSessionTime)?;
        for frame in frames {
            self.apply(from, &frame, now);
        }
        self.receiver.acknowledge(from, now, &mut self.outbox);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        let now = self.session(now);
        let peer = change.peer();
        self.receiver.leave(peer, &mut self.events);
        self.outbox.leave(peer);
        match &mut self.outward {
            Outward::Direct(sender) => sender.leave(peer),
            Outward::Relay(uplink) if uplink.relay() == peer => uplink.leave(),
            Outward::Relay(_) => {}
        }
        self.waiting.retain(|waiting| *waiting != peer);
        let PeerChange::Joined { datagram_max, .. } = change else { return };
        self.outbox.join(peer, datagram_max);
        self.receiver.join(peer);
        match now {
            Some(now) => self.welcome(peer, now),
            None => self.waiting.push(peer),
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        let Some(now) = self.session(now) else { return };
        self.receiver.on_timeout(now, &mut self.outbox);
        match &mut self.outward {
            Outward::Direct(sender) => sender.on_timeout(now, &mut self.outbox),
            Outward::Relay(uplink) => uplink.on_timeout(now, &mut self.outbox),
        }
        self.start_over(now);
    }

    fn poll_transmit(&mut self, _now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.outbox.poll(bytes)
    }

    fn poll_event(&mut self) -> Option<DrEvent> {
        self.events.poll().or_else(|| self.outbox.poll_stalled().map(|peer| DrEvent::Stalled { peer }))
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let outward = match &self.outward {
            Outward::Direct(sender) => sender.next_timeout(),
            Outward::Relay(uplink) => uplink.next_timeout(),
        };
        let next = [outward, self.receiver.next_timeout()].into_iter().flatten().min()?;
        self.clock.local(next)
    }
}
