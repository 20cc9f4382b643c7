//! TossWait (section 5.3): an action waits for a percentile of the delays, drawn at random.

use std::fmt;
use std::str::FromStr;

use evenkeel_core::{SessionTime, Span};

use super::{ClientView, Head, Tag, WaitPolicy};

/// Entries of a toss vector.
const TOSSES_MAX: usize = 16;

/// One entry of a toss vector.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Toss {
    /// The percentile of the players' delays to wait for.
    pub percentile: f64,
    /// How often, in percent.
    pub probability: f64,
}

/// The paper's TossWait.
#[derive(Clone, PartialEq, Debug)]
pub struct TossWait {
    tosses: Vec<Toss>,
}

impl TossWait {
    /// A policy with this toss vector; `None` unless percentiles lie between 0 and 100 and probabilities add up to 100.
    #[must_use]
    pub fn new(tosses: &[Toss]) -> Option<Self> {
        let in_range = |value: f64| (0.0..=100.0).contains(&value);
        let fits = tosses.iter().all(|toss| in_range(toss.percentile) && in_range(toss.probability));
        let sum: f64 = tosses.iter().map(|toss| toss.probability).sum();
        (fits && tosses.len() <= TOSSES_MAX && (sum - 100.0).abs() < 1e-6)
            .then(|| Self { tosses: tosses.to_vec() })
    }

    /// The percentile that a random number between 0 and 1 selects.
    fn percentile(&self, toss: f64) -> f64 {
        let mut below = 0.0;
        for entry in &self.tosses {
            below += entry.probability / 100.0;
            if toss < below {
                return entry.percentile;
            }
        }
        self.tosses.last().map_or(100.0, |last| last.percentile)
    }
}

impl WaitPolicy for TossWait {
    fn tag(&self) -> Tag {
        Tag::Sent
    }

    fn tosses(&self) -> bool {
        true
    }

    fn until(&self, head: &Head, clients: &[ClientView]) -> SessionTime {
        let mut delays: Vec<Span> = clients.iter().filter_map(|client| client.up).collect();
        if delays.is_empty() {
            return head.at;
        }
        delays.sort_unstable();
        // The smallest delay that at least this percentage of the players does not exceed.
        let rank = rank_of(self.percentile(head.toss) / 100.0 * delays.len() as f64);
        head.at + delays[rank.clamp(1, delays.len()) - 1]
    }
}

/// The rank, rounded up. One that floating-point arithmetic makes a hair too large is not rounded up.
fn rank_of(value: f64) -> usize {
    let whole = (value - 1e-9).max(0.0) as usize;
    whole + 1
}

impl fmt::Display for TossWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, toss) in self.tosses.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", toss.percentile, toss.probability)?;
        }
        Ok(())
    }
}

impl FromStr for TossWait {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let entry = |entry: &str| -> Option<Toss> {
            let (percentile, probability) = entry.split_once(':')?;
            Some(Toss { percentile: percentile.parse().ok()?, probability: probability.parse().ok()? })
        };
        let tosses: Option<Vec<Toss>> = text.split(',').map(entry).collect();
        tosses.and_then(|tosses| Self::new(&tosses)).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::PeerId;

    use super::*;

    #[test]
    fn a_toss_selects_a_percentile_of_the_delays() {
        let policy: TossWait = "100:50,50:30,10:20".parse().expect("a toss vector");
        let client = |n: u32| ClientView {
            peer: PeerId(n),
            up: Some(Span::from_millis(i64::from(n))),
            last_sent: None,
            gap: None,
            promise: None,
            lag: Span::ZERO,
        };
        let clients: Vec<ClientView> = (1..=10).map(client).collect();
        let wait = |toss: f64| {
            let head = Head { from: PeerId(1), at: SessionTime::from_nanos(0), toss };
            policy.until(&head, &clients).as_nanos() / 1_000_000
        };
        assert_eq!([0.0, 0.49, 0.5, 0.79, 0.8, 0.999].map(wait), [10, 10, 5, 5, 1, 1]);
    }
}
