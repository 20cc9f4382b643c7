//! What a proxy knows about its players, for its page and for programs.

use evenkeel_core::Span;
use evenkeel_sync_ms::{ClientCounts, ClientReport as SmsReport, SmcCounts, Standing};
use serde::Serialize;

/// What the server's proxy reports.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ServerReport {
    /// Always "server".
    pub role: &'static str,
    /// The game server.
    pub game: String,
    /// The order of actions.
    pub order: String,
    /// Whether everybody sees updates at the same time.
    pub out: bool,
    /// The most that anybody is delayed, each way.
    pub cap_ms: f64,
    /// How long it has been running.
    pub up_s: f64,
    /// What all players did, those that have left included.
    pub totals: ServerTotals,
    /// The players.
    pub players: Vec<PlayerReport>,
}

/// What all players did since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ServerTotals {
    /// Players that were here.
    pub players: u64,
    /// Actions served.
    pub actions: u64,
    /// Actions that came too late for their place.
    pub late: u64,
    /// Actions served behind later ones.
    pub behind: u64,
    /// Tags that claimed more than is possible.
    pub clamped: u64,
    /// Updates sent.
    pub updates: u64,
}

impl ServerTotals {
    pub(crate) const fn of(players: u64, counts: ClientCounts) -> Self {
        let ClientCounts { actions, late, behind, clamped, updates, .. } = counts;
        Self { players, actions, late, behind, clamped, updates }
    }
}

/// A player, as the server's proxy sees it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlayerReport {
    /// Its number.
    pub player: u32,
    /// Its address as seen from here.
    pub from: String,
    /// The address at which the game server sees it.
    pub game_address: String,
    /// "guaranteed", "silent" or "beyond the cap"; "away" without a tunnel.
    pub standing: &'static str,
    /// The usual one-way delays, down and up, by the session's clock.
    pub delay_ms: Option<(f64, f64)>,
    /// The least round trip, and the jitter above it.
    pub round_trip_ms: Option<(f64, f64)>,
    /// What holding the last update added to its delay.
    pub added_down_ms: Option<f64>,
    /// What waiting for others added to an action, on average.
    pub added_up_ms: f64,
    /// Actions served.
    pub actions: u64,
    /// Actions that came too late for their place.
    pub late: u64,
    /// Actions served ahead of earlier ones.
    pub ahead: u64,
    /// Actions served behind later ones.
    pub behind: u64,
    /// Tags that claimed more than is possible.
    pub clamped: u64,
    /// Updates sent.
    pub updates: u64,
    /// Actions served at once, and updates not sent, because a queue was full.
    pub overflows: u64,
}

impl PlayerReport {
    pub(crate) fn fill(&mut self, known: &SmsReport) {
        let counts = &known.counts;
        self.standing = match known.standing {
            Standing::Guaranteed => "guaranteed",
            Standing::Silent => "silent",
            Standing::BeyondCap => "beyond the cap",
        };
        let millis = |(a, b): (Span, Span)| (a.as_millis_f64(), b.as_millis_f64());
        self.delay_ms = known.down.zip(known.up).map(millis);
        self.round_trip_ms = known.round_trip.map(millis);
        self.added_down_ms = known.down.map(|down| (known.hold - down).max(Span::ZERO).as_millis_f64());
        self.added_up_ms = counts.waited.as_millis_f64() / counts.actions.max(1) as f64;
        self.actions = counts.actions;
        self.late = counts.late;
        self.ahead = counts.ahead;
        self.behind = counts.behind;
        self.clamped = counts.clamped;
        self.updates = counts.updates;
        self.overflows = counts.crowded_out + counts.unsent;
    }
}

/// What the client's proxy reports.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClientReport {
    /// Always "client".
    pub role: &'static str,
    /// The server's proxy.
    pub server: String,
    /// Whether it is reached; unknown without players.
    pub is_connected: Option<bool>,
    /// How long it has been running.
    pub up_s: f64,
    /// What all players did, those that have left included.
    pub totals: ClientTotals,
    /// The players.
    pub players: Vec<LocalPlayerReport>,
}

/// What all players did since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ClientTotals {
    /// Players that were here.
    pub players: u64,
    /// Actions sent.
    pub actions: u64,
    /// Updates that arrived.
    pub updates: u64,
    /// Updates that arrived after everybody else had seen them.
    pub late: u64,
}

impl ClientTotals {
    /// Adds a player.
    pub(crate) const fn add(&mut self, actions: u64, counts: SmcCounts) {
        self.players += 1;
        self.actions += actions;
        self.updates += counts.updates;
        self.late += counts.late;
    }
}

/// A player, as the client's proxy sees it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LocalPlayerReport {
    /// Its number.
    pub player: u32,
    /// The address of its game.
    pub from: String,
    /// Whether its tunnel is open.
    pub is_connected: bool,
    /// How wrong its clock may be; unknown without session time.
    pub clock_error_ms: Option<f64>,
    /// Updates that arrived.
    pub updates: u64,
    /// Updates that arrived after everybody else had seen them.
    pub late: u64,
    /// Updates shown without holding them.
    pub not_held: u64,
    /// Actions sent.
    pub actions: u64,
}
