//! Dense maps from small numbers: peers, entities.
//!
//! Every message looks several of them up. Drivers number peers and games number entities consecutively, so an entry's
//! index is guessed as its distance from the first id; only a wrong guess costs a binary search.

use evenkeel_core::PeerId;

/// An id that is a number.
pub trait Numbered: Copy + Ord {
    /// The number.
    fn number(self) -> u32;
}

impl Numbered for PeerId {
    #[inline]
    fn number(self) -> u32 {
        self.0
    }
}

/// A map in the order of its ids.
#[derive(Clone, Debug)]
pub struct IdMap<K, T> {
    ids: Vec<K>,
    values: Vec<T>,
}

/// One value for each peer.
pub type PeerMap<T> = IdMap<PeerId, T>;

impl<K: Numbered, T> Default for IdMap<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Numbered, T> IdMap<K, T> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self { ids: Vec::new(), values: Vec::new() }
    }

    /// The index of an id, or the one where it would be inserted.
    #[inline]
    fn index(&self, id: K) -> Result<usize, usize> {
        let Some(first) = self.ids.first() else { return Err(0) };
        let guess = id.number().wrapping_sub(first.number()) as usize;
        if self.ids.get(guess) == Some(&id) { Ok(guess) } else { self.ids.binary_search(&id) }
    }

    /// The value of an id.
    #[inline]
    pub fn get(&self, id: K) -> Option<&T> {
        self.index(id).ok().map(|index| &self.values[index])
    }

    /// The value of an id, mutably.
    #[inline]
    pub fn get_mut(&mut self, id: K) -> Option<&mut T> {
        self.index(id).ok().map(|index| &mut self.values[index])
    }

    /// Whether the map has this id.
    #[inline]
    pub fn contains(&self, id: K) -> bool {
        self.index(id).is_ok()
    }

    /// Sets the value of an id.
    pub fn insert(&mut self, id: K, value: T) {
        match self.index(id) {
            Ok(index) => self.values[index] = value,
            Err(index) => {
                self.ids.insert(index, id);
                self.values.insert(index, value);
            }
        }
    }

    /// Removes an id and returns its value.
    pub fn remove(&mut self, id: K) -> Option<T> {
        let index = self.index(id).ok()?;
        self.ids.remove(index);
        let value = self.values.remove(index);
        self.shrink();
        Some(value)
    }

    /// The value of an id, inserted by default.
    pub fn entry(&mut self, id: K) -> &mut T
    where
        T: Default,
    {
        let index = self.index(id).unwrap_or_else(|index| {
            self.ids.insert(index, id);
            self.values.insert(index, T::default());
            index
        });
        &mut self.values[index]
    }

    /// Keeps only the entries for which `is_kept` returns true.
    pub fn retain(&mut self, mut is_kept: impl FnMut(K, &mut T) -> bool) {
        let Self { ids, values } = self;
        let (mut at, mut kept) = (0, 0);
        values.retain_mut(|value| {
            let id = ids[at];
            at += 1;
            let is_kept = is_kept(id, value);
            if is_kept {
                ids[kept] = id;
                kept += 1;
            }
            is_kept
        });
        ids.truncate(kept);
        self.shrink();
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = K> + '_ {
        self.ids.iter().copied()
    }

    /// All values, in the order of their ids.
    pub fn values(&self) -> impl Iterator<Item = &T> + '_ {
        self.values.iter()
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (K, &T)> + '_ {
        self.ids.iter().copied().zip(&self.values)
    }

    /// All entries, in order, mutably.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut T)> + '_ {
        self.ids.iter().copied().zip(&mut self.values)
    }

    fn shrink(&mut self) {
        let len = self.ids.len();
        if self.ids.capacity() > 4 * (len + 1) {
            self.ids.shrink_to(2 * len);
            self.values.shrink_to(2 * len);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenkeel_core::Seed;

    use super::*;

    /// Numbers near each other with gaps, and far ones.
    #[test]
    fn behaves_like_an_ordered_map() {
        let mut draws = Seed::new(1).draws();
        let (mut peers, mut map) = (PeerMap::new(), BTreeMap::new());
        for value in 0..20_000u64 {
            let far = if draws.chance(0.1) { u64::from(u32::MAX) - 20 } else { 30 };
            let peer = PeerId((far + draws.below(21)) as u32);
            match draws.below(6) {
                4 => assert_eq!(peers.entry(peer), map.entry(peer).or_default()),
                5 if value % 100 == 0 => {
                    peers.retain(|peer, value| (u64::from(peer.0) + *value) % 3 > 0);
                    map.retain(|peer, value| (u64::from(peer.0) + *value) % 3 > 0);
                }
                0 => {
                    peers.insert(peer, value);
                    map.insert(peer, value);
                }
                1 => assert_eq!(peers.remove(peer), map.remove(&peer)),
                2 => assert_eq!(peers.get_mut(peer), map.get_mut(&peer)),
                _ => assert_eq!(
                    (peers.get(peer), peers.contains(peer)),
                    (map.get(&peer), map.contains_key(&peer))
                ),
            }
            assert_eq!(peers.len(), map.len());
            assert!(peers.iter().eq(map.iter().map(|(peer, value)| (*peer, value))));
        }
    }
}
