//! The true export error of a run. [`Truth`] observes owner and receivers at once, in true time, so it needs neither
//! reports nor estimates. The ledger is compared with it.
//!
//! A node whose session clock is ahead by `e` projects a vector to `t + e` at the true time `t`, as if an exact clock had
//! generated the vector `e` earlier. So vectors are stored shifted by `e`; see
//! [`set_clock_error`](Truth::set_clock_error).

use std::collections::BTreeMap;

use evenkeel_core::{SessionTime, Span, Vec3};
use evenkeel_dr::{DrEvent, DrVector, EntityId, MotionKind, MotionState, export_error};
use evenkeel_link::TrueTime;
use evenkeel_sim::{NodeId, Observer};

use super::node::DrNode;
use crate::bounds::ExportedPath;

/// The session time at a true time: they are equal, as the clock that defines session time has no faults.
#[must_use]
pub const fn session(at: TrueTime) -> SessionTime {
    SessionTime::from_nanos(at.as_nanos())
}

/// The error of a node's session clock.
#[derive(Clone, Copy, Debug)]
struct ClockOffset {
    /// How far it was ahead of the true time when last measured.
    error: Span,
    /// Whether it shows a time. Without one nothing is exported or placed, and no error accumulates.
    is_shown: bool,
}

impl Default for ClockOffset {
    fn default() -> Self {
        Self { error: Span::ZERO, is_shown: true }
    }
}

impl ClockOffset {
    /// Shifts a vector from the node's session time to true time.
    fn shifted(self, vector: DrVector) -> DrVector {
        DrVector { generated: vector.generated - self.error, ..vector }
    }

    /// Sets the error and returns its change.
    fn set(&mut self, error: Option<Span>) -> Span {
        self.is_shown = error.is_some();
        let before = self.error;
        self.error = error.unwrap_or(before);
        self.error - before
    }
}

/// An entity at its owner.
#[derive(Clone, Debug)]
struct OwnedEntity {
    /// The newest DR vector in true time; `None` while the entity is not alive.
    exported: Option<DrVector>,
    /// When that was generated, by the owner's clock.
    made: SessionTime,
    /// When its current life began, by the owner's clock. Vectors of an earlier life do not count.
    born: SessionTime,
    /// The current segment of the real path.
    real: Option<DrVector>,
}

/// An entity at a receiver.
#[derive(Clone, Debug, Default)]
struct PlacedEntity {
    placed: Option<DrVector>,
    /// When the placed vector was generated, by the owner's clock.
    made: SessionTime,
    counted_to: SessionTime,
    real_counted_to: SessionTime,
}

/// The accumulated errors of a receiver.
#[derive(Clone, Debug, Default)]
pub struct ReceiverErrors {
    /// Accumulated export error.
    pub aee: f64,
    /// The after export error: the part of `aee` that accumulated while the receiver had the newest DR vector.
    pub after_error: f64,
    /// Accumulated error against the real path.
    pub real_error: f64,
    /// DR vectors that arrived, without introductions.
    pub delivered: u64,
    clock: ClockOffset,
    copies: BTreeMap<EntityId, PlacedEntity>,
}

/// Computes the true errors of one run.
#[derive(Clone, Debug)]
pub struct Truth {
    owner: NodeId,
    owner_clock: ClockOffset,
    originals: BTreeMap<EntityId, OwnedEntity>,
    receivers: BTreeMap<NodeId, ReceiverErrors>,
    /// DR vectors generated.
    pub triggers: u64,
    /// The exported path of every life, in order of birth.
    paths: Vec<(EntityId, ExportedPath)>,
}

impl Truth {
    /// Creates the truth about the entities of `owner` at these receivers.
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

    /// Returns the exported path of every life.
    #[must_use]
    pub fn into_paths(self) -> Vec<ExportedPath> {
        self.paths.into_iter().map(|(_, path)| path).collect()
    }

    /// The errors of a receiver, counted up to its last change or [`count_to`](Self::count_to).
    #[must_use]
    pub fn errors(&self, receiver: NodeId) -> &ReceiverErrors {
        &self.receivers[&receiver]
    }

    /// Resets all counts.
    pub fn reset(&mut self, now: TrueTime) {
        self.count_to(now);
        self.triggers = 0;
        for errors in self.receivers.values_mut() {
            (errors.aee, errors.after_error, errors.real_error, errors.delivered) = (0.0, 0.0, 0.0, 0);
        }
    }

    /// Accumulates all errors up to now.
    pub fn count_to(&mut self, now: TrueTime) {
        let now = session(now);
        for errors in self.receivers.values_mut() {
            errors.count_to(&self.originals, self.owner_clock, now);
        }
    }

    /// Sets how far a node's session clock is ahead of the true time; `None` if it shows no time. Clocks change slowly, so
    /// once per tick is enough.
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

    /// Continues the real path of an entity in a straight line from `from` to `to`, which it reaches after `step`.
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

    /// Ends an entity's life: it accumulates no further errors.
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

    /// Removes a receiver: it accumulates no further errors.
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

    /// The speed of an entity on the real path.
    #[must_use]
    pub fn real_speed(&self, entity: EntityId) -> Option<f64> {
        Some(self.originals.get(&entity)?.real?.state.velocity.length())
    }

    /// The newest vector of an entity, and whether a receiver has it.
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
