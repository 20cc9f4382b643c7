//! The driver loop on real sockets: one thread that turns many machines, precisely.
//!
//! The thread sleeps until the earliest of its machines' timeouts or until something arrives, and after each call
//! follows the law: drain what the machine transmits, pass on its events, look at its timeout. Sockets are read by tasks
//! on a tokio runtime, which stamp what arrives and queue it for the thread.
//!
//! A [`CrankHandle`] asks the thread for things; whatever it asks is done in order. When the last handle is dropped the
//! crank stops, as if told to without a wait.

mod allowance;
mod counters;
mod inbox;
mod node;
mod reading;
mod sleep;
mod turn;

pub use allowance::Allowance;
pub use counters::{
    CrankCounters, CrankCounts, LATENESS_MICROS, LatenessCounts, PeerCounters, PeerCounts, REJECTED_KINDS,
};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use evenkeel_core::{Endpoint, LocalTime, PeerId, Wire};
use tokio::sync::oneshot;

use crate::clock::LocalClock;
use crate::emulate::{Air, Emulation};
use crate::record::{Recording, RecordingStatus, Tape};
use crate::transport::{CloseReason, Closed, Connection};
use counters::Lateness;
use inbox::Inbox;
use node::{Desk, Told};
use turn::{Remains, Stop, Turn};

/// A machine of a crank; also its number in a transcript.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

/// Why the crank did not do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CrankError {
    /// Too much waits for it.
    #[error("the crank is busy: too much waits for it already")]
    Busy,
    /// It is over.
    #[error("the crank has stopped")]
    Stopped,
    /// There is no such machine.
    #[error("there is no machine with this number")]
    NoSuchNode,
}

type OnEvent<E> = Box<dyn FnMut(NodeId, LocalTime, <E as Endpoint>::Event) + Send>;
type OnGone = Box<dyn FnMut(NodeId, PeerId, &Closed) + Send>;

/// Whom the crank tells. Called on its thread: be quick.
pub(crate) struct Sinks<E: Endpoint> {
    on_event: OnEvent<E>,
    on_gone: OnGone,
}

/// A connection to attach, and how.
#[derive(Debug)]
pub struct Attachment {
    /// Nobody else may read from it.
    pub connection: Connection,
    /// The links to emulate, if any.
    pub emulation: Option<Emulation>,
    /// How much the peer may send; `None`: as much as it likes.
    pub allowance: Option<Allowance>,
}

impl From<Connection> for Attachment {
    fn from(connection: Connection) -> Self {
        Self { connection, emulation: None, allowance: None }
    }
}

/// A crank to be started.
pub struct Crank<E: Endpoint> {
    sinks: Sinks<E>,
    tape: Option<Box<dyn Tape<E::Command>>>,
    status: Option<RecordingStatus>,
    clock: LocalClock,
}

impl<E> Default for Crank<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Crank<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    /// A crank that tells nobody and records nothing.
    #[must_use]
    pub fn new() -> Self {
        let sinks = Sinks { on_event: Box::new(|_, _, _| {}), on_gone: Box::new(|_, _, _| {}) };
        Self { sinks, tape: None, status: None, clock: LocalClock::start() }
    }

    /// Tells of the machines' events. Called on the crank's thread: be quick.
    #[must_use]
    pub fn on_event(mut self, sink: impl FnMut(NodeId, LocalTime, E::Event) + Send + 'static) -> Self {
        self.sinks.on_event = Box::new(sink);
        self
    }

    /// Tells of peers that are gone, and why. Called on the crank's thread: be quick.
    #[must_use]
    pub fn on_gone(mut self, sink: impl FnMut(NodeId, PeerId, &Closed) + Send + 'static) -> Self {
        self.sinks.on_gone = Box::new(sink);
        self
    }

    /// Uses this clock, so that several cranks of one process show the same time.
    #[must_use]
    pub const fn with_clock(mut self, clock: LocalClock) -> Self {
        self.clock = clock;
        self
    }

    /// Records every call.
    #[must_use]
    pub fn record(mut self, recording: Recording) -> Self
    where
        E::Command: Wire,
    {
        self.status = Some(recording.status());
        self.tape = Some(Box::new(recording));
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// What the system says if there can be no thread.
    pub fn start(self) -> io::Result<CrankHandle<E>> {
        let inbox = Arc::new(Inbox::new());
        let (counters, lateness) = (Arc::new(CrankCounters::default()), Arc::new(Lateness::default()));
        let desk = Desk {
            clock: self.clock,
            timers: BTreeSet::new(),
            air: Air::new(),
            sinks: self.sinks,
            tape: self.tape,
            counters: counters.clone(),
            lateness: lateness.clone(),
            outgoing: Vec::new(),
        };
        let turn = Turn { nodes: BTreeMap::new(), desk, inbox: inbox.clone(), attachments: 0, stop: None };
        let thread = thread::Builder::new().name("evenkeel-crank".to_owned()).spawn(move || turn.run())?;
        inbox.serve(thread.thread().clone());
        let shared = Shared { inbox, counters, lateness, clock: self.clock, status: self.status };
        Ok(CrankHandle(Arc::new(shared)))
    }
}

struct Shared<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    inbox: Arc<Inbox<E>>,
    counters: Arc<CrankCounters>,
    lateness: Arc<Lateness>,
    clock: LocalClock,
    status: Option<RecordingStatus>,
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
pub struct CrankHandle<E>(Arc<Shared<E>>)
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
        self.wish(move |turn| turn.add(node, endpoint))
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
