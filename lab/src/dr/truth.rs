//! The simulator's own view of the export error: it sees owner and receivers at once and by true time, so it needs no
//! reports and makes no estimates. The ledger is judged by it.
//!
//! Who shows a session time that is off by `e` projects a vector to `t + e` at the true time `t`, as if the vector had
//! been made `e` earlier by a clock that is right: so vectors are kept shifted by it. See
//! [`set_clock_error`](Truth::set_clock_error).

use std::collections::BTreeMap;

use evenkeel_core::{SessionTime, Span, Vec3};
use evenkeel_dr::{DrEvent, DrVector, EntityId, MotionKind, MotionState, export_error};
use evenkeel_link::TrueTime;
use evenkeel_sim::{NodeId, Observer};

use super::node::DrNode;
use crate::bounds::ExportedPath;

/// Under synchronized clocks, and by a relay's clock without faults, session time is true time.
#[must_use]
pub const fn session(at: TrueTime) -> SessionTime {
    SessionTime::from_nanos(at.as_nanos())
}

/// What somebody's clock shows.
#[derive(Clone, Copy, Debug)]
struct ClockOffset {
    /// How far it is ahead of the true time, when it was last looked at.
    error: Span,
    /// Without a session time nothing is exported or placed, and there is no error.
    is_shown: bool,
}

impl Default for ClockOffset {
    fn default() -> Self {
        Self { error: Span::ZERO, is_shown: true }
    }
}

impl ClockOffset {
    /// A vector by true time.
    fn shifted(self, vector: DrVector) -> DrVector {
        DrVector { generated: vector.generated - self.error, ..vector }
    }

    /// It is off by so much now; gives how much farther that is ahead than before.
    fn set(&mut self, error: Option<Span>) -> Span {
        self.is_shown = error.is_some();
        let before = self.error;
        self.error = error.unwrap_or(before);
        self.error - before
    }
}

/// An entity as it really is.
#[derive(Clone, Debug)]
struct OwnedEntity {
    /// The newest DR vector; `None` while the entity is not alive.
    exported: Option<DrVector>,
    /// When that was made, by its owner's clock.
    made: SessionTime,
    /// When its present life began, by its owner's clock; what arrives of an earlier one does not count.
    born: SessionTime,
    /// The piece of the real path that is being driven.
    real: Option<DrVector>,
}

/// An entity as a receiver shows it.
#[derive(Clone, Debug, Default)]
struct PlacedEntity {
    placed: Option<DrVector>,
    /// When the vector that is placed was made, by its owner's clock.
    made: SessionTime,
    counted_to: SessionTime,
    real_counted_to: SessionTime,
}

/// What a receiver has gone through.
#[derive(Clone, Debug, Default)]
pub struct ReceiverErrors {
    /// Accumulated export error.
    pub aee: f64,
    /// The part of it that accumulated while the newest DR vector was there already: the after export error.
    pub after_error: f64,
    /// The same integral against the real path.
    pub real_error: f64,
    /// DR vectors that arrived, introductions not counted.
    pub delivered: u64,
    clock: ClockOffset,
    copies: BTreeMap<EntityId, PlacedEntity>,
}

/// The truth of one run.
#[derive(Clone, Debug)]
pub struct Truth {
    owner: NodeId,
    owner_clock: ClockOffset,
    originals: BTreeMap<EntityId, OwnedEntity>,
    receivers: BTreeMap<NodeId, ReceiverErrors>,
    /// DR vectors generated.
    pub triggers: u64,
    /// Every life that was exported, in order of birth.
    paths: Vec<(EntityId, ExportedPath)>,
}

impl Truth {
    /// The truth about the entities of this owner at these receivers.
    #[must_use]
    pub fn new(owner: NodeId, receivers: impl IntoIterator<Item = NodeId>) -> Self {
        let receivers = receivers.into_iter().map(|receiver| (receiver, ReceiverErrors::default())).collect();
        Self {
            owner,
            owner_clock: ClockOffset::default(),
            originals: BTreeMap::new(),
            receivers,
            triggers: 0,
            paths: Vec::new(),
        }
    }

    /// Every life that was exported so far.
    #[must_use]
    pub fn into_paths(self) -> Vec<ExportedPath> {
        self.paths.into_iter().map(|(_, path)| path).collect()
    }

    /// What a receiver has gone through up to the last time that was counted to.
    #[must_use]
    pub fn errors(&self, receiver: NodeId) -> &ReceiverErrors {
        &self.receivers[&receiver]
    }

    /// Nothing before now counts.
    pub fn reset(&mut self, now: TrueTime) {
        self.count_to(now);
        self.triggers = 0;
        for errors in self.receivers.values_mut() {
            (errors.aee, errors.after_error, errors.real_error, errors.delivered) = (0.0, 0.0, 0.0, 0);
        }
    }

    /// Counts every error up to now.
    pub fn count_to(&mut self, now: TrueTime) {
        let now = session(now);
        for errors in self.receivers.values_mut() {
            errors.count_to(&self.originals, self.owner_clock, now);
        }
    }

    /// From now on somebody's session time is ahead of the true time by so much; `None`: there is none. Clocks are slow
    /// to change, so it is enough to look at them once per tick.
    pub fn set_clock_error(&mut self, node: NodeId, error: Option<Span>, now: TrueTime) {
        let now = session(now);
        if node == self.owner {
            for errors in self.receivers.values_mut() {
                errors.count_to(&self.originals, self.owner_clock, now);
            }
            let ahead = self.owner_clock.set(error);
            for exported in self.originals.values_mut().filter_map(|original| original.exported.as_mut()) {
                exported.generated = exported.generated - ahead;
            }
        } else if let Some(errors) = self.receivers.get_mut(&node) {
            errors.count_to(&self.originals, self.owner_clock, now);
            let ahead = errors.clock.set(error);
            for placed in errors.copies.values_mut().filter_map(|copy| copy.placed.as_mut()) {
                placed.generated = placed.generated - ahead;
            }
        }
    }

    /// The real path of an entity goes on from here in a straight line to `to`, which it reaches after `step`.
    pub fn drive(&mut self, entity: EntityId, now: TrueTime, from: Vec3, to: Vec3, step: Span) {
        let at = session(now);
        let Some(original) = self.originals.get_mut(&entity) else { return };
        for errors in self.receivers.values_mut() {
            if let Some(copy) = errors.copies.get_mut(&entity) {
                copy.count_real(original, errors.clock, at, &mut errors.real_error);
            }
        }
        let velocity = (to - from) * (1.0 / step.as_secs_f64());
        let state = MotionState { position: from, velocity, ..MotionState::default() };
        original.real = Some(DrVector::generate(at, &state, MotionKind::Linear));
    }

    /// An entity ceases to be: the error at everybody's copy stops counting.
    pub fn end(&mut self, entity: EntityId, now: TrueTime) {
        self.count_to(now);
        if let Some(original) = self.originals.get_mut(&entity) {
            (original.exported, original.real) = (None, None);
        }
        if let Some((_, path)) = self.paths.iter_mut().rfind(|(name, _)| *name == entity) {
            path.ended = Some(session(now));
        }
        for errors in self.receivers.values_mut() {
            errors.copies.remove(&entity);
        }
    }

    /// A receiver goes: its error stops counting.
    pub fn leave(&mut self, receiver: NodeId, now: TrueTime) {
        self.count_to(now);
        if let Some(errors) = self.receivers.get_mut(&receiver) {
            errors.copies.clear();
        }
    }

    /// The distance between the real and the placed position of an entity at a receiver.
    #[must_use]
    pub fn real_distance(&self, receiver: NodeId, entity: EntityId, now: TrueTime) -> Option<f64> {
        let placed = self.receivers.get(&receiver)?.copies.get(&entity)?.placed?;
        let real = self.originals.get(&entity)?.real?;
        Some(placed.project(session(now)).distance(real.project(session(now))))
    }

    /// How fast an entity really moves.
    #[must_use]
    pub fn real_speed(&self, entity: EntityId) -> Option<f64> {
        Some(self.originals.get(&entity)?.real?.state.velocity.length())
    }

    /// The newest vector of an entity, and whether a receiver has it already.
    #[must_use]
    pub fn newest(&self, receiver: NodeId, entity: EntityId) -> Option<(DrVector, bool)> {
        let original = self.originals.get(&entity)?;
        let exported = original.exported?;
        let copy = self.receivers.get(&receiver)?.copies.get(&entity);
        Some((exported, copy.is_some_and(|copy| copy.placed.is_some() && copy.made == original.made)))
    }

    fn generated(&mut self, entity: EntityId, vector: DrVector, now: SessionTime) {
        self.triggers += 1;
        let original = self.originals.entry(entity).or_insert(OwnedEntity {
            exported: None,
            made: now,
            born: now,
            real: None,
        });
        for errors in self.receivers.values_mut() {
            if let Some(copy) = errors.copies.get_mut(&entity) {
                let is_shown = self.owner_clock.is_shown && errors.clock.is_shown;
                copy.count_exported(original, is_shown, now, &mut errors.aee, &mut errors.after_error);
            }
        }
        if original.exported.is_none() {
            original.born = vector.generated;
            self.paths.push((entity, ExportedPath { vectors: Vec::new(), ended: None }));
        }
        if let Some((_, path)) = self.paths.iter_mut().rfind(|(name, _)| *name == entity) {
            path.vectors.push(vector);
        }
        original.exported = Some(self.owner_clock.shifted(vector));
        original.made = vector.generated;
    }

    fn arrived(
        &mut self,
        node: NodeId,
        entity: EntityId,
        generated: SessionTime,
        placed: Option<DrVector>,
        now: SessionTime,
    ) {
        let Some(errors) = self.receivers.get_mut(&node) else { return };
        let (Some(placed), Some(original)) = (placed, self.originals.get(&entity)) else { return };
        if original.exported.is_none() || generated < original.born {
            return;
        }
        let fresh = PlacedEntity { placed: None, made: generated, counted_to: now, real_counted_to: now };
        let copy = errors.copies.entry(entity).or_insert(fresh);
        let is_shown = self.owner_clock.is_shown && errors.clock.is_shown;
        copy.count_exported(original, is_shown, now, &mut errors.aee, &mut errors.after_error);
        copy.count_real(original, errors.clock, now, &mut errors.real_error);
        copy.made = generated;
        copy.placed = Some(errors.clock.shifted(placed));
    }
}

impl ReceiverErrors {
    fn count_to(
        &mut self,
        originals: &BTreeMap<EntityId, OwnedEntity>,
        owner_clock: ClockOffset,
        now: SessionTime,
    ) {
        let is_shown = owner_clock.is_shown && self.clock.is_shown;
        for (entity, copy) in &mut self.copies {
            let Some(original) = originals.get(entity) else { continue };
            copy.count_exported(original, is_shown, now, &mut self.aee, &mut self.after_error);
            copy.count_real(original, self.clock, now, &mut self.real_error);
        }
    }
}

impl PlacedEntity {
    fn count_exported(
        &mut self,
        original: &OwnedEntity,
        is_shown: bool,
        now: SessionTime,
        sum: &mut f64,
        after: &mut f64,
    ) {
        if let (Some(exported), Some(placed), true) = (&original.exported, &self.placed, is_shown)
            && exported != placed
        {
            let error = export_error(exported, placed, self.counted_to, now);
            *sum += error;
            if self.made == original.made {
                *after += error;
            }
        }
        self.counted_to = now;
    }

    fn count_real(&mut self, original: &OwnedEntity, clock: ClockOffset, now: SessionTime, sum: &mut f64) {
        if let (Some(real), Some(placed), true) = (&original.real, &self.placed, clock.is_shown) {
            *sum += export_error(real, placed, self.real_counted_to, now);
        }
        self.real_counted_to = now;
    }
}

impl Observer<DrNode> for Truth {
    fn on_event(&mut self, at: TrueTime, node: NodeId, event: DrEvent) {
        let now = session(at);
        match event {
            DrEvent::Generated { entity, vector, .. } if node == self.owner => {
                self.generated(entity, vector, now);
            }
            DrEvent::Arrived { entity, generated, placed, introduction, .. } => {
                if let Some(errors) = self.receivers.get_mut(&node) {
                    errors.delivered += u64::from(!introduction);
                }
                self.arrived(node, entity, generated, placed, now);
            }
            DrEvent::Generated { .. }
            | DrEvent::Ended { .. }
            | DrEvent::Clock(_)
            | DrEvent::Stalled { .. } => {}
        }
    }
}
