//! The relay's numbers for Prometheus, in its text format.
//!
//! Everything is counted where it happens; here the counts of this moment are written down. A registry would only be a
//! second place for them.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use crate::game::ServedRoom;
use crate::report::RoomReport;
use crate::server::Shared;
use evenkeel_net::crank::{LATENESS_MICROS, REJECTED_KINDS};

/// A page that is being written.
#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP evenkeel_{name} {help}\n# TYPE evenkeel_{name} {kind}");
    }

    /// One value; names of rooms and players need no escaping.
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

/// All of it.
pub(crate) async fn text<R: ServedRoom>(shared: &Shared<R>) -> String {
    let mut page = Page::default();
    crank(shared, &mut page);
    rooms(shared, &mut page).await;
    page.0
}

fn crank<R: ServedRoom>(shared: &Shared<R>, page: &mut Page) {
    let counts = shared.crank.counts();
    let admitted = shared.admitted.load(Ordering::Relaxed);
    let refused = shared.refused.load(Ordering::Relaxed);
    for (name, help, value) in [
        ("players_admitted_total", "Players that were let in.", admitted),
        ("players_refused_total", "Players that were not let in.", refused),
        ("datagrams_received_total", "Datagrams that reached a room.", counts.datagrams_in),
        ("datagrams_sent_total", "Datagrams that left.", counts.datagrams_out),
        ("reliable_received_total", "Reliable messages that reached a room.", counts.reliable_in),
        ("reliable_sent_total", "Reliable messages that left.", counts.reliable_out),
        ("over_allowance_total", "Datagrams beyond a player's allowance, dropped.", counts.over_allowance),
        ("flooding_total", "Players that were closed for sending too much.", counts.flooding),
        ("too_slow_total", "Players that were closed for reading too slowly.", counts.too_slow),
        ("queue_full_total", "Datagrams dropped because the relay was too slow for them.", counts.queue_full),
        ("post_full_total", "Times that the way to the sockets was full.", counts.post_full),
        ("timeouts_total", "Deadlines of rooms that were served.", counts.timeouts),
        ("overdue_total", "Times that a room's deadline stayed in the past.", counts.overdue),
        ("room_panics_total", "Rooms that failed and were closed.", counts.panics),
    ] {
        page.one(name, "counter", help, value);
    }
    page.head("rejected_total", "counter", "Messages that a room did not take, by the reason.");
    for (kind, count) in REJECTED_KINDS.iter().zip(counts.rejected) {
        page.value("rejected_total", &format!("reason=\"{kind}\""), count as f64);
    }
    page.head("lateness_seconds", "histogram", "How late deadlines were served.");
    let lateness = shared.crank.lateness();
    let (mut sum, mut total) = (0.0, 0);
    for (index, count) in lateness.0.iter().enumerate() {
        total += count;
        let end = LATENESS_MICROS.get(index).map(|micros| *micros as f64 / 1e6);
        // Counted at the bucket's end, which is more than it was; beyond the last one as 10 ms, which may be less.
        sum += *count as f64 * end.unwrap_or(0.01);
        let end = end.map_or("+Inf".to_owned(), |end| end.to_string());
        page.value("lateness_seconds_bucket", &format!("le=\"{end}\""), total as f64);
    }
    page.value("lateness_seconds_sum", "", sum);
    page.value("lateness_seconds_count", "", total as f64);
}

async fn rooms<R: ServedRoom>(shared: &Shared<R>, page: &mut Page) {
    let names: Vec<_> = shared.rooms().iter().map(|(name, _)| name.clone()).collect();
    page.one("rooms", "gauge", "Rooms that there are.", names.len() as u64);
    let mut reports = Vec::new();
    for name in names {
        if let Some(report) = shared.report(&name).await {
            reports.push((name, report));
        }
    }
    type Figure = fn(&RoomReport) -> f64;
    let figures: [(&str, &str, &str, Figure); 10] = [
        ("room_players", "gauge", "Players in a room.", |room| room.players.len() as f64),
        ("room_export_error_mean", "gauge", "Mean of the players' accumulated export errors.", |room| {
            room.mean_aee
        }),
        ("room_export_error_std", "gauge", "Their standard deviation: unfairness.", |room| room.std_aee),
        ("room_export_error_rate_std", "gauge", "The same of the errors per second.", |room| {
            room.std_aee_per_s
        }),
        ("room_vectors_per_second", "gauge", "DR vectors sent per second.", |room| room.sent_per_s),
        ("room_vectors_total", "counter", "DR vectors sent.", |room| room.sent as f64),
        ("room_crowded_out_total", "counter", "Datagrams dropped because too many waited.", |room| {
            room.crowded_out as f64
        }),
        ("room_over_quota_total", "counter", "Vectors and lives beyond their players' quotas.", |room| {
            room.over_quota as f64
        }),
        ("room_estimated_total", "counter", "Times that the truth was not waited for.", |room| {
            room.estimated as f64
        }),
        ("room_clamped", "gauge", "Untrue reports of the players that are there.", |room| {
            room.players.iter().map(|player| player.clamped).sum::<u64>() as f64
        }),
    ];
    for (name, kind, help, figure) in figures {
        page.head(name, kind, help);
        for (room, report) in &reports {
            page.value(name, &format!("room=\"{room}\""), figure(report));
        }
    }
}
