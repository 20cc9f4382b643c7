//! Reported arrivals that are not settled: at an owner until the fate of what was sent before them is known, at a relay until the exported
//! path is. Few pairs have any, and these nearly always one: those of all pairs of a receiver are in one pool.

use evenkeel_core::SessionTime;

use crate::vector::DrSeq;

/// An arrival: which vector, and when.
pub(super) type Arrived = (DrSeq, SessionTime);

/// The arrivals of one pair: the place of the first one, and one more; 0: there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Queue(u32);

impl Queue {
    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn place(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

#[derive(Clone, Copy, Debug)]
struct Line {
    at: SessionTime,
    seq: DrSeq,
    /// What comes after it.
    next: Queue,
}

/// The arrivals of all pairs of one receiver, in a queue for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    lines: Vec<Line>,
    /// Lines that are in no queue.
    free: Queue,
}

impl Waiting {
    #[inline]
    pub(super) fn front(&self, queue: Queue) -> Option<Arrived> {
        self.iter(queue).next()
    }

    #[inline]
    pub(super) fn iter(&self, queue: Queue) -> impl Iterator<Item = Arrived> + '_ {
        let mut queue = queue;
        core::iter::from_fn(move || {
            let Line { at, seq, next } = self.lines[queue.place()?];
            queue = next;
            Some((seq, at))
        })
    }

    pub(super) fn push_back(&mut self, queue: &mut Queue, (seq, at): Arrived) {
        let line = Line { at, seq, next: Queue::default() };
        let new = match self.free.place() {
            Some(place) => {
                let free = core::mem::replace(&mut self.free, self.lines[place].next);
                self.lines[place] = line;
                free
            }
            None => {
                super::push(&mut self.lines, line);
                Queue(u32::try_from(self.lines.len()).expect("fewer arrivals than fit in any memory"))
            }
        };
        let mut end = queue;
        while let Some(place) = end.place() {
            end = &mut self.lines[place].next;
        }
        *end = new;
    }

    pub(super) fn pop_front(&mut self, queue: &mut Queue) {
        let Some(place) = queue.place() else { return };
        let next = core::mem::replace(&mut self.lines[place].next, self.free);
        self.free = core::mem::replace(queue, next);
    }

    /// Only those are left that are to be kept.
    pub(super) fn retain(&mut self, queue: &mut Queue, keeps: impl Fn(Arrived) -> bool) {
        let kept: Vec<Arrived> = self.iter(*queue).filter(|arrived| keeps(*arrived)).collect();
        while queue.place().is_some() {
            self.pop_front(queue);
        }
        kept.into_iter().for_each(|arrived| self.push_back(queue, arrived));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use evenkeel_core::Seed;

    use super::*;

    #[test]
    fn they_are_queues_whoever_waits() {
        let mut draws = Seed::new(1).draws();
        let mut waiting = Waiting::default();
        let mut all = vec![(Queue::default(), VecDeque::<Arrived>::new()); 4];
        for step in 0..20_000_u32 {
            let (queue, known) = &mut all[draws.below(4) as usize];
            let arrived = (DrSeq(step), SessionTime::from_nanos(draws.below(1_000) as i64));
            match draws.below(8) {
                0..4 if known.len() < 9 => {
                    waiting.push_back(queue, arrived);
                    known.push_back(arrived);
                }
                4 => {
                    waiting.retain(queue, |(_, at)| at > arrived.1);
                    known.retain(|(_, at)| *at > arrived.1);
                }
                _ => {
                    waiting.pop_front(queue);
                    known.pop_front();
                }
            }
            for (queue, known) in &all {
                assert_eq!(waiting.front(*queue), known.front().copied());
                assert!(waiting.iter(*queue).eq(known.iter().copied()));
            }
        }
        assert!((4..=36).contains(&waiting.lines.len()), "{}", waiting.lines.len());
    }
}
