//! What a peer has measured, at its end or at any time.

use evenkeel_neo::UnusedReason;
use serde::{Deserialize, Serialize};

use crate::meters::Window;

/// What a peer has measured since it began.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The player's name.
    pub name: String,
    /// The beginning of its key.
    pub key: String,
    /// How long it has been there, in seconds.
    pub seconds: f64,
    /// The other peers that take part.
    pub peers: usize,
    /// The stones it has eaten.
    pub score: u32,
    /// Everybody's stones, most first: name and number.
    pub scores: Vec<(String, u32)>,
    /// Own moves.
    pub committed: u64,
    /// Others' moves played out.
    pub played: u64,
    /// Others' moves not used.
    pub unused: u64,
    /// The same by reason.
    pub unused_by_reason: Vec<(String, u64)>,
    /// Mean playout delay.
    pub playout_ms: Option<f64>,
    /// The playout delay that 99 % of the moves stay below.
    pub playout_p99_ms: Option<f64>,
    /// Mean age of a move when it is shown, from its commitment.
    pub age_ms: Option<f64>,
    /// Bytes handed to the transport.
    pub payload_bytes: u64,
    /// Bytes of the UDP datagrams sent.
    pub wire_bytes: u64,
    /// Timeouts handled within a millisecond, as a share.
    pub punctual: f64,
    /// Keys of the peers that were caught, hexadecimal.
    pub caught: Vec<String>,
    /// Who came and went: key, `joined` or why it left, Unix milliseconds.
    pub comings: Vec<(String, String, i64)>,
}

impl Summary {
    /// The share of moves that were not used.
    #[must_use]
    pub fn unused_share(&self) -> Option<f64> {
        let all = self.played + self.unused;
        (all > 0).then(|| self.unused as f64 / all as f64)
    }

    /// Payload sent, in kilobits per second.
    #[must_use]
    pub fn up_kbps(&self) -> f64 {
        if self.seconds > 0.0 { self.payload_bytes as f64 * 8.0 / 1e3 / self.seconds } else { 0.0 }
    }

    pub(crate) fn set_window(&mut self, window: &Window) {
        self.played = window.played;
        self.unused = window.unused.iter().sum();
        self.unused_by_reason = UnusedReason::ALL
            .iter()
            .zip(window.unused)
            .map(|(reason, count)| (reason.name().to_owned(), count))
            .collect();
        self.playout_ms = window.playout_ms();
        self.age_ms = window.age_ms();
    }
}
