//! What a crank counted. Counting never waits: everything is an atomic number.

use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_core::{Rejected, Span};

macro_rules! counters {
    ($(#[$doc:meta])* $live:ident, $(#[$counts_doc:meta])* $counts:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $live {
            $(pub(crate) $field: AtomicU64,)*
            /// Rejected by the machine, in the order of [`REJECTED_KINDS`].
            rejected: [AtomicU64; REJECTED_KINDS.len()],
        }

        $(#[$counts_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $counts {
            $($(#[$field_doc])* pub $field: u64,)*
            /// Messages that the machine rejected, in the order of [`REJECTED_KINDS`].
            pub rejected: [u64; REJECTED_KINDS.len()],
        }

        impl $live {
            /// The counts of this moment.
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

/// The kinds of rejected messages, as they are counted.
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
    /// Counts of one attached peer.
    PeerCounters,
    /// What was counted for one attached peer.
    PeerCounts {
        /// Datagrams that reached the machine.
        datagrams_in,
        /// Datagrams that left.
        datagrams_out,
        /// Reliable messages that reached the machine.
        reliable_in,
        /// Reliable messages that left.
        reliable_out,
        /// Bytes of both that reached the machine.
        bytes_in,
        /// Bytes of both that left.
        bytes_out,
        /// Datagrams beyond its allowance, dropped.
        over_allowance,
        /// Datagrams dropped because the crank's queue was full.
        queue_full,
        /// Datagrams that the emulated link lost, on either way.
        emulated_losses,
        /// Datagrams dropped because too many were under way on the emulated link.
        emulated_overflows,
        /// Messages of the machine that were too long to be sent.
        too_long,
    }
}

counters! {
    /// Counts of a whole crank.
    CrankCounters,
    /// What a crank counted.
    CrankCounts {
        /// Datagrams that reached a machine.
        datagrams_in,
        /// Datagrams that left.
        datagrams_out,
        /// Reliable messages that reached a machine.
        reliable_in,
        /// Reliable messages that left.
        reliable_out,
        /// Datagrams beyond their peers' allowances, dropped.
        over_allowance,
        /// Datagrams dropped because the crank's queue was full.
        queue_full,
        /// Times that the way to the sockets was full, and the crank's thread went it itself.
        post_full,
        /// Peers that were closed because they sent many times their allowance.
        flooding,
        /// Peers that were closed because they read too slowly.
        too_slow,
        /// Messages to peers that are not attached.
        no_such_peer,
        /// Timeouts told.
        timeouts,
        /// Times that a machine's timeout stayed in the past and it had to wait so that the others get their turn.
        overdue,
        /// Times that a machine did not stop transmitting.
        endless,
        /// Machines that panicked and were removed.
        panics,
    }
}

#[inline]
pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

/// The upper ends of the histogram's buckets but the last, in microseconds.
pub const LATENESS_MICROS: [i64; 11] = [2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000];

/// How late timeouts were told: so many within each of [`LATENESS_MICROS`], and beyond.
#[derive(Debug, Default)]
pub(crate) struct Lateness([AtomicU64; LATENESS_MICROS.len() + 1]);

/// A histogram of how late timeouts were told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LatenessCounts(pub [u64; LATENESS_MICROS.len() + 1]);

impl Lateness {
    pub(crate) fn note(&self, late: Span) {
        let nanos = late.as_nanos();
        let bucket = LATENESS_MICROS.iter().position(|end| nanos <= end * 1_000);
        add(&self.0[bucket.unwrap_or(LATENESS_MICROS.len())], 1);
    }

    pub(crate) fn read(&self) -> LatenessCounts {
        LatenessCounts(std::array::from_fn(|bucket| self.0[bucket].load(Ordering::Relaxed)))
    }
}

impl LatenessCounts {
    /// The share of timeouts that were told within so many microseconds; the buckets decide how fine that is.
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
    fn lateness_falls_into_its_bucket() {
        let lateness = Lateness::default();
        for nanos in [0, 2_000, 2_001, 900_000, 6_000_000] {
            lateness.note(Span::from_nanos(nanos));
        }
        let counts = lateness.read();
        assert_eq!(counts.0[0], 2);
        assert_eq!(counts.0[1], 1);
        assert_eq!(counts.0[11], 1);
        assert!((counts.share_within(1_000) - 0.8).abs() < 1e-9);
    }

    #[test]
    fn rejections_are_counted_by_kind() {
        let counters = PeerCounters::default();
        counters.reject(&Rejected::OutOfRange);
        assert_eq!(counters.read().rejected, [0, 0, 1, 0, 0]);
    }
}
