//! What asks a crank for things, from any thread.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{Endpoint, LocalTime, PeerId, Seed, Wire};
use evenkeel_link::{Link, LinkFaults};
use tokio::sync::oneshot;

use super::counters::{CrankCounters, CrankCounts, Lateness, LatenessCounts, PeerCounters, PeerCounts};
use super::inbox::Inbox;
use super::node::Told;
use super::turn::{Remains, Stop, Turn};
use super::{Attachment, CrankError, NodeId};
use crate::clock::LocalClock;
use crate::emulate::Emulation;
use crate::record::RecordingStatus;
use crate::transport::CloseReason;

pub(super) struct Shared<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    pub(super) inbox: Arc<Inbox<E>>,
    pub(super) counters: Arc<CrankCounters>,
    pub(super) lateness: Arc<Lateness>,
    pub(super) clock: LocalClock,
    pub(super) status: Option<RecordingStatus>,
}

impl<E> Drop for Shared<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    fn drop(&mut self) {
        let stop = Stop { drain_max: Duration::ZERO, reply: None };
        let _ = self.inbox.push_wish(Box::new(move |turn| turn.stop = Some(stop)));
    }
}

/// What asks a crank for things. Clones ask the same one.
pub struct CrankHandle<E>(pub(super) Arc<Shared<E>>)
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static;

impl<E> CrankHandle<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    /// Adds a machine. One with the same number is removed first.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or over.
    pub fn add(&self, node: NodeId, endpoint: E) -> Result<(), CrankError> {
        self.wish(move |turn| turn.add(node, endpoint, &[]))
    }

    /// The same, with a configuration that goes into the recording, where a replay finds it to build the machine from.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or over.
    pub fn add_configured(&self, node: NodeId, endpoint: E, config: &impl Wire) -> Result<(), CrankError> {
        let mut bytes = Vec::new();
        config.emit(&mut bytes);
        self.wish(move |turn| turn.add(node, endpoint, &bytes))
    }

    /// Takes a machine out and closes the connections of its peers for this reason.
    ///
    /// # Errors
    /// [`CrankError`] if there is no such machine, or the crank is busy or over.
    pub async fn remove(&self, node: NodeId, reason: impl Into<CloseReason>) -> Result<E, CrankError> {
        let (reply, answer) = oneshot::channel();
        let reason = reason.into();
        self.wish(move |turn| drop(reply.send(turn.remove(node, &reason))))?;
        answer.await.map_err(|_| CrankError::Stopped)?.ok_or(CrankError::NoSuchNode)
    }

    /// What was counted for an attached peer; `None` if it is not attached.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or over.
    pub async fn peer_counts(&self, node: NodeId, peer: PeerId) -> Result<Option<PeerCounts>, CrankError> {
        let (reply, answer) = oneshot::channel();
        self.wish(move |turn| {
            let attached = turn.nodes.get(&node).and_then(|node| node.peers.get(&peer));
            let _ = reply.send(attached.map(|attached| attached.counters.read()));
        })?;
        answer.await.map_err(|_| CrankError::Stopped)
    }

    /// Attaches a peer's connection to a machine, which is told that the peer joined. If the peer is attached already
    /// its former connection is closed with [`Replaced`](crate::transport::CloseCode::Replaced), and the machine is told
    /// that it left. If there is no such machine the connection is closed. The counts of the attachment are returned.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or over.
    pub fn attach(
        &self,
        node: NodeId,
        peer: PeerId,
        attachment: impl Into<Attachment>,
    ) -> Result<Arc<PeerCounters>, CrankError> {
        let counters = Arc::new(PeerCounters::default());
        let (attachment, counted) = (attachment.into(), counters.clone());
        self.wish(move |turn| turn.attach(node, peer, attachment, counted))?;
        Ok(counters)
    }

    /// Closes a peer's connection for this reason, and tells the machine that it left.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or over.
    pub fn detach(
        &self,
        node: NodeId,
        peer: PeerId,
        reason: impl Into<CloseReason>,
    ) -> Result<(), CrankError> {
        let reason = reason.into();
        self.wish(move |turn| turn.detach(node, peer, &reason))
    }

    /// Gives the emulated links of a peer other faults from now on: as seen from its machine, what goes out, and what
    /// comes in. A peer without emulated links gets some. Nothing happens if there is no such peer.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or over.
    pub fn emulate(
        &self,
        node: NodeId,
        peer: PeerId,
        outgoing: LinkFaults,
        incoming: LinkFaults,
    ) -> Result<(), CrankError> {
        self.wish(move |turn| {
            let Some(attached) = turn.nodes.get_mut(&node).and_then(|node| node.peers.get_mut(&peer)) else {
                return;
            };
            let seed = Seed::new(u64::from(node.0)).child(u64::from(peer.0));
            let emulation = attached.emulation.get_or_insert_with(|| Emulation {
                outgoing: Link::new(LinkFaults::default(), seed.child(0)),
                incoming: Link::new(LinkFaults::default(), seed.child(1)),
            });
            emulation.outgoing.change(outgoing);
            emulation.incoming.change(incoming);
        })
    }

    /// Says something to a machine.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or over.
    pub fn command(&self, node: NodeId, command: E::Command) -> Result<(), CrankError> {
        let at = self.0.clock.now();
        self.wish(move |turn| turn.tell(node, at, Told::Command(command)))
    }

    /// Reads a machine's state on the crank's thread. What is changed there is in no recording: change with commands.
    ///
    /// # Errors
    /// [`CrankError`] if there is no such machine, or the crank is busy or over.
    pub async fn with<R: Send + 'static>(
        &self,
        node: NodeId,
        look: impl FnOnce(&mut E, LocalTime) -> R + Send + 'static,
    ) -> Result<R, CrankError> {
        self.look(node, look)?.await.map_err(|_| CrankError::Stopped)?
    }

    /// As [`with`](Self::with), for threads without a runtime. Not for the crank's own thread, which would wait for
    /// itself: do not call it where events are told.
    ///
    /// # Errors
    /// [`CrankError`] if there is no such machine, or the crank is busy or over.
    ///
    /// # Panics
    /// If called on a task of a runtime: that would block it.
    pub fn with_blocking<R: Send + 'static>(
        &self,
        node: NodeId,
        look: impl FnOnce(&mut E, LocalTime) -> R + Send + 'static,
    ) -> Result<R, CrankError> {
        self.look(node, look)?.blocking_recv().map_err(|_| CrankError::Stopped)?
    }

    /// What it counted until now.
    #[must_use]
    pub fn counts(&self) -> CrankCounts {
        self.0.counters.read()
    }

    /// How late timeouts were told until now.
    #[must_use]
    pub fn lateness(&self) -> LatenessCounts {
        self.0.lateness.read()
    }

    /// The crank's clock.
    #[must_use]
    pub fn clock(&self) -> LocalClock {
        self.0.clock
    }

    /// How the recording is doing, if there is one.
    #[must_use]
    pub fn recording(&self) -> Option<RecordingStatus> {
        self.0.status.clone()
    }

    /// Ends the crank: tells every machine that its peers left, sends what waits on reliable streams for so long at
    /// most, closes all connections with [`ShuttingDown`](crate::transport::CloseCode::ShuttingDown), and ends the
    /// recording. Returns the machines.
    ///
    /// # Errors
    /// [`CrankError::Stopped`] if it is over already.
    pub async fn stop(&self, drain_max: Duration) -> Result<Vec<(NodeId, E)>, CrankError> {
        let (reply, answer) = oneshot::channel();
        let stop = Stop { drain_max, reply: Some(reply) };
        self.wish(move |turn| turn.stop = Some(stop))?;
        let Remains { nodes, closing } = answer.await.map_err(|_| CrankError::Stopped)?;
        for closed in closing {
            let _ = closed.await;
        }
        Ok(nodes)
    }

    fn look<R: Send + 'static>(
        &self,
        node: NodeId,
        look: impl FnOnce(&mut E, LocalTime) -> R + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<R, CrankError>>, CrankError> {
        let (reply, answer) = oneshot::channel();
        self.wish(move |turn| drop(reply.send(turn.look(node, look).ok_or(CrankError::NoSuchNode))))?;
        Ok(answer)
    }

    fn wish(&self, wish: impl FnOnce(&mut Turn<E>) + Send + 'static) -> Result<(), CrankError> {
        self.0.inbox.push_wish(Box::new(wish))
    }
}

impl<E> Clone for CrankHandle<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E> fmt::Debug for CrankHandle<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CrankHandle({:?})", self.counts())
    }
}
