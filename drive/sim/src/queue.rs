//! What happens next.
//!
//! A binary heap of small `Copy` entries, ordered by time and then by insertion, so that things of the same
//! instant happen in the order in which they were caused. Whatever is big stays outside and the entry holds
//! its index. The interface is narrow on purpose: a calendar queue or a ladder could take the heap's place
//! without anybody noticing.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use evenkeel_link::TrueTime;

/// A queue of events by time; those of the same time come in the order of their insertion.
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    heap: BinaryHeap<Entry<T>>,
    inserted: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: TrueTime,
    number: u64,
    event: T,
}

impl<T> Entry<T> {
    /// Both parts of the order as one number, which compares without a branch.
    fn key(&self) -> u128 {
        let at = self.at.as_nanos() as u64 ^ (1 << 63);
        (u128::from(at) << 64) | u128::from(self.number)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: the heap's greatest is the earliest.
        other.key().cmp(&self.key())
    }
}

impl<T: Copy> EventQueue<T> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), inserted: 0 }
    }

    pub(crate) fn push(&mut self, at: TrueTime, event: T) {
        self.heap.push(Entry { at, number: self.inserted, event });
        self.inserted += 1;
    }

    /// Takes the next event if it happens no later than `until`.
    pub(crate) fn pop_until(&mut self, until: TrueTime) -> Option<(TrueTime, T)> {
        let next = self.heap.peek_mut()?;
        if next.at > until {
            return None;
        }
        let Entry { at, event, .. } = PeekMut::pop(next);
        Some((at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(queue: &mut EventQueue<u32>) -> Vec<(i64, u32)> {
        std::iter::from_fn(|| queue.pop_until(TrueTime::MAX))
            .map(|(at, event)| (at.as_nanos(), event))
            .collect()
    }

    #[test]
    fn events_come_by_time_and_those_of_one_instant_by_insertion() {
        let mut queue = EventQueue::new();
        for (event, at) in [5, -3, 5, 0, 5, -3].into_iter().enumerate() {
            queue.push(TrueTime::from_nanos(at), event as u32);
        }
        assert_eq!(drained(&mut queue), [(-3, 1), (-3, 5), (0, 3), (5, 0), (5, 2), (5, 4)]);
    }

    #[test]
    fn nothing_is_popped_before_its_time() {
        let mut queue = EventQueue::new();
        queue.push(TrueTime::from_nanos(10), 1);
        assert_eq!(queue.pop_until(TrueTime::from_nanos(9)), None);
        assert_eq!(queue.pop_until(TrueTime::from_nanos(10)), Some((TrueTime::from_nanos(10), 1)));
        assert_eq!(queue.pop_until(TrueTime::MAX), None);
    }
}
