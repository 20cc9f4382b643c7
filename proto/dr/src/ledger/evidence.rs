//! How far away a sender takes a receiver to be, whatever the receiver says.
//!
//! A policy compensates delay, so a receiver that claims to be farther than it is would be served better at everybody
//! else's cost. What is compensated is therefore a lower bound: never above the least round trip that the sender itself
//! has measured lately (nonces make that one honest: an acknowledgment can be late, never early), never above a configured
//! limit, and growing slowly. The books themselves believe what could be true, and that an acknowledgment travels for at
//! least a quarter of the least round trip: whoever only claims that its vectors came later than they did has little to
//! win. Whoever also holds its acknowledgments back has a larger error there, for as long as it does.

use evenkeel_core::{DelayEstimate, SessionTime, Span};

/// The least round trip is that of this long, and at most of twice as long.
const WINDOW: Span = Span::from_secs(15);

/// What claims may be above what is compensated, for all that times are uncertain, is never more than this.
const CUT_TOLERANCE: Span = Span::from_millis(50);

/// What is compensated at once, before it has grown.
const START_MAX: Span = Span::from_millis(50);

/// Two honest clocks may differ by so much, besides half of the round trip.
const TOLERANCE_MIN: Span = Span::from_millis(1);

/// An acknowledgment takes at least one of so many parts of the least round trip.
const RETURN_PARTS: i64 = 4;

/// How much of a claimed delay is compensated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compensation {
    /// No more than this.
    pub delay_max: Span,
    /// It begins with at most 50 ms and grows by at most this in a second; it falls at once.
    pub growth_per_second: Span,
}

impl Default for Compensation {
    /// Up to half a second, growing by 10 ms in a second.
    fn default() -> Self {
        Self { delay_max: Span::from_millis(500), growth_per_second: Span::from_millis(10) }
    }
}

/// What a sender has seen of a receiver's delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    claimed: DelayEstimate,
    round_trip: DelayEstimate,
    /// The least round trip in the window before this one, and in this one.
    least: [Span; 2],
    window_ends: SessionTime,
    /// What follows from the least round trip: every report asks for it.
    return_min: Span,
    tolerance: Span,
    /// What is compensated, since when.
    compensated: Span,
    at: SessionTime,
    /// Whether more is claimed than is compensated.
    is_cut: bool,
    /// How often a claim was cut.
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
    /// Something was sent, is said to have arrived, and its acknowledgment came now. However many vectors went into a message at that
    /// instant, it is one sample: if each counted, the deviation would soon be that between them, which is none.
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
        // An honest estimate sways with the jitter, and may be ahead of a bound that follows slowly.
        let tolerance = self.claimed.deviation().times(4) + self.tolerance;
        self.is_cut = claimed > self.compensated + tolerance.min(CUT_TOLERANCE);
        self.clamped += u64::from(claimed > self.compensated + tolerance);
    }

    /// A round trip begins a window, or is the least of one.
    fn note_least(&mut self, round_trip: Span, now: SessionTime) {
        if now >= self.window_ends {
            self.least = [self.least[1], Span::MAX];
            self.window_ends = now + WINDOW;
        }
        self.least[1] = self.least[1].min(round_trip);
        let least = self.least_round_trip();
        (self.return_min, self.tolerance) = (least.part(RETURN_PARTS), least.part(2) + TOLERANCE_MIN);
    }

    /// The least round trip lately.
    pub(super) fn least_round_trip(&self) -> Span {
        self.least[0].min(self.least[1])
    }

    /// What an acknowledgment travels for at least. Ways may differ, but not by more than three to one for long.
    pub(super) const fn return_min(&self) -> Span {
        self.return_min
    }

    /// The delay to compensate.
    pub(super) const fn delay(&self) -> Span {
        self.compensated
    }

    /// Whether the receiver claims to be farther away than is compensated.
    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The delay as the receiver's reports have it.
    pub(super) const fn claimed(&self) -> &DelayEstimate {
        &self.claimed
    }

    /// By how much two honest clocks may differ.
    pub(super) const fn tolerance(&self) -> Span {
        self.tolerance
    }

    /// A vector that is not acknowledged for so long is taken as lost, until a later report says otherwise.
    pub(super) fn lost_after(&self) -> Span {
        if self.round_trip.samples() == 0 {
            return Span::MAX;
        }
        self.round_trip.mean() + self.round_trip.deviation().times(5).part(2) + Span::from_millis(20)
    }
}
