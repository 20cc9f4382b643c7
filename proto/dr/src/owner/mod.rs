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

use evenkeel_core::{SessionTime, Span};
use evenkeel_session::envelope::is_sane_time;

use kind_selector::KindSelector;

use crate::message::VectorFrame;
use crate::motion::{Content, DrSeq, DrVector, EntityId, EntityMap, MotionKind, MotionState};

/// Without any observation for this long, newest vectors are not trusted to introduce entities.
const OBSERVED_WITHIN: Span = Span::from_millis(500);

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
    /// When an entity was last observed.
    observed: SessionTime,
}

#[derive(Clone, Debug)]
struct Export {
    first: DrSeq,
    seq: DrSeq,
    vector: DrVector,
    /// Whether it may have moved on unobserved. If so, the next observation makes a vector.
    is_outdated: bool,
    /// Finds the best kind, if the content is [`Content::Auto`].
    selector: Option<Box<KindSelector>>,
}

/// A new DR vector.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Generated {
    /// The first of a life, or of an entity that was outdated: it introduces the entity.
    First(VectorFrame),
    /// A further one.
    Next(VectorFrame),
}

impl Owner {
    /// An owner without entities, which will export at most `entities_max`.
    #[must_use]
    pub const fn new(threshold: Threshold, content: Content, entities_max: usize) -> Self {
        Self {
            threshold,
            content,
            entities_max,
            exports: EntityMap::new(),
            first_seq: DrSeq(0),
            observed: SessionTime::MIN,
        }
    }

    /// Observes an entity and makes a DR vector if it is new or has strayed from its exported path. Insane states are
    /// ignored.
    pub fn observe(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) -> Option<Generated> {
        if !(state.is_sane() && is_sane_time(now)) {
            return None;
        }
        let (threshold, kind) = (self.threshold, self.content.first());
        self.observed = now;
        if let Some(export) = self.exports.get_mut(entity) {
            let is_new = export.observe(state, kind, threshold, now);
            let is_back = is_new && core::mem::take(&mut export.is_outdated);
            let generated = if is_back { Generated::First } else { Generated::Next };
            return is_new.then(|| generated(export.frame(entity, now)));
        }
        if self.exports.len() == self.entities_max {
            return None;
        }
        let vector = DrVector::generate(now, state, kind).quantized_if_sane()?;
        let selector =
            (self.content == Content::Auto).then(|| Box::new(KindSelector::new(threshold, state, now)));
        let (first, seq) = (self.first_seq, self.first_seq);
        let export = Export { first, seq, vector, is_outdated: false, selector };
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

    /// The newest vector of each entity that is not outdated, as a frame to be sent now.
    pub fn frames(&self, now: SessionTime) -> impl Iterator<Item = VectorFrame> + '_ {
        let exports = self.exports.iter().filter(|(_, export)| !export.is_outdated);
        exports.map(move |(entity, export)| export.frame(entity, now))
    }

    /// Before everything is introduced anew: if nothing was observed for long, the newest vectors would place entities far from
    /// where they are. Each is outdated until it is next observed. Returns whether there are such.
    pub fn outdate(&mut self, now: SessionTime) -> bool {
        if now - self.observed <= OBSERVED_WITHIN {
            return false;
        }
        self.exports.iter_mut().for_each(|(_, export)| export.is_outdated = true);
        !self.exports.is_empty()
    }

    /// Stops waiting for observations of outdated entities. Returns their newest vectors.
    pub fn stop_waiting(&mut self, now: SessionTime) -> Vec<VectorFrame> {
        let waiting = self.exports.iter_mut().filter(|(_, export)| export.is_outdated);
        let frame = |(entity, export): (EntityId, &mut Export)| {
            export.is_outdated = false;
            export.frame(entity, now)
        };
        waiting.map(frame).collect()
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
        let strayed = || self.is_outdated || threshold.strayed(state, &self.vector, now);
        if now <= self.vector.generated || !strayed() {
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
