//! Datagrams on their way from the crank's thread to the connections.
//!
//! A connection that is handed something wakes its task. From a thread that is not its runtime's that is dear, and the task runs at
//! once, beside this thread, and sends the first datagram in a packet of its own. So what leaves in one turn is handed over together,
//! by a task of the runtime. Datagrams keep their order on this way, unless the task is so far behind that the way is full.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use evenkeel_core::Channel;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::counters::{CrankCounters, PeerCounters, add};
use crate::transport::{Connection, SendError};

/// Datagrams wait for the end of the turn, but no more than this, and of no more bytes in sum: after a standstill there is much to
/// send, and it must not take much memory.
const LEAVING_MAX: usize = 512;
const BYTES_MAX: usize = 64 * 1024;
/// So many times what leaves together may wait for the task, and of no more bytes in sum; beyond that the crank's thread hands it
/// over itself. With many rooms there are many turns, and little leaves in each.
const WAITING_MAX: usize = 1_024;
const WAITING_BYTES_MAX: usize = 16 * BYTES_MAX;

/// Datagrams that leave together.
#[derive(Default)]
struct Batch {
    leaving: Vec<Leaving>,
    /// What they say, one after another.
    bytes: Vec<u8>,
}

struct Leaving {
    connection: Connection,
    counters: Arc<PeerCounters>,
    /// Where in the batch its bytes are.
    bytes: Range<usize>,
}

impl Batch {
    /// An empty one, with the room that this one needed.
    fn next(&self) -> Self {
        let (leaving, bytes) = (self.leaving.len(), self.bytes.len());
        Self { leaving: Vec::with_capacity(leaving), bytes: Vec::with_capacity(bytes) }
    }

    /// One connection after another: what is for the same one comes to it before its task can send the first.
    fn hand_over(mut self, totals: &CrankCounters) {
        self.leaving.sort_by_key(|leaving| leaving.connection.key());
        let all = Bytes::from(self.bytes);
        for Leaving { connection, counters, bytes } in self.leaving {
            send(&connection, &counters, totals, Channel::Datagram, all.slice(bytes));
        }
    }
}

/// The way to the task that hands datagrams over.
struct Task {
    batches: Sender<Batch>,
    /// The bytes of what it has not handed over yet, what is in its hands included.
    waiting: Arc<AtomicUsize>,
}

impl Task {
    fn start(runtime: &Handle, totals: Arc<CrankCounters>) -> Self {
        let (batches, coming) = mpsc::channel(WAITING_MAX);
        let waiting = Arc::new(AtomicUsize::new(0));
        runtime.spawn(deliver(coming, waiting.clone(), totals));
        Self { batches, waiting }
    }

    fn is_idle(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0
    }

    fn try_send(&self, batch: Batch) -> Result<(), TrySendError<Batch>> {
        let bytes = batch.bytes.len();
        if self.waiting.fetch_add(bytes, Ordering::Relaxed) > WAITING_BYTES_MAX {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            return Err(TrySendError::Full(batch));
        }
        self.batches.try_send(batch).inspect_err(|_| {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        })
    }
}

/// What leaves, and the way that it goes.
pub(super) struct Post {
    batch: Batch,
    task: Option<Task>,
    totals: Arc<CrankCounters>,
}

impl Post {
    pub(super) fn new(totals: Arc<CrankCounters>) -> Self {
        Self { batch: Batch::default(), task: None, totals }
    }

    /// A datagram leaves at the end of the turn.
    pub(super) fn leave_later(
        &mut self,
        connection: &Connection,
        counters: &Arc<PeerCounters>,
        bytes: &[u8],
    ) {
        let Batch { leaving, bytes: all } = &mut self.batch;
        let from = all.len();
        all.extend_from_slice(bytes);
        let (connection, counters) = (connection.clone(), counters.clone());
        leaving.push(Leaving { connection, counters, bytes: from..all.len() });
        if leaving.len() >= LEAVING_MAX || all.len() >= BYTES_MAX {
            self.leave();
        }
    }

    /// What waits is on its way to the sockets.
    pub(super) fn leave(&mut self) {
        let Some(first) = self.batch.leaving.first() else { return };
        let next = self.batch.next();
        // The task ends with its runtime.
        let task = self.task.take().filter(|task| !task.batches.is_closed());
        // One alone goes at once, unless something is on its way that was to leave before it.
        if self.batch.leaving.len() == 1 && task.as_ref().is_none_or(Task::is_idle) {
            self.task = task;
            return std::mem::replace(&mut self.batch, next).hand_over(&self.totals);
        }
        let task = task.unwrap_or_else(|| Task::start(first.connection.runtime(), self.totals.clone()));
        let batch = std::mem::replace(&mut self.batch, next);
        if let Err(unsent) = task.try_send(batch) {
            if matches!(unsent, TrySendError::Full(_)) {
                add(&self.totals.post_full, 1);
            }
            unsent.into_inner().hand_over(&self.totals);
        }
        self.task = Some(task);
    }
}

async fn deliver(mut coming: Receiver<Batch>, waiting: Arc<AtomicUsize>, totals: Arc<CrankCounters>) {
    while let Some(batch) = coming.recv().await {
        let bytes = batch.bytes.len();
        batch.hand_over(&totals);
        waiting.fetch_sub(bytes, Ordering::Release);
    }
}

/// Hands a message to the socket.
pub(super) fn send(
    connection: &Connection,
    counters: &PeerCounters,
    totals: &CrankCounters,
    channel: Channel,
    bytes: Bytes,
) {
    let len = bytes.len() as u64;
    let sent = match channel {
        Channel::Datagram => connection.send_datagram(bytes),
        Channel::Reliable => connection.send_reliable(bytes.into()),
    };
    match (sent, channel) {
        (Ok(()), Channel::Datagram) => add(&counters.datagrams_out, 1),
        (Ok(()), Channel::Reliable) => add(&counters.reliable_out, 1),
        (Err(SendError::TooLong { .. }), _) => return add(&counters.too_long, 1),
        // Its end is on its way to the machine.
        (Err(SendError::TooSlow), _) => return add(&totals.too_slow, 1),
        (Err(SendError::Closed), _) => return,
    }
    add(&counters.bytes_out, len);
}
