//! An owner's entities: their exported paths, and when a new DR vector is due.

pub(crate) mod replay;
pub mod threshold;
pub mod uplink;

use evenkeel_core::SessionTime;
use evenkeel_session::envelope::is_sane_time;

use crate::content::Content;
use crate::message::VectorFrame;
use crate::replay::Rivals;
use crate::threshold::Threshold;
use crate::vector::{DrSeq, DrVector, EntityId, EntityMap, MotionKind, MotionState};

/// The entities that a peer owns.
#[derive(Clone, Debug)]
pub struct Owner {
    threshold: Threshold,
    content: Content,
    /// More are not exported.
    entities_max: usize,
    exports: EntityMap<Export>,
    /// A name that is used again continues after every number that any entity had, so that what is left of its
    /// earlier life on the network is older than its introduction.
    first_seq: DrSeq,
}

/// One life of an entity.
#[derive(Clone, Debug)]
struct Export {
    first: DrSeq,
    seq: DrSeq,
    vector: DrVector,
    /// What each kind would have cost lately, if the best is to be found.
    rivals: Option<Box<Rivals>>,
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
    /// An owner without entities, that will export at most so many.
    #[must_use]
    pub const fn new(threshold: Threshold, content: Content, entities_max: usize) -> Self {
        Self { threshold, content, entities_max, exports: EntityMap::new(), first_seq: DrSeq(0) }
    }

    /// The owner looks at its entity. Makes a DR vector if it is new or has strayed. A state that is not finite, or
    /// of a size that no game has, is passed over.
    pub fn observe(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) -> Option<Generated> {
        if !(state.is_sane() && is_sane_time(now)) {
            return None;
        }
        let (threshold, kind) = (self.threshold, self.content.first());
        if let Some(export) = self.exports.get_mut(entity) {
            let is_new = export.observe(state, kind, threshold, now);
            return is_new.then(|| Generated::Next(export.frame(entity, now)));
        }
        if self.exports.len() == self.entities_max {
            return None;
        }
        let vector = DrVector::generate(now, state, kind).travelling()?;
        let rivals = (self.content == Content::Auto).then(|| Box::new(Rivals::new(threshold, state, now)));
        let export = Export { first: self.first_seq, seq: self.first_seq, vector, rivals };
        let frame = export.frame(entity, now);
        self.exports.insert(entity, export);
        Some(Generated::First(frame))
    }

    /// The entity ceases to be. Gives the number of its last vector, if there was an entity of that name.
    pub fn end(&mut self, entity: EntityId) -> Option<DrSeq> {
        let Export { seq, .. } = self.exports.remove(entity)?;
        self.first_seq = self.first_seq.max(seq.next());
        Some(seq)
    }

    /// When new vectors are made.
    #[must_use]
    pub const fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// The session's time starts anew: every entity begins a new life when it is next looked at.
    pub fn start_over(&mut self) {
        let last = self.exports.values().map(|export| export.seq.next()).max();
        self.first_seq = self.first_seq.max(last.unwrap_or_default());
        self.exports = EntityMap::new();
    }

    /// The exported vector of an entity.
    #[must_use]
    pub fn exported(&self, entity: EntityId) -> Option<&DrVector> {
        self.exports.get(entity).map(|export| &export.vector)
    }

    /// The newest vector of each entity, as it would be sent now.
    pub fn frames(&self, now: SessionTime) -> impl Iterator<Item = VectorFrame> + '_ {
        self.exports.iter().map(move |(entity, export)| export.frame(entity, now))
    }
}

impl Export {
    /// The owner looks at it. True if a new vector is due, which is of this kind unless another is better.
    fn observe(
        &mut self,
        state: &MotionState,
        kind: MotionKind,
        threshold: Threshold,
        now: SessionTime,
    ) -> bool {
        if let Some(rivals) = &mut self.rivals {
            rivals.look(state, now);
        }
        if now <= self.vector.generated || !threshold.strayed(state, &self.vector, now) {
            return false;
        }
        // Looks are many and vectors few: only now it is quantized.
        let Some(next) = DrVector::generate(now, state, kind).travelling() else { return false };
        let kind = self.rivals.as_ref().map_or(kind, |rivals| rivals.best(self.vector.kind));
        (self.seq, self.vector) = (self.seq.next(), DrVector { kind, ..next });
        true
    }

    fn frame(&self, entity: EntityId, now: SessionTime) -> VectorFrame {
        let Self { first, seq, vector, .. } = *self;
        VectorFrame { entity, first, seq, sent: now, vector }
    }
}
