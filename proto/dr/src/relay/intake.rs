//! What a relay takes from its owners, in numbers of its own.
//!
//! Owners number their vectors as they like: a player that comes back after a crash begins at 0 again, and a hostile one
//! begins anywhere. Towards the receivers the relay gives each life of a name numbers that are larger than those of the
//! last, so that nothing that is left of an earlier life on the network can be taken for the next.

use std::collections::BTreeMap;

use evenkeel_core::PeerId;

use crate::ledger::Life;
use crate::message::VectorFrame;
use crate::threshold::Threshold;
use crate::vector::{DrSeq, EntityId};

/// Entities of one owner; more are not taken, so that nobody fills a room alone.
pub(crate) const OWNER_ENTITIES_MAX: usize = 256;
/// Refused lives of one owner that are remembered, so that it can be told to forget them; beyond, it repeats in vain.
const REFUSED_MAX: usize = 256;

/// Numberings that are kept at least before any is forgotten.
const FORGET_MIN: usize = 64;

/// A life at its owner: the first number that the owner gave it.
type Owned = (PeerId, EntityId, DrSeq);

/// How the numbers of an owner's life become those of the relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbering {
    pub(crate) life: Life,
    offset: i64,
}

impl Numbering {
    /// The numbering under which the owner's vector `from` is the relay's vector `to`.
    pub(crate) fn new(life: Life, from: DrSeq, to: DrSeq) -> Self {
        Self { life, offset: i64::from(to.0) - i64::from(from.0) }
    }

    /// A vector in the relay's numbers; `None` if it is from before where the numbering begins, or beyond all numbers.
    pub(crate) fn incoming(&self, frame: &VectorFrame) -> Option<VectorFrame> {
        let seq = self.number(frame.seq)?;
        Some(VectorFrame { first: self.life.first, seq, ..*frame })
    }

    /// A number of the owner's in the relay's numbers.
    pub(crate) fn number(&self, seq: DrSeq) -> Option<DrSeq> {
        let seq = u32::try_from(i64::from(seq.0) + self.offset).ok().map(DrSeq)?;
        (seq >= self.life.first && seq.0 < u32::MAX).then_some(seq)
    }

    /// A number of the relay's in the owner's numbers.
    pub(crate) fn outgoing(&self, seq: DrSeq) -> DrSeq {
        DrSeq(u32::try_from(i64::from(seq.0) - self.offset).unwrap_or(0))
    }
}

/// The numberings of all lives that owners may still send vectors of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intake {
    numberings: BTreeMap<Owned, Numbering>,
    refused: BTreeMap<Owned, Threshold>,
    /// With so many numberings it is time to forget some.
    forget_at: usize,
}

impl Intake {
    /// The numbering of the life that a vector belongs to.
    pub(crate) fn numbering(&self, owner: PeerId, frame: &VectorFrame) -> Option<Numbering> {
        self.numberings.get(&(owner, frame.entity, frame.first)).copied()
    }

    /// The numbering of one of the relay's lives.
    pub(crate) fn of_life(&self, owner: PeerId, life: Life) -> Option<Numbering> {
        let entity = life.entity;
        let all = self.numberings.range((owner, entity, DrSeq(0))..=(owner, entity, DrSeq(u32::MAX)));
        all.map(|(_, numbering)| *numbering).find(|numbering| numbering.life == life)
    }

    /// A life is not taken.
    pub(crate) fn refuse(&mut self, owner: PeerId, frame: &VectorFrame, threshold: Threshold) {
        let (from, to) = ((owner, EntityId(0), DrSeq(0)), (owner, EntityId(u32::MAX), DrSeq(u32::MAX)));
        if self.refused.range(from..=to).count() < REFUSED_MAX {
            self.refused.insert((owner, frame.entity, frame.first), threshold);
        }
    }

    /// Whether a life was not taken; gives what its introduction said.
    pub(crate) fn refused(&self, owner: PeerId, frame: &VectorFrame) -> Option<Threshold> {
        self.refused.get(&(owner, frame.entity, frame.first)).copied()
    }

    /// Whether the owner has begun a later life under that name.
    pub(crate) fn is_over(&self, owner: PeerId, frame: &VectorFrame) -> bool {
        let (from, to) = (frame.first.next(), DrSeq(u32::MAX));
        self.numberings.range((owner, frame.entity, from)..=(owner, frame.entity, to)).next().is_some()
    }

    /// The numbering holds for the life that a vector belongs to.
    pub(crate) fn keep(&mut self, owner: PeerId, frame: &VectorFrame, numbering: Numbering) {
        self.refused.remove(&(owner, frame.entity, frame.first));
        self.numberings.insert((owner, frame.entity, frame.first), numbering);
    }

    /// An owner goes.
    pub(crate) fn leave(&mut self, peer: PeerId) {
        self.numberings.retain(|(owner, ..), _| *owner != peer);
        self.refused.retain(|(owner, ..), _| *owner != peer);
    }

    /// Forgets what is not wanted any more, once there is enough of it to be worth a look at all.
    pub(crate) fn retain(&mut self, keep: impl Fn(Life) -> bool) {
        if self.numberings.len() < self.forget_at {
            return;
        }
        self.numberings.retain(|_, numbering| keep(numbering.life));
        self.forget_at = FORGET_MIN + 2 * self.numberings.len();
    }
}
