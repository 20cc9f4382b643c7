//! The receiver: copies of other owners' entities, and acknowledgments of the vectors that arrived.
//!
//! - [`placement`]: how an arriving vector is placed.
//! - [`arrivals`]: the log of arrivals, from which acknowledgments are made.

pub mod arrivals;
pub mod placement;

pub use arrivals::{ArrivalLog, ArrivalRange};
pub use placement::Placement;

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{PeerId, SessionTime, Vec3};
use evenkeel_session::{Outbox, PeerMap};

use crate::command::DrEvent;
use crate::message::{Arrival, ConfirmFrame, VectorFrame};
use crate::motion::{DrSeq, DrVector, EntityId};

/// Entities of one sender. Beyond, introductions are ignored.
pub const COPIES_MAX: usize = 4096;
/// Events that wait for the application. Beyond, the oldest is dropped.
pub const EVENTS_MAX: usize = 8192;

#[derive(Clone, Debug)]
struct EntityCopy {
    first: DrSeq,
    newest: DrSeq,
    /// Which of the 64 newest vectors have arrived. Bit 0 is the newest.
    arrived: u64,
    placed: DrVector,
}

#[derive(Clone, Debug, Default)]
struct Source {
    copies: BTreeMap<EntityId, EntityCopy>,
    log: ArrivalLog,
    /// Whether the log holds arrivals that were never acknowledged.
    owes: bool,
}

impl Source {
    fn report(&self, to: PeerId, ranges: impl Iterator<Item = ArrivalRange>, outbox: &mut Outbox) {
        for range in ranges {
            outbox.datagram(to, |stamp, bytes| self.log.emit(range, stamp, bytes));
        }
    }
}

/// The copies that a peer shows, by sender.
#[derive(Clone, Debug)]
pub struct Receiver {
    placement: Placement,
    sources: PeerMap<Source>,
    /// No log is to be repeated before this time.
    repeat_at: SessionTime,
    ignored: u64,
}

impl Receiver {
    /// A receiver without senders.
    #[must_use]
    pub const fn new(placement: Placement) -> Self {
        Self { placement, sources: PeerMap::new(), repeat_at: SessionTime::MAX, ignored: 0 }
    }

    /// Adds a sender. If it was here before, its log starts anew.
    pub fn join(&mut self, peer: PeerId) {
        self.sources.insert(peer, Source::default());
    }

    /// Removes a sender and its entities.
    pub fn leave(&mut self, peer: PeerId, events: &mut EventQueue) {
        for entity in self.sources.remove(peer).into_iter().flat_map(|source| source.copies.into_keys()) {
            events.push(DrEvent::Ended { from: peer, entity });
        }
    }

    /// Handles a DR vector. Only an introduction creates a copy.
    pub fn on_vector(
        &mut self,
        from: PeerId,
        frame: &VectorFrame,
        nonce: u32,
        introduce: bool,
        now: SessionTime,
        events: &mut EventQueue,
    ) {
        let Some(source) = self.sources.get_mut(from) else { return };
        let VectorFrame { entity, first, seq, sent, ref vector, .. } = *frame;
        let placed = self.placement.place(vector, sent, now, source.log.one_way());
        let room = source.copies.len() < COPIES_MAX;
        let is_newest = match source.copies.get_mut(&entity) {
            None if introduce && room => {
                source.copies.insert(entity, EntityCopy { first, newest: seq, arrived: 1, placed });
                true
            }
            // From another life, which is not introduced yet or is over.
            Some(copy) if copy.first != first => {
                self.ignored += 1;
                return;
            }
            Some(copy) if seq > copy.newest => {
                let shift = seq.0 - copy.newest.0;
                copy.arrived = copy.arrived.checked_shl(shift).unwrap_or(0) | 1;
                (copy.newest, copy.placed) = (seq, placed);
                true
            }
            // A late one is acknowledged but not placed. A duplicate is neither.
            Some(copy) if copy.newest.0 - seq.0 < 64 && copy.arrived >> (copy.newest.0 - seq.0) & 1 == 0 => {
                copy.arrived |= 1 << (copy.newest.0 - seq.0);
                false
            }
            _ => {
                self.ignored += 1;
                return;
            }
        };
        source.log.note(Arrival { entity, seq, at: now, nonce });
        source.owes = true;
        self.repeat_at = source.log.repeat_at().map_or(self.repeat_at, |at| at.min(self.repeat_at));
        let placed = is_newest.then_some(placed);
        let generated = vector.generated;
        events.push(DrEvent::Arrived { from, entity, seq, generated, placed, introduction: introduce });
    }

    /// Removes an entity that has ended.
    pub fn on_ended(&mut self, from: PeerId, entity: EntityId, events: &mut EventQueue) {
        if self.sources.get_mut(from).is_some_and(|source| source.copies.remove(&entity).is_some()) {
            events.push(DrEvent::Ended { from, entity });
        }
    }

    /// Handles a confirmation. If the sender misses some arrivals, they are sent again.
    pub fn on_confirm(
        &mut self,
        from: PeerId,
        confirm: &ConfirmFrame,
        now: SessionTime,
        outbox: &mut Outbox,
    ) {
        let Some(source) = self.sources.get_mut(from) else { return };
        if source.log.confirm(confirm, now) {
            let ranges = source.log.repair(outbox.frames_max(from));
            source.report(from, ranges, outbox);
        }
    }

    /// Whether a sender is owed an acknowledgment.
    #[must_use]
    pub fn owes(&self, to: PeerId) -> bool {
        self.sources.get(to).is_some_and(|source| source.owes)
    }

    /// Acknowledges the arrivals since the last acknowledgment, if there are any.
    pub fn acknowledge(&mut self, to: PeerId, outbox: &mut Outbox) {
        if let Some(source) = self.sources.get_mut(to)
            && core::mem::take(&mut source.owes)
        {
            let ranges = source.log.acknowledge(outbox.frames_max(to));
            source.report(to, ranges, outbox);
        }
    }

    /// Repeats unconfirmed arrivals that are due.
    pub fn on_timeout(&mut self, now: SessionTime, outbox: &mut Outbox) {
        if self.repeat_at > now {
            return;
        }
        for (peer, source) in self.sources.iter_mut() {
            if source.log.repeat_at().is_some_and(|at| at <= now) {
                let ranges = source.log.repeat(now, outbox.frames_max(peer));
                source.report(peer, ranges, outbox);
            }
        }
        let next = self.sources.values().filter_map(|source| source.log.repeat_at()).min();
        self.repeat_at = next.unwrap_or(SessionTime::MAX);
    }

    /// When [`on_timeout`](Self::on_timeout) is due.
    #[must_use]
    pub fn next_timeout(&self) -> Option<SessionTime> {
        Some(self.repeat_at).filter(|at| *at < SessionTime::MAX)
    }

    /// The position of a copy at a session time.
    #[must_use]
    pub fn position(&self, from: PeerId, entity: EntityId, at: SessionTime) -> Option<Vec3> {
        self.placed(from, entity).map(|placed| placed.project(at))
    }

    /// The vector by which a copy is placed.
    #[must_use]
    pub fn placed(&self, from: PeerId, entity: EntityId) -> Option<&DrVector> {
        Some(&self.sources.get(from)?.copies.get(&entity)?.placed)
    }

    /// The vector by which each copy is placed, with its sender and its entity.
    pub fn vectors(&self) -> impl Iterator<Item = (PeerId, EntityId, &DrVector)> {
        self.sources.iter().flat_map(|(peer, source)| {
            source.copies.iter().map(move |(entity, copy)| (peer, *entity, &copy.placed))
        })
    }

    /// Every copy: its sender, its entity, and its position at a session time.
    pub fn copies(&self, at: SessionTime) -> impl Iterator<Item = (PeerId, EntityId, Vec3)> + '_ {
        self.vectors().map(move |(peer, entity, placed)| (peer, entity, placed.project(at)))
    }

    /// Vectors that were ignored: of unknown entities, duplicates, and beyond a limit.
    #[must_use]
    pub const fn ignored(&self) -> u64 {
        self.ignored
    }
}

/// Events that the application has not polled yet.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    queue: VecDeque<DrEvent>,
}

impl EventQueue {
    /// Adds an event.
    pub fn push(&mut self, event: DrEvent) {
        if self.queue.len() == EVENTS_MAX {
            self.queue.pop_front();
        }
        self.queue.push_back(event);
    }

    /// Removes the oldest event.
    pub fn poll(&mut self) -> Option<DrEvent> {
        self.queue.pop_front()
    }
}
