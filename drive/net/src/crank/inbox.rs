//! What waits for the crank's thread: bounded, with an overflow for each kind.
//!
//! Datagrams beyond the bound are dropped, as a network would. Reliable messages hold one of their peer's permits while
//! they wait, so their readers stop reading. What the application asks for is refused when too much of it waits.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

use bytes::Bytes;
use evenkeel_core::{Channel, Endpoint, LocalTime, PeerId};
use tokio::sync::OwnedSemaphorePermit;

use super::turn::Turn;
use super::{CrankError, NodeId};
use crate::transport::Closed;

/// How many datagrams may wait, of all peers together.
pub(super) const DATAGRAMS_MAX: usize = 8_192;
/// How many reliable messages of one peer may wait.
pub(super) const RELIABLE_MAX: usize = 32;
/// How many wishes of the application may wait.
pub(super) const WISHES_MAX: usize = 8_192;

/// One attachment of one peer to one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Route {
    pub(super) node: NodeId,
    pub(super) peer: PeerId,
    /// Tells it from earlier attachments of the same peer.
    pub(super) generation: u64,
}

/// A message from outside.
pub(super) struct Arrived {
    pub(super) route: Route,
    /// When it came out of the socket.
    pub(super) at: LocalTime,
    pub(super) channel: Channel,
    pub(super) bytes: Bytes,
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

/// What the application wants done on the crank's thread.
pub(super) type Wish<E> = Box<dyn FnOnce(&mut Turn<E>) + Send>;

pub(super) enum Input<E: Endpoint> {
    Arrived(Arrived),
    Gone(Route, Closed),
    Wish(Wish<E>),
}

struct Queue<E: Endpoint> {
    inputs: VecDeque<Input<E>>,
    datagrams: usize,
    wishes: usize,
    is_closed: bool,
}

pub(super) struct Inbox<E: Endpoint> {
    queue: Mutex<Queue<E>>,
    is_pending: AtomicBool,
    thread: OnceLock<Thread>,
}

impl<E: Endpoint> Inbox<E> {
    pub(super) const fn new() -> Self {
        let queue = Queue { inputs: VecDeque::new(), datagrams: 0, wishes: 0, is_closed: false };
        Self { queue: Mutex::new(queue), is_pending: AtomicBool::new(false), thread: OnceLock::new() }
    }

    /// Names the thread to wake.
    pub(super) fn serve(&self, thread: Thread) {
        self.thread.get_or_init(|| thread).unpark();
    }

    fn lock(&self) -> MutexGuard<'_, Queue<E>> {
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
    pub(super) fn push_reliable(&self, arrived: Arrived) {
        let mut queue = self.lock();
        if !queue.is_closed {
            queue.inputs.push_back(Input::Arrived(arrived));
            drop(queue);
            self.wake();
        }
    }

    /// Appends datagrams that came together, as far as there is room. Gives how many were dropped.
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
        let arrived = |bytes| Arrived { route, at, channel: Channel::Datagram, bytes, _permit: None };
        queue.inputs.extend(datagrams.drain(..).take(taken).map(|bytes| Input::Arrived(arrived(bytes))));
        drop(queue);
        self.wake();
        dropped as u64
    }

    /// There is one for each attachment, so they are bounded as these are.
    pub(super) fn push_gone(&self, route: Route, closed: Closed) {
        let mut queue = self.lock();
        if !queue.is_closed {
            queue.inputs.push_back(Input::Gone(route, closed));
            drop(queue);
            self.wake();
        }
    }

    pub(super) fn push_wish(&self, wish: Wish<E>) -> Result<(), CrankError> {
        let mut queue = self.lock();
        if queue.is_closed {
            return Err(CrankError::Stopped);
        }
        if queue.wishes >= WISHES_MAX {
            return Err(CrankError::Busy);
        }
        queue.wishes += 1;
        queue.inputs.push_back(Input::Wish(wish));
        drop(queue);
        self.wake();
        Ok(())
    }

    /// Whether something waits.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::Acquire)
    }

    /// Swaps all that waits with an empty queue.
    pub(super) fn drain(&self, inputs: &mut VecDeque<Input<E>>) {
        // First the flag: what is pushed behind this sets it again.
        self.is_pending.store(false, Ordering::Release);
        let mut queue = self.lock();
        std::mem::swap(&mut queue.inputs, inputs);
        (queue.datagrams, queue.wishes) = (0, 0);
    }

    /// Nothing is taken any more, and what waits is forgotten.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        let forgotten = std::mem::take(&mut queue.inputs);
        drop(queue);
        drop(forgotten);
    }
}
