//! The pairs of one life, in columns indexed by the receiver's place.
//!
//! There are very many pairs, so the data that every pair has is small and contiguous. Data that few pairs have is kept in maps,
//! which are usually empty.

use std::collections::BTreeMap;

use super::account::RareState;
use super::last_sent::LastSent;
use super::pair_state::PairState;
use super::sent_messages::Renumbered;
use super::waiting::WaitingColumn;
use crate::prefetch::{CACHE_LINE, prefetch};

/// Data that few pairs have, keyed by the receiver's place.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct SparseColumns {
    pub(super) rare: BTreeMap<u32, Box<RareState>>,
    /// The error assumed before the account opened, for comparing receivers.
    pub(super) head_starts: BTreeMap<u32, f64>,
    pub(super) waiting: WaitingColumn,
}

// Field order matters: the fields that every acknowledgment reads are adjacent.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Pairs {
    pub(crate) last_sents: Vec<LastSent>,
    pub(super) states: Vec<PairState>,
    pub(super) sparse: SparseColumns,
    count: usize,
}

impl Pairs {
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// The states at all places, including empty ones.
    pub(crate) fn states(&self) -> &[PairState] {
        &self.states
    }

    /// The pair with the receiver at a place.
    #[inline]
    pub(crate) fn state(&self, link: u32) -> Option<&PairState> {
        self.states.get(link as usize).filter(|state| state.has(PairState::OPEN))
    }

    #[inline]
    pub(crate) fn is_open(&self, link: u32) -> bool {
        self.state(link).is_some()
    }

    pub(crate) fn links(&self) -> impl Iterator<Item = u32> + use<'_> {
        (0..).zip(&self.states).filter(|(_, state)| state.has(PairState::OPEN)).map(|(link, _)| link)
    }

    #[inline]
    pub(super) fn prefetch(&self, link: u32) {
        let place = link as usize;
        if let (Some(state), Some(last_sent)) = (self.states.get(place), self.last_sents.get(place)) {
            state.prefetch();
            prefetch::<1, _>(last_sent);
            self.sparse.waiting.prefetch_slot(link);
        }
    }

    /// Prefetches the column that shows which pairs lack the newest vector.
    pub(super) fn prefetch_last_sents(&self) {
        self.last_sents.iter().step_by(CACHE_LINE / size_of::<LastSent>()).for_each(prefetch::<1, _>);
    }

    pub(super) fn width(&self) -> u32 {
        self.states.len() as u32
    }

    /// Opens the pair at a place. `places` is the number of receiver places in the ledger.
    pub(super) fn open(&mut self, link: u32, places: usize) {
        let width = places.max(link as usize + 1);
        if self.states.len() < width {
            widen(&mut self.last_sents, width, LastSent::NOBODY);
            widen(&mut self.states, width, PairState::new(0));
        }
        self.states[link as usize] = PairState::new(PairState::OPEN);
        self.last_sents[link as usize].set_status(LastSent::UNCLEAR);
        self.count += 1;
    }

    pub(super) fn close(&mut self, link: u32) {
        self.states[link as usize] = PairState::new(0);
        self.last_sents[link as usize] = LastSent::NOBODY;
        self.sparse.rare.remove(&link);
        self.sparse.head_starts.remove(&link);
        self.sparse.waiting.remove(link);
        self.count -= 1;
    }

    /// Applies a renumbering of the messages to a receiver.
    pub(super) fn renumber(&mut self, link: u32, numbers: &Renumbered) {
        if self.state(link).is_some_and(|state| state.has(PairState::SENT)) {
            let last_sent = &mut self.last_sents[link as usize];
            last_sent.set_number(numbers.of(last_sent.number()));
        }
    }
}

/// Grows a column to `width`, with slack of 1/16 if it grows repeatedly: doubling would waste too much memory.
pub(crate) fn widen<T: Clone>(column: &mut Vec<T>, width: usize, value: T) {
    if column.capacity() < width {
        let more = if column.is_empty() { 0 } else { width / 16 };
        column.reserve_exact(width + more - column.len());
    }
    column.resize(width, value);
}

#[cfg(test)]
mod tests {
    use evenkeel_core::{SessionTime, Span};

    use super::*;
    use crate::ledger::last_sent::ShownVector;
    use crate::ledger::sent_messages::SentMessages;
    use crate::motion::vector::DrSeq;

    #[test]
    fn pairs_are_indexed_by_receiver_place() {
        let mut pairs = Pairs::default();
        pairs.open(2, 3);
        assert_eq!((pairs.count(), pairs.links().collect::<Vec<_>>()), (1, vec![2]));
        assert!(pairs.state(1).is_none() && pairs.is_open(2));
        pairs.open(5, 3);
        assert_eq!((pairs.count(), pairs.width()), (2, 6));
        pairs.close(2);
        assert_eq!((pairs.count(), pairs.links().collect::<Vec<_>>()), (1, vec![5]));
    }

    #[test]
    fn empty_place_shows_newest() {
        let (now, messages) = (SessionTime::from_nanos(5), SentMessages::default());
        let mut pairs = Pairs::default();
        pairs.open(1, 2);
        let shows = |pairs: &Pairs| {
            [0, 1].map(|link: usize| pairs.last_sents[link].shows(DrSeq(9), now, Span::MAX, &messages))
        };
        assert_eq!(shows(&pairs), [ShownVector::Newest, ShownVector::Unclear]);
        pairs.close(1);
        assert_eq!(shows(&pairs), [ShownVector::Newest, ShownVector::Newest]);
    }
}
