//! What was really shown: the export error that follows from the events of owners and receivers, without any report.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{ClockEvent, SessionTime};
use evenkeel_dr::{DrEvent, DrVector, EntityId, export_error};
use evenkeel_link::TrueTime;
use evenkeel_sim::{NodeId, Observer};

use super::node::DrNode;
use crate::actor::{Actor, Stamped};

/// A vector that a receiver placed.
#[derive(Clone, Copy, Debug)]
struct Placement {
    at: SessionTime,
    generated: SessionTime,
    vector: DrVector,
}

/// The exported and the placed paths of a game.
#[derive(Default)]
pub(super) struct Truth {
    /// The exported path of each entity's present life.
    exported: BTreeMap<(NodeId, EntityId), Vec<DrVector>>,
    /// By receiver, sender and entity.
    placed: BTreeMap<(NodeId, NodeId, EntityId), Vec<Placement>>,
    /// Whose session time has jumped or was lost for a while: times before and after are not of one line.
    pub(super) jumped: BTreeSet<NodeId>,
    /// Vectors that each owner has generated since the machine is new that runs the policy.
    pub(super) triggers: BTreeMap<NodeId, u64>,
}

impl Truth {
    /// Forgets a life that has ended.
    pub(super) fn end(&mut self, owner: NodeId, entity: EntityId) {
        self.exported.remove(&(owner, entity));
    }

    /// Forgets what a process knew whose machine was replaced.
    pub(super) fn restart(&mut self, node: NodeId) {
        self.exported.retain(|(owner, _), _| *owner != node);
        self.placed.retain(|(receiver, ..), _| *receiver != node);
    }

    /// The error of a receiver with an entity that `sender` sends it, from its first arrival up to `to`.
    pub(super) fn error(
        &self,
        receiver: NodeId,
        sender: NodeId,
        (owner, entity): (NodeId, EntityId),
        to: SessionTime,
    ) -> f64 {
        let Some(exported) = self.exported.get(&(owner, entity)) else { return 0.0 };
        let placed = self.placed.get(&(receiver, sender, entity)).map_or(&[][..], |placed| placed);
        let Some(born) = exported.first().map(|vector| vector.generated) else { return 0.0 };
        let placed: Vec<_> = placed.iter().filter(|placed| placed.generated >= born).collect();
        let Some(start) = placed.first().map(|placed| placed.at) else { return 0.0 };
        let generations = exported.iter().map(|vector| vector.generated);
        let mut edges: Vec<_> =
            generations.chain(placed.iter().map(|placed| placed.at)).chain([to]).collect();
        edges.retain(|edge| start <= *edge && *edge <= to);
        edges.sort_unstable();
        let mut sum = 0.0;
        for pair in edges.windows(2) {
            let path = exported.iter().rev().find(|vector| vector.generated <= pair[0]);
            let shown = placed.iter().rev().find(|placed| placed.at <= pair[0]);
            if let (Some(path), Some(shown)) = (path, shown) {
                sum += export_error(path, &shown.vector, pair[0], pair[1]);
            }
        }
        sum
    }
}

impl Observer<Actor<DrNode>> for Truth {
    fn on_event(&mut self, _: TrueTime, node: NodeId, stamped: Stamped<DrEvent>) {
        match stamped.event {
            DrEvent::Generated { entity, vector, .. } => {
                *self.triggers.entry(node).or_default() += 1;
                let path = self.exported.entry((node, entity)).or_default();
                // Another session has begun, in which earlier exports mean nothing.
                if path.last().is_some_and(|last| last.generated > vector.generated) {
                    path.clear();
                }
                path.push(vector);
            }
            DrEvent::Arrived { from, entity, generated, placed, .. } => {
                if let (Some(vector), Some(at)) = (placed, stamped.session) {
                    let placed = self.placed.entry((node, from.into(), entity)).or_default();
                    placed.push(Placement { at, generated, vector });
                }
            }
            DrEvent::Ended { from, entity } => {
                self.placed.remove(&(node, from.into(), entity));
            }
            DrEvent::Clock(ClockEvent::Stepped { .. } | ClockEvent::Lost) => {
                self.jumped.insert(node);
            }
            DrEvent::Clock(ClockEvent::Fixed { .. }) | DrEvent::Stalled { .. } => {}
        }
    }
}
