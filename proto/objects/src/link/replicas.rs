//! What this side tells of its objects: which fields the other side lacks, and which objects come first.

use std::collections::VecDeque;

use evenkeel_core::{LocalTime, Varint, Wire};

use super::packets::Item;
use crate::message::{SLOTS_MAX, begin_states};
use crate::object::FieldSet;
use crate::table::ObjectTable;

/// One object that the other side was told of.
#[derive(Clone, Debug)]
struct Replica {
    /// Its place in the table.
    place: u32,
    /// Distinguishes it from earlier ones in its slot.
    life: u32,
    /// The reliable message that told of it. Fields are sent once that has arrived.
    created: u64,
    /// The fields that this side writes.
    fields: u32,
    dirty: u32,
    /// Since when it has waited.
    since: LocalTime,
    weight: f32,
    /// How much its motion matters, as last told.
    motion_weight: f32,
    is_open: bool,
    is_queued: bool,
    is_ready: bool,
}

/// The objects that the other side was told of, by slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replicas {
    slots: Vec<Replica>,
    free: Vec<u32>,
    /// Slots with fields to be sent.
    queue: Vec<u32>,
    /// Slots whose creation has not arrived, in order.
    unready: VecDeque<u32>,
}

impl Replicas {
    /// Opens a slot for the object at a place, told of by the reliable message with this number. `None` if there are too many.
    pub(crate) fn open(&mut self, place: u32, fields: FieldSet, created: u64, weight: f32) -> Option<u32> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < SLOTS_MAX as usize => {
                self.slots.push(Replica {
                    place,
                    life: 0,
                    created,
                    fields: 0,
                    dirty: 0,
                    since: LocalTime::MIN,
                    weight,
                    motion_weight: 1.0,
                    is_open: false,
                    is_queued: false,
                    is_ready: false,
                });
                (self.slots.len() - 1) as u32
            }
            None => return None,
        };
        let replica = &mut self.slots[slot as usize];
        (replica.place, replica.created, replica.fields) = (place, created, fields.0);
        (replica.dirty, replica.weight, replica.is_ready) = (0, weight, false);
        replica.motion_weight = 1.0;
        (replica.life, replica.is_open) = (replica.life.wrapping_add(1), true);
        self.unready.push_back(slot);
        Some(slot)
    }

    /// Closes a slot.
    pub(crate) fn close(&mut self, slot: u32) {
        if let Some(replica) = self.slots.get_mut(slot as usize).filter(|replica| replica.is_open) {
            (replica.is_open, replica.dirty) = (false, 0);
            self.free.push(slot);
        }
    }

    /// Notes changed fields.
    #[inline]
    pub(crate) fn change(&mut self, slot: u32, fields: FieldSet, now: LocalTime) {
        let Some(replica) = self.slots.get_mut(slot as usize).filter(|replica| replica.is_open) else {
            return;
        };
        let changed = fields.0 & replica.fields;
        if changed == 0 {
            return;
        }
        if replica.dirty == 0 {
            replica.since = now;
        }
        replica.dirty |= changed;
        if replica.is_ready && !replica.is_queued {
            replica.is_queued = true;
            self.queue.push(slot);
        }
    }

    /// Sets which fields this side writes. Those that are no longer among them are not sent.
    pub(crate) fn set_fields(&mut self, slot: u32, fields: FieldSet) {
        if let Some(replica) = self.slots.get_mut(slot as usize) {
            replica.fields = fields.0;
            replica.dirty &= fields.0;
        }
    }

    /// Sends no field of an object before the reliable message with this number has arrived.
    pub(crate) fn hold(&mut self, slot: u32, until: u64) {
        if let Some(replica) = self.slots.get_mut(slot as usize).filter(|replica| replica.is_open) {
            (replica.created, replica.is_ready) = (until, false);
            self.unready.push_back(slot);
        }
    }

    /// Sets how much an object matters.
    pub(crate) fn weigh(&mut self, slot: u32, weight: f32) {
        if let Some(replica) = self.slots.get_mut(slot as usize) {
            replica.weight = weight;
        }
    }

    /// Sets how much an object's motion matters. Returns whether that is news: by more than a twentieth.
    pub(crate) fn weigh_motion(&mut self, slot: u32, weight: f32) -> bool {
        let Some(replica) = self.slots.get_mut(slot as usize) else { return false };
        let is_news = (weight / replica.motion_weight - 1.0).abs() > 0.05;
        if is_news {
            replica.motion_weight = weight;
        }
        is_news
    }

    /// Notes that this many reliable messages have arrived.
    pub(crate) fn created_up_to(&mut self, received: u64) {
        while let Some(slot) = self.unready.front().copied() {
            let replica = &mut self.slots[slot as usize];
            if replica.is_open && replica.created > received {
                return;
            }
            self.unready.pop_front();
            if replica.is_open && replica.created <= received {
                replica.is_ready = true;
                if replica.dirty != 0 && !replica.is_queued {
                    replica.is_queued = true;
                    self.queue.push(slot);
                }
            }
        }
    }

    /// Takes the fate of fields.
    pub(crate) fn settle(&mut self, slot: u32, life: u32, fields: u32, arrived: bool, now: LocalTime) {
        let is_it = self.slots.get(slot as usize).is_some_and(|replica| replica.life == life);
        if !arrived && fields != 0 && is_it {
            self.change(slot, FieldSet(fields), now);
        }
    }

    /// The places of the objects that the other side was told of.
    pub(crate) fn places(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().filter(|replica| replica.is_open).map(|replica| replica.place)
    }

    /// Whether fields wait to be sent.
    pub(crate) fn is_due(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Appends changed fields up to `limit` bytes of the packet. What matters most and waits longest comes first, if not all fit.
    pub(crate) fn fill(
        &mut self,
        now: LocalTime,
        table: &ObjectTable,
        bytes: &mut Vec<u8>,
        limit: usize,
        items: &mut Vec<Item>,
    ) {
        let before = (bytes.len(), items.len());
        if self.queue.is_empty() || bytes.len() + 8 > limit {
            return;
        }
        begin_states(bytes);
        if !self.emit_all(table, bytes, limit, items, false) {
            // Not all fit: undo, and sort.
            bytes.truncate(before.0 + 1);
            items.truncate(before.1);
            let slots = &self.slots;
            let score = |slot: &u32| {
                let replica = &slots[*slot as usize];
                replica.weight * ((now - replica.since).as_secs_f64() as f32 + 0.001)
            };
            self.queue.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
            self.emit_all(table, bytes, limit, items, true);
        }
        for item in &items[before.1..] {
            if let Item::State { slot, fields, .. } = item {
                self.slots[*slot as usize].dirty &= !fields;
            }
        }
        let slots = &mut self.slots;
        self.queue.retain(|slot| {
            let replica = &mut slots[*slot as usize];
            replica.is_queued = replica.is_open && replica.is_ready && replica.dirty != 0;
            replica.is_queued
        });
        if items.len() == before.1 {
            bytes.truncate(before.0);
        }
    }

    /// Appends queued objects. Returns whether all fit; unless `partly`, it stops at the first that does not.
    fn emit_all(
        &self,
        table: &ObjectTable,
        bytes: &mut Vec<u8>,
        limit: usize,
        items: &mut Vec<Item>,
        partly: bool,
    ) -> bool {
        for slot in &self.queue {
            let Replica { place, life, dirty, is_open, is_ready, .. } = self.slots[*slot as usize];
            let Some(entry) = table.at(place).filter(|_| is_open && is_ready && dirty != 0) else { continue };
            let mut len = 0;
            let mut fitting = 0;
            // The slot, the length and the set take at most ten bytes.
            let room = limit.saturating_sub(bytes.len() + 10);
            for field in FieldSet(dirty).iter() {
                let value = entry.values.get(field).map_or(0, |value| value.len());
                if len + value <= room {
                    len += value;
                    fitting |= 1 << field;
                }
            }
            if fitting != dirty && !partly {
                return false;
            }
            if fitting == 0 {
                if room < 16 {
                    return false;
                }
                continue;
            }
            Varint(u64::from(*slot)).emit(bytes);
            let set = Varint(u64::from(fitting));
            let set_len = (fitting | 1).ilog2() as usize / 7 + 1;
            Varint((set_len + len) as u64).emit(bytes);
            set.emit(bytes);
            for field in FieldSet(fitting).iter() {
                bytes.extend_from_slice(&entry.values[field]);
            }
            items.push(Item::State { slot: *slot, life, fields: fitting });
        }
        true
    }
}
