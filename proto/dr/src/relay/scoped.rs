//! Scoped entities at a relay: who may introduce them, whom they are shown to, and those that the relay owns itself.
//!
//! Areas of interest and ownership are another protocol's business (replicated objects); this is what it tells the relay.

use std::collections::BTreeMap;

use evenkeel_core::{LocalTime, PeerId, SessionClock, SessionTime};

use super::DrRelay;
use super::renumbering::Renumbering;
use crate::ledger::Life;
use crate::message::VectorFrame;
use crate::motion::{DrSeq, DrVector, EntityId, MotionState};
use crate::owner::{Generated, Owner, Threshold};
use crate::sender::ENTITIES_MAX;

/// Introductions that wait for their owner to be known. Beyond, they are refused.
const WAITING_MAX: usize = 1_024;

/// Where a scoped entity moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum MotionSpace {
    /// Nowhere: it has no motion.
    Nowhere,
    /// In the plane z = 0, in which it may turn.
    Plane,
    /// In space, where a turn is acceleration.
    Space,
    /// As it likes.
    #[default]
    Any,
}

impl MotionSpace {
    /// Whether it may have this state.
    #[must_use]
    pub fn has(self, state: &MotionState) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Plane => {
                [state.position, state.velocity, state.acceleration].iter().all(|part| part.z == 0.0)
            }
            Self::Space => state.turn_rate == 0.0,
            Self::Any => true,
        }
    }
}

/// What a relay knows of scoped entities.
#[derive(Clone, Debug)]
pub(super) struct ScopedEntities {
    owners: BTreeMap<EntityId, PeerId>,
    spaces: BTreeMap<EntityId, MotionSpace>,
    /// Introductions by who did not own the entity yet.
    waiting: BTreeMap<EntityId, (PeerId, VectorFrame, Threshold)>,
    /// The relay's own entities,
    own: Owner,
    /// and the numbers under which their vectors are passed on.
    renumberings: BTreeMap<EntityId, Renumbering>,
}

impl ScopedEntities {
    pub(super) fn new(threshold: Threshold, content: crate::motion::Content) -> Self {
        Self {
            owners: BTreeMap::new(),
            spaces: BTreeMap::new(),
            waiting: BTreeMap::new(),
            own: Owner::new(threshold, content, ENTITIES_MAX),
            renumberings: BTreeMap::new(),
        }
    }

    pub(super) fn is_owner(&self, entity: EntityId, peer: PeerId) -> bool {
        self.owners.get(&entity) == Some(&peer)
    }

    /// Whether an entity may have this state.
    pub(super) fn allow(&self, entity: EntityId, state: &MotionState) -> bool {
        self.spaces.get(&entity).is_none_or(|space| space.has(state))
    }

    /// Keeps an introduction until its owner is known.
    pub(super) fn wait(&mut self, from: PeerId, frame: &VectorFrame, threshold: Threshold) {
        let own = self.waiting.values().filter(|(peer, ..)| *peer == from).count();
        if own < super::OWNER_ENTITIES_MAX && self.waiting.len() < WAITING_MAX {
            self.waiting.insert(frame.entity, (from, *frame, threshold));
        }
    }

    pub(super) fn leave(&mut self, peer: PeerId) {
        self.waiting.retain(|_, (from, ..)| *from != peer);
    }
}

impl<C: SessionClock> DrRelay<C> {
    /// Scopes the entities from this local number on: nobody is told of them but those they are [shown](Self::show) to, and only
    /// their [owner](Self::grant) introduces them.
    pub fn scope_from(&mut self, local: u32) {
        self.sender.scope_from(local);
    }

    /// Sets where a scoped entity moves, until it ends. Vectors that leave that are rejected.
    pub fn confine(&mut self, entity: EntityId, space: MotionSpace) {
        if self.sender.is_scoped(entity) {
            self.scoped.spaces.insert(entity, space);
        }
    }

    /// Sets who introduces a scoped entity: a player, or the relay itself. A life that goes on is shown until the new owner's
    /// first vector replaces it.
    pub fn grant(&mut self, now: LocalTime, entity: EntityId, owner: Option<PeerId>) {
        if let Some(peer) = owner {
            self.scoped.owners.insert(entity, peer);
            self.scoped.own.end(entity);
            self.scoped.renumberings.remove(&entity);
        } else {
            self.scoped.owners.remove(&entity);
        }
        let waiting = self.scoped.waiting.get(&entity).filter(|(from, ..)| Some(*from) == owner).copied();
        if let (Some((from, frame, threshold)), Some(now)) = (waiting, self.session(now)) {
            self.scoped.waiting.remove(&entity);
            if self.scoped.allow(entity, &frame.vector.state) {
                self.on_introduce(from, &frame, threshold, now);
            }
        }
    }

    /// Shows a scoped entity to a receiver.
    pub fn show(&mut self, now: LocalTime, entity: EntityId, receiver: PeerId) {
        if let Some(now) = self.session(now) {
            self.sender.show(entity, receiver, now, &mut self.station.outbox);
        }
    }

    /// Hides a scoped entity from a receiver, to which it ends.
    pub fn hide(&mut self, now: LocalTime, entity: EntityId, receiver: PeerId) {
        if let Some(now) = self.session(now) {
            self.sender.hide(entity, receiver, now, &mut self.station.outbox);
        }
    }

    /// Ends a scoped entity, whoever owns it, and forgets whom it was shown to.
    pub fn end(&mut self, now: LocalTime, entity: EntityId) {
        let last = self.scoped.own.end(entity);
        let renumbering = self.scoped.renumberings.remove(&entity);
        let last = renumbering.zip(last).and_then(|(renumbering, last)| renumbering.number(last));
        if let Some(now) = self.session(now) {
            self.sender.end(entity, last.unwrap_or(DrSeq(0)), now, &mut self.station.outbox);
        }
        self.sender.forget_scope(entity);
        self.scoped.owners.remove(&entity);
        self.scoped.spaces.remove(&entity);
        self.scoped.waiting.remove(&entity);
    }

    /// Reports the motion of a scoped entity that the relay owns. Call it at every tick.
    pub fn observe(&mut self, now: LocalTime, entity: EntityId, state: &MotionState) {
        let is_own = self.sender.is_scoped(entity) && !self.scoped.owners.contains_key(&entity);
        if !is_own || !self.scoped.allow(entity, state) {
            return;
        }
        let Some(now) = self.session(now) else { return };
        match self.scoped.own.observe(entity, state, now) {
            Some(Generated::First(frame)) => self.introduce_own(&frame, now),
            Some(Generated::Next(frame)) => {
                let renumbering = self.scoped.renumberings.get(&entity);
                let Some(frame) = renumbering.and_then(|renumbering| renumbering.incoming(&frame)) else {
                    return;
                };
                self.sender.record_observation(entity, state, now);
                self.sender.trigger(&frame, now, &mut self.station.outbox);
            }
            None => self.sender.observe(entity, state, now, &mut self.station.outbox),
        }
    }

    fn introduce_own(&mut self, frame: &VectorFrame, now: SessionTime) {
        let entity = frame.entity;
        self.replace(entity, None, now);
        let first = self.sender.ledger().next_number(entity);
        let renumbering = Renumbering::new(Life { entity, first }, frame.seq, first);
        let Some(renumbered) = renumbering.incoming(frame) else { return };
        let threshold = self.scoped.own.threshold;
        if self.sender.introduce(None, &renumbered, threshold, now, &mut self.station.outbox) {
            self.scoped.renumberings.insert(entity, renumbering);
        }
    }

    /// Ends the life of an entity that another owner introduced.
    pub(super) fn replace(&mut self, entity: EntityId, owner: Option<PeerId>, now: SessionTime) {
        if self.sender.ledger().present(entity).is_some_and(|(_, track)| track.owner != owner) {
            self.sender.end(entity, DrSeq(0), now, &mut self.station.outbox);
        }
    }

    /// Whether this peer may introduce or end a scoped entity; others it may.
    pub(super) fn may_move(&self, from: PeerId, entity: EntityId) -> bool {
        !self.sender.is_scoped(entity) || self.scoped.is_owner(entity, from)
    }

    /// The newest vector of every entity, the relay's own included.
    pub fn newest(&self) -> impl Iterator<Item = (EntityId, &DrVector)> {
        self.ledger().lives().map(|(life, track)| (life.entity, track.history.newest().1))
    }

    /// Sets what of a bandwidth other protocols use, per receiver, in bits per second. The policy shares the rest.
    pub const fn reserve(&mut self, bits_per_second: f64) {
        self.sender.reserve(bits_per_second);
    }
}
