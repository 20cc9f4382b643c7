//! What is counted, per client and direction.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

/// What happened to the datagrams of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct DirectionReport {
    /// Datagrams that entered the link.
    pub received: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Datagrams that the link lost, also in the queue of its rate limit.
    pub lost: u64,
    /// Datagrams that it doubled.
    pub doubled: u64,
    /// Datagrams dropped because too much was in flight.
    pub overflowed: u64,
    /// Datagrams passed on.
    pub delivered: u64,
    /// Datagrams that the system did not take, for instance because nobody listens there.
    pub refused: u64,
    /// The links' delays of those passed on, summed, in nanoseconds.
    pub delay_sum_ns: u64,
    /// How late they left after that, summed, in nanoseconds.
    pub late_sum_ns: u64,
    /// How late the latest left, in nanoseconds.
    pub late_max_ns: u64,
}

impl DirectionReport {
    /// Adds another report's counts.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.bytes += other.bytes;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.overflowed += other.overflowed;
        self.delivered += other.delivered;
        self.refused += other.refused;
        self.delay_sum_ns += other.delay_sum_ns;
        self.late_sum_ns += other.late_sum_ns;
        self.late_max_ns = self.late_max_ns.max(other.late_max_ns);
    }

    /// Returns the mean delay of the links, in milliseconds.
    #[must_use]
    pub fn delay_mean_ms(&self) -> f64 {
        self.delay_sum_ns as f64 / self.delivered.max(1) as f64 / 1e6
    }

    /// Returns how late datagrams left beyond that, on average, in milliseconds.
    #[must_use]
    pub fn late_mean_ms(&self) -> f64 {
        self.late_sum_ns as f64 / self.delivered.max(1) as f64 / 1e6
    }

    /// Returns the percentage of datagrams that the link lost.
    #[must_use]
    pub fn lost_percent(&self) -> f64 {
        100.0 * self.lost as f64 / self.received.max(1) as f64
    }
}

/// What happened to a client's datagrams.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct ClientReport {
    /// Its number in order of appearance, from 1.
    pub number: u64,
    /// Its address.
    pub address: SocketAddr,
    /// Whether it is still there.
    pub present: bool,
    /// From the client to the server.
    pub to_server: DirectionReport,
    /// From the server to the client.
    pub to_client: DirectionReport,
}

/// What happened so far.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// For how long the conditioner has run, in seconds.
    pub up_s: f64,
    /// The clients, by number: those present, and the latest of those gone.
    pub clients: Vec<ClientReport>,
    /// How many there have been.
    pub clients_seen: u64,
    /// Datagrams of clients beyond the most at a time.
    pub turned_away: u64,
    /// All datagrams from clients to the server.
    pub to_server: DirectionReport,
    /// All datagrams from the server to clients.
    pub to_client: DirectionReport,
}

/// The counters of one direction, which two threads write.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) received: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) doubled: AtomicU64,
    pub(crate) overflowed: AtomicU64,
    pub(crate) refused: AtomicU64,
    delivered: AtomicU64,
    delay_sum_ns: AtomicU64,
    late_sum_ns: AtomicU64,
    late_max_ns: AtomicU64,
}

impl Counters {
    /// Counts a datagram that was passed on.
    pub(crate) fn deliver(&self, delay_ns: u64, late_ns: u64) {
        self.delivered.fetch_add(1, Relaxed);
        self.delay_sum_ns.fetch_add(delay_ns, Relaxed);
        self.late_sum_ns.fetch_add(late_ns, Relaxed);
        self.late_max_ns.fetch_max(late_ns, Relaxed);
    }

    pub(crate) fn report(&self) -> DirectionReport {
        DirectionReport {
            received: self.received.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            lost: self.lost.load(Relaxed),
            doubled: self.doubled.load(Relaxed),
            overflowed: self.overflowed.load(Relaxed),
            delivered: self.delivered.load(Relaxed),
            refused: self.refused.load(Relaxed),
            delay_sum_ns: self.delay_sum_ns.load(Relaxed),
            late_sum_ns: self.late_sum_ns.load(Relaxed),
            late_max_ns: self.late_max_ns.load(Relaxed),
        }
    }
}

/// Adds one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
