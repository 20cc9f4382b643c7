//! A player's machine: the objects that it owns, the copies of others that it has in scope, and its messages.

mod hear;

use std::collections::{BTreeSet, VecDeque};

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Rejected, Seed, Span, earlier,
};
use evenkeel_session::envelope::is_foreign;

use crate::command::{ObjectCommand, ObjectEvent};
use crate::delivery::Call;
use crate::link::{CallsIn, CallsOut, Link};
use crate::message::{Frame, Gone, Packet, VERSION};
use crate::object::{FieldSet, ObjectId, Owner, Value};
use crate::schema::{ObjectKind, Schema, Writer};
use crate::table::{Entry, ObjectTable};

/// Events that wait for the game. Beyond, the oldest is dropped.
const EVENTS_MAX: usize = 65_536;
/// The shortest time between two packets, unless one is full.
pub(crate) const TICK_MIN: Span = Span::from_millis(5);
const INSTANCE: u64 = 0x696e_7374_616e_6365;

/// The settings of a player's machine.
#[derive(Clone, Copy, Debug)]
pub struct ObjectPeerConfig {
    /// The server.
    pub relay: PeerId,
    /// The game's schema.
    pub schema: &'static Schema,
    /// The shortest time between two packets, unless one is full.
    pub tick: Span,
    /// The source of the number by which the server knows this machine again. Secret on a real network.
    pub seed: Seed,
}

/// A player's machine.
#[derive(Debug)]
pub struct ObjectPeer {
    config: ObjectPeerConfig,
    player: Option<PeerId>,
    table: ObjectTable,
    link: Option<Link>,
    out: CallsOut,
    heard: CallsIn,
    /// A random number, and the sessions begun.
    instance: u64,
    /// Its objects that the server knew when the connection broke. It holds them until this player is back.
    held: BTreeSet<ObjectId>,
    events: VecDeque<ObjectEvent>,
    now: LocalTime,
    unsent: u64,
}

impl ObjectPeer {
    /// A machine without objects.
    #[must_use]
    pub fn new(config: &ObjectPeerConfig) -> Self {
        Self {
            config: *config,
            player: None,
            table: ObjectTable::default(),
            link: None,
            out: CallsOut::default(),
            heard: CallsIn::default(),
            instance: config.seed.child(INSTANCE).draws().bits(),
            held: BTreeSet::new(),
            events: VecDeque::new(),
            now: LocalTime::MIN,
            unsent: 0,
        }
    }

    /// The objects that this player knows: their names, kinds, owners and values.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, u16, Owner, &[Value])> {
        self.table.iter().map(|(_, entry)| (entry.id, entry.number, entry.owner, &entry.values[..]))
    }

    /// The kind of an object that this player knows.
    #[must_use]
    pub fn kind(&self, object: ObjectId) -> Option<&'static ObjectKind> {
        self.table.get(object).map(|entry| entry.kind)
    }

    /// Messages that were not taken because too many wait, or because they were not of the schema.
    #[must_use]
    pub const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Whether the server has accepted this player, and they are connected.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_greeted)
    }

    fn hold(&mut self, now: LocalTime) -> LocalTime {
        self.now = self.now.max(now);
        self.now
    }

    fn push_event(&mut self, event: ObjectEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn is_mine(&self, entry: &Entry) -> bool {
        match entry.owner {
            Owner::Player(owner) => self.player.map_or(owner == entry.id.creator(), |me| me == owner),
            Owner::Server => false,
        }
    }

    /// Tells the server of an object of this player's.
    fn announce(&mut self, place: u32) {
        let now = self.now;
        let (Some(link), Some(entry)) = (&mut self.link, self.table.at_mut(place)) else { return };
        if !link.is_greeted {
            return;
        }
        entry.written = FieldSet::NONE;
        let created = link.next_reliable();
        let fields = entry.kind.written_by(Writer::Owner);
        let Some(slot) = link.replicas.open(place, fields, created, 1.0) else { return };
        entry.upward = Some(slot);
        let values: Vec<u8> = entry.values.iter().flat_map(|value| value.iter().copied()).collect();
        let (id, kind, owner) = (entry.id, entry.number, entry.owner);
        link.send(&Frame::Create { slot, id, kind, owner, values: &values }, now);
    }

    fn create(&mut self, object: ObjectId, number: u16, mut values: Vec<Value>) {
        let Some(kind) = self.config.schema.object(number) else { return };
        let is_valid = values.len() == kind.fields.len()
            && values.iter().enumerate().all(|(field, value)| kind.accepts(field, value));
        if !is_valid || self.table.place(object).is_some() {
            return;
        }
        for field in kind.written_by(Writer::Server).iter() {
            let mut initial = Vec::new();
            (kind.fields[field].initial)(&mut initial);
            values[field] = initial.into();
        }
        let owner = Owner::Player(object.creator());
        self.push_event(ObjectEvent::Created { object, kind: number, owner, values: values.clone() });
        let place = self.table.insert(Entry::new(object, number, kind, owner, values));
        self.announce(place);
    }

    fn set(&mut self, object: ObjectId, values: Vec<(u8, Value)>) {
        let Some(place) = self.table.place(object) else { return };
        if !self.table.at(place).is_some_and(|entry| self.is_mine(entry)) {
            return;
        }
        let Some(entry) = self.table.at_mut(place) else { return };
        let mine = entry.kind.written_by(Writer::Owner);
        let is_valid = |entry: &Entry, field: u8, value: &[u8]| {
            mine.has(usize::from(field)) && entry.kind.accepts(usize::from(field), value)
        };
        let mut changed = FieldSet::NONE;
        let mut told = Vec::new();
        for (field, value) in values {
            if is_valid(entry, field, &value) && entry.set(usize::from(field), &value) {
                changed.0 |= 1 << field;
                told.push((field, value));
            }
        }
        if changed.is_empty() {
            return;
        }
        entry.written.0 |= changed.0;
        if let (Some(link), Some(slot)) = (&mut self.link, entry.upward) {
            link.replicas.change(slot, changed, self.now);
        }
        self.push_event(ObjectEvent::Changed { object, values: told });
    }

    fn destroy(&mut self, object: ObjectId) {
        let Some(place) = self.table.place(object) else { return };
        if self.table.at(place).is_some_and(|entry| self.is_mine(entry)) {
            self.forget(place, Some(Gone::Destroyed));
            self.push_event(ObjectEvent::Gone { object, why: Gone::Destroyed });
        }
    }

    /// Removes an object. `tell` says what the server is told of it.
    fn forget(&mut self, place: u32, tell: Option<Gone>) {
        let now = self.now;
        let Some(entry) = self.table.remove(place) else { return };
        let Some(link) = &mut self.link else { return };
        if let Some(slot) = entry.downward {
            link.copies.close(slot);
        }
        if let Some(slot) = entry.upward {
            link.replicas.close(slot);
            if let Some(why) = tell {
                link.send(&Frame::Drop { slot, id: entry.id, why }, now);
            }
        }
    }

    fn call(&mut self, call: Call) {
        let is_valid = call.bytes.len() <= call.delivery.bytes_max()
            && self.config.schema.accepts_message(call.kind, &call.bytes);
        if !is_valid || !self.out.push(call) {
            self.unsent += 1;
        }
    }

    /// Whether everything in a packet can be applied.
    fn check_packet(&self, packet: &Packet<'_>) -> Result<(), Rejected> {
        let Some(link) = &self.link else { return Err(Rejected::UnknownPeer) };
        if !link.is_greeted {
            return Err(Rejected::Unexpected);
        }
        check_packet(packet, |slot, fields, values| {
            let copy = link.copies.known(slot, packet.head.sent);
            copy.and_then(|copy| self.table.at(copy.place))
                .map_or(Ok(()), |entry| entry.kind.split(fields, values).map(drop))
        })
    }

    /// Whether a frame is one that the server may send now.
    fn check_frame(&self, frame: &Frame<'_>) -> Result<(), Rejected> {
        let is_greeted = self.link.as_ref().is_some_and(|link| link.is_greeted);
        let is_expected = match frame {
            Frame::Welcome { .. } => !is_greeted,
            Frame::Refused(_) => true,
            Frame::Packet(packet) => return self.check_packet(packet),
            Frame::Hello { .. } | Frame::Adopt { .. } | Frame::Give { .. } | Frame::Drop { .. } => false,
            Frame::Create { kind, values, .. } => {
                let kind = self.config.schema.object(*kind).ok_or(Malformed::Field)?;
                kind.split(FieldSet::first(kind.fields.len()), values)?;
                is_greeted
            }
            _ => is_greeted,
        };
        if is_expected { Ok(()) } else { Err(Rejected::Unexpected) }
    }

    fn leave(&mut self) {
        self.link = None;
        let others: Vec<u32> =
            self.table.iter().filter(|(_, entry)| !self.is_mine(entry)).map(|(place, _)| place).collect();
        for place in others {
            if let Some(entry) = self.table.remove(place) {
                self.push_event(ObjectEvent::Gone { object: entry.id, why: Gone::OutOfScope });
            }
        }
        let mine: Vec<u32> = self.table.iter().map(|(place, _)| place).collect();
        for place in mine {
            if let Some(entry) = self.table.at_mut(place) {
                if entry.upward.is_some() {
                    self.held.insert(entry.id);
                }
                (entry.upward, entry.downward) = (None, None);
            }
        }
    }
}

/// Checks what a packet says of fields, and that whatever needs an acknowledgment has a number.
pub(crate) fn check_packet(
    packet: &Packet<'_>,
    check: impl Fn(u32, FieldSet, &[u8]) -> Result<(), Malformed>,
) -> Result<(), Rejected> {
    let needs_number = !packet.states.is_empty()
        || packet.calls.iter().any(|(_, call)| call.delivery != crate::Delivery::Unreliable);
    let is_streamed = packet.calls.iter().any(|(_, call)| call.delivery == crate::Delivery::ReliableOrdered);
    if (needs_number && packet.head.number == 0) || is_streamed {
        return Err(Rejected::Unexpected);
    }
    for state in &packet.states {
        check(state.slot, FieldSet(state.fields), state.values)?;
    }
    Ok(())
}

/// The reason to reject a malformed message: one of another protocol is unexpected, not of an unknown version.
pub(crate) fn refusal(malformed: Malformed) -> Rejected {
    match malformed {
        Malformed::Version { found, .. } if is_foreign(found, VERSION) => Rejected::Unexpected,
        other => other.into(),
    }
}

impl Endpoint for ObjectPeer {
    type Command = ObjectCommand;
    type Event = ObjectEvent;

    fn handle_command(&mut self, now: LocalTime, command: ObjectCommand) {
        self.hold(now);
        match command {
            ObjectCommand::Create { object, kind, values } => self.create(object, kind, values),
            ObjectCommand::Set { object, values } => self.set(object, values),
            ObjectCommand::Destroy { object } => self.destroy(object),
            ObjectCommand::Give { object, to } => {
                let is_mine = self.table.get(object).is_some_and(|entry| self.is_mine(entry));
                if let Some(link) = self.link.as_mut().filter(|link| is_mine && link.is_greeted) {
                    link.send(&Frame::Give { id: object, to }, self.now);
                }
            }
            ObjectCommand::Call(call) => self.call(call),
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if from != self.config.relay || self.link.is_none() {
            return Err(Rejected::UnknownPeer);
        }
        match channel {
            Channel::Datagram => {
                let packet = Packet::parse(bytes).map_err(refusal)?;
                // One that has overtaken the welcome counts as lost.
                if self.is_ready() {
                    self.check_packet(&packet)?;
                    self.hold(now);
                    self.on_packet(packet);
                }
            }
            Channel::Reliable => {
                let frame = Frame::parse(bytes).map_err(refusal)?;
                self.check_frame(&frame)?;
                self.hold(now);
                if let Frame::Packet(packet) = frame {
                    self.on_packet(packet);
                } else if let Some(link) = &mut self.link {
                    let number = link.count_reliable();
                    self.on_frame(number, frame);
                }
            }
        }
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        let now = self.hold(now);
        if change.peer() != self.config.relay || self.config.schema.is_empty() {
            return;
        }
        self.leave();
        if let PeerChange::Joined { datagram_max, .. } = change {
            let mut link = Link::new(datagram_max, self.config.tick.max(TICK_MIN), None, now);
            let description = self.config.schema.description();
            let hello = Frame::Hello {
                instance: self.instance,
                received: self.heard.ordered,
                description: &description,
            };
            link.send(&hello, now);
            self.link = Some(link);
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        let now = self.hold(now);
        if let Some(link) = &mut self.link {
            link.on_timeout(&mut self.out, now);
        }
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let now = self.hold(now);
        let link = self.link.as_mut()?;
        link.stream(&mut self.out, now);
        let channel = if link.take_reliable(bytes) {
            Channel::Reliable
        } else if link.packet(now, &mut self.out, &self.table, bytes)? {
            Channel::Datagram
        } else {
            Channel::Reliable
        };
        Some((self.config.relay, channel))
    }

    fn poll_event(&mut self) -> Option<ObjectEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let link = self.link.as_ref()?;
        earlier(link.next_time(&self.out, self.now), None)
    }
}
