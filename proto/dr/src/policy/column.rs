//! [`PairColumn`]: a policy's state per pair.

use super::{Exported, Pair};
use crate::ledger::{ClosedPairs, Settlement, Slot};

/// A policy's own state per pair, laid out like the ledger: one row per life, indexed by the receivers' places.
///
/// A pair begins with the default. The policy calls [`close`](Self::close) from
/// [`FairnessPolicy::on_closed`](super::FairnessPolicy::on_closed).
#[derive(Clone, Debug, Default)]
pub struct PairColumn<T> {
    /// Indexed by the place of the life, then by that of the receiver.
    lives: Vec<Vec<T>>,
}

impl<T: Default> PairColumn<T> {
    /// The states of an entity's pairs, by the places of their receivers, as in
    /// [`Exported::pair_states`](super::Exported::pair_states). Places without a pair have the default.
    #[inline]
    pub fn of(&mut self, exported: &Exported<'_>) -> &mut [T] {
        let width = exported.pair_states().len();
        self.life(exported.slot(0).track, width)
    }

    /// The state of a pair.
    #[inline]
    pub fn at(&mut self, pair: &Pair<'_>) -> &mut T {
        self.slot(pair.slot())
    }

    /// The state of the pair that a settlement is about.
    #[inline]
    pub fn settled(&mut self, settlement: &Settlement) -> &mut T {
        self.slot(settlement.slot)
    }

    #[inline]
    fn slot(&mut self, Slot { track, link }: Slot) -> &mut T {
        &mut self.life(track, link as usize + 1)[link as usize]
    }

    #[inline]
    fn life(&mut self, track: u32, width: usize) -> &mut [T] {
        if self.lives.get(track as usize).is_none_or(|life| life.len() < width) {
            self.widen(track as usize, width);
        }
        &mut self.lives[track as usize]
    }

    #[cold]
    fn widen(&mut self, track: usize, width: usize) {
        if self.lives.len() <= track {
            self.lives.resize_with(track + 1, Vec::new);
        }
        let life = &mut self.lives[track];
        if life.capacity() < width {
            // Doubling would waste too much memory.
            let more = if life.is_empty() { 0 } else { width / 16 };
            life.reserve_exact(width + more - life.len());
        }
        life.resize_with(width, T::default);
    }

    /// Drops the states of pairs that have closed.
    pub fn close(&mut self, closed: &ClosedPairs) {
        let Some(life) = self.lives.get_mut(closed.track as usize) else { return };
        match closed.link {
            None => *life = Vec::new(),
            Some(link) => {
                if let Some(state) = life.get_mut(link as usize) {
                    *state = T::default();
                }
            }
        }
    }
}
