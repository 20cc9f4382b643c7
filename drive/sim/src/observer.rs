//! Receivers of the nodes' events.

use evenkeel_core::Endpoint;
use evenkeel_link::TrueTime;

use crate::node::NodeId;

/// Receives the events of all nodes in order. Closures are observers; `()` ignores all events.
pub trait Observer<E: Endpoint> {
    /// Handles an event of a node.
    fn on_event(&mut self, at: TrueTime, node: NodeId, event: E::Event);
}

impl<E: Endpoint> Observer<E> for () {
    fn on_event(&mut self, _: TrueTime, _: NodeId, _: E::Event) {}
}

impl<E: Endpoint, F: FnMut(TrueTime, NodeId, E::Event)> Observer<E> for F {
    fn on_event(&mut self, at: TrueTime, node: NodeId, event: E::Event) {
        self(at, node, event);
    }
}

/// Events from calls outside of `run_until` and `step`, kept for the next observer.
#[derive(Debug)]
pub(crate) struct PendingEvents<T>(Vec<(TrueTime, NodeId, T)>);

impl<T> Default for PendingEvents<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> PendingEvents<T> {
    pub(crate) fn deliver<E: Endpoint<Event = T>>(&mut self, observer: &mut impl Observer<E>) {
        for (at, node, event) in self.0.drain(..) {
            observer.on_event(at, node, event);
        }
    }

    pub(crate) fn keep(&mut self, at: TrueTime, node: NodeId, event: T) {
        self.0.push((at, node, event));
    }
}
