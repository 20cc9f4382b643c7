//! What Sync-MS knows about the players of a room with a game.

use evenkeel_core::{PeerId, Span};
use evenkeel_sync_ms::{ClientReport, Standing};
use serde::{Deserialize, Serialize};

use crate::game::ServedRoom;

/// How fairly a player's actions are served, and what that costs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SyncReport {
    /// Whether its actions are waited for: `guaranteed`; `silent`, while it is not heard; or `beyond-cap`, if it is farther
    /// away than the room waits.
    pub standing: String,
    /// Its actions that were served.
    pub actions: u64,
    /// Those served before some of others that are earlier in fair order, as far as their tags tell.
    pub ahead: u64,
    /// Those served after some of others that are later in fair order.
    pub behind: u64,
    /// Those that came too late for their place in the order.
    pub late: u64,
    /// Those whose tags claimed more than is possible.
    pub clamped: u64,
    /// Those that the game refused.
    pub refused: u64,
    /// Those served at once because too many of the player waited.
    pub crowded_out: u64,
    /// How long they waited at the relay for others, on average, in milliseconds.
    pub wait_ms: f64,
    /// How long after its place in the order an action arrives at the latest, but for rare ones, in milliseconds.
    pub lag_ms: f64,
    /// The least round trip and the jitter above it, in milliseconds. Zero before they are measured.
    pub round_trip_ms: [f64; 2],
    /// Updates sent to it.
    pub updates: u64,
    /// Updates that it could not be sent.
    pub unsent: u64,
}

impl SyncReport {
    /// Reports on a player; `None` if the room does not order actions.
    pub(crate) fn of<R: ServedRoom>(room: &R, player: PeerId) -> Option<Self> {
        let ClientReport { standing, counts, round_trip, lag, .. } = room.sync()?.report(player)?;
        let (least, jitter) = round_trip.unwrap_or_default();
        Some(Self {
            standing: match standing {
                Standing::Guaranteed => "guaranteed",
                Standing::Silent => "silent",
                Standing::BeyondCap => "beyond-cap",
            }
            .to_owned(),
            actions: counts.actions,
            ahead: counts.ahead,
            behind: counts.behind,
            late: counts.late,
            clamped: counts.clamped,
            refused: room.refused(player),
            crowded_out: counts.crowded_out,
            wait_ms: counts.waited.as_millis_f64() / counts.actions.max(1) as f64,
            lag_ms: lag.as_millis_f64(),
            round_trip_ms: [least, jitter].map(Span::as_millis_f64),
            updates: counts.updates,
            unsent: counts.unsent,
        })
    }
}
