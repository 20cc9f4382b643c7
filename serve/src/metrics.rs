//! The relay's metrics in Prometheus's text format.
//!
//! Everything is counted where it happens, and this only writes the current counts. A registry would duplicate them.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use crate::game::ServedRoom;
use crate::report::RoomReport;
use crate::state::RelayState;
use evenkeel_net::crank::{LATENESS_MICROS, REJECTED_KINDS};

/// The text being written.
#[derive(Default)]
struct MetricsText(String);

impl MetricsText {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP evenkeel_{name} {help}\n# TYPE evenkeel_{name} {kind}");
    }

    /// Writes one value. Names of rooms and players need no escaping.
    fn value(&mut self, name: &str, labels: &str, value: f64) {
        let _ = match labels {
            "" => writeln!(self.0, "evenkeel_{name} {value}"),
            labels => writeln!(self.0, "evenkeel_{name}{{{labels}}} {value}"),
        };
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        self.value(name, "", value as f64);
    }
}

/// Returns all metrics.
pub(crate) async fn text<R: ServedRoom>(relay: &RelayState<R>) -> String {
    let mut text = MetricsText::default();
    crank(relay, &mut text);
    rooms(relay, &mut text).await;
    text.0
}

fn crank<R: ServedRoom>(relay: &RelayState<R>, text: &mut MetricsText) {
    let counts = relay.crank.counts();
    let admitted = relay.admitted.load(Ordering::Relaxed);
    let refused = relay.refused.load(Ordering::Relaxed);
    for (name, help, value) in [
        ("players_admitted_total", "Players admitted.", admitted),
        ("players_refused_total", "Players refused.", refused),
        ("datagrams_received_total", "Datagrams delivered to rooms.", counts.datagrams_in),
        ("datagrams_sent_total", "Datagrams sent.", counts.datagrams_out),
        ("reliable_received_total", "Reliable messages delivered to rooms.", counts.reliable_in),
        ("reliable_sent_total", "Reliable messages sent.", counts.reliable_out),
        (
            "over_allowance_total",
            "Datagrams dropped because a player exceeded its allowance.",
            counts.over_allowance,
        ),
        ("flooding_total", "Players closed for sending too much.", counts.flooding),
        ("too_slow_total", "Players closed for reading too slowly.", counts.too_slow),
        ("queue_full_total", "Datagrams dropped because the relay was overloaded.", counts.queue_full),
        ("post_full_total", "Batches of datagrams that found the send queue full.", counts.send_queue_full),
        ("timeouts_total", "Deadlines of rooms handled.", counts.timeouts),
        ("overdue_total", "Times a room's deadline stayed in the past.", counts.overdue),
        ("room_panics_total", "Rooms closed after a failure.", counts.panics),
    ] {
        text.one(name, "counter", help, value);
    }
    text.head("rejected_total", "counter", "Messages rejected by rooms, by reason.");
    for (kind, count) in REJECTED_KINDS.iter().zip(counts.rejected) {
        text.value("rejected_total", &format!("reason=\"{kind}\""), count as f64);
    }
    text.head("lateness_seconds", "histogram", "How late deadlines were handled.");
    let lateness = relay.crank.lateness();
    let (mut sum, mut total) = (0.0, 0);
    for (index, count) in lateness.0.iter().enumerate() {
        total += count;
        let end = LATENESS_MICROS.get(index).map(|micros| *micros as f64 / 1e6);
        // The sum assumes each bucket's upper bound, and 10 ms beyond the last.
        sum += *count as f64 * end.unwrap_or(0.01);
        let end = end.map_or("+Inf".to_owned(), |end| end.to_string());
        text.value("lateness_seconds_bucket", &format!("le=\"{end}\""), total as f64);
    }
    text.value("lateness_seconds_sum", "", sum);
    text.value("lateness_seconds_count", "", total as f64);
}

async fn rooms<R: ServedRoom>(relay: &RelayState<R>, text: &mut MetricsText) {
    let names: Vec<_> = relay.rooms().iter().map(|(name, _)| name.clone()).collect();
    text.one("rooms", "gauge", "Rooms.", names.len() as u64);
    let mut reports = Vec::new();
    for name in names {
        if let Some(report) = relay.report(&name).await {
            reports.push((name, report));
        }
    }
    type Figure = fn(&RoomReport) -> f64;
    let figures: [(&str, &str, &str, Figure); 10] = [
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
        for (room, report) in &reports {
            text.value(name, &format!("room=\"{room}\""), figure(report));
        }
    }
}
