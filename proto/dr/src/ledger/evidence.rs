//! The delay that a sender compensates for a receiver, given the receiver's claims.
//!
//! Policies compensate delay, so exaggerating it would be rewarded. What is compensated is therefore bounded: by the least round
//! trip that the sender measured lately (nonces make acknowledgments late, never early), by a configured limit, and by slow
//! growth. The ledger believes any claim that could be true if an acknowledgment takes at least a quarter of the least round
//! trip.

use evenkeel_core::{DelayEstimate, SessionTime, Span};

/// The least round trip is taken over one to two such windows.
const WINDOW: Span = Span::from_secs(15);

/// The most that claims may exceed the compensated delay by before they count as cut.
const CUT_TOLERANCE: Span = Span::from_millis(50);

/// What is compensated at first.
const START_MAX: Span = Span::from_millis(50);

/// How far two honest clocks may differ, besides half of the round trip.
const TOLERANCE_MIN: Span = Span::from_millis(1);

/// The least round trip divided by the shortest time that an acknowledgment travels.
const RETURN_PARTS: i64 = 4;

/// How much of a claimed delay is compensated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compensation {
    /// The most that is compensated.
    pub delay_max: Span,
    /// Growth per second, from at most 50 ms on. Compensation falls at once.
    pub growth_per_second: Span,
}

impl Default for Compensation {
    /// Up to half a second, growing by 10 ms per second.
    fn default() -> Self {
        Self { delay_max: Span::from_millis(500), growth_per_second: Span::from_millis(10) }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// The delay as claimed by the receiver's reports.
    pub(super) claimed: DelayEstimate,
    round_trip: DelayEstimate,
    /// The least round trip in the last window, and in this one.
    least: [Span; 2],
    window_ends: SessionTime,
    /// How long an acknowledgment travels at least: ways there and back rarely differ by more than three to one.
    pub(super) return_min: Span,
    /// How far two honest clocks may differ.
    pub(super) tolerance: Span,
    /// What is compensated, and since when.
    pub(super) compensated: Span,
    at: SessionTime,
    /// Whether the receiver claims to be farther away than is compensated.
    pub(super) is_cut: bool,
    pub(super) clamped: u64,
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            claimed: DelayEstimate::default(),
            round_trip: DelayEstimate::default(),
            least: [Span::MAX; 2],
            window_ends: SessionTime::MIN,
            return_min: Span::ZERO,
            tolerance: TOLERANCE_MIN,
            compensated: Span::ZERO,
            at: SessionTime::MIN,
            is_cut: false,
            clamped: 0,
        }
    }
}

impl Evidence {
    /// Adds a sample: sent, claimed arrival, acknowledged now. All vectors of one message at one instant are one sample;
    /// otherwise their zero deviation would soon dominate.
    pub(super) fn sample(
        &mut self,
        sent: SessionTime,
        arrived: SessionTime,
        now: SessionTime,
        compensation: Option<Compensation>,
    ) {
        let (first, round_trip) = (self.claimed.samples() == 0, now - sent);
        self.claimed.sample(arrived - sent);
        self.round_trip.sample(round_trip);
        if now >= self.window_ends || round_trip < self.least[1] {
            self.note_least(round_trip, now);
        }
        let claimed = self.claimed.mean();
        let Some(Compensation { delay_max, growth_per_second }) = compensation else {
            self.compensated = claimed;
            return;
        };
        let slow = if first {
            START_MAX
        } else {
            let past = (now - self.at).as_secs_f64();
            self.compensated + Span::from_secs_f64(growth_per_second.as_secs_f64() * past)
        };
        self.compensated = claimed.min(self.least_round_trip()).min(delay_max).min(slow);
        self.at = now;
        // An honest estimate sways with the jitter, and may be ahead of a bound that grows slowly.
        let tolerance = self.claimed.deviation().times(4) + self.tolerance;
        self.is_cut = claimed > self.compensated + tolerance.min(CUT_TOLERANCE);
        self.clamped += u64::from(claimed > self.compensated + tolerance);
    }

    /// Notes a round trip that begins a window or is the least in it.
    fn note_least(&mut self, round_trip: Span, now: SessionTime) {
        if now >= self.window_ends {
            self.least = [self.least[1], Span::MAX];
            self.window_ends = now + WINDOW;
        }
        self.least[1] = self.least[1].min(round_trip);
        let least = self.least_round_trip();
        (self.return_min, self.tolerance) = (least.part(RETURN_PARTS), least.part(2) + TOLERANCE_MIN);
    }

    pub(super) fn least_round_trip(&self) -> Span {
        self.least[0].min(self.least[1])
    }

    /// How long until an unacknowledged vector is considered lost.
    pub(super) fn lost_after(&self) -> Span {
        if self.round_trip.samples() == 0 {
            return Span::MAX;
        }
        self.round_trip.mean() + self.round_trip.deviation().times(5).part(2) + Span::from_millis(20)
    }
}
