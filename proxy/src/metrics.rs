//! The proxies' metrics, beside those of the crank.

use evenkeel_net::metrics::MetricsText;

use crate::report::{ClientReport, LocalPlayerReport, PlayerReport, ServerReport};

/// Writes counters.
pub(crate) fn counters(text: &mut MetricsText, all: &[(&str, &str, u64)], panics: u64) {
    for (name, help, value) in all {
        text.one(&format!("proxy_{name}_total"), "counter", help, *value);
    }
    text.one("proxy_panics_total", "counter", "Machines removed after a failure.", panics);
}

/// Writes what the server's proxy knows about the players.
pub(crate) fn players(text: &mut MetricsText, report: &ServerReport) {
    text.one("players", "gauge", "Players with a seat.", report.players.len() as u64);
    type Figure = fn(&PlayerReport) -> Option<f64>;
    let figures: [(&str, &str, &str, Figure); 13] = [
        ("player_guaranteed", "gauge", "1 if the player's place in the order is guaranteed.", |player| {
            Some(f64::from(u8::from(player.standing == "guaranteed")))
        }),
        ("player_beyond_cap", "gauge", "1 if the player is farther away than the cap.", |player| {
            Some(f64::from(u8::from(player.standing == "beyond the cap")))
        }),
        ("player_delay_down_seconds", "gauge", "Usual delay of updates.", |player| {
            player.delay_ms.map(|(down, _)| down / 1e3)
        }),
        ("player_delay_up_seconds", "gauge", "Usual delay of actions.", |player| {
            player.delay_ms.map(|(_, up)| up / 1e3)
        }),
        ("player_round_trip_seconds", "gauge", "Least round trip.", |player| {
            player.round_trip_ms.map(|(least, _)| least / 1e3)
        }),
        ("player_added_down_seconds", "gauge", "What holding adds to the delay of updates.", |player| {
            player.added_down_ms.map(|added| added / 1e3)
        }),
        ("player_added_up_seconds", "gauge", "What waiting adds to an action, on average.", |player| {
            Some(player.added_up_ms / 1e3)
        }),
        ("player_actions_total", "counter", "Actions served.", |player| Some(player.actions as f64)),
        ("player_late_total", "counter", "Actions too late for their place.", |player| {
            Some(player.late as f64)
        }),
        ("player_ahead_total", "counter", "Actions served ahead of earlier ones.", |player| {
            Some(player.ahead as f64)
        }),
        ("player_behind_total", "counter", "Actions served behind later ones.", |player| {
            Some(player.behind as f64)
        }),
        ("player_clamped_total", "counter", "Tags that claimed more than is possible.", |player| {
            Some(player.clamped as f64)
        }),
        ("player_overflows_total", "counter", "Actions and updates beyond a queue's limit.", |player| {
            Some(player.overflows as f64)
        }),
    ];
    for (name, kind, help, figure) in figures {
        text.head(name, kind, help);
        for player in &report.players {
            if let Some(value) = figure(player) {
                text.value(name, &format!("player=\"{}\"", player.player), value);
            }
        }
    }
}

/// Writes what the client's proxy knows about the players.
pub(crate) fn local_players(text: &mut MetricsText, report: &ClientReport) {
    text.one("players", "gauge", "Players.", report.players.len() as u64);
    let is_connected = report.is_connected == Some(true);
    text.one("proxy_connected", "gauge", "1 if the server's proxy is reached.", u64::from(is_connected));
    type Figure = fn(&LocalPlayerReport) -> f64;
    let figures: [(&str, &str, Figure); 4] = [
        ("player_updates_total", "Updates that arrived.", |player| player.updates as f64),
        ("player_late_total", "Updates that arrived after everybody else saw them.", |player| {
            player.late as f64
        }),
        ("player_not_held_total", "Updates shown without holding them.", |player| player.not_held as f64),
        ("player_actions_total", "Actions sent.", |player| player.actions as f64),
    ];
    for (name, help, figure) in figures {
        text.head(name, "counter", help);
        for player in &report.players {
            text.value(name, &format!("player=\"{}\"", player.player), figure(player));
        }
    }
}
