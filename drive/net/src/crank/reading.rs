//! The tasks that read from a connection and stamp what arrives.

use std::sync::Arc;

use bytes::Bytes;
use evenkeel_core::{Channel, Endpoint, LocalTime};
use tokio::sync::Semaphore;

use super::allowance::{Allowance, Bucket, Verdict};
use super::counters::{CrankCounters, PeerCounters, add};
use super::inbox::{Arrived, Inbox, RELIABLE_MAX, Route};
use crate::clock::{LocalClock, duration};
use crate::transport::{CloseCode, Closed, Connection, ReliableReader};

/// What the readers of one attachment know.
pub(super) struct Reading<E: Endpoint> {
    pub(super) route: Route,
    pub(super) connection: Connection,
    pub(super) inbox: Arc<Inbox<E>>,
    pub(super) clock: LocalClock,
    pub(super) allowance: Option<Allowance>,
    pub(super) counters: Arc<PeerCounters>,
    pub(super) totals: Arc<CrankCounters>,
}

impl<E> Reading<E>
where
    E: Endpoint + Send + 'static,
{
    /// Reads until the connection ends, then says so.
    pub(super) fn start(self, reader: ReliableReader) {
        let runtime = self.connection.runtime().clone();
        runtime.spawn(async move {
            let ((), closed) = tokio::join!(self.read_datagrams(), self.read_reliable(reader));
            self.inbox.push_gone(self.route, closed);
        });
    }

    fn bucket(&self) -> Option<Bucket> {
        self.allowance.map(|allowance| Bucket::new(allowance, self.clock.now()))
    }

    async fn read_datagrams(&self) {
        let mut bucket = self.bucket();
        while let Ok(bytes) = self.connection.read_datagram().await {
            let at = self.clock.now();
            let verdict = bucket.as_mut().map_or(Verdict::Pass, |bucket| bucket.offer(at, bytes.len()));
            match (verdict, &mut bucket) {
                (Verdict::Over(_), Some(bucket)) => {
                    bucket.drop_message(bytes.len());
                    add(&self.counters.over_allowance, 1);
                    add(&self.totals.over_allowance, 1);
                }
                (Verdict::Flood, _) => {
                    // What had come by then is read on, and is dropped.
                    if !self.connection.is_closed() {
                        add(&self.totals.flooding, 1);
                    }
                    self.connection.close(CloseCode::Flooding);
                }
                _ => self.push_datagram(at, bytes),
            }
        }
    }

    fn push_datagram(&self, at: LocalTime, bytes: Bytes) {
        let arrived = Arrived { route: self.route, at, channel: Channel::Datagram, bytes, _permit: None };
        if !self.inbox.push_arrived(arrived) {
            add(&self.counters.queue_full, 1);
            add(&self.totals.queue_full, 1);
        }
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
                // Nothing is lost here: it is read no faster than is allowed.
                while let Verdict::Over(wait) = bucket.offer(self.clock.now(), message.len()) {
                    tokio::time::sleep(duration(wait)).await;
                }
            }
            let permit = permits.clone().acquire_owned().await.ok();
            let (route, channel) = (self.route, Channel::Reliable);
            self.inbox.push_arrived(Arrived { route, at, channel, bytes: message.into(), _permit: permit });
        }
    }
}
