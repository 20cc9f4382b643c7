//! Renumbering: a relay gives the vectors of its owners numbers of its own.
//!
//! Owners begin at any number, and after a crash at 0 again. The relay numbers each life of an entity above the last, so vectors
//! of an earlier life that are still on the network are never mistaken for the next.

use std::collections::BTreeMap;

use evenkeel_core::PeerId;

use crate::ledger::Life;
use crate::message::VectorFrame;
use crate::motion::{DrSeq, EntityId};
use crate::owner::Threshold;

/// Entities of one owner. Beyond, introductions are refused, so that no owner fills a room alone.
pub const OWNER_ENTITIES_MAX: usize = 256;
/// Refused lives of one owner that are remembered. Vectors of others are not answered, and their owner repeats them in vain.
const REFUSED_MAX: usize = 256;

/// Renumberings below which none is forgotten.
const FORGET_MIN: usize = 64;

/// A life as its owner numbers it: the owner, the entity, and the number of the first vector.
type OwnerLife = (PeerId, EntityId, DrSeq);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Renumbering {
    pub(crate) life: Life,
    offset: i64,
}

impl Renumbering {
    /// The renumbering of the owner's vector `from` as the relay's vector `to`.
    pub(crate) fn new(life: Life, from: DrSeq, to: DrSeq) -> Self {
        Self { life, offset: i64::from(to.0) - i64::from(from.0) }
    }

    /// A vector in the relay's numbers; `None` if its number is out of range.
    pub(crate) fn incoming(&self, frame: &VectorFrame) -> Option<VectorFrame> {
        let seq = self.number(frame.seq)?;
        Some(VectorFrame { first: self.life.first, seq, ..*frame })
    }

    /// The relay's number for a number of the owner; `None` if it is out of range.
    pub(crate) fn number(&self, seq: DrSeq) -> Option<DrSeq> {
        let seq = u32::try_from(i64::from(seq.0) + self.offset).ok().map(DrSeq)?;
        (seq >= self.life.first && seq.0 < u32::MAX).then_some(seq)
    }

    /// The owner's number for a number of the relay.
    pub(crate) fn outgoing(&self, seq: DrSeq) -> DrSeq {
        DrSeq(u32::try_from(i64::from(seq.0) - self.offset).unwrap_or(0))
    }
}

/// The lives that owners may still send vectors of: accepted ones with their renumbering, and refused ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnerLives {
    accepted: BTreeMap<OwnerLife, Renumbering>,
    refused: BTreeMap<OwnerLife, Threshold>,
    /// The number of accepted lives at which old ones are forgotten.
    forget_at: usize,
}

impl OwnerLives {
    pub(crate) fn renumbering(&self, owner: PeerId, frame: &VectorFrame) -> Option<Renumbering> {
        self.accepted.get(&(owner, frame.entity, frame.first)).copied()
    }

    pub(crate) fn of_life(&self, owner: PeerId, life: Life) -> Option<Renumbering> {
        let entity = life.entity;
        let all = self.accepted.range((owner, entity, DrSeq(0))..=(owner, entity, DrSeq(u32::MAX)));
        all.map(|(_, renumbering)| *renumbering).find(|renumbering| renumbering.life == life)
    }

    pub(crate) fn refuse(&mut self, owner: PeerId, frame: &VectorFrame, threshold: Threshold) {
        let (from, to) = ((owner, EntityId(0), DrSeq(0)), (owner, EntityId(u32::MAX), DrSeq(u32::MAX)));
        if self.refused.range(from..=to).count() < REFUSED_MAX {
            self.refused.insert((owner, frame.entity, frame.first), threshold);
        }
    }

    /// The threshold that a refused life was introduced with; `None` if the life was not refused.
    pub(crate) fn refused(&self, owner: PeerId, frame: &VectorFrame) -> Option<Threshold> {
        self.refused.get(&(owner, frame.entity, frame.first)).copied()
    }

    /// Whether the owner has begun a later life of the same entity.
    pub(crate) fn is_over(&self, owner: PeerId, frame: &VectorFrame) -> bool {
        let (from, to) = (frame.first.next(), DrSeq(u32::MAX));
        self.accepted.range((owner, frame.entity, from)..=(owner, frame.entity, to)).next().is_some()
    }

    pub(crate) fn accept(&mut self, owner: PeerId, frame: &VectorFrame, renumbering: Renumbering) {
        self.refused.remove(&(owner, frame.entity, frame.first));
        self.accepted.insert((owner, frame.entity, frame.first), renumbering);
    }

    pub(crate) fn leave(&mut self, peer: PeerId) {
        self.accepted.retain(|(owner, ..), _| *owner != peer);
        self.refused.retain(|(owner, ..), _| *owner != peer);
    }

    /// Forgets lives that `keep` does not want, once there are enough to be worth a search.
    pub(crate) fn retain(&mut self, keep: impl Fn(Life) -> bool) {
        if self.accepted.len() < self.forget_at {
            return;
        }
        self.accepted.retain(|_, renumbering| keep(renumbering.life));
        self.forget_at = FORGET_MIN + 2 * self.accepted.len();
    }
}
