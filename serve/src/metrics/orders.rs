//! How fairly actions are served, by player.

use evenkeel_net::token::Name;

use super::MetricsText;
use crate::report::{RoomReport, SyncReport};

/// Writes them for the rooms whose games use actions or updates.
pub(super) fn write(reports: &[(Name, RoomReport)], text: &mut MetricsText) {
    type Figure = fn(&SyncReport) -> f64;
    let figures: [(&str, &str, &str, Figure); 9] = [
        ("actions_total", "counter", "Actions served.", |sync| sync.actions as f64),
        ("actions_ahead_total", "counter", "Actions served before earlier ones of others.", |sync| {
            sync.ahead as f64
        }),
        ("actions_behind_total", "counter", "Actions served after later ones of others.", |sync| {
            sync.behind as f64
        }),
        ("actions_late_total", "counter", "Actions that came too late for their place.", |sync| {
            sync.late as f64
        }),
        ("actions_clamped_total", "counter", "Actions whose tags claimed the impossible.", |sync| {
            sync.clamped as f64
        }),
        ("actions_wait_seconds_total", "counter", "How long actions waited for those of others.", |sync| {
            sync.wait_ms * sync.actions as f64 / 1e3
        }),
        ("action_lag_seconds", "gauge", "How late actions arrive, but for rare ones.", |sync| {
            sync.lag_ms / 1e3
        }),
        ("player_guaranteed", "gauge", "1 if a player's actions are waited for.", |sync| {
            f64::from(u8::from(sync.standing == "guaranteed"))
        }),
        ("updates_total", "counter", "Updates sent that are shown to everybody at once.", |sync| {
            sync.updates as f64
        }),
    ];
    for (name, kind, help, figure) in figures {
        text.head(name, kind, help);
        for (room, report) in reports {
            for player in &report.players {
                if let Some(sync) = player.sync.as_ref().filter(|sync| sync.actions + sync.updates > 0) {
                    let labels = format!("room=\"{room}\",player=\"{}\"", player.name);
                    text.value(name, &labels, figure(sync));
                }
            }
        }
    }
}
