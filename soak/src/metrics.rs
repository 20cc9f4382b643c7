//! The relay's metrics, read back from the text that it publishes.

use std::collections::BTreeMap;

/// The metrics of one moment.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    /// Reads Prometheus' text format; lines that are none of it are passed over.
    pub(super) fn parse(text: &str) -> Self {
        let values = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.strip_prefix("evenkeel_")?.to_owned(), value.parse().ok()?))
        });
        Self(values.collect())
    }

    /// The sum of a metric over all its labels; not a number, which passes no check, if there is none of that name.
    pub(super) fn sum(&self, name: &str) -> f64 {
        let is_it =
            |key: &str| key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('{'));
        let values = self.0.iter().filter(|(key, _)| is_it(key)).map(|(_, value)| *value);
        values.reduce(|sum, value| sum + value).unwrap_or(f64::NAN)
    }

    /// How much a counter has grown since then.
    pub(super) fn since(&self, then: &Self, name: &str) -> f64 {
        self.sum(name) - then.sum(name)
    }

    /// The share of the deadlines since then that were served within so many milliseconds; not a number if there were none.
    pub(super) fn on_time(&self, then: &Self, millis: u32) -> f64 {
        let bucket = format!("lateness_seconds_bucket{{le=\"{}\"}}", f64::from(millis) / 1e3);
        self.since(then, &bucket) / self.since(then, "lateness_seconds_count")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_histograms_are_read_back() {
        let page = |within: u32, all: u32| {
            Metrics::parse(&format!(
                "# HELP evenkeel_x_total x\nevenkeel_x_total {all}\n\
                 evenkeel_room_players{{room=\"a\"}} 2\nevenkeel_room_players{{room=\"b\"}} 3\n\
                 evenkeel_lateness_seconds_bucket{{le=\"0.001\"}} {within}\nevenkeel_lateness_seconds_count {all}\n"
            ))
        };
        let (then, now) = (page(10, 20), page(100, 120));
        assert_eq!(now.sum("room_players"), 5.0);
        assert_eq!(now.since(&then, "x_total"), 100.0);
        assert_eq!(now.on_time(&then, 1), 0.9);
        assert!(
            now.sum("room").is_nan() && now.since(&then, "y_total").is_nan(),
            "there is none of that name"
        );
        assert!(now.on_time(&now, 1).is_nan(), "there was no deadline");
        assert!(now.on_time(&then, 3).is_nan(), "there is no such bucket");
    }
}
