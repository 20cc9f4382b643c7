//! A machine with its clock and its place in the queue.
//!
//! Timers are lazy. A node's deadline changes with almost every call, mostly to a later time, so the queue holds the
//! earliest deadline that was seen since its entry last came up; when that turns out to be too early, the node is
//! merely asked again. Deadlines are compared as the node names them and turned into true time only when one is queued.

use evenkeel_core::{Endpoint, LocalTime, PeerId};
use evenkeel_link::{ClockFaults, NodeClock, TrueTime};

/// A machine that wants one and the same timeout so often within an instant would never let time pass.
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
    /// The deadline in the queue; `MAX` if there is none.
    queued: LocalTime,
    queued_at: TrueTime,
    last: LocalTime,
    last_at: TrueTime,
    repeats: u32,
}

/// What to do when a node's entry comes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// The entry was superseded or the node no longer wants to be woken.
    Nothing,
    /// Its deadline has come.
    Due,
    /// Queue it again for this time.
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

    /// When to queue an entry for this node, if the one that is queued comes too late.
    pub(crate) fn reschedule(&mut self, now: TrueTime) -> Option<TrueTime> {
        let deadline = self.endpoint.poll_timeout()?;
        if deadline >= self.queued {
            return None;
        }
        self.queued = deadline;
        self.queued_at = self.clock.true_time(deadline).max(now);
        Some(self.queued_at)
    }

    /// The entry that was queued for `at` comes up.
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
            "a machine was told of its timeout {deadline:?} more than {REPEATS_MAX} times at {at:?} and still wants it"
        );
    }
}
