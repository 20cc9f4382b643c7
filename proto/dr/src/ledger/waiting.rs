//! What waits to be settled: arrivals that were reported before the fate of everything sent before them was known, and the
//! vector shown meanwhile. Few pairs have any of it, most of these a single arrival; what an entity's pairs have is pooled.

use core::fmt;
use std::collections::VecDeque;

use evenkeel_core::SessionTime;

use super::pairs::widen;
use crate::motion::vector::DrSeq;
use crate::prefetch::prefetch;

/// A vector that arrived, and when.
pub(super) type Arrived = (DrSeq, SessionTime);

/// What waits at one pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// The number of the vector placed at the settled point, if it is not the newest reported one.
    pub(super) placed: Option<DrSeq>,
    /// The oldest arrival, stored here because usually there is no other.
    first: Option<Arrived>,
    more: VecDeque<Arrived>,
}

impl Waiting {
    /// The oldest arrival.
    #[inline]
    pub(super) const fn front(&self) -> Option<Arrived> {
        self.first
    }

    /// The arrivals, oldest first.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = Arrived> + '_ {
        self.first.into_iter().chain(self.more.iter().copied())
    }

    /// The number of arrivals.
    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    #[inline]
    pub(super) fn push_back(&mut self, arrived: Arrived) {
        match self.first {
            None => self.first = Some(arrived),
            Some(_) => self.more.push_back(arrived),
        }
    }

    #[inline]
    pub(super) fn pop_front(&mut self) {
        self.first = self.more.pop_front();
    }

    /// Removes the arrivals that are not to be kept.
    pub(super) fn retain(&mut self, keeps: impl Fn(Arrived) -> bool) {
        self.more.retain(|arrived| keeps(*arrived));
        if self.first.is_some_and(|first| !keeps(first)) {
            self.pop_front();
        }
    }
}

/// What waits at each pair of an entity.
#[derive(Clone, Default)]
pub(super) struct WaitingColumn {
    /// By the receiver's place, one more than the index in the pool; 0 if nothing waits. Empty until something does.
    slots: Vec<u32>,
    pool: Vec<Waiting>,
    /// The slots of the pool that no pair uses.
    free: Vec<u32>,
}

impl WaitingColumn {
    /// Prefetches where a pair's place in the pool is noted.
    #[inline]
    pub(super) fn prefetch_slot(&self, link: u32) {
        self.slots.get(link as usize).into_iter().for_each(prefetch::<1, _>);
    }

    /// Prefetches what waits at a pair.
    #[inline]
    pub(super) fn prefetch(&self, link: u32) {
        self.get(link).into_iter().for_each(prefetch::<1, _>);
    }

    #[inline]
    pub(super) fn get(&self, link: u32) -> Option<&Waiting> {
        let slot = *self.slots.get(link as usize)?;
        self.pool.get((slot as usize).checked_sub(1)?)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, link: u32) -> Option<&mut Waiting> {
        let slot = *self.slots.get(link as usize)?;
        self.pool.get_mut((slot as usize).checked_sub(1)?)
    }

    /// What waits at a place; of `places`, if the column has to be made.
    #[inline]
    pub(super) fn get_or_insert(&mut self, link: u32, places: usize) -> &mut Waiting {
        if self.slots.len() <= link as usize {
            widen(&mut self.slots, places.max(link as usize + 1), 0);
        }
        let slot = &mut self.slots[link as usize];
        if *slot == 0 {
            *slot = self.free.pop().unwrap_or_else(|| {
                self.pool.push(Waiting::default());
                u32::try_from(self.pool.len()).expect("no more entries than receivers")
            });
        }
        &mut self.pool[*slot as usize - 1]
    }

    #[inline]
    pub(super) fn remove(&mut self, link: u32) {
        let Some(slot) = self.slots.get_mut(link as usize) else { return };
        if *slot != 0 {
            self.pool[*slot as usize - 1] = Waiting::default();
            self.free.push(core::mem::take(slot));
        }
    }

    /// Forgets a place at which nothing waits any more.
    pub(super) fn remove_if_empty(&mut self, link: u32) {
        if self.get(link).is_some_and(|waiting| waiting.placed.is_none() && waiting.first.is_none()) {
            self.remove(link);
        }
    }

    /// Whether nothing waits anywhere.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.pool.len()
    }
}

/// Shows what waits, not where the pool keeps it.
impl fmt::Debug for WaitingColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links = 0..self.slots.len() as u32;
        f.debug_map().entries(links.filter_map(|link| Some((link, self.get(link)?)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenkeel_core::Seed;

    use super::*;

    /// What a place is expected to hold.
    type Expected = (Option<DrSeq>, VecDeque<Arrived>);

    fn check(column: &WaitingColumn, expected: &BTreeMap<u32, Expected>) {
        for link in 0..9 {
            let held = column.get(link);
            let there = expected.get(&link);
            assert_eq!(held.and_then(|held| held.placed), there.and_then(|(placed, _)| *placed));
            let arrivals: Vec<Arrived> = held.into_iter().flat_map(Waiting::arrivals).collect();
            assert_eq!(arrivals, there.map_or_else(Vec::new, |(_, queue)| queue.iter().copied().collect()));
            assert_eq!(held.map_or(0, Waiting::len), arrivals.len());
            assert_eq!(held.and_then(Waiting::front), arrivals.first().copied());
        }
        assert_eq!(column.is_empty(), expected.is_empty());
    }

    #[test]
    fn every_place_has_a_queue_of_its_own() {
        let mut draws = Seed::new(1).draws();
        let (mut column, mut expected) = (WaitingColumn::default(), BTreeMap::<u32, Expected>::new());
        for step in 0..20_000_u32 {
            let link = draws.below(8) as u32;
            let arrived = (DrSeq(step), SessionTime::from_nanos(draws.below(1_000) as i64));
            match draws.below(10) {
                0..5 => {
                    column.get_or_insert(link, 4).push_back(arrived);
                    expected.entry(link).or_default().1.push_back(arrived);
                }
                5 => {
                    let placed = draws.below(2).eq(&0).then_some(arrived.0);
                    column.get_or_insert(link, 4).placed = placed;
                    expected.entry(link).or_default().0 = placed;
                }
                6 => {
                    column.remove(link);
                    expected.remove(&link);
                }
                7 => {
                    let keeps = |(_, at): Arrived| at > arrived.1;
                    column.get_mut(link).into_iter().for_each(|waiting| waiting.retain(keeps));
                    expected
                        .get_mut(&link)
                        .into_iter()
                        .for_each(|(_, queue)| queue.retain(|one| keeps(*one)));
                }
                _ => {
                    column.get_mut(link).into_iter().for_each(Waiting::pop_front);
                    expected.get_mut(&link).into_iter().for_each(|(_, queue)| _ = queue.pop_front());
                }
            }
            column.remove_if_empty(link);
            expected.retain(|_, (placed, queue)| placed.is_some() || !queue.is_empty());
            check(&column, &expected);
        }
        assert!(column.pool.len() <= 8, "{}", column.pool.len());
    }
}
