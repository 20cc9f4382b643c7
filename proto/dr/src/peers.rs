//! What is kept for each peer, found by its number.
//!
//! Every message asks for it several times. Whoever lets peers in numbers them one after the other, so that a peer's place is
//! its distance from the first, or before that if others have gone; only then it is searched for.

use evenkeel_core::PeerId;

/// One value for each peer, in the order of their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Peers<T> {
    ids: Vec<PeerId>,
    values: Vec<T>,
}

impl<T> Default for Peers<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Peers<T> {
    pub(crate) const fn new() -> Self {
        Self { ids: Vec::new(), values: Vec::new() }
    }

    /// Where a peer is, or where it would be.
    #[inline]
    fn place(&self, peer: PeerId) -> Result<usize, usize> {
        let Some(first) = self.ids.first() else { return Err(0) };
        let guess = peer.0.wrapping_sub(first.0) as usize;
        if self.ids.get(guess) == Some(&peer) { Ok(guess) } else { self.ids.binary_search(&peer) }
    }

    #[inline]
    pub(crate) fn get(&self, peer: PeerId) -> Option<&T> {
        self.place(peer).ok().map(|place| &self.values[place])
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, peer: PeerId) -> Option<&mut T> {
        self.place(peer).ok().map(|place| &mut self.values[place])
    }

    #[inline]
    pub(crate) fn contains(&self, peer: PeerId) -> bool {
        self.place(peer).is_ok()
    }

    /// Keeps this for a peer, instead of what was kept for it.
    pub(crate) fn insert(&mut self, peer: PeerId, value: T) {
        match self.place(peer) {
            Ok(place) => self.values[place] = value,
            Err(place) => {
                self.ids.insert(place, peer);
                self.values.insert(place, value);
            }
        }
    }

    pub(crate) fn remove(&mut self, peer: PeerId) -> Option<T> {
        let place = self.place(peer).ok()?;
        self.ids.remove(place);
        Some(self.values.remove(place))
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PeerId> + '_ {
        self.ids.iter().copied()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> + '_ {
        self.values.iter()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PeerId, &T)> + '_ {
        self.ids.iter().copied().zip(&self.values)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (PeerId, &mut T)> + '_ {
        self.ids.iter().copied().zip(&mut self.values)
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
            match draws.below(4) {
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
