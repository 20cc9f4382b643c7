//! What waits to be written to the reliable stream: bounded, so that a slow reader costs its own connection and nobody
//! else's memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use web_transport_quinn::SendStream;

use super::stream::emit_message;

/// The longest reliable message, in bytes.
pub const RELIABLE_BYTES_MAX: usize = 64 * 1024;
/// How many reliable messages may wait for one connection: as many as a machine may have for it. Whoever enters a room
/// that is full of entities is told of all of them at once.
pub const QUEUED_MESSAGES_MAX: usize = 8_192;
/// How many bytes of them.
pub const QUEUED_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    is_finished: bool,
}

/// The queue between those who send and the task that writes.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: Mutex<Queue>,
    ready: Notify,
    written: Notify,
}

/// A queue that is empty keeps room for so many.
const QUEUED_MESSAGES_KEPT: usize = 8;

/// More waits than may.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overflow;

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a message; one behind the end is forgotten.
    pub(super) fn push(&self, message: Vec<u8>) -> Result<(), Overflow> {
        let mut queue = self.lock();
        if queue.is_finished {
            return Ok(());
        }
        if queue.messages.len() >= QUEUED_MESSAGES_MAX || queue.bytes + message.len() > QUEUED_BYTES_MAX {
            return Err(Overflow);
        }
        queue.bytes += message.len();
        queue.messages.push_back(message);
        drop(queue);
        self.ready.notify_one();
        Ok(())
    }

    /// Nothing comes behind what waits now.
    pub(super) fn finish(&self) {
        self.lock().is_finished = true;
        self.ready.notify_one();
    }

    /// Forgets what waits.
    pub(super) fn clear(&self) {
        let mut queue = self.lock();
        queue.is_finished = true;
        queue.messages.clear();
        queue.bytes = 0;
        drop(queue);
        self.ready.notify_one();
    }

    /// Comes back when everything up to the end has been written and acknowledged, or can't be.
    pub(super) async fn written(&self) {
        self.written.notified().await;
    }

    async fn next(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut queue = self.lock();
                if let Some(message) = queue.messages.pop_front() {
                    queue.bytes -= message.len();
                    return Some(message);
                }
                // Whoever comes in is told of everybody at once, and of little afterwards.
                queue.messages.shrink_to(QUEUED_MESSAGES_KEPT);
                if queue.is_finished {
                    return None;
                }
            }
            self.ready.notified().await;
        }
    }

    /// Writes to the stream until the end.
    pub(super) async fn write_to(&self, mut stream: SendStream) {
        let mut frame = Vec::new();
        while let Some(message) = self.next().await {
            frame.clear();
            emit_message(&message, &mut frame);
            if stream.write_all(&frame).await.is_err() {
                self.clear();
                break;
            }
        }
        if stream.finish().is_ok() {
            let _ = stream.stopped().await;
        }
        self.written.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_in_messages_and_in_bytes() {
        let outbox = Outbox::default();
        for _ in 0..QUEUED_MESSAGES_MAX {
            assert_eq!(outbox.push(vec![0]), Ok(()));
        }
        assert_eq!(outbox.push(vec![0]), Err(Overflow));
        let outbox = Outbox::default();
        for _ in 0..QUEUED_BYTES_MAX / RELIABLE_BYTES_MAX {
            assert_eq!(outbox.push(vec![0; RELIABLE_BYTES_MAX]), Ok(()));
        }
        assert_eq!(outbox.push(vec![0]), Err(Overflow));
    }
}
