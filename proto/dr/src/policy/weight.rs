//! Weights of pairs: in a game, a tank behind a hill may matter less than one in sight.

use std::collections::BTreeMap;

use evenkeel_core::{Malformed, PeerId, Reader, Wire};

use crate::motion::vector::EntityId;

/// How much the error of one entity at one receiver counts; 1 unless a game says otherwise.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct PairWeight(f64);

impl PairWeight {
    /// The default weight.
    pub const ONE: Self = Self(1.0);
    /// The largest weight.
    pub const MAX: Self = Self(1000.0);

    /// A weight from 0 to 1000; `None` otherwise.
    #[must_use]
    pub fn new(weight: f64) -> Option<Self> {
        (0.0..=Self::MAX.0).contains(&weight).then_some(Self(weight))
    }

    /// The weight as a number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for PairWeight {
    fn default() -> Self {
        Self::ONE
    }
}

impl Wire for PairWeight {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.0.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Self::new(reader.read()?).ok_or(Malformed::Field)
    }
}

/// The weights that are not one.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairWeights {
    set: BTreeMap<(EntityId, PeerId), PairWeight>,
}

impl PairWeights {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    #[inline]
    pub(crate) fn of(&self, entity: EntityId, receiver: PeerId) -> f64 {
        if self.set.is_empty() {
            return 1.0;
        }
        self.set.get(&(entity, receiver)).map_or(1.0, |weight| weight.0)
    }

    /// The largest weight of an entity's pairs, at least 1.
    pub(crate) fn most(&self, entity: EntityId) -> f64 {
        if self.set.is_empty() {
            return 1.0;
        }
        let of_entity = self.set.range((entity, PeerId(0))..=(entity, PeerId(u32::MAX)));
        of_entity.map(|(_, weight)| weight.0).fold(1.0, f64::max)
    }

    pub(crate) fn set(&mut self, entity: EntityId, receiver: PeerId, weight: PairWeight) {
        if weight == PairWeight::ONE {
            self.set.remove(&(entity, receiver));
        } else {
            self.set.insert((entity, receiver), weight);
        }
    }

    pub(crate) fn forget_entity(&mut self, entity: EntityId) {
        let (from, to) = ((entity, PeerId(0)), (entity, PeerId(u32::MAX)));
        while let Some((&pair, _)) = self.set.range(from..=to).next() {
            self.set.remove(&pair);
        }
    }

    pub(crate) fn forget_receiver(&mut self, receiver: PeerId) {
        self.set.retain(|(_, peer), _| *peer != receiver);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_forgotten_with_their_entity_or_receiver() {
        let half = PairWeight::new(0.5).expect("it is in range");
        let mut weights = PairWeights::default();
        for (entity, receiver) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            weights.set(EntityId(entity), PeerId(receiver), half);
        }
        weights.forget_entity(EntityId(1));
        weights.forget_receiver(PeerId(1));
        assert_eq!(weights.set.len(), 1);
        assert_eq!(weights.of(EntityId(2), PeerId(2)), 0.5);
        assert_eq!(weights.of(EntityId(1), PeerId(1)), 1.0);
        weights.set(EntityId(2), PeerId(2), PairWeight::ONE);
        assert!(weights.set.is_empty());
    }

    #[test]
    fn invalid_weights_are_rejected() {
        for wrong in [-0.1, 1000.1, f64::NAN, f64::INFINITY] {
            assert!(PairWeight::new(wrong).is_none(), "{wrong}");
        }
    }
}
