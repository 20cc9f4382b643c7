//! What happens next.
//!
//! Small `Copy` entries, ordered by time and then by insertion, so that things of the same instant happen in the order in
//! which they were caused. Whatever is big stays outside and the entry holds its index.
//!
//! While few wait, they are in a list in their order, which has room at both ends. When many do, most of them are in a
//! calendar: a ring of buckets of a millisecond each, which are not in order inside. Only the bucket whose time has come is
//! made a heap, and a small one; what lies beyond the ring waits in a heap of its own. So an event costs about the same
//! however many others wait.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use evenkeel_link::TrueTime;

/// A bucket is 2 to this many nanoseconds long: a millisecond.
const WIDTH: u32 = 20;
/// The ring is a second long: more than nearly everything takes.
const BUCKETS: usize = 1024;
/// With more than this a calendar is begun, with fewer than that it is given up.
const MANY: usize = 64;
const FEW: usize = 16;

/// A queue of events by time; those of the same time come in the order of their insertion.
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    few: Few<T>,
    calendar: Option<Box<Calendar<T>>>,
    inserted: u64,
}

/// All while there is no calendar, in their order.
#[derive(Debug)]
struct Few<T> {
    entries: Vec<Entry<T>>,
    /// The place of the next one. What is before it has happened.
    first: usize,
}

/// All while there are many.
#[derive(Debug)]
struct Calendar<T> {
    /// What happens in the bucket whose time has come, or before it.
    near: BinaryHeap<Entry<T>>,
    /// The number of that bucket.
    present: i64,
    /// Those after it, each at its number modulo their number.
    ring: Vec<Vec<Entry<T>>>,
    /// A bit for each bucket of the ring that holds something.
    filled: [u64; BUCKETS / 64],
    waiting: usize,
    /// Beyond the ring.
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
        Self { few: Few { entries: Vec::new(), first: 0 }, calendar: None, inserted: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, at: TrueTime, event: T) {
        let entry = Entry { at, number: self.inserted, event };
        self.inserted += 1;
        match &mut self.calendar {
            Some(calendar) => calendar.push(entry),
            None if self.few.len() == MANY => self.begin_calendar(entry),
            None => self.few.insert(entry),
        }
    }

    /// Takes the next event if it happens no later than `until`.
    #[inline]
    pub(crate) fn pop_until(&mut self, until: TrueTime) -> Option<(TrueTime, T)> {
        let Some(calendar) = &mut self.calendar else {
            let Entry { at, event, .. } = self.few.pop_until(until)?;
            return Some((at, event));
        };
        let Entry { at, event, .. } = calendar.pop_until(until)?;
        if calendar.len() < FEW {
            self.give_up_calendar();
        }
        Some((at, event))
    }

    #[cold]
    fn begin_calendar(&mut self, entry: Entry<T>) {
        self.few.insert(entry);
        let first = self.few.waiting()[0].bucket();
        let mut calendar = Box::new(Calendar {
            near: BinaryHeap::new(),
            present: first,
            ring: (0..BUCKETS).map(|_| Vec::new()).collect(),
            filled: [0; BUCKETS / 64],
            waiting: 0,
            far: BinaryHeap::new(),
        });
        for entry in self.few.waiting() {
            calendar.push(*entry);
        }
        self.few.clear();
        self.calendar = Some(calendar);
    }

    #[cold]
    fn give_up_calendar(&mut self) {
        let Some(mut calendar) = self.calendar.take() else { return };
        let few = &mut self.few.entries;
        few.extend(calendar.near);
        few.extend(calendar.ring.iter_mut().flat_map(|bucket| bucket.drain(..)));
        few.append(&mut calendar.far.into_vec());
        few.sort_unstable_by_key(Entry::key);
    }
}

impl<T: Copy> Few<T> {
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

    /// What comes soon has few before it, what comes late has few behind it; these are moved, each by itself. Whatever has the same time
    /// has a smaller number.
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
        if self.entries.len() >= 2 * MANY {
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
        if bucket <= self.present {
            self.near.push(entry);
            return;
        }
        // At most one ring ahead, or two buckets would have one place.
        if bucket - self.present >= BUCKETS as i64 {
            self.far.push(entry);
            return;
        }
        let place = place(bucket);
        self.filled[place / 64] |= 1 << (place % 64);
        self.ring[place].push(entry);
        self.waiting += 1;
    }

    fn pop_until(&mut self, until: TrueTime) -> Option<Entry<T>> {
        if self.near.is_empty() {
            self.open_next();
        }
        let next = self.near.peek_mut()?;
        if next.at > until { None } else { Some(PeekMut::pop(next)) }
    }

    /// The next bucket that holds something becomes the present one.
    fn open_next(&mut self) {
        if self.waiting == 0 {
            let Some(first) = self.far.peek() else { return };
            self.present = first.bucket() - 1;
            self.draw_near();
        }
        let place = self.next_filled();
        self.present += (place + BUCKETS - self::place(self.present)) as i64 & (BUCKETS as i64 - 1);
        self.filled[place / 64] &= !(1 << (place % 64));
        let emptied = core::mem::take(&mut self.near).into_vec();
        let bucket = core::mem::replace(&mut self.ring[place], emptied);
        self.waiting -= bucket.len();
        self.near = BinaryHeap::from(bucket);
        self.draw_near();
    }

    /// What lay beyond the ring and does no longer.
    fn draw_near(&mut self) {
        while let Some(first) = self.far.peek()
            && first.bucket() - self.present < BUCKETS as i64
        {
            let entry = self.far.pop().expect("there is a first");
            self.push(entry);
        }
    }

    /// The place of the first bucket after the present one that holds something. There is one.
    fn next_filled(&self) -> usize {
        let start = place(self.present + 1);
        let behind = self.filled[start / 64] & (u64::MAX << (start % 64));
        if behind != 0 {
            return start / 64 * 64 + behind.trailing_zeros() as usize;
        }
        let words = (1..=BUCKETS / 64).map(|step| (start / 64 + step) % (BUCKETS / 64));
        let word = words.into_iter().find(|word| self.filled[*word] != 0).expect("a bucket holds something");
        word * 64 + self.filled[word].trailing_zeros() as usize
    }
}

const fn place(bucket: i64) -> usize {
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
    fn events_come_by_time_and_those_of_one_instant_by_insertion() {
        let mut queue = EventQueue::new();
        for (event, at) in [5, -3, 5, 0, 5, -3].into_iter().enumerate() {
            queue.push(TrueTime::from_nanos(at), event as u32);
        }
        assert_eq!(drained(&mut queue), [(-3, 1), (-3, 5), (0, 3), (5, 0), (5, 2), (5, 4)]);
    }

    /// The same pushes and pops as a heap alone: near, far, at one instant, before what was popped last, few and many.
    #[test]
    fn it_has_the_order_of_a_plain_heap_however_many_wait() {
        let mut random = 1u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let (mut queue, mut heap, mut now) = (EventQueue::new(), BinaryHeap::new(), 0i64);
        let mut number = 0u64;
        for round in 0..6 {
            for _ in 0..20_000 {
                // It fills up for a while, and empties for a while.
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
    fn nothing_is_popped_before_its_time() {
        let mut queue = EventQueue::new();
        queue.push(TrueTime::from_nanos(10), 1);
        assert_eq!(queue.pop_until(TrueTime::from_nanos(9)), None);
        assert_eq!(queue.pop_until(TrueTime::from_nanos(10)), Some((TrueTime::from_nanos(10), 1)));
        assert_eq!(queue.pop_until(TrueTime::MAX), None);
    }
}
