//! The bounded input queue of the crank's thread, with an overflow rule for each kind of input.
//!
//! Datagrams beyond the bound are dropped, as a network would. A queued reliable message holds a permit of its peer, so
//! a full queue stops the peer's reader. Jobs from the application fail with [`CrankError::Busy`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

use bytes::Bytes;
use evenkeel_core::{Channel, Endpoint, LocalTime, PeerId};
use tokio::sync::OwnedSemaphorePermit;

use super::driver::Driver;
use super::{CrankError, NodeId};
use crate::transport::Closed;

/// Datagrams queued, of all peers together.
pub(super) const DATAGRAMS_MAX: usize = 8_192;
/// Reliable messages queued per peer.
pub(super) const RELIABLE_MAX: usize = 32;
/// Jobs of the application queued.
pub(super) const JOBS_MAX: usize = 8_192;

/// Identifies one attachment of a peer to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Route {
    pub(super) node: NodeId,
    pub(super) peer: PeerId,
    /// Distinguishes this attachment from earlier ones of the peer.
    pub(super) generation: u64,
}

/// A message from a connection.
pub(super) struct Arrival {
    pub(super) route: Route,
    /// When it was read from the socket.
    pub(super) at: LocalTime,
    pub(super) channel: Channel,
    pub(super) bytes: Bytes,
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

/// A closure that the application runs on the crank's thread.
pub(super) type Job<E> = Box<dyn FnOnce(&mut Driver<E>) + Send>;

pub(super) enum Input<E: Endpoint> {
    Arrival(Arrival),
    Closed(Route, Closed),
    Job(Job<E>),
}

struct InboxQueue<E: Endpoint> {
    inputs: VecDeque<Input<E>>,
    datagrams: usize,
    jobs: usize,
    is_closed: bool,
}

pub(super) struct Inbox<E: Endpoint> {
    queue: Mutex<InboxQueue<E>>,
    is_pending: AtomicBool,
    thread: OnceLock<Thread>,
}

impl<E: Endpoint> Inbox<E> {
    pub(super) const fn new() -> Self {
        let queue = InboxQueue { inputs: VecDeque::new(), datagrams: 0, jobs: 0, is_closed: false };
        Self { queue: Mutex::new(queue), is_pending: AtomicBool::new(false), thread: OnceLock::new() }
    }

    /// Sets the thread to wake.
    pub(super) fn set_thread(&self, thread: Thread) {
        self.thread.get_or_init(|| thread).unpark();
    }

    fn lock(&self) -> MutexGuard<'_, InboxQueue<E>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        if !self.is_pending.swap(true, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Appends a reliable message.
    pub(super) fn push_reliable(&self, arrival: Arrival) {
        let mut queue = self.lock();
        if !queue.is_closed {
            queue.inputs.push_back(Input::Arrival(arrival));
            drop(queue);
            self.wake();
        }
    }

    /// Appends datagrams that were read together, as far as there is room. Returns the number dropped.
    pub(super) fn push_datagrams(&self, route: Route, at: LocalTime, datagrams: &mut Vec<Bytes>) -> u64 {
        if datagrams.is_empty() {
            return 0;
        }
        let mut queue = self.lock();
        if queue.is_closed {
            datagrams.clear();
            return 0;
        }
        let taken = datagrams.len().min(DATAGRAMS_MAX - queue.datagrams);
        let dropped = datagrams.len() - taken;
        queue.datagrams += taken;
        let arrival = |bytes| Arrival { route, at, channel: Channel::Datagram, bytes, _permit: None };
        queue.inputs.extend(datagrams.drain(..).take(taken).map(|bytes| Input::Arrival(arrival(bytes))));
        drop(queue);
        self.wake();
        dropped as u64
    }

    /// Appends the end of an attachment. There is one per attachment, so attachments bound them.
    pub(super) fn push_closed(&self, route: Route, closed: Closed) {
        let mut queue = self.lock();
        if !queue.is_closed {
            queue.inputs.push_back(Input::Closed(route, closed));
            drop(queue);
            self.wake();
        }
    }

    pub(super) fn push_job(&self, job: Job<E>) -> Result<(), CrankError> {
        let mut queue = self.lock();
        if queue.is_closed {
            return Err(CrankError::Stopped);
        }
        if queue.jobs >= JOBS_MAX {
            return Err(CrankError::Busy);
        }
        queue.jobs += 1;
        queue.inputs.push_back(Input::Job(job));
        drop(queue);
        self.wake();
        Ok(())
    }

    /// Whether inputs are waiting.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::Acquire)
    }

    /// Swaps the queue with `inputs`, which is empty.
    pub(super) fn drain(&self, inputs: &mut VecDeque<Input<E>>) {
        // Clear the flag first: whatever is pushed afterwards sets it again.
        self.is_pending.store(false, Ordering::Release);
        let mut queue = self.lock();
        std::mem::swap(&mut queue.inputs, inputs);
        (queue.datagrams, queue.jobs) = (0, 0);
    }

    /// Discards all inputs and accepts no more.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        let forgotten = std::mem::take(&mut queue.inputs);
        drop(queue);
        drop(forgotten);
    }
}
