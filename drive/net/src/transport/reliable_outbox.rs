//! The bounded queue of reliable messages of a connection, so that a slow reader costs only its own connection.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::carrier::CarrierWriter;
use super::stream::emit_message;

/// The longest reliable message, in bytes.
pub const RELIABLE_BYTES_MAX: usize = 64 * 1024;
/// Reliable messages queued per connection: as many as a machine may queue for a peer, because a player entering a room
/// learns of all its entities at once.
pub const QUEUED_MESSAGES_MAX: usize = 8_192;
/// Bytes of reliable messages queued per connection.
pub const QUEUED_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, Default)]
struct OutboxQueue {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    is_finished: bool,
}

/// The queue between senders and the writing task.
#[derive(Debug, Default)]
pub(super) struct ReliableOutbox {
    queue: Mutex<OutboxQueue>,
    ready: Notify,
    written: Notify,
}

/// Capacity kept by an empty queue.
const QUEUED_MESSAGES_RETAINED: usize = 8;

/// The queue is full.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overflow;

impl ReliableOutbox {
    fn lock(&self) -> MutexGuard<'_, OutboxQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a message; ignored after [`finish`](Self::finish).
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

    /// Marks the end: nothing is queued afterwards.
    pub(super) fn finish(&self) {
        self.lock().is_finished = true;
        self.ready.notify_one();
    }

    /// Discards the queue and marks its end.
    pub(super) fn clear(&self) {
        let mut queue = self.lock();
        queue.is_finished = true;
        queue.messages.clear();
        queue.bytes = 0;
        drop(queue);
        self.ready.notify_one();
    }

    /// Waits until everything up to the end is written and acknowledged, or writing has failed.
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
                // A newcomer receives much at once and little afterwards.
                queue.messages.shrink_to(QUEUED_MESSAGES_RETAINED);
                if queue.is_finished {
                    return None;
                }
            }
            self.ready.notified().await;
        }
    }

    /// Writes the queue to the stream until its end.
    pub(super) async fn write_to(&self, mut stream: impl CarrierWriter) {
        let mut frame = Vec::new();
        while let Some(message) = self.next().await {
            frame.clear();
            emit_message(&message, &mut frame);
            if !stream.write(&frame).await {
                self.clear();
                break;
            }
        }
        stream.finish().await;
        self.written.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_bounded_in_messages_and_bytes() {
        let outbox = ReliableOutbox::default();
        for _ in 0..QUEUED_MESSAGES_MAX {
            assert_eq!(outbox.push(vec![0]), Ok(()));
        }
        assert_eq!(outbox.push(vec![0]), Err(Overflow));
        let outbox = ReliableOutbox::default();
        for _ in 0..QUEUED_BYTES_MAX / RELIABLE_BYTES_MAX {
            assert_eq!(outbox.push(vec![0; RELIABLE_BYTES_MAX]), Ok(()));
        }
        assert_eq!(outbox.push(vec![0]), Err(Overflow));
    }
}
