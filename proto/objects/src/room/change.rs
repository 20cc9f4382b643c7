//! Objects come into being, change, pass on and go, by the server's game and by their owners.

use evenkeel_core::{PeerId, Vec3};

use super::{ENDED_MAX, ObjectRoom, ObjectRoomEvent};
use crate::message::{Denied, Frame, Gone, PacketHead, SLOTS_MAX};
use crate::object::{FieldSet, ObjectId, Owner, Value};
use crate::schema::{Object, Writer};
use crate::table::Entry;

impl ObjectRoom {
    /// Creates an object of the server, which is at a place if that is known. `None` if there are too many, or the values are
    /// not of that kind.
    pub fn create(&mut self, kind: u16, values: Vec<Value>, at: Option<Vec3>) -> Option<ObjectId> {
        let number = kind;
        let kind = self.config.schema.object(number)?;
        let is_valid = values.len() == kind.fields.len()
            && values.iter().enumerate().all(|(field, value)| kind.accepts(field, value));
        if !is_valid || self.table.len() >= self.config.objects_max {
            return None;
        }
        let id = self.draw_name();
        let mut entry = Entry::new(id, number, kind, Owner::Server, values);
        entry.position = at;
        let place = self.table.insert(entry);
        self.reveal(place);
        Some(id)
    }

    /// Creates an object of the server from a game's own type.
    pub fn create_object<T: Object>(&mut self, object: &T, at: Option<Vec3>) -> Option<ObjectId> {
        self.create(T::KIND, object.values(), at)
    }

    /// Changes a field: any of the server's objects, and those that the server writes of others. Returns whether it may.
    pub fn set(&mut self, object: ObjectId, field: usize, value: &[u8]) -> bool {
        let Some(place) = self.table.place(object) else { return false };
        let Some(entry) = self.table.at(place) else { return false };
        let may = entry.owner == Owner::Server || entry.kind.written_by(Writer::Server).has(field);
        if !may || !entry.kind.accepts(field, value) {
            return false;
        }
        self.change(place, field, value, None);
        true
    }

    /// Changes whatever differs in a game's own type: of the server's object every field, of others those that it writes.
    pub fn update<T: Object>(&mut self, object: ObjectId, change: impl FnOnce(&mut T)) -> bool {
        let Some(entry) = self.table.get(object).filter(|entry| entry.number == T::KIND) else {
            return false;
        };
        let Ok(mut typed) = T::from_values(&entry.values) else { return false };
        change(&mut typed);
        for (field, value) in typed.values().iter().enumerate() {
            let differs = self.table.get(object).is_some_and(|entry| entry.values[field] != *value);
            if differs {
                self.set(object, field, value);
            }
        }
        true
    }

    /// Reads an object as a game's own type.
    #[must_use]
    pub fn read<T: Object>(&self, object: ObjectId) -> Option<T> {
        let entry = self.table.get(object).filter(|entry| entry.number == T::KIND)?;
        T::from_values(&entry.values).ok()
    }

    /// Tells where an object is, for areas of interest.
    pub fn place(&mut self, object: ObjectId, at: Vec3) {
        let Some(place) = self.table.place(object) else { return };
        if let Some(entry) = self.table.at_mut(place) {
            let is_first = entry.position.replace(at).is_none();
            if is_first && entry.moves() {
                self.reveal(place);
            }
        }
    }

    /// Destroys an object, whoever owns it. Returns whether there was one.
    pub fn destroy(&mut self, object: ObjectId) -> bool {
        let Some(place) = self.table.place(object) else { return false };
        self.conceal_from_all(place, Gone::Destroyed);
        let Some(entry) = self.table.remove(place) else { return false };
        self.release(&entry);
        self.bury(&entry);
        self.discharge(entry.charged_to);
        self.push_event(ObjectRoomEvent::Destroyed { object });
        true
    }

    /// What an owner told of an object counts no more.
    fn release(&mut self, entry: &Entry) {
        let Some(player) = entry.owner.player().and_then(|owner| self.players.get_mut(owner)) else { return };
        if let (Some(link), Some(slot)) = (&mut player.link, entry.upward)
            // Its owner may tell of another one there by now.
            && link.copies.get(slot).is_some_and(|copy| copy.id == entry.id)
        {
            link.copies.close(slot);
        }
    }

    /// An owner that has not heard of its object's end tells of it again when it is back.
    fn bury(&mut self, entry: &Entry) {
        let creator = entry.id.creator();
        if !(entry.is_held || entry.is_returning) || entry.owner != Owner::Player(creator) {
            return;
        }
        let Some(player) = self.players.get_mut(creator) else { return };
        player.ended.insert(entry.id, entry.is_returning);
        if player.ended.len() > ENDED_MAX {
            player.ended.pop_first();
        }
    }

    /// An object counts against its creator no more.
    fn discharge(&mut self, creator: Option<PeerId>) {
        if let Some(player) = creator.and_then(|creator| self.players.get_mut(creator)) {
            player.charged = player.charged.saturating_sub(1);
        }
    }

    /// Passes an object on, whoever owns it. From then on it counts against no player's quota, and outlasts who created it.
    /// Returns false if there is none, or its next owner is not here.
    pub fn give(&mut self, object: ObjectId, to: Owner) -> bool {
        let is_given = self.pass_on(object, to);
        if let Some(entry) = self.table.place(object).and_then(|place| self.table.at_mut(place))
            && is_given
        {
            let creator = entry.charged_to.take();
            self.discharge(creator);
        }
        is_given
    }

    /// Passes an object on; it counts against whom it did.
    pub(super) fn pass_on(&mut self, object: ObjectId, to: Owner) -> bool {
        let Some(place) = self.table.place(object) else { return false };
        let is_here = |peer: PeerId| self.players().any(|player| player == peer);
        if to.player().is_some_and(|peer| !is_here(peer)) {
            return false;
        }
        let Some(entry) = self.table.at(place).cloned() else { return false };
        if entry.owner == to {
            return true;
        }
        self.release(&entry);
        let Some(known) = self.table.at_mut(place) else { return false };
        (known.owner, known.upward) = (to, None);
        (known.is_held, known.is_returning) = (false, false);
        let all = FieldSet::first(entry.kind.fields.len());
        let theirs = entry.kind.written_by(Writer::Owner);
        let now = self.now;
        for (peer, slot) in entry.watchers {
            if let Some(link) = self.players.get_mut(peer).and_then(|player| player.link.as_mut()) {
                let owned = link.next_reliable();
                link.send(&Frame::Owned { slot, owner: to }, now);
                link.replicas.set_fields(slot, all);
                if entry.owner == Owner::Player(peer) {
                    // What it changed last may not have been heard. Until it knows that it is not the owner, it would not listen.
                    link.replicas.hold(slot, owned);
                    link.replicas.change(slot, theirs, now);
                }
            }
            self.schedule(peer);
        }
        self.push_event(ObjectRoomEvent::Owned { object, owner: to });
        if entry.is_held {
            self.reveal(place);
        } else if let Some(peer) = to.player() {
            // The owner sees what it owns.
            self.show(place, peer, 1.0);
        }
        true
    }

    /// Changes a value and tells those who see it, but for the player it is from.
    fn change(&mut self, place: u32, field: usize, value: &[u8], from: Option<PeerId>) -> bool {
        let now = self.now;
        let Some(entry) = self.table.at_mut(place) else { return false };
        if !entry.set(field, value) {
            return false;
        }
        let set = FieldSet(1 << field);
        for index in 0..entry.watchers.len() {
            let Some((peer, slot)) = self.table.at(place).map(|entry| entry.watchers[index]) else { break };
            if Some(peer) == from {
                continue;
            }
            let Some(link) = self.players.get_mut(peer).and_then(|player| player.link.as_mut()) else {
                continue;
            };
            let was_due = link.replicas.is_due() && link.scheduled.is_some_and(|at| at <= now);
            link.replicas.change(slot, set, now);
            if !was_due {
                self.schedule(peer);
            }
        }
        true
    }

    fn deny(&mut self, to: PeerId, id: ObjectId, why: Denied) {
        let now = self.now;
        self.refuse(to, |refusals| match why {
            Denied::Name => refusals.names += 1,
            Denied::TooMany => refusals.objects += 1,
            Denied::NotOwner | Denied::Motion => refusals.foreign += 1,
        });
        if let Some(link) = self.players.get_mut(to).and_then(|player| player.link.as_mut()) {
            link.send(&Frame::Denied { id, why }, now);
        }
    }

    pub(super) fn on_create(
        &mut self,
        from: PeerId,
        message: u64,
        slot: u32,
        (id, number): (ObjectId, u16),
        bytes: &[u8],
    ) {
        let (now, quotas) = (self.now, self.config.quotas);
        let Some(kind) = self.config.schema.object(number) else { return };
        if let Some(place) = self.table.place(id).filter(|place| self.waits(*place, from, number)) {
            return self.on_return(from, message, slot, place, bytes);
        }
        if let Some(hears) = self.players.get_mut(from).and_then(|player| player.ended.remove(&id)) {
            if !hears {
                self.deny(from, id, Denied::Name);
            }
            return;
        }
        if id.creator() != from || !id.is_object() || self.table.place(id).is_some() || slot >= SLOTS_MAX {
            self.deny(from, id, Denied::Name);
            // It may take the object of that name for the one it created, so it is shown anew.
            if let Some(place) = self.table.place(id) {
                self.conceal(place, from, Gone::OutOfScope);
            }
            return;
        }
        let Some(player) = self.players.get_mut(from) else { return };
        let is_full = player.charged >= quotas.objects || self.table.len() >= self.config.objects_max;
        if is_full || !player.usage.birth(now, &quotas) {
            return self.deny(from, id, Denied::TooMany);
        }
        let Ok(values) = kind.split(FieldSet::first(kind.fields.len()), bytes) else { return };
        let mut values: Vec<Value> = values.into_iter().map(|(_, value)| value.into()).collect();
        for field in kind.written_by(Writer::Server).iter() {
            let mut initial = Vec::new();
            (kind.fields[field].initial)(&mut initial);
            values[field] = initial.into();
        }
        let mut entry = Entry::new(id, number, kind, Owner::Player(from), values);
        (entry.upward, entry.charged_to) = (Some(slot), Some(from));
        let place = self.table.insert(entry);
        if let Some(player) = self.players.get_mut(from) {
            player.charged += 1;
            if let Some(link) = &mut player.link {
                link.copies.open(slot, id, place, message);
            }
        }
        self.push_event(ObjectRoomEvent::Created { object: id, owner: from });
        self.reveal(place);
    }

    /// Whether an object of this kind waits for this player to tell of it again.
    fn waits(&self, place: u32, player: PeerId, kind: u16) -> bool {
        self.table.at(place).is_some_and(|entry| {
            entry.owner == Owner::Player(player) && entry.upward.is_none() && entry.number == kind
        })
    }

    /// A player tells again of what it had before its connection broke. What the server writes stays as it is.
    fn on_return(&mut self, from: PeerId, message: u64, slot: u32, place: u32, bytes: &[u8]) {
        let Some(entry) = self.table.at_mut(place) else { return };
        let (object, kind) = (entry.id, entry.kind);
        if !core::mem::take(&mut entry.is_returning) {
            // It passed on, and back, before this player told of it again: what the player had then is over.
            return self.follow_owner(from, message, slot, place, true);
        }
        let Ok(values) = kind.split(FieldSet::first(kind.fields.len()), bytes) else { return };
        entry.upward = Some(slot);
        let downward = entry.watchers.iter().find(|(peer, _)| *peer == from).map(|(_, slot)| *slot);
        if let Some(link) = self.players.get_mut(from).and_then(|player| player.link.as_mut()) {
            link.copies.open(slot, object, place, message);
            if let Some(downward) = downward {
                link.replicas.set_fields(downward, kind.written_by(Writer::Server));
            }
        }
        let mine = kind.written_by(Writer::Owner);
        let mut changed = FieldSet::NONE;
        for (field, value) in values {
            if mine.has(field) && self.change(place, field, value, Some(from)) {
                changed.0 |= 1 << field;
            }
        }
        if !changed.is_empty() {
            self.push_event(ObjectRoomEvent::Changed { object, fields: changed });
        }
    }

    pub(super) fn on_adopt(&mut self, from: PeerId, message: u64, slot: u32, id: ObjectId) {
        let place = self.table.place(id).unwrap_or(u32::MAX);
        // It may have passed on in the meantime, which is nobody's fault.
        let Some(entry) = self.table.at_mut(place) else { return };
        if entry.owner != Owner::Player(from) {
            return self.refuse(from, |refusals| refusals.foreign += 1);
        }
        // It may have forgotten the object and been shown it anew, as it was before its last words arrived.
        let is_again = entry.upward.is_some();
        self.follow_owner(from, message, slot, place, is_again);
    }

    /// Hears of an object by this slot of its owner's, who may have to be told how it is.
    fn follow_owner(&mut self, owner: PeerId, message: u64, slot: u32, place: u32, tells: bool) {
        let now = self.now;
        let Some(entry) = self.table.at_mut(place) else { return };
        (entry.upward, entry.is_returning) = (Some(slot), false);
        let downward = entry.watchers.iter().find(|(peer, _)| *peer == owner).map(|(_, slot)| *slot);
        let Some(link) = self.players.get_mut(owner).and_then(|player| player.link.as_mut()) else { return };
        link.copies.open(slot, entry.id, place, message);
        if let Some(downward) = downward.filter(|_| tells) {
            link.replicas.set_fields(downward, FieldSet::first(entry.kind.fields.len()));
            link.replicas.change(downward, entry.kind.written_by(Writer::Owner), now);
            self.schedule(owner);
        }
    }

    pub(super) fn on_drop(&mut self, from: PeerId, slot: u32, id: ObjectId, why: Gone) {
        if let Some(link) = self.players.get_mut(from).and_then(|player| player.link.as_mut())
            && link.copies.get(slot).is_some_and(|copy| copy.id == id)
        {
            link.copies.close(slot);
        }
        let (now, quotas) = (self.now, self.config.quotas);
        if let Some(player) = self.players.get_mut(from).filter(|_| why == Gone::Destroyed) {
            player.ended.remove(&id);
        }
        let Some(place) = self.table.place(id).filter(|_| why == Gone::Destroyed) else { return };
        let (Some(entry), Some(player)) = (self.table.at(place), self.players.get_mut(from)) else { return };
        if entry.owner == Owner::Player(from) {
            // Its owner has forgotten it already. It pays afterwards.
            player.usage.news(now, entry.watchers.len(), &quotas);
            if let Some(entry) = self.table.at_mut(place) {
                entry.is_returning = false;
            }
            self.destroy(id);
        } else if !player.usage.delivery(now, 1, 0, &quotas) {
            self.refuse(from, |refusals| refusals.foreign += 1);
        } else {
            // It had passed on when its owner destroyed it. That player has forgotten it, so it is shown anew.
            self.conceal(place, from, Gone::OutOfScope);
        }
    }

    pub(super) fn on_give(&mut self, from: PeerId, id: ObjectId, to: Owner) {
        let (now, quotas) = (self.now, self.config.quotas);
        let entry = self.table.get(id).filter(|entry| entry.owner == Owner::Player(from));
        let (Some(entry), Some(player)) = (entry, self.players.get_mut(from)) else {
            return self.deny(from, id, Denied::NotOwner);
        };
        // Everybody who sees it is told, reliably.
        if !player.usage.delivery(now, entry.watchers.len(), 0, &quotas) {
            self.deny(from, id, Denied::TooMany);
        } else if !self.pass_on(id, to) {
            self.deny(from, id, Denied::NotOwner);
        }
    }

    pub(super) fn on_state(
        &mut self,
        from: PeerId,
        head: &PacketHead,
        slot: u32,
        fields: FieldSet,
        bytes: &[u8],
    ) {
        let Some(link) = self.players.get_mut(from).and_then(|player| player.link.as_mut()) else { return };
        let Some(place) = link.copies.known(slot, head.sent).map(|copy| copy.place) else { return };
        let Some(entry) = self.table.at(place) else { return };
        let (object, kind) = (entry.id, entry.kind);
        if entry.owner != Owner::Player(from) || entry.upward != Some(slot) {
            return;
        }
        let mine = kind.written_by(Writer::Owner);
        let Ok(values) = kind.split(fields, bytes) else { return };
        let mut changed = FieldSet::NONE;
        let mut is_foreign = false;
        for (field, value) in values {
            if !mine.has(field) {
                is_foreign = true;
                continue;
            }
            let link = self.players.get_mut(from).and_then(|player| player.link.as_mut());
            if link.is_some_and(|link| link.copies.note(slot, field, head.number))
                && self.change(place, field, value, Some(from))
            {
                changed.0 |= 1 << field;
            }
        }
        if is_foreign {
            self.refuse(from, |refusals| refusals.foreign += 1);
        }
        if !changed.is_empty() {
            self.push_event(ObjectRoomEvent::Changed { object, fields: changed });
        }
    }
}
