//! Counters of a crank and its peers. All are atomic, so counting never blocks.

use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_core::{Rejected, Span};

macro_rules! counters {
    ($(#[$doc:meta])* $live:ident, $(#[$counts_doc:meta])* $counts:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $live {
            $(pub(crate) $field: AtomicU64,)*
            /// Messages rejected by the machine, in the order of [`REJECTED_KINDS`].
            rejected: [AtomicU64; REJECTED_KINDS.len()],
        }

        $(#[$counts_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $counts {
            $($(#[$field_doc])* pub $field: u64,)*
            /// Messages rejected by the machine, in the order of [`REJECTED_KINDS`].
            pub rejected: [u64; REJECTED_KINDS.len()],
        }

        impl std::ops::Add for $counts {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self {
                    $($field: self.$field + other.$field,)*
                    rejected: std::array::from_fn(|kind| self.rejected[kind] + other.rejected[kind]),
                }
            }
        }

        impl $live {
            /// Returns the current counts.
            #[must_use]
            pub fn read(&self) -> $counts {
                $counts {
                    $($field: self.$field.load(Ordering::Relaxed),)*
                    rejected: std::array::from_fn(|kind| self.rejected[kind].load(Ordering::Relaxed)),
                }
            }

            pub(crate) fn reject(&self, rejected: &Rejected) {
                add(&self.rejected[rejected_kind(rejected)], 1);
            }
        }
    };
}

/// The kinds of rejected messages that are counted.
pub const REJECTED_KINDS: [&str; 5] =
    ["malformed", "unknown peer", "out of range", "unexpected", "no session time"];

const fn rejected_kind(rejected: &Rejected) -> usize {
    match rejected {
        Rejected::Malformed(_) => 0,
        Rejected::UnknownPeer => 1,
        Rejected::OutOfRange => 2,
        Rejected::Unexpected => 3,
        Rejected::NoSessionTime => 4,
    }
}

counters! {
    /// Live counters of one attached peer.
    PeerCounters,
    /// Counts of one attached peer.
    PeerCounts {
        /// Datagrams delivered to the machine.
        datagrams_in,
        /// Datagrams sent.
        datagrams_out,
        /// Reliable messages delivered to the machine.
        reliable_in,
        /// Reliable messages sent.
        reliable_out,
        /// Bytes delivered to the machine, both channels together.
        bytes_in,
        /// Bytes sent, both channels together.
        bytes_out,
        /// Datagrams dropped because the peer exceeded its allowance.
        over_allowance,
        /// Datagrams dropped because the crank's queue was full.
        queue_full,
        /// Messages lost on the emulated link, in either direction.
        emulated_losses,
        /// Messages dropped because too many were in flight on the emulated link.
        emulated_overflows,
        /// Messages from the machine that were too long to send.
        too_long,
    }
}

counters! {
    /// Live counters of a crank.
    CrankCounters,
    /// Counts of a crank.
    CrankCounts {
        /// Datagrams delivered to machines.
        datagrams_in,
        /// Datagrams sent.
        datagrams_out,
        /// Reliable messages delivered to machines.
        reliable_in,
        /// Reliable messages sent.
        reliable_out,
        /// Datagrams dropped because their peer exceeded its allowance.
        over_allowance,
        /// Datagrams dropped because the crank's queue was full.
        queue_full,
        /// Batches of datagrams sent from the crank's own thread because the send task's queue was full.
        send_queue_full,
        /// Peers closed for sending many times their allowance.
        flooding,
        /// Peers closed for reading too slowly.
        too_slow,
        /// Messages to peers that were not attached.
        no_such_peer,
        /// Timeouts handled.
        timeouts,
        /// Times a machine's timeout stayed in the past and was postponed so that other machines get their turn.
        overdue,
        /// Times a machine did not stop transmitting.
        endless,
        /// Machines removed after a panic.
        panics,
    }
}

#[inline]
pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

/// Upper bounds of the lateness buckets, in microseconds; one more bucket holds everything beyond.
pub const LATENESS_MICROS: [i64; 11] = [2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000];

/// Live histogram of how late timeouts were handled, by [`LATENESS_MICROS`].
#[derive(Debug, Default)]
pub(crate) struct LatenessHistogram([AtomicU64; LATENESS_MICROS.len() + 1]);

/// Histogram of how late timeouts were handled, by [`LATENESS_MICROS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LatenessCounts(pub [u64; LATENESS_MICROS.len() + 1]);

impl LatenessHistogram {
    pub(crate) fn record(&self, late: Span) {
        let nanos = late.as_nanos();
        let bucket = LATENESS_MICROS.iter().position(|end| nanos <= end * 1_000);
        add(&self.0[bucket.unwrap_or(LATENESS_MICROS.len())], 1);
    }

    pub(crate) fn read(&self) -> LatenessCounts {
        LatenessCounts(std::array::from_fn(|bucket| self.0[bucket].load(Ordering::Relaxed)))
    }
}

impl std::ops::Add for LatenessCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|bucket| self.0[bucket] + other.0[bucket]))
    }
}

impl LatenessCounts {
    /// Returns the share of timeouts handled within this many microseconds, at the resolution of the buckets.
    #[must_use]
    pub fn share_within(&self, micros: i64) -> f64 {
        let total: u64 = self.0.iter().sum();
        let within: u64 = LATENESS_MICROS
            .iter()
            .zip(&self.0)
            .filter(|(end, _)| **end <= micros)
            .map(|(_, count)| count)
            .sum();
        if total == 0 { 1.0 } else { within as f64 / total as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_counted_in_its_bucket() {
        let lateness = LatenessHistogram::default();
        for nanos in [0, 2_000, 2_001, 900_000, 6_000_000] {
            lateness.record(Span::from_nanos(nanos));
        }
        let counts = lateness.read();
        assert_eq!(counts.0[0], 2);
        assert_eq!(counts.0[1], 1);
        assert_eq!(counts.0[11], 1);
        assert!((counts.share_within(1_000) - 0.8).abs() < 1e-9);
        assert_eq!((counts + counts).0[0], 4);
    }

    #[test]
    fn rejections_are_counted_by_kind() {
        let counters = PeerCounters::default();
        counters.reject(&Rejected::OutOfRange);
        assert_eq!(counters.read().rejected, [0, 0, 1, 0, 0]);
    }
}
