//! What the other side tells of its objects: which slot is which object, and how new each field is.

use crate::object::ObjectId;
use crate::schema::FIELDS_MAX;

/// An object that the other side tells of.
#[derive(Clone, Debug)]
pub(crate) struct CopySlot {
    pub(crate) id: ObjectId,
    pub(crate) place: u32,
    /// The number of the reliable message that told of it.
    created: u64,
    /// The packet that brought each field's value.
    newest: [u64; FIELDS_MAX],
}

/// The objects that the other side tells of, by slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    slots: Vec<Option<Box<CopySlot>>>,
}

impl Copies {
    /// Opens a slot by the reliable message with this number. Whatever was in it is gone.
    pub(crate) fn open(&mut self, slot: u32, id: ObjectId, place: u32, created: u64) {
        if self.slots.len() <= slot as usize {
            self.slots.resize(slot as usize + 1, None);
        }
        self.slots[slot as usize] = Some(Box::new(CopySlot { id, place, created, newest: [0; FIELDS_MAX] }));
    }

    /// Closes a slot. Returns what was in it.
    pub(crate) fn close(&mut self, slot: u32) -> Option<CopySlot> {
        self.slots.get_mut(slot as usize)?.take().map(|slot| *slot)
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&CopySlot> {
        self.slots.get(slot as usize)?.as_deref()
    }

    /// The object that a packet tells of, if the sender knew this life of the slot.
    pub(crate) fn known(&self, slot: u32, sent: u64) -> Option<&CopySlot> {
        self.get(slot).filter(|copy| copy.created <= sent)
    }

    /// Notes the packet that brings a field's value. Returns whether it is newer than what is known.
    pub(crate) fn note(&mut self, slot: u32, field: usize, packet: u64) -> bool {
        let Some(Some(copy)) = self.slots.get_mut(slot as usize) else { return false };
        let Some(newest) = copy.newest.get_mut(field) else { return false };
        let is_new = packet > *newest;
        *newest = packet.max(*newest);
        is_new
    }
}
