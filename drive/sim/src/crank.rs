//! The turning of the crank: one call on one node, then what the law asks for.
//!
//! Every call goes the same way: read the node's clock, write the call to the transcript if there is one,
//! make it, then settle (transmit, tell events, note the timeout).

use evenkeel_core::{Endpoint, LocalTime, PeerChange};
use evenkeel_link::TrueTime;

use crate::network::Happening;
use crate::node::{NodeId, Wake};
use crate::observer::{Observer, Unheard};
use crate::world::World;

/// More messages than this from one call count as endless.
const TRANSMITS_MAX: u32 = 1_000_000;

impl<E: Endpoint> World<E> {
    pub(crate) fn tell(&mut self, id: NodeId, change: PeerChange) {
        self.peer_calls += 1;
        let node = &mut self.nodes[id.0 as usize];
        let local = node.clock.local(self.now);
        if let Some(recording) = &mut self.recording {
            recording.recorder.peer(id.0, local, change);
        }
        node.endpoint.handle_peer(local, change);
        self.settle_unheard(id, local);
    }

    /// Whether a node was told.
    pub(crate) fn happen(
        &mut self,
        at: TrueTime,
        happening: Happening,
        observer: &mut impl Observer<E>,
    ) -> bool {
        match happening {
            Happening::Arrival(slot) => self.arrive(at, slot, observer),
            Happening::Timeout(id) => match self.nodes[id.0 as usize].wake(at) {
                Wake::Nothing => false,
                Wake::Later(due) => {
                    self.network.queue.push(due, Happening::Timeout(id));
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
        let taken = node.endpoint.handle_message(local, from.into(), packet.channel, &packet.bytes);
        self.rejected += u64::from(taken.is_err());
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

    pub(crate) fn settle_unheard(&mut self, id: NodeId, local: LocalTime) {
        self.drain(id, local, |unheard, at, event| unheard.keep(at, id, event));
    }

    /// What the law asks for after each call: drain, then note the timeout.
    fn drain(
        &mut self,
        id: NodeId,
        local: LocalTime,
        mut tell: impl FnMut(&mut Unheard<E::Event>, TrueTime, E::Event),
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
            tell(&mut self.unheard, self.now, event);
        }
        if let Some(due) = node.reschedule(self.now) {
            self.network.queue.push(due, Happening::Timeout(id));
        }
    }

    pub(crate) fn reschedule(&mut self, id: NodeId) {
        if let Some(due) = self.nodes[id.0 as usize].reschedule(self.now) {
            self.network.queue.push(due, Happening::Timeout(id));
        }
    }
}
