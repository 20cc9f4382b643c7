//! The relay's metrics in Prometheus's text format.
//!
//! Everything is counted where it happens, and this only writes the current counts. A registry would duplicate them.

mod orders;

use std::sync::atomic::Ordering;

use crate::game::ServedRoom;
use crate::report::RoomReport;
use crate::state::RelayState;
use evenkeel_net::metrics::MetricsText;
use evenkeel_net::token::Name;

/// Returns all metrics.
pub(crate) async fn text<R: ServedRoom>(relay: &RelayState<R>) -> String {
    let mut text = MetricsText::default();
    crank(relay, &mut text);
    let reports = reports(relay).await;
    rooms(&reports, &mut text);
    orders::write(&reports, &mut text);
    text.finish()
}

async fn reports<R: ServedRoom>(relay: &RelayState<R>) -> Vec<(Name, RoomReport)> {
    let names: Vec<_> = relay.rooms().iter().map(|(name, _)| name.clone()).collect();
    let mut reports = Vec::new();
    for name in names {
        if let Some(report) = relay.report(&name).await {
            reports.push((name, report));
        }
    }
    reports
}

fn crank<R: ServedRoom>(relay: &RelayState<R>, text: &mut MetricsText) {
    let counts = relay.cranks.counts();
    let admitted = relay.admitted.load(Ordering::Relaxed);
    let refused = relay.refused.load(Ordering::Relaxed);
    text.one("players_admitted_total", "counter", "Players admitted.", admitted);
    text.one("players_refused_total", "counter", "Players refused.", refused);
    text.crank(&counts, &relay.cranks.lateness());
    text.one("room_panics_total", "counter", "Rooms closed after a failure.", counts.panics);
}

fn rooms(reports: &[(Name, RoomReport)], text: &mut MetricsText) {
    text.one("rooms", "gauge", "Rooms.", reports.len() as u64);
    type Figure = fn(&RoomReport) -> f64;
    let figures: [(&str, &str, &str, Figure); 14] = [
        ("room_players", "gauge", "Players in a room.", |room| room.players.len() as f64),
        ("room_export_error_mean", "gauge", "Mean of the players' accumulated export errors.", |room| {
            room.mean_aee
        }),
        (
            "room_export_error_std",
            "gauge",
            "Standard deviation of the accumulated export errors: unfairness.",
            |room| room.std_aee,
        ),
        (
            "room_export_error_rate_std",
            "gauge",
            "Standard deviation of the export errors per second.",
            |room| room.std_aee_per_s,
        ),
        (
            "room_share",
            "gauge",
            "Share of an entity's receivers that a trigger may reach; 1 if the budget lets everything through.",
            |room| room.share,
        ),
        (
            "room_kbit_per_second",
            "gauge",
            "Dead reckoning's kbit/s to the average player, with headers.",
            |room| room.kbit_per_s,
        ),
        (
            "room_error_seen",
            "gauge",
            "Mean distance between exported path and copy per entity and player over ten seconds.",
            |room| room.error_seen,
        ),
        ("room_starved", "gauge", "1 if that is more than the threshold and the budget is short.", |room| {
            f64::from(u8::from(room.is_starved))
        }),
        ("room_vectors_per_second", "gauge", "DR vectors sent per second.", |room| room.sent_per_s),
        ("room_vectors_total", "counter", "DR vectors sent.", |room| room.sent as f64),
        ("room_crowded_out_total", "counter", "Datagrams dropped because too many were queued.", |room| {
            room.crowded_out as f64
        }),
        ("room_over_quota_total", "counter", "Vectors and births beyond their players' quotas.", |room| {
            room.over_quota as f64
        }),
        ("room_estimated_total", "counter", "Errors estimated because the truth came too late.", |room| {
            room.estimated as f64
        }),
        ("room_clamped", "gauge", "Implausible reports of the present players.", |room| {
            room.players.iter().map(|player| player.clamped).sum::<u64>() as f64
        }),
    ];
    for (name, kind, help, figure) in figures {
        text.head(name, kind, help);
        for (room, report) in reports {
            text.value(name, &format!("room=\"{room}\""), figure(report));
        }
    }
}
