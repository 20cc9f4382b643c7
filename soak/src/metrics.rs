//! The relay's metrics, parsed from the page that it publishes.

use std::collections::BTreeMap;

/// The metrics at one time.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    /// Parses Prometheus' text format; skips lines that are not Evenkeel metrics.
    pub(crate) fn parse(text: &str) -> Self {
        let values = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.strip_prefix("evenkeel_")?.to_owned(), value.parse().ok()?))
        });
        Self(values.collect())
    }

    /// The sum of a metric over its labels. NaN, which fails every check, if there is no such metric.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        let matches =
            |key: &str| key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('{'));
        let values = self.0.iter().filter(|(key, _)| matches(key)).map(|(_, value)| *value);
        values.reduce(|sum, value| sum + value).unwrap_or(f64::NAN)
    }

    /// The growth of a counter since `then`.
    pub(crate) fn growth(&self, then: &Self, name: &str) -> f64 {
        self.sum(name) - then.sum(name)
    }

    /// The share of the deadlines since `then` that were served within `millis`; NaN if there were none.
    pub(crate) fn on_time(&self, then: &Self, millis: u32) -> f64 {
        let bucket = format!("lateness_seconds_bucket{{le=\"{}\"}}", f64::from(millis) / 1e3);
        self.growth(then, &bucket) / self.growth(then, "lateness_seconds_count")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_histograms_are_parsed() {
        let page = |within: u32, all: u32| {
            Metrics::parse(&format!(
                "# HELP evenkeel_x_total x\nevenkeel_x_total {all}\n\
                 evenkeel_room_players{{room=\"a\"}} 2\nevenkeel_room_players{{room=\"b\"}} 3\n\
                 evenkeel_lateness_seconds_bucket{{le=\"0.001\"}} {within}\nevenkeel_lateness_seconds_count {all}\n"
            ))
        };
        let (then, now) = (page(10, 20), page(100, 120));
        assert_eq!(now.sum("room_players"), 5.0);
        assert_eq!(now.growth(&then, "x_total"), 100.0);
        assert_eq!(now.on_time(&then, 1), 0.9);
        assert!(now.sum("room").is_nan() && now.growth(&then, "y_total").is_nan(), "no such metric");
        assert!(now.on_time(&now, 1).is_nan(), "no deadline");
        assert!(now.on_time(&then, 3).is_nan(), "no such bucket");
    }
}
