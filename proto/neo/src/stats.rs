//! What a machine counts.

use evenkeel_core::Span;

use crate::command::{PlayedMove, UnusedReason};

/// Counts since the machine began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NeoStats {
    /// Own moves committed to.
    pub committed: u64,
    /// Slots skipped because the clock jumped or this peer was not run in time.
    pub skipped: u64,
    /// Others' moves played out.
    pub played: u64,
    /// The playout delays of those moves together, in microseconds.
    pub playout_micros: u64,
    /// Their ages together, in microseconds.
    pub age_micros: u64,
    /// Others' moves not used, by reason in the order of [`UnusedReason::ALL`].
    pub unused: [u64; 5],
    /// Commitments that arrived after their deadline.
    pub late: u64,
    /// Own state changes.
    pub changes_sent: u64,
    /// Others' state changes delivered.
    pub changes_received: u64,
    /// State changes lost because the peer that had them forgot them before this one could ask.
    pub changes_lost: u64,
    /// State changes refused because their author has too many streams, or there are too many authors.
    pub changes_refused: u64,
    /// Times that a vote was for another commitment than the one received here.
    pub disputes: u64,
    /// Peers evicted.
    pub evicted: u64,
    /// Datagrams handed to the driver.
    pub datagrams: u64,
    /// Their bytes.
    pub datagram_bytes: u64,
    /// Reliable messages handed to the driver.
    pub reliable: u64,
    /// Their bytes.
    pub reliable_bytes: u64,
    /// Messages rejected.
    pub rejected: u64,
    /// Commands refused: too long, or the machine is full.
    pub refused: u64,
}

impl NeoStats {
    /// The moves not used for this reason.
    #[must_use]
    pub const fn unused(&self, reason: UnusedReason) -> u64 {
        self.unused[reason as usize]
    }

    /// Counts a move that was played.
    pub(crate) fn note_played(&mut self, made: &PlayedMove) {
        let micros = |span: Span| (span.as_nanos() / 1_000).max(0) as u64;
        self.played += 1;
        self.playout_micros += micros(made.playout());
        self.age_micros += micros(made.age());
    }

    /// The mean playout delay and the mean age of the moves played; `None` before the first.
    #[must_use]
    pub fn mean_delays(&self) -> Option<(Span, Span)> {
        let mean =
            |micros: u64| micros.checked_div(self.played).map(|mean| Span::from_nanos(mean as i64 * 1_000));
        Some((mean(self.playout_micros)?, mean(self.age_micros)?))
    }

    /// All moves not used.
    #[must_use]
    pub fn unused_total(&self) -> u64 {
        self.unused.iter().sum()
    }
}
