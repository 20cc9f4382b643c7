//! Emulated links on real sockets: the simulator's faults applied to real packets.
//!
//! An [`Emulation`] on an attached connection decides the fate of each message with the [`Link`]s of the simulator. Outgoing
//! messages are held back before the socket, incoming ones before the machine; the crank releases them when due. The links
//! take the crank's time as true time. The real network's delay comes on top, so use loopback or a good network.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use evenkeel_core::{Channel, LocalTime};
use evenkeel_link::{Fate, Link, TrueTime};

/// Messages in delayed on one connection's emulated links; datagrams beyond are lost.
pub const IN_FLIGHT_MAX: usize = 4_096;

/// The emulated links of one connection, as seen from its node.
#[derive(Clone, Debug)]
pub struct Emulation {
    /// The link that carries what the node sends.
    pub outgoing: Link,
    /// The link that carries what the node receives.
    pub incoming: Link,
}

/// The direction of a message, as seen from the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Outgoing,
    Incoming,
}

impl Emulation {
    /// Decides the fate of a message that enters the link now. A reliable message is lost if the link is dead.
    pub(crate) fn fate(
        &mut self,
        direction: Direction,
        channel: Channel,
        now: LocalTime,
        bytes: usize,
    ) -> Fate {
        let link = match direction {
            Direction::Outgoing => &mut self.outgoing,
            Direction::Incoming => &mut self.incoming,
        };
        let now = TrueTime::from_nanos(now.as_nanos());
        match channel {
            Channel::Datagram => link.fate(now, bytes),
            Channel::Reliable => link.reliable(now, bytes).map_or(Fate::Lost, Fate::Once),
        }
    }
}

pub(crate) fn to_local(at: TrueTime) -> LocalTime {
    LocalTime::from_nanos(at.as_nanos())
}

/// Items ordered by release time, then by insertion.
#[derive(Debug)]
pub(crate) struct DelayQueue<T> {
    heap: BinaryHeap<Reverse<Delayed<T>>>,
    sent: u64,
}

#[derive(Debug)]
struct Delayed<T> {
    at: LocalTime,
    order: u64,
    item: T,
}

impl<T> DelayQueue<T> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), sent: 0 }
    }

    pub(crate) fn push(&mut self, at: LocalTime, item: T) {
        self.sent += 1;
        self.heap.push(Reverse(Delayed { at, order: self.sent, item }));
    }

    pub(crate) fn next_at(&self) -> Option<LocalTime> {
        self.heap.peek().map(|Reverse(delayed)| delayed.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(LocalTime, T)> {
        self.heap.pop().map(|Reverse(delayed)| (delayed.at, delayed.item))
    }
}

impl<T> Ord for Delayed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl<T> PartialOrd for Delayed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Delayed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Delayed<T> {}

#[cfg(test)]
mod tests {
    use evenkeel_core::{Seed, Span};
    use evenkeel_link::LinkFaults;

    use super::*;

    #[test]
    fn items_are_released_in_order() {
        let mut in_flight = DelayQueue::new();
        for (at, item) in [(3, 'c'), (1, 'a'), (3, 'd'), (2, 'b')] {
            in_flight.push(LocalTime::from_nanos(at), item);
        }
        assert_eq!(in_flight.next_at(), Some(LocalTime::from_nanos(1)));
        let landed: String = std::iter::from_fn(|| in_flight.pop().map(|(_, item)| item)).collect();
        assert_eq!(landed, "abcd");
    }

    #[test]
    fn each_direction_has_its_own_link() {
        let link = |millis| Link::new(LinkFaults::constant(Span::from_millis(millis)), Seed::new(1));
        let mut emulation = Emulation { outgoing: link(20), incoming: link(30) };
        let now = LocalTime::from_nanos(5);
        for channel in [Channel::Datagram, Channel::Reliable] {
            let out = emulation.fate(Direction::Outgoing, channel, now, 10);
            assert_eq!(out, Fate::Once(TrueTime::from_nanos(20_000_005)));
            let back = emulation.fate(Direction::Incoming, channel, now, 10);
            assert_eq!(back, Fate::Once(TrueTime::from_nanos(30_000_005)));
        }
    }
}
