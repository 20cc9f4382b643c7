//! One-way and round-trip delays of a connection: averages, and the minimum over a window.
//!
//! Splitting a round trip into two ways depends on the estimated offset, so the one-way delays are off by its
//! error. The round trip is exact.

use super::band::Band;
use super::exchange::Exchange;
use crate::delay::DelayEstimate;
use crate::time::{LocalTime, Span};

/// Length of the window of the minimum, in seconds; it has one slot per second.
const SECONDS: usize = 30;

/// The delays of one connection.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// From this node to the peer.
    pub up: OneWay,
    /// From the peer to this node.
    pub down: OneWay,
    /// Both ways, without the time that the peer held the probe.
    pub round_trip: OneWay,
}

/// The recent delays in one direction.
#[derive(Clone, Debug, Default)]
pub struct OneWay {
    /// Average and deviation.
    pub estimate: DelayEstimate,
    window_min: WindowMin,
}

impl OneWay {
    /// Returns the minimum of about the last 30 s, or `None` without samples.
    #[must_use]
    pub fn least(&self, now: LocalTime) -> Option<Span> {
        self.window_min.at(now)
    }

    fn sample(&mut self, now: LocalTime, delay: Span) {
        self.estimate.sample(delay);
        self.window_min.sample(now, delay);
    }
}

impl Delays {
    /// Adds an exchange, given the band at its completion.
    pub(super) fn sample(&mut self, exchange: &Exchange, band: &Band) {
        let now = exchange.returned;
        self.up.sample(now, exchange.upper() - band.best(exchange.sent));
        self.down.sample(now, band.best(now) - exchange.lower());
        self.round_trip.sample(now, exchange.round_trip());
    }

    /// Drops the one-way delays, which were computed with an offset that is no longer valid.
    pub(super) fn forget_ways(&mut self) {
        (self.up, self.down) = (OneWay::default(), OneWay::default());
    }
}

/// The minimum of each recent second.
#[derive(Clone, Debug)]
struct WindowMin {
    /// A ring of seconds: which second, and its minimum.
    seconds: [(i64, Span); SECONDS],
}

impl Default for WindowMin {
    fn default() -> Self {
        Self { seconds: [(i64::MIN, Span::MAX); SECONDS] }
    }
}

impl WindowMin {
    fn sample(&mut self, now: LocalTime, value: Span) {
        let second = second_of(now);
        let slot = &mut self.seconds[second.rem_euclid(SECONDS as i64) as usize];
        *slot = if slot.0 == second { (second, slot.1.min(value)) } else { (second, value) };
    }

    fn at(&self, now: LocalTime) -> Option<Span> {
        let oldest = second_of(now) - SECONDS as i64;
        self.seconds.iter().filter(|(second, _)| *second > oldest).map(|(_, value)| *value).min()
    }
}

fn second_of(now: LocalTime) -> i64 {
    now.as_nanos().div_euclid(1_000_000_000)
}
