//! What a player hears from the server.

use evenkeel_core::PeerId;

use super::ObjectPeer;
use crate::command::ObjectEvent;
use crate::delivery::{Call, Target};
use crate::link::CallsIn;
use crate::message::{Denied, Frame, Gone, Packet};
use crate::object::{FieldSet, ObjectId, Owner, Value};
use crate::schema::Writer;
use crate::table::Entry;

impl ObjectPeer {
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
            self.instance = self.instance.wrapping_add(1);
        }
        self.push_event(ObjectEvent::Ready { player, resumed, lost });
        self.forget_strays();
        // What this player has destroyed meanwhile is not to come back.
        let is_mine = |id: &ObjectId| self.table.get(*id).is_some_and(|entry| self.is_mine(entry));
        let destroyed: Vec<ObjectId> = self.held.iter().filter(|id| !is_mine(id)).copied().collect();
        self.held.clear();
        if let Some(link) = self.link.as_mut().filter(|_| resumed) {
            for id in destroyed {
                link.send(&Frame::Drop { slot: 0, id, why: Gone::Destroyed }, self.now);
            }
        }
        for place in self.table.owned_by(Owner::Player(player)) {
            self.announce(place);
        }
    }

    /// Gives up objects that were created without a connection under another player's number: the server never learns of them.
    fn forget_strays(&mut self) {
        let strays = self.table.iter().filter(|(_, entry)| !self.is_mine(entry));
        let strays: Vec<(u32, ObjectId)> = strays.map(|(place, entry)| (place, entry.id)).collect();
        for (place, object) in strays {
            self.forget(place, None);
            self.push_event(ObjectEvent::Gone { object, why: Gone::Destroyed });
            self.push_event(ObjectEvent::Denied { object, why: Denied::Name });
        }
    }

    pub(super) fn on_frame(&mut self, number: u64, frame: Frame<'_>) {
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
            Frame::Unheard { count, kind, party } => {
                self.push_event(ObjectEvent::Unheard { count, kind, party });
            }
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

    pub(super) fn on_packet(&mut self, packet: Packet<'_>) {
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
}
