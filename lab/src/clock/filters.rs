//! Common clock filters to compare the hull with: averages, and the least round trip. They have no error bounds, so their
//! bands are points.

use std::collections::VecDeque;

use evenkeel_core::Span;
use evenkeel_core::clock::hull::WINDOW;
use evenkeel_core::clock::{Band, Exchange, Observed, OffsetEstimator};

/// A clock filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    /// [`Averaging`].
    Averaging,
    /// [`Simpson`].
    Simpson,
    /// [`LeastRoundTrip`].
    LeastRoundTrip,
    /// Our own filter, [`Hull`](evenkeel_core::clock::Hull).
    Hull,
}

impl Filter {
    /// All filters, the hull last.
    pub const ALL: [Self; 4] = [Self::Averaging, Self::Simpson, Self::LeastRoundTrip, Self::Hull];

    /// The name in figures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Averaging => "averaging (1/8)",
            Self::Simpson => "Simpson's average",
            Self::LeastRoundTrip => "least round trip",
            Self::Hull => "two-sided hull",
        }
    }
}

/// The offset by one exchange, assuming equal delays both ways.
fn midpoint_offset(exchange: &Exchange) -> Span {
    exchange.lower() + exchange.round_trip().part(2)
}

/// The exchanges of the last [`WINDOW`].
#[derive(Clone, Debug, Default)]
struct Window(VecDeque<Exchange>);

impl Window {
    fn push(&mut self, exchange: &Exchange) {
        self.0.push_back(*exchange);
        while self.0.front().is_some_and(|oldest| exchange.returned - oldest.returned > WINDOW) {
            self.0.pop_front();
        }
    }
}

/// An exponential average of the exchanges' offsets, with the gain of TCP's round-trip estimate, 1/8.
#[derive(Clone, Debug, Default)]
pub struct Averaging {
    band: Option<Band>,
}

impl OffsetEstimator for Averaging {
    fn observe(&mut self, exchange: &Exchange) -> Observed {
        let offset = midpoint_offset(exchange);
        let offset = self.band.map_or(offset, |band| band.best + (offset - band.best).part(8));
        self.band = Some(Band::exact(exchange.returned, offset));
        Observed::Taken
    }

    fn band(&self) -> Option<Band> {
        self.band
    }
}

/// Simpson's "stream-based" synchronization, common in games: averages the exchanges of the window whose round trips are
/// within one standard deviation of the median.
#[derive(Clone, Debug, Default)]
pub struct Simpson {
    window: Window,
    band: Option<Band>,
}

impl OffsetEstimator for Simpson {
    fn observe(&mut self, exchange: &Exchange) -> Observed {
        self.window.push(exchange);
        let mut trips: Vec<(Span, Span)> =
            self.window.0.iter().map(|exchange| (exchange.round_trip(), midpoint_offset(exchange))).collect();
        trips.sort_unstable();
        let median = trips[trips.len() / 2].0;
        let nanos: Vec<f64> = trips.iter().map(|(trip, _)| trip.as_nanos() as f64).collect();
        let sd = Span::from_nanos(crate::stats::population_sd(&nanos) as i64);
        // Summing differences to the first keeps the sum small whatever the offset is.
        let first = trips[0].1;
        let kept = trips.iter().filter(|(trip, _)| (*trip - median).abs() <= sd);
        let (sum, count) =
            kept.fold((Span::ZERO, 0), |(sum, count), (_, offset)| (sum + (*offset - first), count + 1));
        let offset = if count == 0 { first } else { first + sum.part(count) };
        self.band = Some(Band::exact(exchange.returned, offset));
        Observed::Taken
    }

    fn band(&self) -> Option<Band> {
        self.band
    }
}

/// The offset by the exchange with the least round trip of the window, as in NTP's clock filter.
#[derive(Clone, Debug, Default)]
pub struct LeastRoundTrip {
    window: Window,
    band: Option<Band>,
}

impl OffsetEstimator for LeastRoundTrip {
    fn observe(&mut self, exchange: &Exchange) -> Observed {
        self.window.push(exchange);
        // Reversed, so that the newest of equal ones wins.
        let best =
            self.window.0.iter().rev().min_by_key(|exchange| exchange.round_trip()).map(midpoint_offset);
        self.band = best.map(|offset| Band::exact(exchange.returned, offset));
        Observed::Taken
    }

    fn band(&self) -> Option<Band> {
        self.band
    }
}
