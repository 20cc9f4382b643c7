//! All lives, found by entity and vector number. Every acknowledgment looks one up: entities are mostly numbered consecutively,
//! and then a life's index is its entity's distance from the first.

use core::ops::{Index, IndexMut};

use super::life::{Life, Track};
use crate::prefetch::prefetch;

/// Cache lines of a track that an acknowledgment reads.
const NEEDED: usize = 3;

const _: () = assert!(size_of::<Option<Track>>() == size_of::<Track>(), "the option takes no extra space");

/// Lives and their tracks. A track keeps its place for as long as it lives.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracks {
    /// Sorted, with the places of their tracks.
    lives: Vec<(Life, u32)>,
    /// Indexed by place; empty places are reused.
    tracks: Vec<Option<Track>>,
    free: Vec<u32>,
    begun: u32,
}

impl Tracks {
    /// The index of the last life that is not after `life`.
    #[inline]
    fn up_to(&self, life: Life) -> Option<usize> {
        let first = self.lives.first()?.0.entity.0;
        let guess = life.entity.0.wrapping_sub(first) as usize;
        let is_up_to = self.lives.get(guess).is_some_and(|(known, _)| *known <= life);
        if is_up_to && self.lives.get(guess + 1).is_none_or(|(next, _)| *next > life) {
            return Some(guess);
        }
        self.lives.partition_point(|(known, _)| *known <= life).checked_sub(1)
    }

    /// The place of an entity's last life that begins at or before this number.
    #[inline]
    pub(super) fn last(&self, up_to: Life) -> Option<u32> {
        let (life, place) = self.lives[self.up_to(up_to)?];
        (life.entity == up_to.entity).then_some(place)
    }

    #[inline]
    pub(super) fn prefetch(&self, place: u32) {
        if let Some(track) = self.tracks.get(place as usize) {
            prefetch::<NEEDED, _>(track);
        }
    }

    pub(super) fn at(&self, place: u32) -> Option<&Track> {
        self.tracks.get(place as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn place(&self, life: Life) -> Option<u32> {
        let (known, place) = self.lives[self.up_to(life)?];
        (known == life).then_some(place)
    }

    pub(super) fn get(&self, life: Life) -> Option<&Track> {
        self.place(life).map(|place| &self[place])
    }

    pub(super) fn get_mut(&mut self, life: Life) -> Option<&mut Track> {
        self.place(life).map(|place| &mut self[place])
    }

    /// The entity's previous life.
    pub(super) fn before(&self, life: Life) -> Option<&Track> {
        let later = self.lives.partition_point(|(known, _)| *known < life);
        let (known, place) = self.lives[later.checked_sub(1)?];
        (known.entity == life.entity).then(|| &self[place])
    }

    pub(super) fn insert(&mut self, mut track: Track) -> u32 {
        let life = track.life;
        self.begun = self.begun.wrapping_add(1).max(1);
        track.id = self.begun;
        let place = self.free.pop().unwrap_or_else(|| {
            super::push(&mut self.tracks, None);
            u32::try_from(self.tracks.len() - 1).expect("fewer than 2^32 lives")
        });
        track.place = place;
        self.tracks[place as usize] = Some(track);
        let index = self.lives.partition_point(|(known, _)| *known < life);
        self.lives.insert(index, (life, place));
        place
    }

    pub(super) fn remove(&mut self, life: Life) -> Option<Track> {
        let index = self.up_to(life).filter(|index| self.lives[*index].0 == life)?;
        let (_, place) = self.lives.remove(index);
        self.free.push(place);
        self.tracks[place as usize].take()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Track> + '_ {
        self.lives.iter().map(|(_, place)| &self[*place])
    }

    pub(super) fn by_place(&self) -> impl Iterator<Item = &Track> + '_ {
        self.tracks.iter().flatten()
    }

    pub(super) fn for_each(&mut self, mut act: impl FnMut(&mut Track)) {
        for (_, place) in &self.lives {
            act(self.tracks[*place as usize].as_mut().expect("a life has a track"));
        }
    }
}

impl Index<u32> for Tracks {
    type Output = Track;

    #[inline]
    fn index(&self, place: u32) -> &Track {
        self.tracks[place as usize].as_ref().expect("a life has a track")
    }
}

impl IndexMut<u32> for Tracks {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut Track {
        self.tracks[place as usize].as_mut().expect("a life has a track")
    }
}
