//! Who hears the events of the nodes.

use evenkeel_core::Endpoint;
use evenkeel_link::TrueTime;

use crate::node::NodeId;

/// Hears the events of all nodes, in the order in which they come up. Closures are observers, and `()` is one
/// that does not listen.
pub trait Observer<E: Endpoint> {
    /// A node came up with an event.
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

/// Keeps events that came up while nobody listened, until somebody does.
#[derive(Debug)]
pub(crate) struct Unheard<T>(Vec<(TrueTime, NodeId, T)>);

impl<T> Default for Unheard<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Unheard<T> {
    pub(crate) fn tell<E: Endpoint<Event = T>>(&mut self, observer: &mut impl Observer<E>) {
        for (at, node, event) in self.0.drain(..) {
            observer.on_event(at, node, event);
        }
    }

    pub(crate) fn keep(&mut self, at: TrueTime, node: NodeId, event: T) {
        self.0.push((at, node, event));
    }
}
