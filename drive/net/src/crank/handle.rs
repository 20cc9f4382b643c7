//! The handle through which any thread controls a crank.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use evenkeel_core::{Endpoint, LocalTime, PeerId, Seed, Wire};
use evenkeel_link::{Link, LinkFaults};
use tokio::sync::oneshot;

use super::counters::{
    CrankCounters, CrankCounts, LatenessCounts, LatenessHistogram, PeerCounters, PeerCounts,
};
use super::driver::{Driver, Shutdown, ShutdownReply};
use super::inbox::Inbox;
use super::node::Call;
use super::{Attachment, CrankError, NodeId};
use crate::clock::LocalClock;
use crate::emulate::Emulation;
use crate::record::RecordingStatus;
use crate::transport::CloseReason;

pub(super) struct HandleInner<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    pub(super) inbox: Arc<Inbox<E>>,
    pub(super) counters: Arc<CrankCounters>,
    pub(super) lateness: Arc<LatenessHistogram>,
    pub(super) clock: LocalClock,
    pub(super) status: Option<RecordingStatus>,
}

impl<E> Drop for HandleInner<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    fn drop(&mut self) {
        let shutdown = Shutdown { drain_max: Duration::ZERO, reply: None };
        let _ = self.inbox.push_job(Box::new(move |driver| driver.shutdown = Some(shutdown)));
    }
}

/// Controls a crank from any thread. Clones control the same crank.
pub struct CrankHandle<E>(pub(super) Arc<HandleInner<E>>)
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static;

impl<E> CrankHandle<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    /// Adds a machine, replacing any with the same number.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or has stopped.
    pub fn add(&self, node: NodeId, endpoint: E) -> Result<(), CrankError> {
        self.job(move |driver| driver.add(node, endpoint, &[]))
    }

    /// Adds a machine whose configuration goes into the recording, so that a replay can rebuild it.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or has stopped.
    pub fn add_configured(&self, node: NodeId, endpoint: E, config: &impl Wire) -> Result<(), CrankError> {
        let mut bytes = Vec::new();
        config.emit(&mut bytes);
        self.job(move |driver| driver.add(node, endpoint, &bytes))
    }

    /// Removes a machine and closes the connections of its peers for this reason.
    ///
    /// # Errors
    /// [`CrankError`] if there is no such machine, or the crank is busy or has stopped.
    pub async fn remove(&self, node: NodeId, reason: impl Into<CloseReason>) -> Result<E, CrankError> {
        let (reply, answer) = oneshot::channel();
        let reason = reason.into();
        self.job(move |driver| drop(reply.send(driver.remove(node, &reason))))?;
        answer.await.map_err(|_| CrankError::Stopped)?.ok_or(CrankError::NoSuchNode)
    }

    /// Returns the counts of a peer; `None` if it is not attached.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or has stopped.
    pub async fn peer_counts(&self, node: NodeId, peer: PeerId) -> Result<Option<PeerCounts>, CrankError> {
        let (reply, answer) = oneshot::channel();
        self.job(move |driver| {
            let attached = driver.nodes.get(&node).and_then(|node| node.peers.get(&peer));
            let _ = reply.send(attached.map(|attached| attached.counters.read()));
        })?;
        answer.await.map_err(|_| CrankError::Stopped)
    }

    /// Attaches a peer's connection to a machine, which sees the peer join. Returns the counters of this attachment.
    ///
    /// If the peer is already attached, its old connection is closed with
    /// [`Replaced`](crate::transport::CloseCode::Replaced) and the machine first sees it leave. If there is no such
    /// machine, the connection is closed.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or has stopped.
    pub fn attach(
        &self,
        node: NodeId,
        peer: PeerId,
        attachment: impl Into<Attachment>,
    ) -> Result<Arc<PeerCounters>, CrankError> {
        let counters = Arc::new(PeerCounters::default());
        let (attachment, counted) = (attachment.into(), counters.clone());
        self.job(move |driver| driver.attach(node, peer, attachment, counted))?;
        Ok(counters)
    }

    /// Closes a peer's connection for this reason; the machine sees the peer leave.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or has stopped.
    pub fn detach(
        &self,
        node: NodeId,
        peer: PeerId,
        reason: impl Into<CloseReason>,
    ) -> Result<(), CrankError> {
        let reason = reason.into();
        self.job(move |driver| driver.detach(node, peer, &reason))
    }

    /// Changes the faults of a peer's emulated links, adding such links if it has none. Directions are as seen from
    /// the machine. Does nothing if there is no such peer.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or has stopped.
    pub fn emulate(
        &self,
        node: NodeId,
        peer: PeerId,
        outgoing: LinkFaults,
        incoming: LinkFaults,
    ) -> Result<(), CrankError> {
        self.job(move |driver| {
            let Some(attached) = driver.nodes.get_mut(&node).and_then(|node| node.peers.get_mut(&peer))
            else {
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

    /// Passes a command to a machine.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or has stopped.
    pub fn command(&self, node: NodeId, command: E::Command) -> Result<(), CrankError> {
        self.command_at(node, self.0.clock.now(), command)
    }

    /// Passes a command that was given at this time by the crank's clock, which may be a little in the past. The machine sees
    /// it at that time, unless it has seen a later one.
    ///
    /// # Errors
    /// [`CrankError`] if the crank is busy or has stopped.
    pub fn command_at(&self, node: NodeId, at: LocalTime, command: E::Command) -> Result<(), CrankError> {
        self.job(move |driver| driver.call(node, at, Call::Command(command)))
    }

    /// Reads a machine's state on the crank's thread. Changes made here are not recorded; use commands for changes.
    ///
    /// # Errors
    /// [`CrankError`] if there is no such machine, or the crank is busy or has stopped.
    pub async fn with<R: Send + 'static>(
        &self,
        node: NodeId,
        read: impl FnOnce(&mut E, LocalTime) -> R + Send + 'static,
    ) -> Result<R, CrankError> {
        let (reply, answer) = oneshot::channel();
        self.job(move |driver| drop(reply.send(driver.inspect(node, read).ok_or(CrankError::NoSuchNode))))?;
        answer.await.map_err(|_| CrankError::Stopped)?
    }

    /// Blocking version of [`with`](Self::with), usually for some microseconds. Deadlocks on the crank's own thread, so do
    /// not call it from the crank's callbacks.
    ///
    /// # Errors
    /// [`CrankError`] if there is no such machine, or the crank is busy or has stopped.
    pub fn with_blocking<R: Send + 'static>(
        &self,
        node: NodeId,
        read: impl FnOnce(&mut E, LocalTime) -> R + Send + 'static,
    ) -> Result<R, CrankError> {
        let (reply, answer) = sync_channel(1);
        self.job(move |driver| drop(reply.send(driver.inspect(node, read).ok_or(CrankError::NoSuchNode))))?;
        answer.recv().map_err(|_| CrankError::Stopped)?
    }

    /// Returns the crank's counts so far.
    #[must_use]
    pub fn counts(&self) -> CrankCounts {
        self.0.counters.read()
    }

    /// Returns how late timeouts were handled so far.
    #[must_use]
    pub fn lateness(&self) -> LatenessCounts {
        self.0.lateness.read()
    }

    /// Returns the crank's clock.
    #[must_use]
    pub fn clock(&self) -> LocalClock {
        self.0.clock
    }

    /// Returns the state of the recording, if there is one.
    #[must_use]
    pub fn recording(&self) -> Option<RecordingStatus> {
        self.0.status.clone()
    }

    /// Stops the crank and returns its machines: every machine sees its peers leave, reliable messages are drained for
    /// at most `drain_max`, all connections are closed with
    /// [`ShuttingDown`](crate::transport::CloseCode::ShuttingDown), and the recording ends.
    ///
    /// # Errors
    /// [`CrankError::Stopped`] if it has already stopped.
    pub async fn stop(&self, drain_max: Duration) -> Result<Vec<(NodeId, E)>, CrankError> {
        let (reply, answer) = oneshot::channel();
        let shutdown = Shutdown { drain_max, reply: Some(reply) };
        self.job(move |driver| driver.shutdown = Some(shutdown))?;
        let ShutdownReply { nodes, closing } = answer.await.map_err(|_| CrankError::Stopped)?;
        for closed in closing {
            let _ = closed.await;
        }
        Ok(nodes)
    }

    fn job(&self, job: impl FnOnce(&mut Driver<E>) + Send + 'static) -> Result<(), CrankError> {
        self.0.inbox.push_job(Box::new(job))
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
