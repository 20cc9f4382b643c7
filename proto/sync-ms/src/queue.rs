//! Actions that wait for their place.

use std::collections::{BTreeMap, BTreeSet};

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
    /// The same by their arrivals.
    arrivals: BTreeSet<(SessionTime, Place)>,
}

impl ActionQueue {
    pub(crate) fn push(&mut self, place: Place, action: Waiting) {
        self.arrivals.insert((action.arrived, place));
        self.actions.insert(place, action);
    }

    /// When the action arrived that has waited for the longest time.
    pub(crate) fn oldest_arrival(&self) -> Option<SessionTime> {
        self.arrivals.first().map(|(arrived, _)| *arrived)
    }

    pub(crate) fn head(&self) -> Option<(&Place, &Waiting)> {
        self.actions.first_key_value()
    }

    pub(crate) fn pop(&mut self) -> Option<(Place, Waiting)> {
        let place = *self.actions.keys().next()?;
        self.take(place)
    }

    /// Takes the first action of one player.
    pub(crate) fn pop_of(&mut self, peer: PeerId) -> Option<(Place, Waiting)> {
        let place = *self.actions.keys().find(|(_, from, _)| *from == peer)?;
        self.take(place)
    }

    fn take(&mut self, place: Place) -> Option<(Place, Waiting)> {
        let action = self.actions.remove(&place)?;
        self.arrivals.remove(&(action.arrived, place));
        Some((place, action))
    }
}
