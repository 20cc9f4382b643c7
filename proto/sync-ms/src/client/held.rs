//! Updates that are held until everybody shows them.

use std::collections::BTreeMap;

use evenkeel_core::SessionTime;

/// Updates held at a time. Beyond, the first is shown at once.
pub(super) const HELD_MAX: usize = 2_048;
/// Their bytes. Beyond, the first is shown at once.
const HELD_BYTES_MAX: usize = 4 << 20;

/// An update that has arrived.
#[derive(Clone, Debug)]
pub(super) struct HeldUpdate {
    pub(super) id: u32,
    pub(super) stamp: SessionTime,
    pub(super) bytes: Vec<u8>,
}

/// Updates by the time at which they are shown, then by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    updates: BTreeMap<(SessionTime, u32), HeldUpdate>,
    bytes: usize,
}

impl Held {
    /// Holds an update.
    pub(super) fn push(&mut self, show_at: SessionTime, update: HeldUpdate) {
        self.bytes += update.bytes.len();
        self.updates.insert((show_at, update.id), update);
    }

    /// Takes the first update if there are too many.
    pub(super) fn pop_crowded(&mut self) -> Option<HeldUpdate> {
        let is_crowded = self.updates.len() > HELD_MAX || self.bytes > HELD_BYTES_MAX;
        if is_crowded { self.pop() } else { None }
    }

    /// Takes the first update, due or not.
    pub(super) fn pop(&mut self) -> Option<HeldUpdate> {
        let (_, update) = self.updates.pop_first()?;
        self.bytes -= update.bytes.len();
        Some(update)
    }

    /// Takes the first update if it is due. Without a session time, every update is.
    pub(super) fn pop_due(&mut self, now: Option<SessionTime>) -> Option<HeldUpdate> {
        let is_due = |at: SessionTime| now.is_none_or(|now| at <= now);
        self.next_at().filter(|at| is_due(*at)).and_then(|_| self.pop())
    }

    /// When the first update is due.
    pub(super) fn next_at(&self) -> Option<SessionTime> {
        self.updates.first_key_value().map(|((at, _), _)| *at)
    }
}
