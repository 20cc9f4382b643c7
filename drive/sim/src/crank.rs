//! Turning the crank: a call on one node and what has to follow it.
//!
//! Every call takes the same steps: read the node's clock, record the call if the world is recorded, make it,
//! then drain the node and note its timeout.

use evenkeel_core::{Endpoint, LocalTime, PeerChange};
use evenkeel_link::TrueTime;

use crate::network::QueuedEvent;
use crate::node::{NodeId, Wake};
use crate::observer::{Observer, PendingEvents};
use crate::world::World;

/// A call that yields more messages than this counts as endless.
const TRANSMITS_MAX: u32 = 1_000_000;

impl<E: Endpoint> World<E> {
    pub(crate) fn peer_change(&mut self, id: NodeId, change: PeerChange) {
        self.peer_calls += 1;
        let node = &mut self.nodes[id.0 as usize];
        let local = node.clock.local(self.now);
        if let Some(recording) = &mut self.recording {
            recording.recorder.peer(id.0, local, change);
        }
        node.endpoint.handle_peer(local, change);
        self.settle_unobserved(id, local);
    }

    /// Makes the call that an event is for. Returns false if there was none to make.
    pub(crate) fn dispatch(
        &mut self,
        at: TrueTime,
        event: QueuedEvent,
        observer: &mut impl Observer<E>,
    ) -> bool {
        match event {
            QueuedEvent::Arrival(slot) => self.arrive(at, slot, observer),
            QueuedEvent::Timeout(id) => match self.nodes[id.0 as usize].wake(at) {
                Wake::Nothing => false,
                Wake::Later(due) => {
                    self.network.queue.push(due, QueuedEvent::Timeout(id));
                    false
                }
                Wake::Due => {
                    self.time_out(at, id, observer);
                    true
                }
            },
        }
    }

    fn arrive(&mut self, at: TrueTime, slot: u32, observer: &mut impl Observer<E>) -> bool {
        let Some((from, to, packet)) = self.network.arrive(slot) else {
            self.network.release(slot);
            return false;
        };
        self.now = at;
        self.calls += 1;
        let node = &mut self.nodes[to.0 as usize];
        let local = node.clock.local(at);
        if let Some(recording) = &mut self.recording {
            recording.recorder.message(to.0, local, from.into(), packet.channel, &packet.bytes);
        }
        let handled = node.endpoint.handle_message(local, from.into(), packet.channel, &packet.bytes);
        self.rejected += u64::from(handled.is_err());
        self.network.release(slot);
        self.settle(to, local, observer);
        true
    }

    fn time_out(&mut self, at: TrueTime, id: NodeId, observer: &mut impl Observer<E>) {
        self.now = at;
        self.calls += 1;
        let node = &mut self.nodes[id.0 as usize];
        let local = node.clock.local(at);
        if let Some(recording) = &mut self.recording {
            recording.recorder.timeout(id.0, local);
        }
        node.endpoint.handle_timeout(local);
        self.settle(id, local, observer);
    }

    fn settle(&mut self, id: NodeId, local: LocalTime, observer: &mut impl Observer<E>) {
        self.drain(id, local, |_, at, event| observer.on_event(at, id, event));
    }

    pub(crate) fn settle_unobserved(&mut self, id: NodeId, local: LocalTime) {
        self.drain(id, local, |pending, at, event| pending.keep(at, id, event));
    }

    /// Drains a node after a call and schedules its timeout.
    fn drain(
        &mut self,
        id: NodeId,
        local: LocalTime,
        mut deliver: impl FnMut(&mut PendingEvents<E::Event>, TrueTime, E::Event),
    ) {
        let node = &mut self.nodes[id.0 as usize];
        let mut transmits = 0;
        while let Some((to, channel)) = node.endpoint.poll_transmit(local, &mut self.outgoing) {
            transmits += 1;
            assert!(transmits <= TRANSMITS_MAX, "{id:?} never stops transmitting");
            if let Some(recording) = &mut self.recording {
                recording.recorder.transmit(to, channel, &self.outgoing);
            }
            self.network.transmit(self.now, id, to, channel, &mut self.outgoing);
        }
        while let Some(event) = node.endpoint.poll_event() {
            deliver(&mut self.pending, self.now, event);
        }
        if let Some(due) = node.reschedule(self.now) {
            self.network.queue.push(due, QueuedEvent::Timeout(id));
        }
    }

    pub(crate) fn reschedule(&mut self, id: NodeId) {
        if let Some(due) = self.nodes[id.0 as usize].reschedule(self.now) {
            self.network.queue.push(due, QueuedEvent::Timeout(id));
        }
    }
}
