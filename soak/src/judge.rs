//! Judges a soak under load, and computes what the relay's work cost.

use crate::bots::Inspection;
use crate::load::{DatagramCounts, Load, LoadMeasurements, Sample};
use crate::metrics::Metrics;
use crate::{Check, Verdict};

/// The largest growth of the relay's memory after the warm-up, as a share.
pub const MEMORY_GROWTH_MAX: f64 = 0.05;
/// How long a bot that crashed may take to come back, in seconds.
pub const RETURN_SECONDS_MAX: f64 = 3.0;
/// The least share of deadlines that must be served in time.
pub const ON_TIME_MIN: f64 = 0.99;
/// The largest share of datagrams to connected bots that may be lost: on one machine only full buffers lose any.
pub const LOST_MAX: f64 = 0.001;

pub(crate) fn judge(measured: &LoadMeasurements, load: &Load) -> Verdict {
    let warm = measured.warm.min(measured.samples.len() - 1);
    let (first, last) = (&measured.samples[warm], &measured.samples[measured.samples.len() - 1]);
    let mut checks = vec![memory(&measured.samples[warm..])];
    checks.push(Check::new(
        "the relay answers every request",
        measured.unanswered == 0,
        format!(
            "{} of {} requests unanswered",
            measured.unanswered,
            measured.unanswered + measured.samples.len()
        ),
    ));
    checks.push(limits(&measured.samples[0].metrics, &last.metrics, measured.panics));
    checks.push(visibility(&measured.inspections));
    checks.push(reliable(&measured.inspections));
    checks.push(returns(&measured.returns, measured.crashes_due));
    checks.push(datagrams(measured.datagrams));
    checks.push(on_time(&first.metrics, &last.metrics));
    let mut figures = costs(first, last);
    figures.push((
        "errors settled by estimate".to_owned(),
        format!("{:.0}", last.metrics.sum("room_estimated_total")),
    ));
    Verdict { title: load.describe(), checks, figures, stopped_early: false }
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

/// Checks that the relay's memory is flat: at the end, by its trend, and at its highest.
pub(crate) fn memory(samples: &[Sample]) -> Check {
    let what = format!("memory grows by at most {:.0} % after the warm-up", 100.0 * MEMORY_GROWTH_MAX);
    let points: Vec<(f64, f64)> = samples
        .iter()
        .filter_map(|sample| Some((sample.at.as_secs_f64(), megabytes(sample.usage?.memory))))
        .collect();
    let (Some(&(begin, base)), Some(&(end, last))) = (points.first(), points.last()) else {
        return Check::new(what, false, "not available on this system");
    };
    let slope = slope(&points);
    let highest = points.iter().map(|(_, memory)| *memory).fold(base, f64::max);
    let grown = [(last - base) / base, slope * (end - begin) / base, (highest - base) / base];
    let measured = format!(
        "{base:.1} to {last:.1} MiB in {:.0} s: {:+.1} %; trend {:+.1} % ({:+.2} MiB a minute); highest {:+.1} %",
        end - begin,
        100.0 * grown[0],
        100.0 * grown[1],
        slope * 60.0,
        100.0 * grown[2],
    );
    Check::new(what, grown.iter().all(|grown| *grown <= MEMORY_GROWTH_MAX), measured)
}

/// The slope of the least-squares line; 0 for fewer than two points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

/// Counters of what the relay drops, rejects or diverts at a limit. An honest load moves none of them.
const LIMITS: [(&str, &str); 10] = [
    ("queue full", "queue_full_total"),
    ("post full", "post_full_total"),
    ("overdue", "overdue_total"),
    ("over allowance", "over_allowance_total"),
    ("flooding", "flooding_total"),
    ("too slow", "too_slow_total"),
    ("crowded out", "room_crowded_out_total"),
    ("over quota", "room_over_quota_total"),
    ("rejected", "rejected_total"),
    ("rooms that failed", "room_panics_total"),
];

/// Checks that no queue has reached its limit.
fn limits(then: &Metrics, now: &Metrics, panics: usize) -> Check {
    let counts = LIMITS.map(|(label, name)| (label, now.growth(then, name)));
    let all = counts.iter().map(|(_, count)| count).sum::<f64>() + panics as f64;
    let measured: Vec<String> = counts.iter().map(|(label, count)| format!("{label} {count:.0}")).collect();
    Check::new("no queue reaches its limit and nothing is refused", all == 0.0, measured.join(", "))
}

fn visibility(inspections: &[Inspection]) -> Check {
    let bots: usize = inspections.iter().map(|one| one.bots).sum();
    let blind: usize = inspections.iter().map(|one| one.blind).sum();
    let measured = format!("{blind} of {bots} bots did not, in {} inspections", inspections.len());
    Check::new("every bot sees exactly the others of its room", blind == 0 && bots > 0, measured)
}

fn reliable(inspections: &[Inspection]) -> Check {
    let lost: u64 = inspections.iter().map(|one| one.lost).sum();
    let compared: u64 = inspections.iter().map(|one| one.compared).sum();
    let measured = format!("{lost} of {compared} lost, by the counts at both ends of open connections");
    Check::new("no reliable message is lost", lost == 0 && compared > 0, measured)
}

fn returns(returns: &[f64], due: bool) -> Check {
    let mut sorted = returns.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        sorted.get(((sorted.len() as f64 * share) as usize).min(sorted.len().max(1) - 1)).copied()
    };
    let (half, most, slowest) = (at(0.5), at(0.99), sorted.last().copied());
    let seconds = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2} s"));
    let measured = format!(
        "{} crashes: median {}, 99th percentile {}, slowest {}",
        sorted.len(),
        seconds(half),
        seconds(most),
        seconds(slowest)
    );
    let what = format!("a bot that crashed is back within {RETURN_SECONDS_MAX:.0} s and sees all others");
    Check::new(what, slowest.map_or(!due, |slowest| slowest < RETURN_SECONDS_MAX), measured)
}

fn datagrams(counts: DatagramCounts) -> Check {
    let DatagramCounts { sent, received } = counts;
    let share = (sent - received).max(0.0) / sent;
    let what = format!("at most {} % of the datagrams to connected bots are lost", 100.0 * LOST_MAX);
    let measured =
        format!("{:.0} of {sent:.0} ({:.4} %), between crashes", (sent - received).max(0.0), 100.0 * share);
    Check::new(what, sent > 0.0 && received > 0.0 && share <= LOST_MAX, measured)
}

pub(crate) fn on_time(then: &Metrics, now: &Metrics) -> Check {
    let shares = [1, 2, 5].map(|millis| now.on_time(then, millis));
    let measured = format!(
        "{:.2} % within 1 ms, {:.2} % within 2 ms, {:.2} % within 5 ms, of {:.0}",
        100.0 * shares[0],
        100.0 * shares[1],
        100.0 * shares[2],
        now.growth(then, "lateness_seconds_count")
    );
    let what = format!("{:.0} % of the relay's deadlines are served within 2 ms", 100.0 * ON_TIME_MIN);
    Check::new(what, shares[1] >= ON_TIME_MIN, measured)
}

/// The relay's processor time per vector and per datagram, and its rates.
pub(crate) fn costs(first: &Sample, last: &Sample) -> Vec<(String, String)> {
    let growth = |name: &str| last.metrics.growth(&first.metrics, name);
    let seconds = (last.at - first.at).as_secs_f64().max(1e-3);
    let cpu = match (first.usage, last.usage) {
        (Some(first), Some(last)) => (last.cpu - first.cpu).as_secs_f64(),
        _ => f64::NAN,
    };
    let (vectors, sent, received) =
        (growth("room_vectors_total"), growth("datagrams_sent_total"), growth("datagrams_received_total"));
    let micros = |count: f64| format!("{:.2} us", 1e6 * cpu / count.max(1.0));
    vec![
        ("the relay's share of a core".to_owned(), format!("{:.1} %", 100.0 * cpu / seconds)),
        ("processor time per DR vector and receiver".to_owned(), micros(vectors)),
        ("processor time per datagram, sent or received".to_owned(), micros(sent + received)),
        ("DR vectors sent".to_owned(), format!("{:.0} a second", vectors / seconds)),
        (
            "datagrams".to_owned(),
            format!("{:.0} sent and {:.0} received a second", sent / seconds, received / seconds),
        ),
        ("deadlines".to_owned(), format!("{:.0} a second", growth("lateness_seconds_count") / seconds)),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::usage::Usage;

    fn sample(second: u64, mebibytes: u64) -> Sample {
        let usage = Usage { memory: mebibytes << 20, cpu: Duration::from_secs(second / 2) };
        Sample { at: Duration::from_secs(second), usage: Some(usage), metrics: Metrics::default() }
    }

    #[test]
    fn growing_memory_fails_and_flat_memory_passes() {
        let grown: Vec<_> = (0..10).map(|step| sample(step * 10, 100 + 2 * step)).collect();
        assert!(!memory(&grown).passed);
        let flat: Vec<_> = (0..10).map(|step| sample(step * 10, 100 + step % 3)).collect();
        assert!(memory(&flat).passed, "{:?}", memory(&flat));
        let unknown: Vec<_> = flat.into_iter().map(|sample| Sample { usage: None, ..sample }).collect();
        assert!(!memory(&unknown).passed && !memory(&[]).passed);
    }

    #[test]
    fn the_slope_is_that_of_the_line() {
        assert!((slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) - 2.0).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 1.0)]), 0.0);
    }

    #[test]
    fn one_slow_return_fails() {
        assert!(returns(&[0.1, 0.2], true).passed);
        assert!(!returns(&[0.1, 3.5], true).passed);
        assert!(!returns(&[f64::INFINITY], true).passed);
        assert!(returns(&[], false).passed, "no crash was due");
        assert!(!returns(&[], true).passed, "no return was measured");
    }

    #[test]
    fn lost_datagrams_and_no_datagrams_fail() {
        let passes = |sent, received| datagrams(DatagramCounts { sent, received }).passed;
        assert!(passes(10_000.0, 9_990.0) && passes(10_000.0, 10_003.0));
        assert!(!passes(10_000.0, 9_989.0));
        assert!(!passes(0.0, 0.0) && !passes(f64::NAN, 5.0) && !passes(5.0, 0.0));
    }

    /// Metrics with every counter of a limit; `raised` has this value, the others are 0.
    fn page(raised: &str, value: u32, on_time: u32) -> Metrics {
        let mut text = format!(
            "evenkeel_lateness_seconds_bucket{{le=\"0.001\"}} {on_time}\n\
             evenkeel_lateness_seconds_bucket{{le=\"0.002\"}} {on_time}\n\
             evenkeel_lateness_seconds_bucket{{le=\"0.005\"}} {on_time}\n\
             evenkeel_lateness_seconds_count {}\n",
            on_time.max(100)
        );
        for (_, name) in LIMITS {
            text += &format!("evenkeel_{name} {}\n", if name == raised { value } else { 0 });
        }
        Metrics::parse(&text)
    }

    #[test]
    fn reaching_any_limit_fails() {
        let quiet = page("", 0, 0);
        assert!(limits(&quiet, &quiet, 0).passed);
        assert!(!limits(&quiet, &quiet, 1).passed);
        for (_, name) in LIMITS {
            assert!(!limits(&quiet, &page(name, 1, 0), 0).passed, "{name}");
        }
        assert!(!limits(&Metrics::default(), &Metrics::default(), 0).passed, "no such counters");
    }

    #[test]
    fn late_deadlines_and_no_deadlines_fail() {
        let then = Metrics::parse(
            "evenkeel_lateness_seconds_bucket{le=\"0.001\"} 0\nevenkeel_lateness_seconds_bucket{le=\"0.002\"} 0\n\
             evenkeel_lateness_seconds_bucket{le=\"0.005\"} 0\nevenkeel_lateness_seconds_count 0\n",
        );
        assert!(on_time(&then, &page("", 0, 99)).passed);
        assert!(!on_time(&then, &page("", 0, 98)).passed);
        assert!(!on_time(&then, &then).passed && !on_time(&Metrics::default(), &Metrics::default()).passed);
    }

    #[test]
    fn a_blind_bot_or_a_lost_message_fails() {
        let good = Inspection { bots: 4, blind: 0, lost: 0, compared: 10 };
        assert!(visibility(&[good]).passed && reliable(&[good]).passed);
        assert!(!visibility(&[good, Inspection { blind: 1, ..good }]).passed);
        assert!(!reliable(&[good, Inspection { lost: 1, ..good }]).passed);
        assert!(!visibility(&[]).passed && !reliable(&[]).passed, "no inspection");
    }
}
