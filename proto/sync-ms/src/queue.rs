//! Actions that wait for their place.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, SessionTime, Span};

/// An action that has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) virtual_at: SessionTime,
    pub(crate) arrived: SessionTime,
    pub(crate) held: Span,
    pub(crate) toss: f64,
    pub(crate) bytes: Vec<u8>,
}

/// An action's place: its tag, then player and number, so that the order is total.
pub(crate) type Place = (SessionTime, PeerId, u32);

/// Actions by their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActionQueue {
    actions: BTreeMap<Place, Waiting>,
}

impl ActionQueue {
    pub(crate) fn push(&mut self, place: Place, action: Waiting) {
        self.actions.insert(place, action);
    }

    pub(crate) fn head(&self) -> Option<(&Place, &Waiting)> {
        self.actions.first_key_value()
    }

    pub(crate) fn pop(&mut self) -> Option<(Place, Waiting)> {
        self.actions.pop_first()
    }

    /// Takes the first action of one player.
    pub(crate) fn pop_of(&mut self, peer: PeerId) -> Option<(Place, Waiting)> {
        let place = *self.actions.keys().find(|(_, from, _)| *from == peer)?;
        self.actions.remove_entry(&place)
    }
}
