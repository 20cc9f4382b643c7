//! What is kept for each peer, or for each entity, found by its number.
//!
//! Every message and every look asks for it several times. Whoever lets peers in, or makes entities, numbers them one after the other, so
//! that the place of one is its distance from the first, or before that if others have gone; only then it is searched for.

use evenkeel_core::PeerId;

use crate::vector::EntityId;

/// What has a number.
pub(crate) trait Numbered: Copy + Ord {
    /// It.
    fn number(self) -> u32;
}

impl Numbered for PeerId {
    #[inline]
    fn number(self) -> u32 {
        self.0
    }
}

impl Numbered for EntityId {
    #[inline]
    fn number(self) -> u32 {
        self.0
    }
}

/// One value for each, in the order of their numbers.
#[derive(Clone, Debug)]
pub(crate) struct ByNumber<K, T> {
    ids: Vec<K>,
    values: Vec<T>,
}

/// One value for each peer.
pub(crate) type Peers<T> = ByNumber<PeerId, T>;
/// One value for each entity.
pub(crate) type Entities<T> = ByNumber<EntityId, T>;

impl<K: Numbered, T> Default for ByNumber<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Numbered, T> ByNumber<K, T> {
    pub(crate) const fn new() -> Self {
        Self { ids: Vec::new(), values: Vec::new() }
    }

    /// Where one is, or where it would be.
    #[inline]
    fn place(&self, id: K) -> Result<usize, usize> {
        let Some(first) = self.ids.first() else { return Err(0) };
        let guess = id.number().wrapping_sub(first.number()) as usize;
        if self.ids.get(guess) == Some(&id) { Ok(guess) } else { self.ids.binary_search(&id) }
    }

    #[inline]
    pub(crate) fn get(&self, id: K) -> Option<&T> {
        self.place(id).ok().map(|place| &self.values[place])
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: K) -> Option<&mut T> {
        self.place(id).ok().map(|place| &mut self.values[place])
    }

    #[inline]
    pub(crate) fn contains(&self, id: K) -> bool {
        self.place(id).is_ok()
    }

    /// Keeps this for one, instead of what was kept for it.
    pub(crate) fn insert(&mut self, id: K, value: T) {
        match self.place(id) {
            Ok(place) => self.values[place] = value,
            Err(place) => {
                self.ids.insert(place, id);
                self.values.insert(place, value);
            }
        }
    }

    pub(crate) fn remove(&mut self, id: K) -> Option<T> {
        let place = self.place(id).ok()?;
        self.ids.remove(place);
        let value = self.values.remove(place);
        self.give_room_back();
        Some(value)
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = K> + '_ {
        self.ids.iter().copied()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> + '_ {
        self.values.iter()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &T)> + '_ {
        self.ids.iter().copied().zip(&self.values)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut T)> + '_ {
        self.ids.iter().copied().zip(&mut self.values)
    }

    /// What is kept for one; the default if that is nothing.
    pub(crate) fn entry(&mut self, id: K) -> &mut T
    where
        T: Default,
    {
        let place = self.place(id).unwrap_or_else(|place| {
            self.ids.insert(place, id);
            self.values.insert(place, T::default());
            place
        });
        &mut self.values[place]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Forgets what is not to be kept.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(K, &mut T) -> bool) {
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
        self.give_room_back();
    }

    fn give_room_back(&mut self) {
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
    fn it_is_a_map_by_number_whoever_comes_and_goes() {
        let mut draws = Seed::new(1).draws();
        let (mut peers, mut map) = (Peers::new(), BTreeMap::new());
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
