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
mod handle;
mod inbox;
mod node;
mod post;
mod reading;
mod sleep;
mod turn;

pub use allowance::Allowance;
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
use crate::emulate::{Air, Emulation};
use crate::record::{Recording, RecordingStatus, Tape};
use crate::transport::{Closed, Connection};
use counters::Lateness;
use handle::Shared;
use inbox::Inbox;
use node::Desk;
use post::Post;
use turn::Turn;

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
type OnGone = Box<dyn FnMut(NodeId, PeerId, &Closed, &Arc<PeerCounters>) + Send>;

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
    /// A crank that tells nobody and records nothing.
    #[must_use]
    pub fn new() -> Self {
        let sinks = Sinks { on_event: Box::new(|_, _, _| {}), on_gone: Box::new(|_, _, _, _| {}) };
        Self { sinks, tape: None, status: None, clock: LocalClock::start(), spins: true }
    }

    /// Tells of the machines' events. Called on the crank's thread: be quick.
    #[must_use]
    pub fn on_event(mut self, sink: impl FnMut(NodeId, LocalTime, E::Event) + Send + 'static) -> Self {
        self.sinks.on_event = Box::new(sink);
        self
    }

    /// Tells of peers that are gone, and why, with the counts that [`attach`](CrankHandle::attach) returned: by them one
    /// attachment of a peer is told from its next. Called on the crank's thread: be quick.
    #[must_use]
    pub fn on_gone(
        mut self,
        sink: impl FnMut(NodeId, PeerId, &Closed, &Arc<PeerCounters>) + Send + 'static,
    ) -> Self {
        self.sinks.on_gone = Box::new(sink);
        self
    }

    /// Uses this clock, so that several cranks of one process show the same time.
    #[must_use]
    pub const fn with_clock(mut self, clock: LocalClock) -> Self {
        self.clock = clock;
        self
    }

    /// Serves what comes and what is due a hundred times a second, all of it together: for machines that may be a little
    /// late, on cores that others need.
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
            post: Post::new(counters.clone()),
        };
        let turn = Turn {
            nodes: BTreeMap::new(),
            desk,
            inbox: inbox.clone(),
            attachments: 0,
            stop: None,
            spins: self.spins,
        };
        let thread = thread::Builder::new().name("evenkeel-crank".to_owned()).spawn(move || turn.run())?;
        inbox.serve(thread.thread().clone());
        let shared = Shared { inbox, counters, lateness, clock: self.clock, status: self.status };
        Ok(CrankHandle(Arc::new(shared)))
    }
}
