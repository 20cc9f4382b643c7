//! The tasks that read a connection and timestamp what arrives.

use std::sync::Arc;

use bytes::Bytes;
use evenkeel_core::{Channel, Endpoint, LocalTime};
use tokio::sync::Semaphore;

use super::allowance::{Allowance, Bucket, Verdict};
use super::counters::{CrankCounters, PeerCounters, add};
use super::inbox::{Arrival, Inbox, RELIABLE_MAX, Route};
use crate::clock::{LocalClock, duration};
use crate::transport::{CloseCode, Closed, Connection, ReliableReader};

/// Datagrams queued together.
const BATCH_MAX: usize = 32;

/// Reads one attachment's connection into the inbox.
pub(super) struct ConnectionReader<E: Endpoint> {
    pub(super) route: Route,
    pub(super) connection: Connection,
    pub(super) inbox: Arc<Inbox<E>>,
    pub(super) clock: LocalClock,
    pub(super) allowance: Option<Allowance>,
    pub(super) counters: Arc<PeerCounters>,
    pub(super) totals: Arc<CrankCounters>,
}

impl<E> ConnectionReader<E>
where
    E: Endpoint + Send + 'static,
{
    /// Spawns the task that reads until the connection ends and then reports its end.
    pub(super) fn start(self, reader: ReliableReader) {
        let runtime = self.connection.runtime().clone();
        runtime.spawn(async move {
            let ((), closed) = tokio::join!(self.read_datagrams(), self.read_reliable(reader));
            self.inbox.push_closed(self.route, closed);
        });
    }

    fn bucket(&self) -> Option<Bucket> {
        self.allowance.map(|allowance| Bucket::new(allowance, self.clock.now()))
    }

    async fn read_datagrams(&self) {
        let mut bucket = self.bucket();
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while let Ok(first) = self.connection.read_datagram().await {
            let at = self.clock.now();
            batch.extend(self.admit(&mut bucket, at, first));
            // A packet carries several datagrams, and queueing one costs more than reading it.
            for _ in 1..BATCH_MAX {
                let Some(next) = self.connection.try_read_datagram() else { break };
                batch.extend(self.admit(&mut bucket, at, next));
            }
            let dropped = self.inbox.push_datagrams(self.route, at, &mut batch);
            add(&self.counters.queue_full, dropped);
            add(&self.totals.queue_full, dropped);
        }
    }

    /// Returns the datagram unless it exceeds the allowance.
    fn admit(&self, bucket: &mut Option<Bucket>, at: LocalTime, bytes: Bytes) -> Option<Bytes> {
        let bucket = match bucket {
            None => return Some(bytes),
            Some(bucket) => bucket,
        };
        match bucket.offer(at, bytes.len()) {
            Verdict::Pass => return Some(bytes),
            Verdict::Over(_) => {
                bucket.drop_message(bytes.len());
                add(&self.counters.over_allowance, 1);
                add(&self.totals.over_allowance, 1);
            }
            Verdict::Flood => {
                // Datagrams received before the close are still read, and dropped.
                if !self.connection.is_closed() {
                    add(&self.totals.flooding, 1);
                }
                self.connection.close(CloseCode::Flooding);
            }
        }
        None
    }

    async fn read_reliable(&self, mut reader: ReliableReader) -> Closed {
        let permits = Arc::new(Semaphore::new(RELIABLE_MAX));
        let mut bucket = self.bucket();
        loop {
            let message = match reader.next().await {
                Ok(message) => message,
                Err(closed) => return closed,
            };
            let at = self.clock.now();
            if let Some(bucket) = &mut bucket {
                // Reliable messages are delayed rather than dropped.
                while let Verdict::Over(wait) = bucket.offer(self.clock.now(), message.len()) {
                    tokio::time::sleep(duration(wait)).await;
                }
            }
            let permit = permits.clone().acquire_owned().await.ok();
            let (route, channel) = (self.route, Channel::Reliable);
            self.inbox.push_reliable(Arrival { route, at, channel, bytes: message.into(), _permit: permit });
        }
    }
}
