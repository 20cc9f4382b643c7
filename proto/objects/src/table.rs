//! The objects that one side knows, at stable places.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, Vec3};

use crate::object::{FieldSet, ObjectId, Owner, Value};
use crate::schema::{ObjectKind, ObjectMotion};

/// An object as one side knows it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: ObjectId,
    pub(crate) number: u16,
    pub(crate) kind: &'static ObjectKind,
    pub(crate) owner: Owner,
    pub(crate) values: Vec<Value>,
    /// At a player: the fields it wrote since it told the server of the object, or became the owner. What the server says
    /// of them is older.
    pub(crate) written: FieldSet,
    /// The slot under which this side tells its owner's fields upwards, or is told them at the server.
    pub(crate) upward: Option<u32>,
    /// At a player: the slot under which the server tells of it.
    pub(crate) downward: Option<u32>,
    /// At the server: where it is.
    pub(crate) position: Option<Vec3>,
    /// At the server: whose quota it counts against, which is that of who created it.
    pub(crate) charged_to: Option<PeerId>,
    /// At the server: whether its owner is away and may come back.
    pub(crate) is_held: bool,
    /// At the server: whether its owner is back, and what it tells of it again counts.
    pub(crate) is_returning: bool,
    /// At the server: who has it in scope, and their slots.
    pub(crate) watchers: Vec<(PeerId, u32)>,
}

impl Entry {
    pub(crate) const fn new(
        id: ObjectId,
        number: u16,
        kind: &'static ObjectKind,
        owner: Owner,
        values: Vec<Value>,
    ) -> Self {
        Self {
            id,
            number,
            kind,
            owner,
            values,
            written: FieldSet::NONE,
            upward: None,
            downward: None,
            position: None,
            charged_to: None,
            is_held: false,
            is_returning: false,
            watchers: Vec::new(),
        }
    }

    /// Replaces a value. Returns whether it differs.
    pub(crate) fn set(&mut self, field: usize, value: &[u8]) -> bool {
        let Some(known) = self.values.get_mut(field) else { return false };
        if **known == *value {
            return false;
        }
        if known.len() == value.len() {
            known.copy_from_slice(value);
        } else {
            *known = value.into();
        }
        true
    }

    /// Whether its place matters for who sees it.
    pub(crate) fn moves(&self) -> bool {
        self.kind.motion != ObjectMotion::Still
    }
}

/// Objects by place and by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectTable {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    ids: BTreeMap<ObjectId, u32>,
}

impl ObjectTable {
    pub(crate) fn insert(&mut self, entry: Entry) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as u32
        });
        self.ids.insert(entry.id, place);
        self.entries[place as usize] = Some(entry);
        place
    }

    pub(crate) fn remove(&mut self, place: u32) -> Option<Entry> {
        let entry = self.entries.get_mut(place as usize)?.take()?;
        self.ids.remove(&entry.id);
        self.free.push(place);
        Some(entry)
    }

    pub(crate) fn place(&self, id: ObjectId) -> Option<u32> {
        self.ids.get(&id).copied()
    }

    #[inline]
    pub(crate) fn at(&self, place: u32) -> Option<&Entry> {
        self.entries.get(place as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, place: u32) -> Option<&mut Entry> {
        self.entries.get_mut(place as usize)?.as_mut()
    }

    pub(crate) fn get(&self, id: ObjectId) -> Option<&Entry> {
        self.at(self.place(id)?)
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Every object with its place, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        self.ids.values().filter_map(|place| Some((*place, self.at(*place)?)))
    }

    /// The places of the objects that a side owns, by name.
    pub(crate) fn owned_by(&self, owner: Owner) -> Vec<u32> {
        self.iter().filter(|(_, entry)| entry.owner == owner).map(|(place, _)| place).collect()
    }
}
