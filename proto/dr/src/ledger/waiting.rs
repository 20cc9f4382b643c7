//! Reported arrivals that wait for the exported path to become known. At an owner none does; at a relay it is nearly always one.

use std::collections::VecDeque;

use evenkeel_core::SessionTime;

use crate::vector::DrSeq;

/// An arrival: which vector, and when.
pub(super) type Arrived = (DrSeq, SessionTime);

/// Arrivals in order; `None`: there is none.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Option<Box<Line>>);

#[derive(Clone, Debug)]
struct Line {
    first: Arrived,
    /// Boxed: there are very many accounts, and few have any.
    #[allow(clippy::box_collection)]
    more: Option<Box<VecDeque<Arrived>>>,
}

impl Waiting {
    pub(super) fn front(&self) -> Option<Arrived> {
        self.0.as_ref().map(|line| line.first)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn len(&self) -> usize {
        let more = |line: &Line| line.more.as_ref().map_or(0, |more| more.len());
        self.0.as_ref().map_or(0, |line| 1 + more(line))
    }

    pub(super) fn push_back(&mut self, arrived: Arrived) {
        match &mut self.0 {
            None => self.0 = Some(Box::new(Line { first: arrived, more: None })),
            Some(line) => line.more.get_or_insert_default().push_back(arrived),
        }
    }

    pub(super) fn pop_front(&mut self) {
        let Some(line) = &mut self.0 else { return };
        match line.more.as_mut().and_then(|more| more.pop_front()) {
            Some(next) => line.first = next,
            None => return self.0 = None,
        }
        line.more.take_if(|more| more.is_empty());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Arrived> + '_ {
        let more = self.0.iter().filter_map(|line| line.more.as_ref());
        self.front().into_iter().chain(more.flat_map(|more| more.iter().copied()))
    }

    pub(super) fn retain(&mut self, keeps: impl Fn(Arrived) -> bool) {
        if self.is_empty() {
            return;
        }
        let kept: VecDeque<Arrived> = self.iter().filter(|arrived| keeps(*arrived)).collect();
        *self = Self::default();
        kept.into_iter().for_each(|arrived| self.push_back(arrived));
    }
}
