//! The owner: which DR vectors it makes of its entities, and how they reach a relay.
//!
//! - [`threshold`]: when a new DR vector is due.
//! - `simulated`, `kind_selector`: which kind of motion predicts an entity best.
//! - [`uplink`]: delivery of every vector to the relay, if there is one.

mod kind_selector;
mod simulated;
pub mod threshold;
pub mod uplink;

pub use threshold::Threshold;
pub use uplink::Uplink;

pub(crate) use simulated::SimulatedReceivers;

use evenkeel_core::SessionTime;
use evenkeel_session::envelope::is_sane_time;

use kind_selector::KindSelector;

use crate::message::VectorFrame;
use crate::motion::{Content, DrSeq, DrVector, EntityId, EntityMap, MotionKind, MotionState};

/// The entities that a peer owns.
#[derive(Clone, Debug)]
pub struct Owner {
    pub(crate) threshold: Threshold,
    content: Content,
    /// Further entities are not exported.
    entities_max: usize,
    exports: EntityMap<Export>,
    /// The first number of the next life. It is beyond the numbers of all earlier lives, so vectors of those that are
    /// still on the network are older than the introduction.
    first_seq: DrSeq,
}

#[derive(Clone, Debug)]
struct Export {
    first: DrSeq,
    seq: DrSeq,
    vector: DrVector,
    /// Finds the best kind, if the content is [`Content::Auto`].
    selector: Option<Box<KindSelector>>,
}

/// A new DR vector.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Generated {
    /// The first of a life.
    First(VectorFrame),
    /// A further one.
    Next(VectorFrame),
}

impl Owner {
    /// An owner without entities, which will export at most `entities_max`.
    #[must_use]
    pub const fn new(threshold: Threshold, content: Content, entities_max: usize) -> Self {
        Self { threshold, content, entities_max, exports: EntityMap::new(), first_seq: DrSeq(0) }
    }

    /// Observes an entity and makes a DR vector if it is new or has strayed from its exported path. Insane states are
    /// ignored.
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
        let vector = DrVector::generate(now, state, kind).quantized_if_sane()?;
        let selector =
            (self.content == Content::Auto).then(|| Box::new(KindSelector::new(threshold, state, now)));
        let export = Export { first: self.first_seq, seq: self.first_seq, vector, selector };
        let frame = export.frame(entity, now);
        self.exports.insert(entity, export);
        Some(Generated::First(frame))
    }

    /// Ends an entity. Returns the number of its last vector, or `None` if there is no such entity.
    pub fn end(&mut self, entity: EntityId) -> Option<DrSeq> {
        let Export { seq, .. } = self.exports.remove(entity)?;
        self.first_seq = self.first_seq.max(seq.next());
        Some(seq)
    }

    /// Starts over, because session time does: every entity begins a new life when it is next observed.
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

    /// The newest vector of each entity, as a frame to be sent now.
    pub fn frames(&self, now: SessionTime) -> impl Iterator<Item = VectorFrame> + '_ {
        self.exports.iter().map(move |(entity, export)| export.frame(entity, now))
    }
}

impl Export {
    /// Observes the entity. Returns true if that made a new vector. It is of this kind unless the selector knows a
    /// better.
    fn observe(
        &mut self,
        state: &MotionState,
        kind: MotionKind,
        threshold: Threshold,
        now: SessionTime,
    ) -> bool {
        if let Some(selector) = &mut self.selector {
            selector.observe(state, now);
        }
        if now <= self.vector.generated || !threshold.strayed(state, &self.vector, now) {
            return false;
        }
        // Most observations make no vector, so it is quantized only now.
        let Some(next) = DrVector::generate(now, state, kind).quantized_if_sane() else { return false };
        let kind = self.selector.as_ref().map_or(kind, |selector| selector.best(self.vector.kind));
        (self.seq, self.vector) = (self.seq.next(), DrVector { kind, ..next });
        true
    }

    fn frame(&self, entity: EntityId, now: SessionTime) -> VectorFrame {
        let Self { first, seq, vector, .. } = *self;
        VectorFrame { entity, first, seq, sent: now, vector }
    }
}
