//! How long each way takes, in session time: by the averages and by the least of the window.
//!
//! A way's delay is told apart from the other's by the estimated offset, so it is off by as much as the estimate is;
//! the round trip is exact.

use super::band::Band;
use super::exchange::Exchange;
use crate::delay::DelayEstimate;
use crate::time::{LocalTime, Span};

/// The least of a window is kept by the second, and this many seconds are the window.
const SECONDS: usize = 30;

/// The delays of one connection.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// From here to the peer.
    pub up: OneWay,
    /// From the peer to here.
    pub down: OneWay,
    /// Both, without the time that the peer held the probe.
    pub round_trip: OneWay,
}

/// What a delay is and has been.
#[derive(Clone, Debug, Default)]
pub struct OneWay {
    /// Average and deviation.
    pub estimate: DelayEstimate,
    least: Least,
}

impl OneWay {
    /// The least delay of about the last 30 s; `None` if there was none.
    #[must_use]
    pub fn least(&self, now: LocalTime) -> Option<Span> {
        self.least.of(now)
    }

    fn sample(&mut self, now: LocalTime, delay: Span) {
        self.estimate.sample(delay);
        self.least.sample(now, delay);
    }
}

impl Delays {
    /// Takes an exchange into account, with what was known of the offset when it was complete.
    pub(super) fn sample(&mut self, exchange: &Exchange, band: &Band) {
        let now = exchange.returned;
        self.up.sample(now, exchange.upper() - band.best(exchange.sent));
        self.down.sample(now, band.best(now) - exchange.lower());
        self.round_trip.sample(now, exchange.round_trip());
    }

    /// The offset is another one: what was measured by the old one is forgotten.
    pub(super) fn forget_ways(&mut self) {
        (self.up, self.down) = (OneWay::default(), OneWay::default());
    }
}

/// The least value in each of the last seconds.
#[derive(Clone, Debug)]
struct Least {
    /// By the second modulo their number: which second, and its least value.
    seconds: [(i64, Span); SECONDS],
}

impl Default for Least {
    fn default() -> Self {
        Self { seconds: [(i64::MIN, Span::MAX); SECONDS] }
    }
}

impl Least {
    fn sample(&mut self, now: LocalTime, value: Span) {
        let second = second_of(now);
        let place = &mut self.seconds[second.rem_euclid(SECONDS as i64) as usize];
        *place = if place.0 == second { (second, place.1.min(value)) } else { (second, value) };
    }

    fn of(&self, now: LocalTime) -> Option<Span> {
        let oldest = second_of(now) - SECONDS as i64;
        self.seconds.iter().filter(|(second, _)| *second > oldest).map(|(_, value)| *value).min()
    }
}

fn second_of(now: LocalTime) -> i64 {
    now.as_nanos().div_euclid(1_000_000_000)
}
