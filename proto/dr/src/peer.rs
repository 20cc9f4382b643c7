//! A player's machine: the owner of its own entities and the receiver of everybody else's.

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, SessionTime, Synchronized,
    Vec3, earlier,
};
use evenkeel_session::{Pending, Station};

use crate::command::{DrCommand, DrEvent, RelayCommand};
use crate::config::{DrConfig, Topology};
use crate::ledger::ErrorLedger;
use crate::message::{DrMessage, Frame, VERSION, frames, refusal};
use crate::motion::{DrSeq, DrVector, EntityId, MotionState};
use crate::owner::{Generated, Owner, Uplink};
use crate::receiver::{EventQueue, Receiver};
use crate::relay::OWNER_ENTITIES_MAX;
use crate::sender::{ENTITIES_MAX, Sender};

/// Entities prefetched per batch.
const PREFETCH_BATCH: usize = 8;

/// How this peer's vectors reach the receivers.
#[derive(Debug)]
enum Outbound {
    /// This peer runs the policy.
    Direct(Box<Sender>),
    /// A relay runs it.
    Relay(Uplink),
}

/// A player's machine.
#[derive(Debug)]
pub struct DrPeer<C = Synchronized> {
    station: Station<C>,
    owner: Owner,
    outbound: Outbound,
    receiver: Receiver,
    events: EventQueue,
    pending: Pending,
    /// Own entities that ended while there was no session time, and their last vectors. The others still show them.
    unsent_ends: Vec<(EntityId, DrSeq)>,
    /// The latest session time.
    latest: SessionTime,
}

impl DrPeer {
    /// A peer whose clock shows session time.
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
        let outbound = match config.topology {
            Topology::Direct => Outbound::Direct(Box::new(Sender::new(config))),
            Topology::Relay(relay) => Outbound::Relay(Uplink::new(relay, config.threshold.sane())),
        };
        Self {
            station: Station::new(VERSION, config.tick, config.seed, clock),
            owner: Owner::new(config.threshold.sane(), config.kind, entities_max),
            outbound,
            receiver: Receiver::new(config.placement),
            events: EventQueue::default(),
            pending: Pending::default(),
            unsent_ends: Vec::new(),
            latest: SessionTime::MIN,
        }
    }

    /// Reports the state of one of this peer's entities. Call it at every tick.
    pub fn observe(&mut self, now: LocalTime, entity: EntityId, state: MotionState) {
        self.handle_command(now, DrCommand::Observe { entity, state });
    }

    /// The position at which this peer places another owner's entity.
    #[must_use]
    pub fn position(&self, now: LocalTime, from: PeerId, entity: EntityId) -> Option<Vec3> {
        self.receiver.position(from, entity, self.station.clock.session(now)?)
    }

    /// Every entity of other owners: the peer that sends it, its id, and its position.
    pub fn copies(&self, now: LocalTime) -> impl Iterator<Item = (PeerId, EntityId, Vec3)> + '_ {
        let at = self.station.clock.session(now);
        at.into_iter().flat_map(|at| self.receiver.copies(at))
    }

    /// The exported position of one of this peer's entities.
    #[must_use]
    pub fn exported(&self, now: LocalTime, entity: EntityId) -> Option<Vec3> {
        let at = self.station.clock.session(now)?;
        self.owner.exported(entity).map(|vector| vector.project(at))
    }

    /// The exported vector of one of this peer's entities.
    #[must_use]
    pub fn exported_vector(&self, entity: EntityId) -> Option<&DrVector> {
        self.owner.exported(entity)
    }

    /// The vector by which this peer places another owner's entity.
    #[must_use]
    pub fn placed_vector(&self, from: PeerId, entity: EntityId) -> Option<&DrVector> {
        self.receiver.placed(from, entity)
    }

    /// The vectors by which this peer places other owners' entities: the peer that sends each, and its entity.
    pub fn placed_vectors(&self) -> impl Iterator<Item = (PeerId, EntityId, &DrVector)> {
        self.receiver.vectors()
    }

    /// The ledger of this peer's receivers; `None` if a relay keeps it.
    #[must_use]
    pub const fn ledger(&self) -> Option<&ErrorLedger> {
        match &self.outbound {
            Outbound::Direct(sender) => Some(sender.ledger()),
            Outbound::Relay(_) => None,
        }
    }

    /// The session's clock.
    #[must_use]
    pub const fn clock(&self) -> &C {
        &self.station.clock
    }

    /// The session time. Handles the peers and messages that waited for it.
    fn session(&mut self, now: LocalTime) -> Option<SessionTime> {
        let now = self.station.set_now(now)?;
        if now < self.latest {
            // Another session has begun, in which earlier exports mean nothing.
            self.owner.start_over();
        }
        self.latest = now;
        if !(self.pending.is_empty() && self.unsent_ends.is_empty()) {
            self.catch_up(now);
        }
        Some(now)
    }

    #[cold]
    fn catch_up(&mut self, now: SessionTime) {
        // First: peers that have joined since never had these entities.
        for (entity, last) in core::mem::take(&mut self.unsent_ends) {
            self.ended(entity, last, now);
        }
        for peer in self.pending.take_peers() {
            self.welcome(peer, now);
        }
        while let Some((from, message)) = self.pending.next_message() {
            if let Ok((_, mut frames)) = frames(&message) {
                self.apply_all(from, &mut frames, now);
            }
        }
    }

    /// Introduces our entities to a peer.
    fn welcome(&mut self, peer: PeerId, now: SessionTime) {
        match &mut self.outbound {
            Outbound::Direct(sender) => sender.join(peer, now, &mut self.station.outbox),
            Outbound::Relay(uplink) if uplink.relay == peer => {
                if self.owner.outdate(now) {
                    uplink.wait(now);
                }
                uplink.join(self.owner.frames(now), &mut self.station.outbox);
            }
            Outbound::Relay(_) => {}
        }
    }

    /// Introduces the entities whose observation was awaited in vain.
    fn stop_waiting(&mut self, now: SessionTime) {
        if let Outbound::Relay(uplink) = &mut self.outbound
            && uplink.stop_waiting(now)
        {
            for frame in self.owner.stop_waiting(now) {
                uplink.introduce(&frame, &mut self.station.outbox);
            }
        }
    }

    fn observed(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) {
        let Some(generated) = self.owner.observe(entity, state, now) else {
            if let Outbound::Direct(sender) = &mut self.outbound {
                sender.observe(entity, state, now, &mut self.station.outbox);
            }
            return;
        };
        let (Generated::First(frame) | Generated::Next(frame)) = generated;
        self.events.push(DrEvent::Generated { entity, seq: frame.seq, vector: frame.vector });
        match (&mut self.outbound, generated) {
            (Outbound::Direct(sender), Generated::First(frame)) => {
                sender.introduce(None, &frame, self.owner.threshold, now, &mut self.station.outbox);
            }
            (Outbound::Direct(sender), Generated::Next(frame)) => {
                sender.record_observation(entity, state, now);
                sender.trigger(&frame, now, &mut self.station.outbox);
            }
            (Outbound::Relay(uplink), Generated::First(frame)) => {
                uplink.introduce(&frame, &mut self.station.outbox)
            }
            (Outbound::Relay(uplink), Generated::Next(frame)) => {
                uplink.trigger(&frame, &mut self.station.outbox)
            }
        }
        self.start_over(now);
    }

    /// Tells those who have an entity that it ended with the vector `last`.
    fn ended(&mut self, entity: EntityId, last: DrSeq, now: SessionTime) {
        match &mut self.outbound {
            Outbound::Direct(sender) => sender.end(entity, last, now, &mut self.station.outbox),
            Outbound::Relay(uplink) => uplink.end(entity, last, now, &mut self.station.outbox),
        }
    }

    fn handle_policy(&mut self, command: RelayCommand) {
        if let Outbound::Direct(sender) = &mut self.outbound {
            sender.handle_command(command);
        }
    }

    /// Introduces every entity anew if the relay has missed too much.
    fn start_over(&mut self, now: SessionTime) {
        if let Outbound::Relay(uplink) = &mut self.outbound
            && uplink.gave_up
        {
            uplink.join(self.owner.frames(now), &mut self.station.outbox);
        }
    }

    /// Whether this peer accepts such a frame from there.
    fn expects(&self, from: PeerId, channel: Channel, frame: &Frame<'_>) -> bool {
        let allowed_peer = match &self.outbound {
            Outbound::Direct(_) => true,
            Outbound::Relay(uplink) => uplink.relay == from,
        };
        let direct = matches!(self.outbound, Outbound::Direct(_));
        allowed_peer
            && match frame {
                Frame::Vector(_) | Frame::Confirm(_) => channel == Channel::Datagram,
                Frame::Feedback(_) => channel == Channel::Datagram && direct,
                Frame::Recorded { .. } => channel == Channel::Datagram && !direct,
                Frame::Introduce(..) | Frame::Ended { .. } => channel == Channel::Reliable,
                Frame::Clock(_) => channel == Channel::Datagram,
            }
    }

    /// Applies the frames of a checked message.
    fn apply_all(&mut self, from: PeerId, message: &mut DrMessage<'_>, now: SessionTime) {
        let nonce = message.header().nonce;
        message.each(|frame| self.apply(from, nonce, frame, now));
        if self.receiver.owes(from) {
            self.station.outbox.request(from);
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
                if let Outbound::Direct(sender) = &mut self.outbound {
                    sender.on_feedback(from, feedback, now, &mut self.station.outbox);
                }
            }
            Frame::Recorded { entity, contiguous, newest } => {
                if let Outbound::Relay(uplink) = &mut self.outbound {
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
            // Entities are introduced once there is a time. Those that end before must not be, and those that others show must
            // not stay.
            match command {
                DrCommand::End { entity } => {
                    self.unsent_ends.extend(self.owner.end(entity).map(|last| (entity, last)));
                }
                DrCommand::Policy(command) => self.handle_policy(command),
                DrCommand::Observe { .. } | DrCommand::ObserveAll { .. } => {}
            }
            return;
        };
        match command {
            DrCommand::Observe { entity, state } => self.observed(entity, &state, now),
            DrCommand::ObserveAll { states } => {
                for batch in states.chunks(PREFETCH_BATCH) {
                    if let Outbound::Direct(sender) = &self.outbound {
                        sender.prefetch(batch.iter().map(|(entity, _)| *entity));
                    }
                    for (entity, state) in batch {
                        self.observed(*entity, state, now);
                    }
                }
            }
            DrCommand::End { entity } => {
                if let Some(last) = self.owner.end(entity) {
                    self.ended(entity, last, now);
                }
            }
            DrCommand::Policy(command) => self.handle_policy(command),
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
        let mut frames = DrMessage::unchecked(bytes);
        let checked = frames.check(|frame| {
            has_clock |= matches!(frame, Frame::Clock(_));
            if self.expects(from, channel, frame) { Ok(()) } else { Err(Rejected::Unexpected) }
        });
        checked.map_err(refusal)?;
        // The clock first: it may fix the session time, which the other frames need.
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
            (None, Channel::Reliable) => {
                if !self.pending.keep(from, bytes) {
                    self.events.push(DrEvent::Stalled { peer: from });
                }
            }
            // Counts as lost on the way.
            (None, Channel::Datagram) => {}
        }
        Ok(())
    }

    fn handle_peer(&mut self, at: LocalTime, change: PeerChange) {
        let now = self.session(at);
        let peer = change.peer();
        self.receiver.leave(peer, &mut self.events);
        self.pending.leave(peer);
        self.station.on_peer(change);
        match &mut self.outbound {
            Outbound::Direct(sender) => sender.leave(peer),
            Outbound::Relay(uplink) if uplink.relay == peer => uplink.leave(),
            Outbound::Relay(_) => {}
        }
        let PeerChange::Joined { .. } = change else { return };
        self.receiver.join(peer);
        // The clock may have lost its time together with this peer.
        match now.and_then(|_| self.session(at)) {
            Some(now) => self.welcome(peer, now),
            None => self.pending.join(peer),
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        // The clock first: if it steps, more may be due now.
        self.station.set_now(now);
        self.station.wake_clock();
        let Some(now) = self.session(now) else { return };
        self.receiver.on_timeout(now, &mut self.station.outbox);
        match &mut self.outbound {
            Outbound::Direct(sender) => sender.on_timeout(now, &mut self.station.outbox),
            Outbound::Relay(uplink) => uplink.on_timeout(now, &mut self.station.outbox),
        }
        self.stop_waiting(now);
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
        let outbound = match &self.outbound {
            Outbound::Direct(sender) => sender.next_timeout(),
            Outbound::Relay(uplink) => uplink.next_timeout(),
        };
        self.station.next_timeout(earlier(outbound, self.receiver.next_timeout()))
    }
}
