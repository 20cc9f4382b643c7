//! The driver loop on real sockets: one thread that drives many machines with precise deadlines.
//!
//! The thread sleeps until the earliest deadline of its machines or until an input arrives. After each call it drains the
//! machine: it sends what the machine transmits, passes on its events and reads its next deadline. Tasks on a tokio
//! runtime read the sockets, timestamp what arrives and queue it for the thread.
//!
//! A [`CrankHandle`] controls the thread; its requests are served in order. Dropping the last handle stops the crank
//! without draining.

mod allowance;
mod connection_reader;
mod counters;
mod driver;
mod handle;
mod inbox;
mod node;
mod send_batcher;
mod sleep;

pub use allowance::{Allowance, Bucket, Verdict};
pub use counters::{
    CrankCounters, CrankCounts, LATENESS_MICROS, LatenessCounts, PeerCounters, PeerCounts, REJECTED_KINDS,
};
pub use handle::CrankHandle;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::thread;

use evenkeel_core::{Endpoint, LocalTime, PeerId, Wire};

use crate::clock::LocalClock;
use crate::emulate::{DelayQueue, Emulation};
use crate::record::{CallRecorder, Recording, RecordingStatus};
use crate::transport::{Closed, Connection};
use counters::LatenessHistogram;
use driver::Driver;
use handle::HandleInner;
use inbox::Inbox;
use node::NodeEnvironment;
use send_batcher::SendBatcher;

/// Identifies a machine of a crank, also in recordings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

/// Why the crank did not serve a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrankError {
    /// Too many requests are queued.
    #[error("the crank is busy: too many requests are queued")]
    Busy,
    /// It has stopped.
    #[error("the crank has stopped")]
    Stopped,
    /// No machine has this number.
    #[error("there is no machine with this number")]
    NoSuchNode,
}

type OnEvent<E> = Box<dyn FnMut(NodeId, LocalTime, <E as Endpoint>::Event) + Send>;
type OnDetached = Box<dyn FnMut(NodeId, PeerId, &Closed, &Arc<PeerCounters>) + Send>;

/// The application's callbacks. They run on the crank's thread and must be quick.
pub(crate) struct Callbacks<E: Endpoint> {
    on_event: OnEvent<E>,
    on_detached: OnDetached,
}

/// A connection to attach, with its options.
#[derive(Debug)]
pub struct Attachment {
    /// The connection, which nobody else may read from.
    pub connection: Connection,
    /// The links to emulate, if any.
    pub emulation: Option<Emulation>,
    /// How much the peer may send; `None` for no limit.
    pub allowance: Option<Allowance>,
}

impl From<Connection> for Attachment {
    fn from(connection: Connection) -> Self {
        Self { connection, emulation: None, allowance: None }
    }
}

/// Builds a crank.
pub struct Crank<E: Endpoint> {
    callbacks: Callbacks<E>,
    recorder: Option<Box<dyn CallRecorder<E::Command>>>,
    status: Option<RecordingStatus>,
    clock: LocalClock,
    spins: bool,
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
    /// A crank without callbacks or recording.
    #[must_use]
    pub fn new() -> Self {
        let callbacks =
            Callbacks { on_event: Box::new(|_, _, _| {}), on_detached: Box::new(|_, _, _, _| {}) };
        Self { callbacks, recorder: None, status: None, clock: LocalClock::start(), spins: true }
    }

    /// Sets the callback for events of machines. It runs on the crank's thread and must be quick.
    #[must_use]
    pub fn on_event(mut self, sink: impl FnMut(NodeId, LocalTime, E::Event) + Send + 'static) -> Self {
        self.callbacks.on_event = Box::new(sink);
        self
    }

    /// Sets the callback for ended attachments. It receives the reason and the counters that
    /// [`attach`](CrankHandle::attach) returned, which identify the attachment. It runs on the crank's thread and must be
    /// quick.
    #[must_use]
    pub fn on_detached(
        mut self,
        sink: impl FnMut(NodeId, PeerId, &Closed, &Arc<PeerCounters>) + Send + 'static,
    ) -> Self {
        self.callbacks.on_detached = Box::new(sink);
        self
    }

    /// Sets the clock, so that several cranks of a process can share one.
    #[must_use]
    pub const fn with_clock(mut self, clock: LocalClock) -> Self {
        self.clock = clock;
        self
    }

    /// Makes the crank handle everything that arrived or is due in steps of 10 ms, for machines that may run a little late
    /// on cores that others need.
    #[must_use]
    pub const fn relaxed(mut self) -> Self {
        self.spins = false;
        self
    }

    /// Records every call.
    #[must_use]
    pub fn record(mut self, recording: Recording) -> Self
    where
        E::Command: Wire,
    {
        self.status = Some(recording.status());
        self.recorder = Some(Box::new(recording));
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// If the system refuses to start a thread.
    pub fn start(self) -> io::Result<CrankHandle<E>> {
        let inbox = Arc::new(Inbox::new());
        let (counters, lateness) =
            (Arc::new(CrankCounters::default()), Arc::new(LatenessHistogram::default()));
        let env = NodeEnvironment {
            clock: self.clock,
            timers: BTreeSet::new(),
            in_flight: DelayQueue::new(),
            callbacks: self.callbacks,
            recorder: self.recorder,
            counters: counters.clone(),
            lateness: lateness.clone(),
            outgoing: Vec::new(),
            batcher: SendBatcher::new(counters.clone()),
        };
        let driver = Driver {
            nodes: BTreeMap::new(),
            env,
            inbox: inbox.clone(),
            attachments: 0,
            shutdown: None,
            spins: self.spins,
        };
        let thread = thread::Builder::new().name("evenkeel-crank".to_owned()).spawn(move || driver.run())?;
        inbox.set_thread(thread.thread().clone());
        let inner = HandleInner { inbox, counters, lateness, clock: self.clock, status: self.status };
        Ok(CrankHandle(Arc::new(inner)))
    }
}
