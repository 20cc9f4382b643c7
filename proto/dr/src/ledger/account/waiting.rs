//! Reported arrivals that wait for the exported path to become known. Nearly always there is one at most, and that for a moment:
//! it takes no room of its own.

use std::collections::VecDeque;

use evenkeel_core::SessionTime;

use crate::vector::DrSeq;

/// An arrival: which vector, and when.
type Arrived = (DrSeq, SessionTime);

/// Arrivals in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    first: Option<Arrived>,
    /// Boxed: there are very many accounts, and few have any.
    #[allow(clippy::box_collection)]
    more: Option<Box<VecDeque<Arrived>>>,
}

impl Waiting {
    pub(super) fn front(&self) -> Option<Arrived> {
        self.first
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.as_ref().map_or(0, |more| more.len())
    }

    pub(super) fn push_back(&mut self, arrived: Arrived) {
        match self.first {
            None => self.first = Some(arrived),
            Some(_) => self.more.get_or_insert_default().push_back(arrived),
        }
    }

    pub(super) fn pop_front(&mut self) {
        self.first = self.more.as_mut().and_then(|more| more.pop_front());
        self.more.take_if(|more| more.is_empty());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Arrived> + '_ {
        self.first.into_iter().chain(self.more.iter().flat_map(|more| more.iter().copied()))
    }

    pub(super) fn retain(&mut self, keeps: impl Fn(Arrived) -> bool) {
        let kept: VecDeque<Arrived> = self.iter().filter(|arrived| keeps(*arrived)).collect();
        *self = Self::default();
        kept.into_iter().for_each(|arrived| self.push_back(arrived));
    }
}
