//! A machine with its clock and its entry in the queue.
//!
//! Timers are lazy. A node's deadline changes with almost every call, usually to a later time. The queue
//! keeps the earliest deadline since its entry last came up; if that turns out to be too early, the entry is
//! queued again. Deadlines are compared in local time and converted to true time only when they are queued.

use evenkeel_core::{Endpoint, LocalTime, PeerId};
use evenkeel_link::{ClockFaults, NodeClock, TrueTime};

/// A machine that wants the same timeout this often within an instant would never let time pass.
const REPEATS_MAX: u32 = 1_000;

/// A node of a world, numbered in the order of adding. Its peers know it by the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl From<NodeId> for PeerId {
    fn from(node: NodeId) -> Self {
        Self(node.0)
    }
}

impl From<PeerId> for NodeId {
    fn from(peer: PeerId) -> Self {
        Self(peer.0)
    }
}

#[derive(Debug)]
pub(crate) struct Node<E> {
    pub(crate) endpoint: E,
    pub(crate) clock: NodeClock,
    /// The queued deadline; `MAX` if there is none.
    queued: LocalTime,
    queued_at: TrueTime,
    last: LocalTime,
    last_at: TrueTime,
    repeats: u32,
}

/// What to do when a node's entry comes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// The entry was replaced, or the node no longer wants a timeout.
    Nothing,
    /// The deadline has come.
    Due,
    /// Queue the entry again for this time.
    Later(TrueTime),
}

impl<E: Endpoint> Node<E> {
    pub(crate) fn new(endpoint: E, clock: &ClockFaults) -> Self {
        Self {
            endpoint,
            clock: NodeClock::new(clock),
            queued: LocalTime::MAX,
            queued_at: TrueTime::MAX,
            last: LocalTime::MAX,
            last_at: TrueTime::MIN,
            repeats: 0,
        }
    }

    /// Returns when to queue an entry for this node, unless one is queued that comes early enough.
    #[inline]
    pub(crate) fn reschedule(&mut self, now: TrueTime) -> Option<TrueTime> {
        let deadline = self.endpoint.poll_timeout()?;
        if deadline >= self.queued {
            return None;
        }
        self.queued = deadline;
        self.queued_at = self.clock.true_time(deadline).max(now);
        Some(self.queued_at)
    }

    /// Handles the entry that was queued for `at`.
    pub(crate) fn wake(&mut self, at: TrueTime) -> Wake {
        if self.queued_at != at {
            return Wake::Nothing;
        }
        (self.queued, self.queued_at) = (LocalTime::MAX, TrueTime::MAX);
        match self.reschedule(at) {
            None => Wake::Nothing,
            Some(due) if due > at => Wake::Later(due),
            Some(_) => {
                let deadline = self.queued;
                (self.queued, self.queued_at) = (LocalTime::MAX, TrueTime::MAX);
                self.note_fired(deadline, at);
                Wake::Due
            }
        }
    }

    fn note_fired(&mut self, deadline: LocalTime, at: TrueTime) {
        if (self.last, self.last_at) != (deadline, at) {
            (self.last, self.last_at, self.repeats) = (deadline, at, 0);
        }
        self.repeats += 1;
        assert!(
            self.repeats <= REPEATS_MAX,
            "a machine handled its timeout {deadline:?} {REPEATS_MAX} times at {at:?} and still wants it"
        );
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::{Channel, PeerChange, Rejected};

    use super::*;

    /// Wants a timeout at this time and does nothing else.
    struct Sleeper(Option<LocalTime>);

    impl Endpoint for Sleeper {
        type Command = ();
        type Event = ();
        fn handle_command(&mut self, _: LocalTime, (): ()) {}
        fn handle_message(&mut self, _: LocalTime, _: PeerId, _: Channel, _: &[u8]) -> Result<(), Rejected> {
            Ok(())
        }
        fn handle_peer(&mut self, _: LocalTime, _: PeerChange) {}
        fn handle_timeout(&mut self, _: LocalTime) {}
        fn poll_transmit(&mut self, _: LocalTime, _: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
            None
        }
        fn poll_event(&mut self) -> Option<()> {
            None
        }
        fn poll_timeout(&self) -> Option<LocalTime> {
            self.0
        }
    }

    fn at(nanos: i64) -> TrueTime {
        TrueTime::from_nanos(nanos)
    }

    fn sleeper(wake: i64) -> Node<Sleeper> {
        Node::new(Sleeper(Some(LocalTime::from_nanos(wake))), &ClockFaults::default())
    }

    #[test]
    fn a_deadline_is_queued_once() {
        let mut node = sleeper(100);
        assert_eq!(node.reschedule(at(0)), Some(at(100)));
        assert_eq!(node.reschedule(at(1)), None);
        node.endpoint.0 = Some(LocalTime::from_nanos(200));
        assert_eq!(node.reschedule(at(2)), None);
        assert_eq!(node.wake(at(100)), Wake::Later(at(200)));
        assert_eq!(node.wake(at(200)), Wake::Due);
    }

    #[test]
    fn a_replaced_entry_does_not_queue_the_deadline_again() {
        let mut node = sleeper(100);
        node.reschedule(at(0));
        node.endpoint.0 = Some(LocalTime::from_nanos(50));
        assert_eq!(node.reschedule(at(1)), Some(at(50)));
        node.endpoint.0 = Some(LocalTime::from_nanos(300));
        assert_eq!(node.wake(at(50)), Wake::Later(at(300)));
        assert_eq!(node.wake(at(100)), Wake::Nothing);
        assert_eq!(node.wake(at(300)), Wake::Due);
    }
}
