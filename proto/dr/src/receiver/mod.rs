//! The receiving side: copies of other owners' entities, and the log of what arrived when.

pub mod arrivals;
pub mod placement;

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{PeerId, SessionTime, Vec3};
use evenkeel_session::{Outbox, PeerMap};

use crate::arrivals::{ArrivalLog, Run};
use crate::command::DrEvent;
use crate::message::{Arrival, ConfirmFrame, VectorFrame};
use crate::placement::Placement;
use crate::vector::{DrSeq, DrVector, EntityId};

/// Entities of one sender; more are not taken.
pub const COPIES_MAX: usize = 4096;
/// Events that wait for the application; when there are more, the oldest is dropped.
pub const EVENTS_MAX: usize = 8192;

/// A copy of somebody else's entity.
#[derive(Clone, Debug)]
struct EntityCopy {
    /// The first vector of its life.
    first: DrSeq,
    newest: DrSeq,
    /// Which of the 64 vectors before the newest have arrived: bit 0 is the newest itself.
    seen: u64,
    placed: DrVector,
}

#[derive(Clone, Debug, Default)]
struct Source {
    copies: BTreeMap<EntityId, EntityCopy>,
    log: ArrivalLog,
    noted: bool,
}

impl Source {
    fn report(&self, to: PeerId, runs: impl Iterator<Item = Run>, outbox: &mut Outbox) {
        for run in runs {
            outbox.datagram(to, |stamp, bytes| self.log.emit(run, stamp, bytes));
        }
    }
}

/// All copies that a peer shows.
#[derive(Clone, Debug)]
pub struct Receiver {
    placement: Placement,
    sources: PeerMap<Source>,
    /// Nothing is due to be repeated before this.
    repeat_wake: SessionTime,
    ignored: u64,
}

impl Receiver {
    /// A receiver that places in this way.
    #[must_use]
    pub const fn new(placement: Placement) -> Self {
        Self { placement, sources: PeerMap::new(), repeat_wake: SessionTime::MAX, ignored: 0 }
    }

    /// A sender comes, or comes back with a new log.
    pub fn join(&mut self, peer: PeerId) {
        self.sources.insert(peer, Source::default());
    }

    /// A sender goes, and its entities with it.
    pub fn leave(&mut self, peer: PeerId, events: &mut Events) {
        for entity in self.sources.remove(peer).into_iter().flat_map(|source| source.copies.into_keys()) {
            events.push(DrEvent::Ended { from: peer, entity });
        }
    }

    /// A DR vector arrives; only an introduction makes a new copy.
    pub fn on_vector(
        &mut self,
        from: PeerId,
        frame: &VectorFrame,
        nonce: u32,
        introduce: bool,
        now: SessionTime,
        events: &mut Events,
    ) {
        let Some(source) = self.sources.get_mut(from) else { return };
        let VectorFrame { entity, first, seq, sent, ref vector, .. } = *frame;
        let placed = self.placement.place(vector, sent, now, source.log.one_way());
        let room = source.copies.len() < COPIES_MAX;
        let is_newest = match source.copies.get_mut(&entity) {
            None if introduce && room => {
                source.copies.insert(entity, EntityCopy { first, newest: seq, seen: 1, placed });
                true
            }
            // Of another life: its introduction is still to come, or its end has passed.
            Some(copy) if copy.first != first => {
                self.ignored += 1;
                return;
            }
            Some(copy) if seq > copy.newest => {
                let shift = seq.0 - copy.newest.0;
                copy.seen = copy.seen.checked_shl(shift).unwrap_or(0) | 1;
                (copy.newest, copy.placed) = (seq, placed);
                true
            }
            // An older one that arrives late is acknowledged but never placed; one that arrives twice is neither.
            Some(copy) if copy.newest.0 - seq.0 < 64 && copy.seen >> (copy.newest.0 - seq.0) & 1 == 0 => {
                copy.seen |= 1 << (copy.newest.0 - seq.0);
                false
            }
            _ => {
                self.ignored += 1;
                return;
            }
        };
        source.log.note(Arrival { entity, seq, at: now, nonce });
        source.noted = true;
        self.repeat_wake = source.log.repeat_at().map_or(self.repeat_wake, |at| at.min(self.repeat_wake));
        let placed = is_newest.then_some(placed);
        let generated = vector.generated;
        events.push(DrEvent::Arrived { from, entity, seq, generated, placed, introduction: introduce });
    }

    /// An entity is no more.
    pub fn on_ended(&mut self, from: PeerId, entity: EntityId, events: &mut Events) {
        if self.sources.get_mut(from).is_some_and(|source| source.copies.remove(&entity).is_some()) {
            events.push(DrEvent::Ended { from, entity });
        }
    }

    /// The sender has our reports in its books; if it misses some, it gets them again.
    pub fn on_confirm(
        &mut self,
        from: PeerId,
        confirm: &ConfirmFrame,
        now: SessionTime,
        outbox: &mut Outbox,
    ) {
        let Some(source) = self.sources.get_mut(from) else { return };
        if source.log.confirm(confirm, now) {
            let runs = source.log.repair(outbox.frames_max(from));
            source.report(from, runs, outbox);
        }
    }

    /// Whether something has arrived from a sender that is not acknowledged yet.
    #[must_use]
    pub fn owes(&self, to: PeerId) -> bool {
        self.sources.get(to).is_some_and(|source| source.noted)
    }

    /// Acknowledges what has arrived since the last time, if anything has.
    pub fn acknowledge(&mut self, to: PeerId, outbox: &mut Outbox) {
        if let Some(source) = self.sources.get_mut(to)
            && core::mem::take(&mut source.noted)
        {
            let runs = source.log.acknowledge(outbox.frames_max(to));
            source.report(to, runs, outbox);
        }
    }

    /// Repeats what is due to be repeated.
    pub fn on_timeout(&mut self, now: SessionTime, outbox: &mut Outbox) {
        if self.repeat_wake > now {
            return;
        }
        for (peer, source) in self.sources.iter_mut() {
            if source.log.repeat_at().is_some_and(|at| at <= now) {
                let runs = source.log.repeat(now, outbox.frames_max(peer));
                source.report(peer, runs, outbox);
            }
        }
        let next = self.sources.values().filter_map(|source| source.log.repeat_at()).min();
        self.repeat_wake = next.unwrap_or(SessionTime::MAX);
    }

    /// When something is due to be repeated.
    #[must_use]
    pub fn next_timeout(&self) -> Option<SessionTime> {
        Some(self.repeat_wake).filter(|at| *at < SessionTime::MAX)
    }

    /// Where a copy is at a session time.
    #[must_use]
    pub fn position(&self, from: PeerId, entity: EntityId, at: SessionTime) -> Option<Vec3> {
        self.placed(from, entity).map(|placed| placed.project(at))
    }

    /// The vector by which a copy is placed.
    #[must_use]
    pub fn placed(&self, from: PeerId, entity: EntityId) -> Option<&DrVector> {
        Some(&self.sources.get(from)?.copies.get(&entity)?.placed)
    }

    /// Every copy, with whom it came from, and where it is at a session time.
    pub fn copies(&self, at: SessionTime) -> impl Iterator<Item = (PeerId, EntityId, Vec3)> + '_ {
        self.sources.iter().flat_map(move |(peer, source)| {
            source.copies.iter().map(move |(entity, copy)| (peer, *entity, copy.placed.project(at)))
        })
    }

    /// Vectors of unknown entities, repeated ones, and those beyond a limit.
    #[must_use]
    pub const fn ignored(&self) -> u64 {
        self.ignored
    }
}

/// What the application has not fetched yet.
#[derive(Clone, Debug, Default)]
pub struct Events {
    queue: VecDeque<DrEvent>,
}

impl Events {
    /// Adds an event.
    pub fn push(&mut self, event: DrEvent) {
        if self.queue.len() == EVENTS_MAX {
            self.queue.pop_front();
        }
        self.queue.push_back(event);
    }

    /// The oldest event.
    pub fn poll(&mut self) -> Option<DrEvent> {
        self.queue.pop_front()
    }
}
