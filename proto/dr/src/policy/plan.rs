//! [`SendPlan`]: a policy's decisions.

use evenkeel_core::SessionTime;

use super::{Exported, Pair};
use crate::ledger::{Dispatch, Slot};
use crate::motion::vector::DrSeq;

/// Dispatches: which vector to send to which receiver, and when.
#[derive(Clone, Debug, Default)]
pub struct SendPlan {
    dispatches: Vec<(Slot, Dispatch)>,
}

impl SendPlan {
    /// Sends the newest vector to a receiver at a time; now or earlier means at once.
    pub fn send(&mut self, pair: &Pair<'_>, at: SessionTime) {
        self.send_vector(pair, pair.newest().0, at);
    }

    /// Sends the newest vector of an entity to all of its receivers at a time.
    pub fn send_to_all(&mut self, exported: &Exported<'_>, at: SessionTime) {
        let (newest, _) = exported.newest();
        exported.places().for_each(|link| self.dispatch(exported.slot(link), newest, at));
    }

    /// Sends a vector by its number.
    pub fn send_vector(&mut self, pair: &Pair<'_>, seq: DrSeq, at: SessionTime) {
        self.dispatch(pair.slot(), seq, at);
    }

    /// Sends the newest vector of an entity to the receiver at a place at a time.
    #[inline]
    pub fn send_to(&mut self, exported: &Exported<'_>, place: u32, at: SessionTime) {
        self.dispatch(exported.slot(place), exported.newest().0, at);
    }

    fn dispatch(&mut self, slot: Slot, seq: DrSeq, at: SessionTime) {
        self.dispatches.push((slot, Dispatch { seq, sent: at }));
    }

    pub(crate) fn clear(&mut self) {
        self.dispatches.clear();
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Slot, Dispatch)> + '_ {
        self.dispatches.drain(..)
    }
}
