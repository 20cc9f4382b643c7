//! Batches outgoing datagrams from the crank's thread to the connections.
//!
//! Sending on a connection wakes its task. From a thread outside the runtime that is expensive, and the task may run at
//! once and put the first datagram in a packet of its own. So the datagrams of one turn are batched and sent by a task on
//! the runtime, which lets each connection fill its packets. Datagrams keep their order unless the task falls so far
//! behind that its queue is full.

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

/// Datagrams in a batch. Together with [`BATCH_BYTES_MAX`] it bounds memory when much is due after a standstill.
const BATCH_DATAGRAMS_MAX: usize = 512;
/// Bytes in a batch, beyond which it is sent.
const BATCH_BYTES_MAX: usize = 64 * 1024;
/// Batches queued for the task; beyond, the crank's thread sends them itself. With many rooms, turns are many and small.
const QUEUED_BATCHES_MAX: usize = 1_024;
/// Bytes queued for the task; beyond, the crank's thread sends them itself.
const QUEUED_BYTES_MAX: usize = 16 * BATCH_BYTES_MAX;

/// Datagrams that are sent together.
#[derive(Default)]
struct Batch {
    datagrams: Vec<OutgoingDatagram>,
    /// The contents of all datagrams, one after another.
    bytes: Vec<u8>,
}

struct OutgoingDatagram {
    connection: Connection,
    counters: Arc<PeerCounters>,
    /// Its range within the batch's bytes.
    bytes: Range<usize>,
}

impl Batch {
    /// Returns an empty batch with this one's capacity.
    fn sized_like(&self) -> Self {
        let (datagrams, bytes) = (self.datagrams.len(), self.bytes.len());
        Self { datagrams: Vec::with_capacity(datagrams), bytes: Vec::with_capacity(bytes) }
    }

    /// Sends the datagrams grouped by connection, so that all of a connection's are queued before its task wakes.
    fn send(mut self, totals: &CrankCounters) {
        self.datagrams.sort_by_key(|datagram| datagram.connection.key());
        let all = Bytes::from(self.bytes);
        for OutgoingDatagram { connection, counters, bytes } in self.datagrams {
            send(&connection, &counters, totals, Channel::Datagram, all.slice(bytes));
        }
    }
}

/// The task that sends batches.
struct SendTask {
    batches: Sender<Batch>,
    /// Bytes queued or being sent.
    queued_bytes: Arc<AtomicUsize>,
}

impl SendTask {
    fn start(runtime: &Handle, totals: Arc<CrankCounters>) -> Self {
        let (batches, queue) = mpsc::channel(QUEUED_BATCHES_MAX);
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        runtime.spawn(send_batches(queue, queued_bytes.clone(), totals));
        Self { batches, queued_bytes }
    }

    fn is_idle(&self) -> bool {
        self.queued_bytes.load(Ordering::Acquire) == 0
    }

    fn try_send(&self, batch: Batch) -> Result<(), TrySendError<Batch>> {
        let bytes = batch.bytes.len();
        if self.queued_bytes.fetch_add(bytes, Ordering::Relaxed) > QUEUED_BYTES_MAX {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(TrySendError::Full(batch));
        }
        self.batches.try_send(batch).inspect_err(|_| {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        })
    }
}

/// Collects the datagrams of a turn and sends them together.
pub(super) struct SendBatcher {
    batch: Batch,
    task: Option<SendTask>,
    totals: Arc<CrankCounters>,
}

impl SendBatcher {
    pub(super) fn new(totals: Arc<CrankCounters>) -> Self {
        Self { batch: Batch::default(), task: None, totals }
    }

    /// Adds a datagram, to be sent at the end of the turn.
    pub(super) fn push(&mut self, connection: &Connection, counters: &Arc<PeerCounters>, bytes: &[u8]) {
        let Batch { datagrams, bytes: all } = &mut self.batch;
        let from = all.len();
        all.extend_from_slice(bytes);
        let (connection, counters) = (connection.clone(), counters.clone());
        datagrams.push(OutgoingDatagram { connection, counters, bytes: from..all.len() });
        if datagrams.len() >= BATCH_DATAGRAMS_MAX || all.len() >= BATCH_BYTES_MAX {
            self.flush();
        }
    }

    /// Sends the collected datagrams.
    pub(super) fn flush(&mut self) {
        let Some(first) = self.batch.datagrams.first() else { return };
        let next = self.batch.sized_like();
        // The task may have ended with its runtime.
        let task = self.task.take().filter(|task| !task.batches.is_closed());
        // A single datagram is sent directly unless earlier ones are still queued.
        if self.batch.datagrams.len() == 1 && task.as_ref().is_none_or(SendTask::is_idle) {
            self.task = task;
            return std::mem::replace(&mut self.batch, next).send(&self.totals);
        }
        let task = task.unwrap_or_else(|| SendTask::start(first.connection.runtime(), self.totals.clone()));
        let batch = std::mem::replace(&mut self.batch, next);
        if let Err(unsent) = task.try_send(batch) {
            if matches!(unsent, TrySendError::Full(_)) {
                add(&self.totals.send_queue_full, 1);
            }
            unsent.into_inner().send(&self.totals);
        }
        self.task = Some(task);
    }
}

async fn send_batches(
    mut queue: Receiver<Batch>,
    queued_bytes: Arc<AtomicUsize>,
    totals: Arc<CrankCounters>,
) {
    while let Some(batch) = queue.recv().await {
        let bytes = batch.bytes.len();
        batch.send(&totals);
        queued_bytes.fetch_sub(bytes, Ordering::Release);
    }
}

/// Passes a message to its connection and counts it.
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
        // The connection is closed by now, and its end is on the way to the machine.
        (Err(SendError::TooSlow), _) => return add(&totals.too_slow, 1),
        (Err(SendError::Closed), _) => return,
    }
    add(&counters.bytes_out, len);
}
