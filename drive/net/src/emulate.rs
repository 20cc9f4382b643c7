//! Emulated links on real sockets: the simulator's faults, met by real packets.
//!
//! An [`Emulation`] on an attached connection decides the fate of each message with the same [`Link`]s as the simulator:
//! outgoing ones are held back before they go to the socket, incoming ones before they reach the machine, and the crank
//! releases them at their time. For the links, true time is the crank's time. The real path's delay comes on top, so use
//! it over loopback or a good network.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use evenkeel_core::{Channel, LocalTime};
use evenkeel_link::{Fate, Link, TrueTime};

/// How many messages of one connection may be under way on its emulated links; datagrams beyond are lost.
pub const UNDER_WAY_MAX: usize = 4_096;

/// The emulated links of one connection, as seen from the node that it is attached to.
#[derive(Clone, Debug)]
pub struct Emulation {
    /// What the node sends goes over this one.
    pub outgoing: Link,
    /// What it receives has come over this one.
    pub incoming: Link,
}

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Out,
    In,
}

impl Emulation {
    /// What becomes of a message that enters the link now. A reliable one whose link is dead is lost, too.
    pub(crate) fn fate(&mut self, way: Way, channel: Channel, now: LocalTime, bytes: usize) -> Fate {
        let link = match way {
            Way::Out => &mut self.outgoing,
            Way::In => &mut self.incoming,
        };
        let now = TrueTime::from_nanos(now.as_nanos());
        match channel {
            Channel::Datagram => link.fate(now, bytes),
            Channel::Reliable => link.reliable(now, bytes).map_or(Fate::Lost, Fate::Once),
        }
    }
}

pub(crate) fn local(at: TrueTime) -> LocalTime {
    LocalTime::from_nanos(at.as_nanos())
}

/// What is under way, in the order of its release; of the same instant, in the order in which it was sent.
#[derive(Debug)]
pub(crate) struct Air<T> {
    heap: BinaryHeap<Reverse<Flight<T>>>,
    sent: u64,
}

#[derive(Debug)]
struct Flight<T> {
    at: LocalTime,
    order: u64,
    item: T,
}

impl<T> Air<T> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), sent: 0 }
    }

    pub(crate) fn push(&mut self, at: LocalTime, item: T) {
        self.sent += 1;
        self.heap.push(Reverse(Flight { at, order: self.sent, item }));
    }

    pub(crate) fn next_at(&self) -> Option<LocalTime> {
        self.heap.peek().map(|Reverse(flight)| flight.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(LocalTime, T)> {
        self.heap.pop().map(|Reverse(flight)| (flight.at, flight.item))
    }
}

impl<T> Ord for Flight<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl<T> PartialOrd for Flight<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Flight<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Flight<T> {}

#[cfg(test)]
mod tests {
    use evenkeel_core::{Seed, Span};
    use evenkeel_link::LinkFaults;

    use super::*;

    #[test]
    fn flights_land_in_order() {
        let mut air = Air::new();
        for (at, item) in [(3, 'c'), (1, 'a'), (3, 'd'), (2, 'b')] {
            air.push(LocalTime::from_nanos(at), item);
        }
        assert_eq!(air.next_at(), Some(LocalTime::from_nanos(1)));
        let landed: String = std::iter::from_fn(|| air.pop().map(|(_, item)| item)).collect();
        assert_eq!(landed, "abcd");
    }

    #[test]
    fn each_way_has_its_own_link() {
        let link = |millis| Link::new(LinkFaults::constant(Span::from_millis(millis)), Seed::new(1));
        let mut emulation = Emulation { outgoing: link(20), incoming: link(30) };
        let now = LocalTime::from_nanos(5);
        for channel in [Channel::Datagram, Channel::Reliable] {
            let out = emulation.fate(Way::Out, channel, now, 10);
            assert_eq!(out, Fate::Once(TrueTime::from_nanos(20_000_005)));
            let back = emulation.fate(Way::In, channel, now, 10);
            assert_eq!(back, Fate::Once(TrueTime::from_nanos(30_000_005)));
        }
    }
}
