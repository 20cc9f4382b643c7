//! A player's machine: owner of its own entities, receiver of everybody else's.

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, SessionTime, Synchronized,
    Vec3, earlier,
};

use crate::command::{DrCommand, DrEvent};
use crate::config::{DrConfig, Topology};
use crate::intake::OWNER_ENTITIES_MAX;
use crate::ledger::ErrorLedger;
use crate::message::{Frame, Frames, frames};
use crate::owner::{Generated, Owner};
use crate::receiver::{Events, Receiver};
use crate::sender::{ENTITIES_MAX, Sender};
use crate::station::Station;
use crate::uplink::Uplink;
use crate::vector::{DrVector, EntityId, MotionState};

/// Bytes of reliable messages of one peer that wait for the session's clock; a peer that sends more counts as stalled.
pub const EARLY_BYTES_MAX: usize = 1 << 20;

/// Of so many entities what is known is asked for before they are looked at.
const READ_AHEAD: usize = 8;

#[derive(Debug)]
enum Outward {
    Direct(Box<Sender>),
    Relay(Uplink),
}

/// A player's machine.
#[derive(Debug)]
pub struct DrPeer<C = Synchronized> {
    station: Station<C>,
    owner: Owner,
    outward: Outward,
    receiver: Receiver,
    events: Events,
    /// Peers that came before there was a session time to introduce entities at.
    waiting: Vec<PeerId>,
    /// What must not be lost and came before there was a session time to read it by.
    early: VecDeque<(PeerId, Vec<u8>)>,
    /// The last session time that was worked with.
    worked: SessionTime,
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
            Topology::Direct => Outward::Direct(Box::new(Sender::new(config))),
            Topology::Relay(relay) => Outward::Relay(Uplink::new(relay, config.threshold.sane())),
        };
        Self {
            station: Station::new(config, clock),
            owner: Owner::new(config.threshold.sane(), config.kind, entities_max),
            outward,
            receiver: Receiver::new(config.placement),
            events: Events::default(),
            waiting: Vec::new(),
            early: VecDeque::new(),
            worked: SessionTime::MIN,
        }
    }

    /// One of this peer's entities is here and moves like this.
    pub fn observe(&mut self, now: LocalTime, entity: EntityId, state: MotionState) {
        self.handle_command(now, DrCommand::Observe { entity, state });
    }

    /// Where this peer sees somebody else's entity.
    #[must_use]
    pub fn position(&self, now: LocalTime, from: PeerId, entity: EntityId) -> Option<Vec3> {
        self.receiver.position(from, entity, self.station.clock.session(now)?)
    }

    /// Everybody else's entities that this peer sees, with whom they came from, and where they are.
    pub fn copies(&self, now: LocalTime) -> impl Iterator<Item = (PeerId, EntityId, Vec3)> + '_ {
        let at = self.station.clock.session(now);
        at.into_iter().flat_map(|at| self.receiver.copies(at))
    }

    /// Where this peer's own entity is by what it told the others.
    #[must_use]
    pub fn exported(&self, now: LocalTime, entity: EntityId) -> Option<Vec3> {
        let at = self.station.clock.session(now)?;
        self.owner.exported(entity).map(|vector| vector.project(at))
    }

    /// The vector by which this peer's own entity is exported.
    #[must_use]
    pub fn exported_vector(&self, entity: EntityId) -> Option<&DrVector> {
        self.owner.exported(entity)
    }

    /// The vector by which this peer places somebody else's entity.
    #[must_use]
    pub fn placed_vector(&self, from: PeerId, entity: EntityId) -> Option<&DrVector> {
        self.receiver.placed(from, entity)
    }

    /// What this peer knows of its receivers' errors; `None` where a relay keeps the books.
    #[must_use]
    pub const fn ledger(&self) -> Option<&ErrorLedger> {
        match &self.outward {
            Outward::Direct(sender) => Some(sender.ledger()),
            Outward::Relay(_) => None,
        }
    }

    /// The session's clock.
    #[must_use]
    pub const fn clock(&self) -> &C {
        &self.station.clock
    }

    /// The session's time. Whoever and whatever waited for it has its turn now.
    fn session(&mut self, now: LocalTime) -> Option<SessionTime> {
        let now = self.station.set_now(now)?;
        if now < self.worked {
            self.owner.start_over(); // Another session: what was exported in the last one means nothing in it.
        }
        self.worked = now;
        if !(self.waiting.is_empty() && self.early.is_empty()) {
            self.catch_up(now);
        }
        Some(now)
    }

    #[cold]
    fn catch_up(&mut self, now: SessionTime) {
        for peer in core::mem::take(&mut self.waiting) {
            self.welcome(peer, now);
        }
        while let Some((from, message)) = self.early.pop_front() {
            if let Ok((_, mut frames)) = frames(&message) {
                self.apply_all(from, &mut frames, now);
            }
        }
    }

    /// A peer learns of our entities.
    fn welcome(&mut self, peer: PeerId, now: SessionTime) {
        match &mut self.outward {
            Outward::Direct(sender) => sender.join(peer, now, &mut self.station.outbox),
            Outward::Relay(uplink) if uplink.relay() == peer => {
                uplink.join(self.owner.frames(now), &mut self.station.outbox);
            }
            Outward::Relay(_) => {}
        }
    }

    fn observed(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) {
        let Some(generated) = self.owner.observe(entity, state, now) else {
            if let Outward::Direct(sender) = &mut self.outward {
                sender.observe(entity, state, now, &mut self.station.outbox);
            }
            return;
        };
        let (Generated::First(frame) | Generated::Next(frame)) = generated;
        self.events.push(DrEvent::Generated { entity, seq: frame.seq, vector: frame.vector });
        match (&mut self.outward, generated) {
            (Outward::Direct(sender), Generated::First(frame)) => {
                sender.introduce(None, &frame, self.owner.threshold(), now, &mut self.station.outbox);
            }
            (Outward::Direct(sender), Generated::Next(frame)) => {
                sender.foresee(entity, state, now);
                sender.trigger(&frame, now, &mut self.station.outbox);
            }
            (Outward::Relay(uplink), Generated::First(frame)) => {
                uplink.introduce(&frame, &mut self.station.outbox)
            }
            (Outward::Relay(uplink), Generated::Next(frame)) => {
                uplink.trigger(&frame, &mut self.station.outbox)
            }
        }
        self.start_over(now);
    }

    /// If the relay has missed too much to be told of it, it learns of every entity anew.
    fn start_over(&mut self, now: SessionTime) {
        if let Outward::Relay(uplink) = &mut self.outward
            && uplink.gave_up()
        {
            uplink.join(self.owner.frames(now), &mut self.station.outbox);
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
                Frame::Introduce(..) | Frame::Ended { .. } => channel == Channel::Reliable,
                Frame::Clock(_) => channel == Channel::Datagram,
            }
    }

    /// What waits for the session's clock of one peer, counting something for each message.
    fn early_bytes(&self, from: PeerId) -> usize {
        let messages = self.early.iter().filter(|(peer, _)| *peer == from);
        messages.map(|(_, message)| 32 + message.len()).sum()
    }

    /// Takes the frames of a message that has been checked.
    fn apply_all(&mut self, from: PeerId, frames: &mut Frames<'_>, now: SessionTime) {
        let nonce = frames.header().nonce;
        frames.each(|frame| self.apply(from, nonce, frame, now));
        if self.receiver.owes(from) {
            self.station.outbox.want(from);
        }
    }

    fn apply(&mut self, from: PeerId, nonce: u32, frame: &Frame<'_>, now: SessionTime) {
        match frame {
            Frame::Vector(vector) => {
                self.receiver.on_vector(from, vector, nonce, false, now, &mut self.events);
            }
            Frame::Introduce(vector, _) => {
                self.receiver.on_vector(from, vector, nonce, true, now, &mut self.events);
            }
            Frame::Ended { entity, .. } => self.receiver.on_ended(from, *entity, &mut self.events),
            Frame::Confirm(confirm) => self.receiver.on_confirm(from, confirm, now, &mut self.station.outbox),
            Frame::Feedback(feedback) => {
                if let Outward::Direct(sender) = &mut self.outward {
                    sender.on_feedback(from, feedback, now, &mut self.station.outbox);
                }
            }
            Frame::Recorded { entity, contiguous, newest } => {
                if let Outward::Relay(uplink) = &mut self.outward {
                    uplink.on_recorded(*entity, *contiguous, *newest, now);
                }
            }
            Frame::Clock(_) => {}
        }
    }
}

impl<C: SessionClock> Endpoint for DrPeer<C> {
    type Command = DrCommand;
    type Event = DrEvent;

    fn handle_command(&mut self, now: LocalTime, command: DrCommand) {
        let Some(now) = self.session(now) else {
            // Whoever comes to know the time introduces what it has, and what is over by then is not to come back.
            if let DrCommand::End { entity } = command {
                self.owner.end(entity);
            }
            return;
        };
        match (command, &mut self.outward) {
            (DrCommand::Observe { entity, state }, _) => self.observed(entity, &state, now),
            (DrCommand::ObserveAll { states }, _) => {
                for some in states.chunks(READ_AHEAD) {
                    if let Outward::Direct(sender) = &self.outward {
                        sender.prefetch(some.iter().map(|(entity, _)| *entity));
                    }
                    for (entity, state) in some {
                        self.observed(*entity, state, now);
                    }
                }
            }
            (DrCommand::End { entity }, outward) => {
                if let Some(last) = self.owner.end(entity) {
                    match outward {
                        Outward::Direct(sender) => sender.end(entity, last, now, &mut self.station.outbox),
                        Outward::Relay(uplink) => uplink.end(entity, last, now, &mut self.station.outbox),
                    }
                }
            }
            (DrCommand::Switch { policy, budget }, Outward::Direct(sender)) => sender.switch(policy, budget),
            (DrCommand::Weigh { entity, receiver, weight }, Outward::Direct(sender)) => {
                sender.weigh(entity, receiver, weight);
            }
            (DrCommand::Switch { .. } | DrCommand::Weigh { .. }, Outward::Relay(_)) => {}
        }
    }

    fn handle_message(
        &mut self,
        at: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if !self.station.outbox.has(from) {
            return Err(Rejected::UnknownPeer);
        }
        let mut has_clock = false;
        let mut frames = Frames::unchecked(bytes);
        frames.check(|frame| {
            has_clock |= matches!(frame, Frame::Clock(_));
            if self.expects(from, channel, frame) { Ok(()) } else { Err(Rejected::Unexpected) }
        })?;
        // The clock first: it may fix the time by which the rest is read.
        if has_clock {
            self.station.set_now(at);
            frames.clone().each(|frame| {
                if let Frame::Clock(frame) = frame {
                    self.station.on_clock_frame(from, frame);
                }
            });
        }
        match (self.session(at), channel) {
            (Some(now), _) => self.apply_all(from, &mut frames, now),
            (None, Channel::Reliable) if self.early_bytes(from) + bytes.len() <= EARLY_BYTES_MAX => {
                self.early.push_back((from, bytes.to_vec()));
            }
            (None, Channel::Reliable) => self.events.push(DrEvent::Stalled { peer: from }),
            // As good as lost on the way.
            (None, Channel::Datagram) => {}
        }
        Ok(())
    }

    fn handle_peer(&mut self, at: LocalTime, change: PeerChange) {
        let now = self.session(at);
        let peer = change.peer();
        self.receiver.leave(peer, &mut self.events);
        self.early.retain(|(from, _)| *from != peer);
        self.station.on_peer(change);
        match &mut self.outward {
            Outward::Direct(sender) => sender.leave(peer),
            Outward::Relay(uplink) if uplink.relay() == peer => uplink.leave(),
            Outward::Relay(_) => {}
        }
        self.waiting.retain(|waiting| *waiting != peer);
        let PeerChange::Joined { .. } = change else { return };
        self.receiver.join(peer);
        // A clock may lose its time with the peer that it followed.
        match now.and_then(|_| self.session(at)) {
            Some(now) => self.welcome(peer, now),
            None => self.waiting.push(peer),
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        // The clock first: it may step, and what is due then is due now.
        self.station.set_now(now);
        self.station.wake_clock();
        let Some(now) = self.session(now) else { return };
        self.receiver.on_timeout(now, &mut self.station.outbox);
        match &mut self.outward {
            Outward::Direct(sender) => sender.on_timeout(now, &mut self.station.outbox),
            Outward::Relay(uplink) => uplink.on_timeout(now, &mut self.station.outbox),
        }
        self.start_over(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.station.poll(now, bytes, |peer, outbox| self.receiver.acknowledge(peer, outbox))
    }

    #[inline]
    fn poll_event(&mut self) -> Option<DrEvent> {
        let station = &mut self.station;
        self.events
            .poll()
            .or_else(|| station.clock.poll_event().map(DrEvent::Clock))
            .or_else(|| station.outbox.poll_stalled().map(|peer| DrEvent::Stalled { peer }))
    }

    #[inline]
    fn poll_timeout(&self) -> Option<LocalTime> {
        let outward = match &self.outward {
            Outward::Direct(sender) => sender.next_timeout(),
            Outward::Relay(uplink) => uplink.next_timeout(),
        };
        self.station.next_timeout(earlier(outward, self.receiver.next_timeout()))
    }
}
