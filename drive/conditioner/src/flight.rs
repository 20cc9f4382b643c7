//! Datagrams in flight: held until they are due, in order of that time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::clients::ClientLine;

/// Datagrams in flight per client and direction; more are dropped.
pub const IN_FLIGHT_MAX: usize = 4_096;
/// Bytes in flight per client, both directions together.
pub const CLIENT_BYTES_MAX: usize = 8 << 20;
/// Bytes in flight of all clients.
pub const BYTES_MAX: usize = 64 << 20;

/// The direction of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

/// A datagram in flight.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) due: Instant,
    /// Ties are released in order of entry.
    rank: u64,
    /// The delay of its link.
    pub(crate) delay_ns: u64,
    pub(crate) direction: Direction,
    pub(crate) client: Arc<ClientLine>,
    pub(crate) bytes: Box<[u8]>,
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for InFlight {}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.rank).cmp(&(other.due, other.rank))
    }
}

#[derive(Debug, Default)]
struct Held {
    heap: BinaryHeap<Reverse<InFlight>>,
    bytes: usize,
    next_rank: u64,
    stopped: bool,
}

/// What is in flight, shared by the two threads.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    held: Mutex<Held>,
    earlier: Condvar,
}

/// How much of one client is in flight.
#[derive(Debug, Default)]
pub(crate) struct Load {
    datagrams: [AtomicUsize; 2],
    bytes: AtomicUsize,
}

impl Flight {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a datagram until it is due. Returns false, and drops it, if too much is in flight.
    pub(crate) fn push(
        &self,
        client: &Arc<ClientLine>,
        direction: Direction,
        due: Instant,
        delay_ns: u64,
        bytes: &[u8],
    ) -> bool {
        let load = &client.load;
        let is_full = load.datagrams[direction as usize].load(Relaxed) >= IN_FLIGHT_MAX
            || load.bytes.load(Relaxed) + bytes.len() > CLIENT_BYTES_MAX;
        let mut held = self.held();
        if is_full || held.bytes + bytes.len() > BYTES_MAX {
            return false;
        }
        load.datagrams[direction as usize].fetch_add(1, Relaxed);
        load.bytes.fetch_add(bytes.len(), Relaxed);
        held.bytes += bytes.len();
        held.next_rank += 1;
        let rank = held.next_rank;
        let is_first = held.heap.peek().is_none_or(|Reverse(first)| due < first.due);
        let (client, bytes) = (client.clone(), bytes.into());
        held.heap.push(Reverse(InFlight { due, rank, delay_ns, direction, client, bytes }));
        drop(held);
        if is_first {
            self.earlier.notify_one();
        }
        true
    }

    /// Waits for the next datagram that is due; `None` once the conditioner stops.
    pub(crate) fn next_due(&self) -> Option<InFlight> {
        let mut held = self.held();
        loop {
            if held.stopped {
                return None;
            }
            let now = Instant::now();
            let wait = match held.heap.peek() {
                None => None,
                Some(Reverse(first)) => match first.due.checked_duration_since(now) {
                    Some(wait) if !wait.is_zero() => Some(wait),
                    _ => break,
                },
            };
            held = match wait {
                None => self.earlier.wait(held).unwrap_or_else(PoisonError::into_inner),
                Some(wait) => self.earlier.wait_timeout(held, wait).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        let Reverse(first) = held.heap.pop()?;
        held.bytes -= first.bytes.len();
        let load = &first.client.load;
        load.datagrams[first.direction as usize].fetch_sub(1, Relaxed);
        load.bytes.fetch_sub(first.bytes.len(), Relaxed);
        Some(first)
    }

    /// Ends the release; what is in flight is dropped.
    pub(crate) fn stop(&self) {
        self.held().stopped = true;
        self.earlier.notify_all();
    }
}
