//! A player's machine: the objects that it owns, the copies of others that it has in scope, and its messages.

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Rejected, Seed, Span, earlier,
};
use evenkeel_session::envelope::is_foreign;

use crate::command::{ObjectCommand, ObjectEvent};
use crate::delivery::{Call, Target};
use crate::link::{CallsIn, CallsOut, Link};
use crate::message::{Denied, Frame, Gone, Packet, VERSION};
use crate::object::{FieldSet, ObjectId, Owner, Value};
use crate::schema::{Schema, Writer};
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
    instance: u64,
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
            events: VecDeque::new(),
            now: LocalTime::MIN,
            unsent: 0,
        }
    }

    /// The objects that this player knows: their names, kinds, owners and values.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, u16, Owner, &[Value])> {
        self.table.iter().map(|(_, entry)| (entry.id, entry.number, entry.owner, &entry.values[..]))
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

    fn welcomed(&mut self, player: PeerId, resumed: bool, received: u64) {
        self.player = Some(player);
        let Some(link) = &mut self.link else { return };
        link.is_greeted = true;
        let mut lost = 0;
        if resumed {
            self.out.reconnect(received);
        } else {
            lost = self.out.start_over();
            self.heard = CallsIn::default();
        }
        self.push_event(ObjectEvent::Ready { player, resumed, lost });
        for place in self.table.owned_by(Owner::Player(player)) {
            self.announce(place);
        }
    }

    fn on_frame(&mut self, number: u64, frame: Frame<'_>) {
        match frame {
            Frame::Welcome { player, resumed, received } => self.welcomed(player, resumed, received),
            Frame::Refused(words) => self.push_event(ObjectEvent::Refused(words.to_owned())),
            Frame::Create { slot, id, kind, owner, values } => {
                self.on_create(number, slot, id, (kind, owner), values)
            }
            Frame::Gone { slot, why } => {
                let Some(copy) = self.link.as_mut().and_then(|link| link.copies.close(slot)) else { return };
                if self.table.get(copy.id).is_some_and(|entry| entry.downward == Some(slot)) {
                    self.forget(copy.place, None);
                    self.push_event(ObjectEvent::Gone { object: copy.id, why });
                }
            }
            Frame::Owned { slot, owner } => self.on_owned(slot, owner),
            Frame::Denied { id, why } => {
                if why != Denied::NotOwner
                    && let Some(place) = self.table.place(id)
                    && self.table.at(place).is_some_and(|entry| entry.downward.is_none())
                {
                    self.forget(place, None);
                    self.push_event(ObjectEvent::Gone { object: id, why: Gone::Destroyed });
                }
                self.push_event(ObjectEvent::Denied { object: id, why });
            }
            Frame::Call(number, call) => self.on_call(number, call),
            _ => {}
        }
    }

    fn on_create(
        &mut self,
        number: u64,
        slot: u32,
        id: ObjectId,
        (kind_number, owner): (u16, Owner),
        bytes: &[u8],
    ) {
        let Some(kind) = self.config.schema.object(kind_number) else { return };
        let Ok(values) = kind.split(FieldSet::first(kind.fields.len()), bytes) else { return };
        let values: Vec<Value> = values.into_iter().map(|(_, value)| value.into()).collect();
        let known = self.table.place(id);
        let is_ours = |place: &u32| {
            self.table.at(*place).is_some_and(|entry| self.is_mine(entry) && entry.owner == owner)
        };
        let place = match known.filter(is_ours) {
            Some(place) => {
                // The server has accepted an object of ours. What it writes of it is news.
                let Some(entry) = self.table.at_mut(place) else { return };
                entry.downward = Some(slot);
                let theirs = kind.written_by(Writer::Server);
                let set = |field: &usize| entry.set(*field, &values[*field]);
                let changed: Vec<usize> = theirs.iter().filter(set).collect();
                if !changed.is_empty() {
                    let values = changed.into_iter().map(|field| (field as u8, values[field].clone()));
                    let values = values.collect();
                    self.push_event(ObjectEvent::Changed { object: id, values });
                }
                place
            }
            None => {
                if let Some(place) = known {
                    self.forget(place, None);
                }
                let mut entry = Entry::new(id, kind_number, kind, owner, values.clone());
                entry.downward = Some(slot);
                self.push_event(ObjectEvent::Created { object: id, kind: kind_number, owner, values });
                self.table.insert(entry)
            }
        };
        if let Some(link) = &mut self.link {
            link.copies.open(slot, id, place, number);
        }
        // An object of this player's that it did not know of: it was given while the player was away.
        let entry = self.table.at(place);
        if entry.is_some_and(|entry| entry.upward.is_none() && self.is_mine(entry)) {
            self.adopt(place);
        }
    }

    fn adopt(&mut self, place: u32) {
        let now = self.now;
        let (Some(link), Some(entry)) = (&mut self.link, self.table.at_mut(place)) else { return };
        entry.written = FieldSet::NONE;
        let created = link.next_reliable();
        let fields = entry.kind.written_by(Writer::Owner);
        let Some(slot) = link.replicas.open(place, fields, created, 1.0) else { return };
        entry.upward = Some(slot);
        link.send(&Frame::Adopt { slot, id: entry.id }, now);
    }

    fn on_owned(&mut self, slot: u32, owner: Owner) {
        let Some(copy) = self.link.as_ref().and_then(|link| link.copies.get(slot)) else { return };
        let (object, place) = (copy.id, copy.place);
        let Some(entry) = self.table.at_mut(place) else { return };
        entry.owner = owner;
        let is_mine = self.table.at(place).is_some_and(|entry| self.is_mine(entry));
        let upward = self.table.at(place).and_then(|entry| entry.upward);
        match (is_mine, upward) {
            (true, None) => self.adopt(place),
            (false, Some(slot)) => {
                let now = self.now;
                if let (Some(link), Some(entry)) = (&mut self.link, self.table.at_mut(place)) {
                    entry.upward = None;
                    link.replicas.close(slot);
                    link.send(&Frame::Drop { slot, id: object, why: Gone::OutOfScope }, now);
                }
            }
            _ => {}
        }
        self.push_event(ObjectEvent::Owned { object, owner });
    }

    fn on_call(&mut self, number: u64, call: Call) {
        if !self.heard.accept(number, &call) {
            return;
        }
        let from = match call.party {
            Target::Player(peer) => Owner::Player(peer),
            _ => Owner::Server,
        };
        let Call { delivery, kind, bytes, .. } = call;
        self.push_event(ObjectEvent::Call { from, delivery, kind, bytes });
    }

    fn on_packet(&mut self, packet: Packet<'_>) {
        let now = self.now;
        let Some(link) = &mut self.link else { return };
        if !link.on_packet(&packet.head, &mut self.out, now) {
            return;
        }
        for (number, call) in packet.calls {
            self.on_call(number, call);
        }
        for state in packet.states {
            self.on_state(
                packet.head.number,
                packet.head.sent,
                state.slot,
                FieldSet(state.fields),
                state.values,
            );
        }
    }

    fn on_state(&mut self, packet: u64, sent: u64, slot: u32, fields: FieldSet, bytes: &[u8]) {
        let Some(link) = &mut self.link else { return };
        let Some(place) = link.copies.known(slot, sent).map(|copy| copy.place) else { return };
        let is_mine = self.table.at(place).is_some_and(|entry| match entry.owner {
            Owner::Player(owner) => self.player == Some(owner),
            Owner::Server => false,
        });
        let Some(entry) = self.table.at_mut(place) else { return };
        let Ok(values) = entry.kind.split(fields, bytes) else { return };
        let mine = entry.kind.written_by(Writer::Owner);
        let mut changed = Vec::new();
        for (field, value) in values {
            // What this player has written since it became the owner is newer.
            let is_ours = is_mine && mine.has(field) && entry.written.has(field);
            if link.copies.note(slot, field, packet) && !is_ours && entry.set(field, value) {
                changed.push((field as u8, value.into()));
            }
        }
        let object = entry.id;
        if !changed.is_empty() {
            self.push_event(ObjectEvent::Changed { object, values: changed });
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
