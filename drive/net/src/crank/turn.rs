//! The crank's own thread: what arrives, what is due, in the order of time.
//!
//! Inputs and timeouts are merged by time: before a message with an arrival stamp comes whatever was due by then. So a
//! backlog does not put the messages' stamps behind a timeout that was told late.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{Endpoint, LocalTime, PeerChange, PeerId};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::counters::{PeerCounters, add};
use super::inbox::{Arrived, Inbox, Input, Route};
use super::node::{Attached, Desk, Held, Node, Told};
use super::reading::Reading;
use super::sleep::Sleeper;
use super::{Attachment, NodeId};
use crate::emulate::Way;
use crate::transport::{CloseCode, CloseReason, Closed, Connection};

/// How many due things are done before the inputs are looked at again.
const DUE_MAX: usize = 1_024;

/// So many inputs are taken before what they bring about leaves.
const TOGETHER_MAX: usize = 64;

/// What remains of a crank.
pub(super) struct Remains<E> {
    pub(super) nodes: Vec<(NodeId, E)>,
    pub(super) closing: Vec<JoinHandle<Closed>>,
}

/// The order to end.
pub(super) struct Stop<E> {
    pub(super) drain_max: Duration,
    pub(super) reply: Option<oneshot::Sender<Remains<E>>>,
}

/// Everything that belongs to the crank's thread.
pub(super) struct Turn<E: Endpoint> {
    pub(super) nodes: BTreeMap<NodeId, Node<E>>,
    pub(super) desk: Desk<E>,
    pub(super) inbox: Arc<Inbox<E>>,
    pub(super) attachments: u64,
    pub(super) stop: Option<Stop<E>>,
    /// Whether it takes care to be on time.
    pub(super) spins: bool,
}

impl<E> Turn<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    /// Turns until it is told to stop.
    pub(super) fn run(mut self) {
        let _closing = Closing(self.inbox.clone());
        let (mut inputs, mut sleeper) = (VecDeque::new(), Sleeper::new(self.spins));
        while self.stop.is_none() {
            self.inbox.drain(&mut inputs);
            for (taken, input) in (1..).zip(inputs.drain(..)) {
                self.take(input);
                // Where much has come, what it brings about does not wait for all of it.
                if taken % TOGETHER_MAX == 0 {
                    self.desk.post.leave();
                }
            }
            let now = self.desk.clock.now();
            let is_done = self.fire_due(now);
            self.desk.post.leave();
            if let Some(tape) = &mut self.desk.tape {
                tape.turn(now);
            }
            if is_done && self.stop.is_none() {
                let deadline = self.next_due();
                sleeper.sleep(&self.desk.clock, deadline, || self.inbox.is_pending());
            }
        }
        self.desk.post.leave();
        self.finish();
    }

    fn take(&mut self, input: Input<E>) {
        match input {
            Input::Arrived(arrived) => {
                self.fire_due(arrived.at);
                self.arrive(arrived);
            }
            Input::Gone(route, closed) => self.leave(route, &closed),
            Input::Wish(wish) => wish(self),
        }
    }

    fn arrive(&mut self, arrived: Arrived) {
        let Arrived { route, at, channel, bytes, _permit } = arrived;
        let Some(attached) = attached(&mut self.nodes, route) else { return };
        if attached.emulation.is_some() {
            let held = Held { route, way: Way::In, channel, bytes };
            return attached.hold(&mut self.desk.air, at, held);
        }
        self.tell(route.node, at, Told::Message(route.peer, channel, &bytes));
    }

    /// When something is due next.
    fn next_due(&self) -> Option<LocalTime> {
        let timer = self.desk.timers.first().map(|(at, _)| *at);
        [timer, self.desk.air.next_at()].into_iter().flatten().min()
    }

    /// Does what is due by this time, in order. `false`: there may be more.
    fn fire_due(&mut self, now: LocalTime) -> bool {
        for _ in 0..DUE_MAX {
            let timer = self.desk.timers.first().copied();
            match (timer, self.desk.air.next_at()) {
                (Some((at, id)), flight) if at <= now && flight.is_none_or(|flight| at <= flight) => {
                    self.desk.lateness.note(self.desk.clock.now() - at);
                    self.tell(id, now, Told::Timeout);
                }
                (_, Some(at)) if at <= now => self.land(),
                _ => return true,
            }
        }
        false
    }

    /// Releases the next message from the emulated links.
    fn land(&mut self) {
        let Some((at, Held { route, way, channel, bytes })) = self.desk.air.pop() else { return };
        let Some(attached) = attached(&mut self.nodes, route) else { return };
        attached.under_way -= 1;
        match way {
            Way::Out => attached.send(&self.desk.counters, channel, bytes),
            Way::In => self.tell(route.node, at, Told::Message(route.peer, channel, &bytes)),
        }
    }

    /// One call on one node. A machine that panics is removed; the others go on.
    pub(super) fn tell(&mut self, id: NodeId, at: LocalTime, told: Told<'_, E::Command>) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let desk = &mut self.desk;
        if catch_unwind(AssertUnwindSafe(|| node.tell(desk, at, told))).is_err() {
            self.bury(id);
        }
    }

    /// Lets somebody look at a machine; one whose looker panics is removed, too.
    pub(super) fn look<R>(&mut self, id: NodeId, look: impl FnOnce(&mut E, LocalTime) -> R) -> Option<R> {
        let node = self.nodes.get_mut(&id)?;
        let now = self.desk.clock.now();
        let desk = &mut self.desk;
        let seen = catch_unwind(AssertUnwindSafe(|| {
            let seen = look(&mut node.endpoint, now);
            node.reschedule(desk, now, false);
            seen
        }));
        if seen.is_err() {
            self.bury(id);
        }
        seen.ok()
    }

    fn bury(&mut self, id: NodeId) {
        add(&self.desk.counters.panics, 1);
        tracing::error!(node = id.0, "a machine panicked and is removed");
        drop(self.remove(id, &CloseCode::Internal.into()));
    }

    pub(super) fn add(&mut self, id: NodeId, endpoint: E, config: &[u8]) {
        drop(self.remove(id, &CloseCode::RoomClosed.into()));
        if let Some(tape) = &mut self.desk.tape {
            tape.node(id, config);
        }
        let mut node = Node::new(id, endpoint);
        let now = self.desk.clock.now();
        node.reschedule(&mut self.desk, now, false);
        self.nodes.insert(id, node);
    }

    /// Takes a node out; its machine hears nothing more, its peers hear why.
    pub(super) fn remove(&mut self, id: NodeId, reason: &CloseReason) -> Option<E> {
        let mut node = self.nodes.remove(&id)?;
        node.unschedule(&mut self.desk);
        for (peer, attached) in &node.peers {
            attached.connection.close(reason.clone());
            (self.desk.sinks.on_gone)(id, *peer, &Closed::ByUs(reason.clone()), &attached.counters);
        }
        Some(node.endpoint)
    }

    pub(super) fn attach(
        &mut self,
        id: NodeId,
        peer: PeerId,
        attachment: Attachment,
        counters: Arc<PeerCounters>,
    ) {
        let Attachment { connection, emulation, allowance } = attachment;
        if !self.nodes.contains_key(&id) {
            connection.close(CloseCode::RoomClosed);
            let closed = Closed::ByUs(CloseCode::RoomClosed.into());
            return (self.desk.sinks.on_gone)(id, peer, &closed, &counters);
        }
        let Some(reader) = connection.take_reader() else {
            tracing::error!(node = id.0, peer = peer.0, "a connection was attached twice");
            return connection.close(CloseCode::Internal);
        };
        self.detach(id, peer, &CloseCode::Replaced.into());
        self.attachments += 1;
        let route = Route { node: id, peer, generation: self.attachments };
        let datagram_max = connection.datagram_max();
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.peers.insert(
            peer,
            Attached {
                connection: connection.clone(),
                generation: route.generation,
                emulation,
                under_way: 0,
                counters: counters.clone(),
            },
        );
        let (clock, totals) = (self.desk.clock, self.desk.counters.clone());
        self.tell(id, clock.now(), Told::Peer(PeerChange::Joined { peer, datagram_max }));
        let inbox = self.inbox.clone();
        Reading { route, connection, inbox, clock, allowance, counters, totals }.start(reader);
    }

    /// Closes a peer's connection and tells the machine that it left.
    pub(super) fn detach(&mut self, id: NodeId, peer: PeerId, reason: &CloseReason) {
        let Some(attached) = self.nodes.get_mut(&id).and_then(|node| node.peers.remove(&peer)) else {
            return;
        };
        attached.connection.close(reason.clone());
        self.tell(id, self.desk.clock.now(), Told::Peer(PeerChange::Left { peer }));
        (self.desk.sinks.on_gone)(id, peer, &Closed::ByUs(reason.clone()), &attached.counters);
    }

    /// A connection ended. Nothing happens if that attachment is over already.
    fn leave(&mut self, route: Route, closed: &Closed) {
        let Some(counters) = attached(&mut self.nodes, route).map(|attached| attached.counters.clone())
        else {
            return;
        };
        if let Some(node) = self.nodes.get_mut(&route.node) {
            node.peers.remove(&route.peer);
        }
        let change = PeerChange::Left { peer: route.peer };
        self.tell(route.node, self.desk.clock.now(), Told::Peer(change));
        (self.desk.sinks.on_gone)(route.node, route.peer, closed, &counters);
    }

    /// Tells every machine that its peers left, and has their connections closed once what waits is sent.
    fn finish(mut self) {
        self.inbox.close();
        let Some(stop) = self.stop.take() else { return };
        let mut leaving: Vec<(NodeId, PeerId, Connection)> = Vec::new();
        for (id, node) in &mut self.nodes {
            let peers = std::mem::take(&mut node.peers);
            leaving.extend(peers.into_iter().map(|(peer, attached)| (*id, peer, attached.connection)));
        }
        let mut closing = Vec::new();
        for (id, peer, connection) in leaving {
            let (runtime, drain_max) = (connection.runtime().clone(), stop.drain_max);
            closing.push(
                runtime
                    .spawn(async move { connection.close_gently(CloseCode::ShuttingDown, drain_max).await }),
            );
            self.tell(id, self.desk.clock.now(), Told::Peer(PeerChange::Left { peer }));
        }
        if let Some(mut tape) = self.desk.tape.take() {
            tape.finish();
        }
        let nodes = self.nodes.into_iter().map(|(id, node)| (id, node.endpoint)).collect();
        if let Some(reply) = stop.reply {
            let _ = reply.send(Remains { nodes, closing });
        }
    }
}

/// However the thread ends, nobody waits for it afterwards.
struct Closing<E: Endpoint>(Arc<Inbox<E>>);

impl<E: Endpoint> Drop for Closing<E> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The attachment of a route, if it is still the same one.
fn attached<E>(nodes: &mut BTreeMap<NodeId, Node<E>>, route: Route) -> Option<&mut Attached> {
    nodes
        .get_mut(&route.node)?
        .peers
        .get_mut(&route.peer)
        .filter(|attached| attached.generation == route.generation)
}
