//! The loop of the crank's thread.
//!
//! Inputs and deadlines are merged by time: before a message is delivered, every deadline up to its arrival is served. So
//! messages queued behind a backlog still reach machines in the order of their timestamps.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{Endpoint, LocalTime, PeerChange, PeerId};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::connection_reader::ConnectionReader;
use super::counters::{PeerCounters, add};
use super::inbox::{Arrival, Inbox, Input, Route};
use super::node::{AttachedPeer, Call, HeldMessage, Node, NodeEnvironment};
use super::sleep::Sleeper;
use super::{Attachment, NodeId};
use crate::emulate::Direction;
use crate::transport::{CloseCode, CloseReason, Closed, Connection};

/// Deadlines served before the inputs are looked at again.
const DUE_MAX: usize = 1_024;

/// Inputs handled before the datagrams they caused are sent.
const BATCH_MAX: usize = 64;

/// What a stopped crank leaves behind.
pub(super) struct ShutdownReply<E> {
    pub(super) nodes: Vec<(NodeId, E)>,
    pub(super) closing: Vec<JoinHandle<Closed>>,
}

/// A request to stop.
pub(super) struct Shutdown<E> {
    pub(super) drain_max: Duration,
    pub(super) reply: Option<oneshot::Sender<ShutdownReply<E>>>,
}

/// The state of the crank's thread.
pub(super) struct Driver<E: Endpoint> {
    pub(super) nodes: BTreeMap<NodeId, Node<E>>,
    pub(super) env: NodeEnvironment<E>,
    pub(super) inbox: Arc<Inbox<E>>,
    pub(super) attachments: u64,
    pub(super) shutdown: Option<Shutdown<E>>,
    /// Whether it spins to keep deadlines precisely.
    pub(super) spins: bool,
}

impl<E> Driver<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    /// Runs until it is stopped.
    pub(super) fn run(mut self) {
        let _closing = CloseOnDrop(self.inbox.clone());
        let (mut inputs, mut sleeper) = (VecDeque::new(), Sleeper::new(self.spins));
        while self.shutdown.is_none() {
            self.inbox.drain(&mut inputs);
            for (taken, input) in (1..).zip(inputs.drain(..)) {
                self.handle_input(input);
                // After a backlog, datagrams do not wait until all of it is handled.
                if taken % BATCH_MAX == 0 {
                    self.env.batcher.flush();
                }
            }
            let now = self.env.clock.now();
            let is_done = self.fire_due(now);
            self.env.batcher.flush();
            if let Some(recorder) = &mut self.env.recorder {
                recorder.flush_if_due(now);
            }
            if is_done && self.shutdown.is_none() {
                let deadline = self.next_deadline();
                sleeper.sleep(&self.env.clock, deadline, || self.inbox.is_pending());
            }
        }
        self.env.batcher.flush();
        self.shut_down();
    }

    fn handle_input(&mut self, input: Input<E>) {
        match input {
            Input::Arrival(arrival) => {
                self.fire_due(arrival.at);
                self.handle_arrival(arrival);
            }
            Input::Closed(route, closed) => self.handle_closed(route, &closed),
            Input::Job(job) => job(self),
        }
    }

    fn handle_arrival(&mut self, arrival: Arrival) {
        let Arrival { route, at, channel, bytes, _permit } = arrival;
        let Some(attached) = find_attached(&mut self.nodes, route) else { return };
        if attached.emulation.is_some() {
            let held = HeldMessage { route, direction: Direction::Incoming, channel, bytes };
            return attached.hold(&mut self.env.in_flight, at, held);
        }
        self.call(route.node, at, Call::Message(route.peer, channel, &bytes));
    }

    /// Returns the earliest deadline of a machine or an emulated link.
    fn next_deadline(&self) -> Option<LocalTime> {
        let timer = self.env.timers.first().map(|(at, _)| *at);
        [timer, self.env.in_flight.next_at()].into_iter().flatten().min()
    }

    /// Serves what is due by this time, in order. Returns false if there may be more.
    fn fire_due(&mut self, now: LocalTime) -> bool {
        for _ in 0..DUE_MAX {
            let timer = self.env.timers.first().copied();
            match (timer, self.env.in_flight.next_at()) {
                (Some((at, id)), release) if at <= now && release.is_none_or(|release| at <= release) => {
                    self.env.lateness.record(self.env.clock.now() - at);
                    self.call(id, now, Call::Timeout);
                }
                (_, Some(at)) if at <= now => self.release_next(),
                _ => return true,
            }
        }
        false
    }

    /// Releases the next message from the emulated links.
    fn release_next(&mut self) {
        let Some((at, HeldMessage { route, direction, channel, bytes })) = self.env.in_flight.pop() else {
            return;
        };
        let Some(attached) = find_attached(&mut self.nodes, route) else { return };
        attached.in_flight -= 1;
        match direction {
            Direction::Outgoing => attached.send(&self.env.counters, channel, bytes),
            Direction::Incoming => self.call(route.node, at, Call::Message(route.peer, channel, &bytes)),
        }
    }

    /// Calls a machine. One that panics is removed; the others go on.
    pub(super) fn call(&mut self, id: NodeId, at: LocalTime, call: Call<'_, E::Command>) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let env = &mut self.env;
        if catch_unwind(AssertUnwindSafe(|| node.call(env, at, call))).is_err() {
            self.remove_panicked(id);
        }
    }

    /// Gives a closure access to a machine. If the closure panics, the machine is removed, too.
    pub(super) fn inspect<R>(&mut self, id: NodeId, read: impl FnOnce(&mut E, LocalTime) -> R) -> Option<R> {
        let node = self.nodes.get_mut(&id)?;
        let now = self.env.clock.now();
        let env = &mut self.env;
        let seen = catch_unwind(AssertUnwindSafe(|| {
            let seen = read(&mut node.endpoint, now);
            node.reschedule(env, now, false);
            seen
        }));
        if seen.is_err() {
            self.remove_panicked(id);
        }
        seen.ok()
    }

    fn remove_panicked(&mut self, id: NodeId) {
        add(&self.env.counters.panics, 1);
        tracing::error!(node = id.0, "a machine panicked and was removed");
        drop(self.remove(id, &CloseCode::Internal.into()));
    }

    pub(super) fn add(&mut self, id: NodeId, endpoint: E, config: &[u8]) {
        drop(self.remove(id, &CloseCode::RoomClosed.into()));
        if let Some(recorder) = &mut self.env.recorder {
            recorder.node(id, config);
        }
        let mut node = Node::new(id, endpoint);
        let now = self.env.clock.now();
        node.reschedule(&mut self.env, now, false);
        self.nodes.insert(id, node);
    }

    /// Removes a node. Its machine sees nothing more; its peers are closed for this reason.
    pub(super) fn remove(&mut self, id: NodeId, reason: &CloseReason) -> Option<E> {
        let mut node = self.nodes.remove(&id)?;
        node.unschedule(&mut self.env);
        for (peer, attached) in &node.peers {
            attached.connection.close(reason.clone());
            (self.env.callbacks.on_detached)(id, *peer, &Closed::ByUs(reason.clone()), &attached.counters);
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
            return (self.env.callbacks.on_detached)(id, peer, &closed, &counters);
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
            AttachedPeer {
                connection: connection.clone(),
                generation: route.generation,
                emulation,
                in_flight: 0,
                counters: counters.clone(),
            },
        );
        let (clock, totals) = (self.env.clock, self.env.counters.clone());
        self.call(id, clock.now(), Call::Peer(PeerChange::Joined { peer, datagram_max }));
        let inbox = self.inbox.clone();
        ConnectionReader { route, connection, inbox, clock, allowance, counters, totals }.start(reader);
    }

    /// Closes a peer's connection; its machine sees the peer leave.
    pub(super) fn detach(&mut self, id: NodeId, peer: PeerId, reason: &CloseReason) {
        let Some(attached) = self.nodes.get_mut(&id).and_then(|node| node.peers.remove(&peer)) else {
            return;
        };
        attached.connection.close(reason.clone());
        self.call(id, self.env.clock.now(), Call::Peer(PeerChange::Left { peer }));
        (self.env.callbacks.on_detached)(id, peer, &Closed::ByUs(reason.clone()), &attached.counters);
    }

    /// Handles the end of a connection. Does nothing if the attachment has already ended.
    fn handle_closed(&mut self, route: Route, closed: &Closed) {
        let Some(counters) = find_attached(&mut self.nodes, route).map(|attached| attached.counters.clone())
        else {
            return;
        };
        if let Some(node) = self.nodes.get_mut(&route.node) {
            node.peers.remove(&route.peer);
        }
        let change = PeerChange::Left { peer: route.peer };
        self.call(route.node, self.env.clock.now(), Call::Peer(change));
        (self.env.callbacks.on_detached)(route.node, route.peer, closed, &counters);
    }

    /// Shows every machine its peers leaving and drains and closes their connections.
    fn shut_down(mut self) {
        self.inbox.close();
        let Some(shutdown) = self.shutdown.take() else { return };
        let mut leaving: Vec<(NodeId, PeerId, Connection)> = Vec::new();
        for (id, node) in &mut self.nodes {
            let peers = std::mem::take(&mut node.peers);
            leaving.extend(peers.into_iter().map(|(peer, attached)| (*id, peer, attached.connection)));
        }
        let mut closing = Vec::new();
        for (id, peer, connection) in leaving {
            let (runtime, drain_max) = (connection.runtime().clone(), shutdown.drain_max);
            closing.push(
                runtime
                    .spawn(async move { connection.close_gently(CloseCode::ShuttingDown, drain_max).await }),
            );
            self.call(id, self.env.clock.now(), Call::Peer(PeerChange::Left { peer }));
        }
        if let Some(mut recorder) = self.env.recorder.take() {
            recorder.finish();
        }
        let nodes = self.nodes.into_iter().map(|(id, node)| (id, node.endpoint)).collect();
        if let Some(reply) = shutdown.reply {
            let _ = reply.send(ShutdownReply { nodes, closing });
        }
    }
}

/// Closes the inbox however the thread ends, so that nobody waits for it.
struct CloseOnDrop<E: Endpoint>(Arc<Inbox<E>>);

impl<E: Endpoint> Drop for CloseOnDrop<E> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Returns the attachment of a route unless it has been replaced.
fn find_attached<E>(nodes: &mut BTreeMap<NodeId, Node<E>>, route: Route) -> Option<&mut AttachedPeer> {
    nodes
        .get_mut(&route.node)?
        .peers
        .get_mut(&route.peer)
        .filter(|attached| attached.generation == route.generation)
}
