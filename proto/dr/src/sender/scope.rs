//! Areas of interest: pairs of an entity and a receiver that open and close while both are here.
//!
//! Entities whose local number is below a bound go to everybody. The others are scoped: nobody is told that they exist but those
//! they are shown to. A policy sees only open pairs, so it is fair among those who see an entity.

use std::collections::BTreeSet;

use evenkeel_core::{PeerId, SessionTime};
use evenkeel_session::Outbox;

use super::Sender;
use crate::message::emit_ended;
use crate::motion::{DrSeq, EntityId};

/// Which scoped entities are shown to whom.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopedPairs {
    /// The first local number of scoped entities; none are if it is not set.
    from: Option<u32>,
    shown: BTreeSet<(EntityId, PeerId)>,
}

impl ScopedPairs {
    pub(super) fn is_scoped(&self, entity: EntityId) -> bool {
        self.from.is_some_and(|from| entity.local() >= from)
    }

    pub(super) fn shows(&self, entity: EntityId, receiver: PeerId) -> bool {
        !self.is_scoped(entity) || self.shown.contains(&(entity, receiver))
    }

    pub(super) fn forget_receiver(&mut self, receiver: PeerId) {
        if !self.shown.is_empty() {
            self.shown.retain(|(_, peer)| *peer != receiver);
        }
    }
}

impl Sender {
    /// Scopes the entities from this local number on.
    pub fn scope_from(&mut self, local: u32) {
        self.scope.from = Some(local);
    }

    /// Whether an entity is shown only to those it is said to be.
    #[must_use]
    pub fn is_scoped(&self, entity: EntityId) -> bool {
        self.scope.is_scoped(entity)
    }

    pub(super) fn is_shown(&self, entity: EntityId, receiver: PeerId) -> bool {
        self.scope.shown.contains(&(entity, receiver))
    }

    /// Shows a scoped entity to a receiver, now and in its next lives.
    pub fn show(&mut self, entity: EntityId, receiver: PeerId, now: SessionTime, outbox: &mut Outbox) {
        if !self.is_scoped(entity)
            || !self.cursors.contains(receiver)
            || !self.scope.shown.insert((entity, receiver))
        {
            return;
        }
        if let Some((life, track)) = self.ledger.present(entity)
            && track.owner != Some(receiver)
        {
            self.introduce_to(life, receiver, now, outbox);
        }
    }

    /// Hides a scoped entity from a receiver. To the receiver it ends; the account closes, and nothing more is sent.
    pub fn hide(&mut self, entity: EntityId, receiver: PeerId, now: SessionTime, outbox: &mut Outbox) {
        if !self.scope.shown.remove(&(entity, receiver)) {
            return;
        }
        self.weights.set(entity, receiver, crate::policy::PairWeight::ONE);
        let Some((life, _)) = self.ledger.present(entity) else { return };
        if self.ledger.pair(entity, receiver).is_none() {
            return;
        }
        outbox.reliable(receiver, |stamp, bytes| emit_ended(entity, DrSeq(0), now, stamp, bytes));
        self.ledger.close_pair(life, receiver, now);
        self.rearm();
    }

    /// Forgets whom an entity was shown to.
    pub fn forget_scope(&mut self, entity: EntityId) {
        let (from, to) = ((entity, PeerId(0)), (entity, PeerId(u32::MAX)));
        while let Some(&pair) = self.scope.shown.range(from..=to).next() {
            self.scope.shown.remove(&pair);
        }
        self.weights.forget_entity(entity);
    }

    /// Sets what of a bandwidth other protocols use, per receiver, in bits per second.
    pub const fn reserve(&mut self, bits_per_second: f64) {
        self.reserved = bits_per_second;
    }
}
