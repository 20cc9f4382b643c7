//! Which kind of motion each receiver is sent, where the content is [`Auto`](crate::Content::Auto).
//!
//! A vector carries turn rate and acceleration whatever its kind, so whoever sends it can send it as another: only the kind in its
//! tag differs. The kind that serves best depends on how old the vector is when it is shown. Who dodges left and right
//! turns for a receiver nearby, and goes straight on for one that is a second away.
//!
//! Where the owner sends, what is shown is compared with the real path at each look; at a relay, with the real path as far
//! as it is told: where the next vector begins.

use std::collections::BTreeMap;

use evenkeel_core::{SessionTime, Span};

use crate::message::VectorFrame;
use crate::replay::Replay;
use crate::threshold::Threshold;
use crate::vector::{DrVector, EntityId, MotionKind, MotionState};

/// What was seen of each entity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tailor {
    replays: BTreeMap<EntityId, Replay>,
}

impl Tailor {
    /// An entity begins, or begins anew.
    pub(crate) fn introduce(&mut self, frame: &VectorFrame, threshold: Threshold) {
        self.replays.insert(frame.entity, Replay::new(threshold, 1));
        self.make(frame.entity, &frame.vector);
    }

    pub(crate) fn end(&mut self, entity: EntityId) {
        self.replays.remove(&entity);
    }

    /// The entity is really here.
    pub(crate) fn look(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) {
        if let Some(replay) = self.replays.get_mut(&entity) {
            replay.look(state.position, now);
        }
    }

    /// A vector is made of it.
    pub(crate) fn make(&mut self, entity: EntityId, vector: &DrVector) {
        if let Some(replay) = self.replays.get_mut(&entity) {
            replay.look(vector.state.position, vector.generated);
            replay.make(&vector.state, [true; MotionKind::ALL.len()], vector.generated);
        }
    }

    /// What a receiver so far away is best sent.
    pub(crate) fn kind(&self, entity: EntityId, delay: Span, now: MotionKind) -> MotionKind {
        self.replays.get(&entity).map_or(now, |replay| replay.best_at(delay, now))
    }
}
