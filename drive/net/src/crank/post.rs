//! Datagrams on their way from the crank's thread to the connections.
//!
//! A connection that is handed something wakes its task. From a thread that is not its runtime's that is dear, and the task runs at
//! once, beside this thread, and sends the first datagram in a packet of its own. So what leaves in one turn is handed over together,
//! by a task of the runtime.

use std::sync::Arc;

use bytes::Bytes;
use evenkeel_core::Channel;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::counters::{CrankCounters, PeerCounters, add};
use crate::transport::{Connection, SendError};

/// Datagrams wait for the end of the turn, but no more than this.
const LEAVING_MAX: usize = 512;
/// So many times what leaves together may wait for the task; beyond that the crank's thread hands it over itself.
const WAITING_MAX: usize = 16;

/// A datagram that leaves at the end of the turn.
pub(super) struct Leaving {
    pub(super) connection: Connection,
    pub(super) counters: Arc<PeerCounters>,
    pub(super) bytes: Bytes,
}

/// What leaves, and the way to the task that hands it over.
pub(super) struct Post {
    leaving: Vec<Leaving>,
    task: Option<Sender<Vec<Leaving>>>,
    totals: Arc<CrankCounters>,
}

impl Post {
    pub(super) const fn new(totals: Arc<CrankCounters>) -> Self {
        Self { leaving: Vec::new(), task: None, totals }
    }

    pub(super) fn leave_later(&mut self, leaving: Leaving) {
        self.leaving.push(leaving);
        if self.leaving.len() >= LEAVING_MAX {
            self.leave();
        }
    }

    /// What waits is on its way to the sockets.
    pub(super) fn leave(&mut self) {
        let [first, _, ..] = &self.leaving[..] else {
            return hand_over(&self.totals, self.leaving.drain(..));
        };
        // The task ends with its runtime.
        let task = self.task.take().filter(|task| !task.is_closed()).unwrap_or_else(|| {
            let (task, waiting) = mpsc::channel(WAITING_MAX);
            first.connection.runtime().spawn(deliver(waiting, self.totals.clone()));
            task
        });
        let leaving = std::mem::take(&mut self.leaving);
        if let Err(unsent) = task.try_send(leaving) {
            hand_over(&self.totals, unsent.into_inner());
        }
        self.task = Some(task);
    }
}

async fn deliver(mut waiting: Receiver<Vec<Leaving>>, totals: Arc<CrankCounters>) {
    while let Some(leaving) = waiting.recv().await {
        hand_over(&totals, leaving);
    }
}

fn hand_over(totals: &CrankCounters, leaving: impl IntoIterator<Item = Leaving>) {
    for Leaving { connection, counters, bytes } in leaving {
        send(&connection, &counters, totals, Channel::Datagram, bytes);
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
