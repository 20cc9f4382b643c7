//! A log of events, and the export error that follows from them.
//!
//! The log holds which vectors the owner generated and which ones each receiver placed when. It uses no reports and no
//! estimates, so the ledger can be checked against it.

use std::collections::BTreeMap;

use evenkeel_core::SessionTime;
use evenkeel_dr::{DrEvent, DrSeq, DrVector, EntityId, export_error};
use evenkeel_lab::dr::node::DrNode;
use evenkeel_link::TrueTime;
use evenkeel_sim::{NodeId, Observer};

/// One life of an entity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    /// The exported path.
    pub(crate) exported: Vec<(DrSeq, DrVector)>,
    pub(crate) ended: Option<SessionTime>,
}

/// An arrival at a receiver during its current connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) at: SessionTime,
    pub(crate) generated: SessionTime,
    pub(crate) placed: Option<DrVector>,
}

/// All events of a session.
#[derive(Debug)]
pub(crate) struct Log {
    owner: NodeId,
    lives: BTreeMap<EntityId, Vec<Life>>,
    arrivals: BTreeMap<(NodeId, EntityId), Vec<Arrived>>,
    present: BTreeMap<NodeId, SessionTime>,
}

fn session(at: TrueTime) -> SessionTime {
    SessionTime::from_nanos(at.as_nanos())
}

impl Log {
    pub(crate) fn new(owner: NodeId) -> Self {
        let (lives, arrivals, present) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { owner, lives, arrivals, present }
    }

    pub(crate) fn began(&mut self, entity: EntityId) {
        self.lives.entry(entity).or_default().push(Life::default());
    }

    pub(crate) fn ended(&mut self, entity: EntityId, at: TrueTime) {
        let life = self.lives.get_mut(&entity).and_then(|lives| lives.last_mut());
        life.expect("an entity that ends has begun").ended = Some(session(at));
    }

    pub(crate) fn joined(&mut self, receiver: NodeId, at: TrueTime) {
        self.present.insert(receiver, session(at));
    }

    pub(crate) fn left(&mut self, receiver: NodeId) {
        self.present.remove(&receiver);
        self.arrivals.retain(|(node, _), _| *node != receiver);
    }

    /// The latest life of an entity, if it ever had one.
    pub(crate) fn life(&self, entity: EntityId) -> Option<&Life> {
        self.lives.get(&entity)?.last()
    }

    /// The arrivals of an entity's latest life at a receiver; none if the receiver is absent.
    pub(crate) fn arrivals(&self, receiver: NodeId, entity: EntityId) -> Vec<Arrived> {
        let Some(first) = self.life(entity).and_then(|life| life.exported.first()) else { return Vec::new() };
        let Some(joined) = self.present.get(&receiver) else { return Vec::new() };
        let all = self.arrivals.get(&(receiver, entity)).map_or(&[][..], |all| all);
        all.iter()
            .filter(|arrived| arrived.generated >= first.1.generated && arrived.at >= *joined)
            .copied()
            .collect()
    }

    /// The export error at a receiver from its first arrival up to `to`.
    pub(crate) fn error(&self, receiver: NodeId, entity: EntityId, to: SessionTime) -> f64 {
        let Some(life) = self.life(entity) else { return 0.0 };
        let placed: Vec<_> = self
            .arrivals(receiver, entity)
            .iter()
            .filter_map(|arrived| Some((arrived.at, arrived.placed?)))
            .collect();
        let Some(&(start, _)) = placed.first() else { return 0.0 };
        let to = life.ended.map_or(to, |end| to.min(end));
        let generations = life.exported.iter().map(|(_, vector)| vector.generated);
        let mut edges: Vec<_> = generations.chain(placed.iter().map(|(at, _)| *at)).chain([to]).collect();
        edges.retain(|edge| start <= *edge && *edge <= to);
        edges.sort_unstable();
        let mut sum = 0.0;
        for pair in edges.windows(2) {
            let exported = life.exported.iter().rev().find(|(_, vector)| vector.generated <= pair[0]);
            let shown = placed.iter().rev().find(|(at, _)| *at <= pair[0]);
            let (Some((_, exported)), Some((_, shown))) = (exported, shown) else { continue };
            sum += export_error(exported, shown, pair[0], pair[1]);
        }
        sum
    }
}

impl Observer<DrNode> for Log {
    fn on_event(&mut self, at: TrueTime, node: NodeId, event: DrEvent) {
        match event {
            DrEvent::Generated { entity, seq, vector } if node == self.owner => {
                // Events are observed only when time passes, so a life that begins at the instant the last one ended is
                // recognized by having no vectors yet.
                let lives = self.lives.get_mut(&entity).expect("an exported entity has begun");
                let life = lives.iter_mut().rfind(|life| life.exported.is_empty());
                match life {
                    Some(fresh) => fresh.exported.push((seq, vector)),
                    None => lives.last_mut().expect("the entity has a life").exported.push((seq, vector)),
                }
            }
            DrEvent::Arrived { entity, generated, placed, .. } => {
                let arrived = Arrived { at: session(at), generated, placed };
                self.arrivals.entry((node, entity)).or_default().push(arrived);
            }
            DrEvent::Generated { .. }
            | DrEvent::Ended { .. }
            | DrEvent::Clock(_)
            | DrEvent::Stalled { .. } => {}
        }
    }
}
