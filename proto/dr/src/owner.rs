//! An owner's entities: their exported paths, and when a new DR vector is due.

use std::collections::BTreeMap;

use evenkeel_core::SessionTime;

use crate::message::VectorFrame;
use crate::sender::ENTITIES_MAX;
use crate::threshold::Threshold;
use crate::vector::{DrSeq, DrVector, EntityId, MotionKind, MotionState};

/// The entities that a peer owns.
#[derive(Clone, Debug)]
pub struct Owner {
    threshold: Threshold,
    kind: MotionKind,
    exports: BTreeMap<EntityId, (DrSeq, DrVector)>,
    /// A name that is used again continues after every number that any entity had, so that what is left of its
    /// earlier life on the network is older than its introduction.
    first_seq: DrSeq,
}

/// A DR vector that the owner just made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Generated {
    /// The first of its entity.
    First(VectorFrame),
    /// The next one.
    Next(VectorFrame),
}

impl Owner {
    /// An owner without entities.
    #[must_use]
    pub const fn new(threshold: Threshold, kind: MotionKind) -> Self {
        Self { threshold, kind, exports: BTreeMap::new(), first_seq: DrSeq(0) }
    }

    /// The owner looks at its entity. Makes a DR vector if it is new or has strayed. A state that is not finite, or
    /// of a size that no game has, is passed over.
    pub fn observe(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) -> Option<Generated> {
        let vector = DrVector::generate(now, state, self.kind);
        if !vector.is_sane() {
            return None;
        }
        let frame = |seq| VectorFrame {
            entity,
            seq,
            sent: now,
            threshold: self.threshold.distance,
            expires: self.threshold.expires(&vector),
            vector,
        };
        let room = self.exports.len() < ENTITIES_MAX;
        match self.exports.get_mut(&entity) {
            None if room => {
                self.exports.insert(entity, (self.first_seq, vector));
                Some(Generated::First(frame(self.first_seq)))
            }
            Some((seq, exported))
                if now > exported.generated && self.threshold.strayed(state, exported, now) =>
            {
                (*seq, *exported) = (seq.next(), vector);
                Some(Generated::Next(frame(*seq)))
            }
            _ => None,
        }
    }

    /// The entity ceases to be. False if there was none of that name.
    pub fn end(&mut self, entity: EntityId) -> bool {
        let Some((seq, _)) = self.exports.remove(&entity) else { return false };
        self.first_seq = self.first_seq.max(seq.next());
        true
    }

    /// The exported vector of an entity.
    #[must_use]
    pub fn exported(&self, entity: EntityId) -> Option<&DrVector> {
        self.exports.get(&entity).map(|(_, vector)| vector)
    }

    /// The newest vector of each entity, as it would be sent now.
    pub fn frames(&self, now: SessionTime) -> impl Iterator<Item = VectorFrame> + '_ {
        self.exports.iter().map(move |(entity, (seq, vector))| VectorFrame {
            entity: *entity,
            seq: *seq,
            sent: now,
            threshold: self.threshold.distance,
            expires: self.threshold.expires(vector),
            vector: *vector,
        })
    }
}
