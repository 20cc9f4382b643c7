//! Metrics in Prometheus's text format.
//!
//! Everything is counted where it happens, and this only writes the current counts. A registry would duplicate them.

use std::fmt::Write;

use crate::crank::{CrankCounts, LATENESS_MICROS, LatenessCounts, REJECTED_KINDS};

/// The text being written. All names are prefixed with `evenkeel_`.
#[derive(Clone, Debug, Default)]
pub struct MetricsText(String);

impl MetricsText {
    /// Begins a metric.
    pub fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP evenkeel_{name} {help}\n# TYPE evenkeel_{name} {kind}");
    }

    /// Writes one value. The labels must not need escaping.
    pub fn value(&mut self, name: &str, labels: &str, value: f64) {
        let _ = match labels {
            "" => writeln!(self.0, "evenkeel_{name} {value}"),
            labels => writeln!(self.0, "evenkeel_{name}{{{labels}}} {value}"),
        };
    }

    /// Writes a metric with one value.
    pub fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        self.value(name, "", value as f64);
    }

    /// Writes what a crank counts.
    pub fn crank(&mut self, counts: &CrankCounts, lateness: &LatenessCounts) {
        for (name, help, value) in [
            ("datagrams_received_total", "Datagrams delivered.", counts.datagrams_in),
            ("datagrams_sent_total", "Datagrams sent.", counts.datagrams_out),
            ("reliable_received_total", "Reliable messages delivered.", counts.reliable_in),
            ("reliable_sent_total", "Reliable messages sent.", counts.reliable_out),
            (
                "over_allowance_total",
                "Datagrams dropped because a player exceeded its allowance.",
                counts.over_allowance,
            ),
            ("flooding_total", "Players closed for sending too much.", counts.flooding),
            ("too_slow_total", "Players closed for reading too slowly.", counts.too_slow),
            ("queue_full_total", "Datagrams dropped because of overload.", counts.queue_full),
            (
                "post_full_total",
                "Batches of datagrams that found the send queue full.",
                counts.send_queue_full,
            ),
            ("timeouts_total", "Deadlines handled.", counts.timeouts),
            ("overdue_total", "Times a deadline stayed in the past.", counts.overdue),
        ] {
            self.one(name, "counter", help, value);
        }
        self.head("rejected_total", "counter", "Messages rejected, by reason.");
        for (kind, count) in REJECTED_KINDS.iter().zip(counts.rejected) {
            self.value("rejected_total", &format!("reason=\"{kind}\""), count as f64);
        }
        self.lateness(lateness);
    }

    fn lateness(&mut self, lateness: &LatenessCounts) {
        self.head("lateness_seconds", "histogram", "How late deadlines were handled.");
        let (mut sum, mut total) = (0.0, 0);
        for (index, count) in lateness.0.iter().enumerate() {
            total += count;
            let end = LATENESS_MICROS.get(index).map(|micros| *micros as f64 / 1e6);
            // The sum assumes each bucket's upper bound, and 10 ms beyond the last.
            sum += *count as f64 * end.unwrap_or(0.01);
            let end = end.map_or("+Inf".to_owned(), |end| end.to_string());
            self.value("lateness_seconds_bucket", &format!("le=\"{end}\""), total as f64);
        }
        self.value("lateness_seconds_sum", "", sum);
        self.value("lateness_seconds_count", "", total as f64);
    }

    /// Returns the text.
    #[must_use]
    pub fn finish(self) -> String {
        self.0
    }
}
