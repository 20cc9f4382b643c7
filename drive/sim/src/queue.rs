//! The event queue: ordered by time, then by insertion, so that simultaneous events happen in the order of
//! their causes.
//!
//! Events are small `Copy` values; anything large stays outside and the event holds its index.
//!
//! A short queue is a sorted list. A long one is a calendar queue: a ring of unsorted buckets of a
//! millisecond each. Only the current bucket becomes a heap, which stays small, and events beyond the ring
//! wait in a heap of their own. So the cost of an event hardly depends on the length of the queue.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use evenkeel_link::TrueTime;

/// A bucket spans 2 to this many nanoseconds, about a millisecond.
const WIDTH: u32 = 20;
/// The ring spans a second, longer than nearly all delays.
const BUCKETS: usize = 1024;
/// The length above which the queue becomes a calendar.
const LIST_MAX: usize = 64;
/// The length below which it becomes a list again.
const CALENDAR_MIN: usize = 16;

/// An event queue. Simultaneous events come in the order of their insertion.
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    list: SortedList<T>,
    calendar: Option<Box<Calendar<T>>>,
    inserted: u64,
}

/// A short queue, in order of time.
#[derive(Debug)]
struct SortedList<T> {
    entries: Vec<Entry<T>>,
    /// Index of the next event; those before it have happened.
    first: usize,
}

/// A long queue.
#[derive(Debug)]
struct Calendar<T> {
    /// Events in the current bucket or before it.
    near: BinaryHeap<Entry<T>>,
    /// The number of the current bucket.
    current: i64,
    /// Events in later buckets, each at its number modulo `BUCKETS`.
    ring: Vec<Vec<Entry<T>>>,
    /// A bit for each bucket of the ring that is not empty.
    filled: [u64; BUCKETS / 64],
    waiting: usize,
    /// Events beyond the ring.
    far: BinaryHeap<Entry<T>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: TrueTime,
    number: u64,
    event: T,
}

impl<T> Entry<T> {
    const fn bucket(&self) -> i64 {
        self.at.as_nanos() >> WIDTH
    }

    /// Time and insertion number in one integer, which compares without a branch.
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
        // Reversed, because the heap yields its maximum.
        other.key().cmp(&self.key())
    }
}

impl<T: Copy> EventQueue<T> {
    pub(crate) const fn new() -> Self {
        Self { list: SortedList { entries: Vec::new(), first: 0 }, calendar: None, inserted: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, at: TrueTime, event: T) {
        let entry = Entry { at, number: self.inserted, event };
        self.inserted += 1;
        match &mut self.calendar {
            Some(calendar) => calendar.push(entry),
            None if self.list.len() == LIST_MAX => self.begin_calendar(entry),
            None => self.list.insert(entry),
        }
    }

    /// Removes the next event if it happens no later than `until`.
    #[inline]
    pub(crate) fn pop_until(&mut self, until: TrueTime) -> Option<(TrueTime, T)> {
        let Some(calendar) = &mut self.calendar else {
            let Entry { at, event, .. } = self.list.pop_until(until)?;
            return Some((at, event));
        };
        let Entry { at, event, .. } = calendar.pop_until(until)?;
        if calendar.len() < CALENDAR_MIN {
            self.end_calendar();
        }
        Some((at, event))
    }

    #[cold]
    fn begin_calendar(&mut self, entry: Entry<T>) {
        self.list.insert(entry);
        let first = self.list.waiting()[0].bucket();
        let mut calendar = Box::new(Calendar {
            near: BinaryHeap::new(),
            current: first,
            ring: (0..BUCKETS).map(|_| Vec::new()).collect(),
            filled: [0; BUCKETS / 64],
            waiting: 0,
            far: BinaryHeap::new(),
        });
        for entry in self.list.waiting() {
            calendar.push(*entry);
        }
        self.list.clear();
        self.calendar = Some(calendar);
    }

    #[cold]
    fn end_calendar(&mut self) {
        let Some(mut calendar) = self.calendar.take() else { return };
        let list = &mut self.list.entries;
        list.extend(calendar.near);
        list.extend(calendar.ring.iter_mut().flat_map(|bucket| bucket.drain(..)));
        list.append(&mut calendar.far.into_vec());
        list.sort_unstable_by_key(Entry::key);
    }
}

impl<T: Copy> SortedList<T> {
    fn waiting(&self) -> &[Entry<T>] {
        &self.entries[self.first..]
    }

    fn len(&self) -> usize {
        self.entries.len() - self.first
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.first = 0;
    }

    /// Early events have few entries before them and late ones few behind; those are moved one by one.
    /// Entries with the same time have smaller numbers and stay before.
    #[inline]
    fn insert(&mut self, entry: Entry<T>) {
        let middle = self.entries.get(self.first + self.len() / 2);
        if self.first > 0 && middle.is_some_and(|middle| entry.at < middle.at) {
            self.first -= 1;
            let mut gap = &mut self.entries[self.first..];
            while let [here, next, ..] = gap
                && next.at <= entry.at
            {
                *here = *next;
                gap = &mut gap[1..];
            }
            gap[0] = entry;
            return;
        }
        if self.entries.len() >= 2 * LIST_MAX {
            self.entries.drain(..self.first);
            self.first = 0;
        }
        self.entries.push(entry);
        let mut gap = &mut self.entries[self.first..];
        while let [before @ .., last, here] = gap
            && last.at > entry.at
        {
            *here = *last;
            let len = before.len() + 1;
            gap = &mut gap[..len];
        }
        let last = gap.len() - 1;
        gap[last] = entry;
    }

    #[inline]
    fn pop_until(&mut self, until: TrueTime) -> Option<Entry<T>> {
        let next = *self.entries.get(self.first).filter(|next| next.at <= until)?;
        self.first += 1;
        Some(next)
    }
}

impl<T: Copy> Calendar<T> {
    fn len(&self) -> usize {
        self.near.len() + self.waiting + self.far.len()
    }

    fn push(&mut self, entry: Entry<T>) {
        let bucket = entry.bucket();
        if bucket <= self.current {
            self.near.push(entry);
            return;
        }
        // Less than one ring ahead, or two buckets would share a slot.
        if bucket - self.current >= BUCKETS as i64 {
            self.far.push(entry);
            return;
        }
        let slot = slot(bucket);
        self.filled[slot / 64] |= 1 << (slot % 64);
        self.ring[slot].push(entry);
        self.waiting += 1;
    }

    fn pop_until(&mut self, until: TrueTime) -> Option<Entry<T>> {
        if self.near.is_empty() {
            self.open_next_bucket();
        }
        let next = self.near.peek_mut()?;
        if next.at > until { None } else { Some(PeekMut::pop(next)) }
    }

    /// Makes the next bucket that is not empty the current one.
    fn open_next_bucket(&mut self) {
        if self.waiting == 0 {
            let Some(first) = self.far.peek() else { return };
            self.current = first.bucket() - 1;
            self.refill();
        }
        let slot = self.next_filled();
        self.current += (slot + BUCKETS - self::slot(self.current)) as i64 & (BUCKETS as i64 - 1);
        self.filled[slot / 64] &= !(1 << (slot % 64));
        let emptied = core::mem::take(&mut self.near).into_vec();
        let bucket = core::mem::replace(&mut self.ring[slot], emptied);
        self.waiting -= bucket.len();
        self.near = BinaryHeap::from(bucket);
        self.refill();
    }

    /// Moves events from `far` that the ring reaches now.
    fn refill(&mut self) {
        while let Some(first) = self.far.peek()
            && first.bucket() - self.current < BUCKETS as i64
        {
            let entry = self.far.pop().expect("peek saw an event");
            self.push(entry);
        }
    }

    /// Returns the slot of the next bucket that is not empty. There must be one.
    fn next_filled(&self) -> usize {
        let start = slot(self.current + 1);
        let behind = self.filled[start / 64] & (u64::MAX << (start % 64));
        if behind != 0 {
            return start / 64 * 64 + behind.trailing_zeros() as usize;
        }
        let words = (1..=BUCKETS / 64).map(|step| (start / 64 + step) % (BUCKETS / 64));
        let word = words.into_iter().find(|word| self.filled[*word] != 0).expect("some bucket is not empty");
        word * 64 + self.filled[word].trailing_zeros() as usize
    }
}

const fn slot(bucket: i64) -> usize {
    bucket as usize & (BUCKETS - 1)
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
    fn events_come_by_time_and_then_by_insertion() {
        let mut queue = EventQueue::new();
        for (event, at) in [5, -3, 5, 0, 5, -3].into_iter().enumerate() {
            queue.push(TrueTime::from_nanos(at), event as u32);
        }
        assert_eq!(drained(&mut queue), [(-3, 1), (-3, 5), (0, 3), (5, 0), (5, 2), (5, 4)]);
    }

    /// The queue against a plain heap, with events near, far, simultaneous, and earlier than what was popped
    /// last.
    #[test]
    fn the_order_matches_a_plain_heap_at_any_length() {
        let mut random = 1u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let (mut queue, mut heap, mut now) = (EventQueue::new(), BinaryHeap::new(), 0i64);
        let mut number = 0u64;
        for round in 0..6 {
            for _ in 0..20_000 {
                // The queue fills up and empties in turns.
                if draw(100) < if round % 2 == 0 { 60 } else { 38 } {
                    let ahead = match draw(10) {
                        0 => 0,
                        1 => -(draw(3_000_000) as i64),
                        2 => draw(5_000_000_000) as i64,
                        3 => (draw(5) << WIDTH) as i64,
                        _ => draw(800_000_000) as i64,
                    };
                    let at = TrueTime::from_nanos(now + ahead);
                    queue.push(at, number as u32);
                    heap.push(Entry { at, number, event: number as u32 });
                    number += 1;
                } else {
                    let until = TrueTime::from_nanos(now + draw(20_000_000) as i64);
                    let expected = heap.peek().filter(|entry| entry.at <= until).copied();
                    assert_eq!(queue.pop_until(until), expected.map(|entry| (entry.at, entry.event)));
                    if expected.is_some() {
                        heap.pop();
                    } else {
                        now = until.as_nanos();
                    }
                }
            }
        }
        while let Some(Entry { at, event, .. }) = heap.pop() {
            assert_eq!(queue.pop_until(TrueTime::MAX), Some((at, event)));
        }
        assert_eq!(queue.pop_until(TrueTime::MAX), None);
    }

    #[test]
    fn no_event_is_popped_before_its_time() {
        let mut queue = EventQueue::new();
        queue.push(TrueTime::from_nanos(10), 1);
        assert_eq!(queue.pop_until(TrueTime::from_nanos(9)), None);
        assert_eq!(queue.pop_until(TrueTime::from_nanos(10)), Some((TrueTime::from_nanos(10), 1)));
        assert_eq!(queue.pop_until(TrueTime::MAX), None);
    }
}
