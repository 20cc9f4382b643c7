//! The kind of motion that each receiver is sent, if the content is [`Auto`](crate::Content::Auto).
//!
//! Every vector carries turn rate and acceleration, so a sender can change its kind. The best kind depends on the age at which it
//! is shown: a dodging entity turns for a receiver nearby, and goes straight on average for one that is a second away.
//! An owner compares with the real path at each observation. A relay only knows the real path where each vector begins.

use std::collections::BTreeMap;

use evenkeel_core::{SessionTime, Span};

use crate::message::VectorFrame;
use crate::motion::{DrVector, EntityId, MotionKind, MotionState};
use crate::owner::{SimulatedReceivers, Threshold};

#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiverKinds {
    entities: BTreeMap<EntityId, SimulatedReceivers>,
}

impl ReceiverKinds {
    /// Adds an entity, or starts over with it.
    pub(crate) fn introduce(&mut self, frame: &VectorFrame, threshold: Threshold) {
        self.entities.insert(frame.entity, SimulatedReceivers::new(threshold, 1));
        self.generate(frame.entity, &frame.vector);
    }

    pub(crate) fn end(&mut self, entity: EntityId) {
        self.entities.remove(&entity);
    }

    pub(crate) fn observe(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) {
        if let Some(receivers) = self.entities.get_mut(&entity) {
            receivers.observe(state.position, now);
        }
    }

    pub(crate) fn generate(&mut self, entity: EntityId, vector: &DrVector) {
        if let Some(receivers) = self.entities.get_mut(&entity) {
            receivers.observe(vector.state.position, vector.generated);
            receivers.generate(&vector.state, [true; MotionKind::ALL.len()], vector.generated);
        }
    }

    pub(crate) fn best(&self, entity: EntityId, delay: Span, current: MotionKind) -> MotionKind {
        self.entities.get(&entity).map_or(current, |receivers| receivers.best_at(delay, current))
    }
}
