//! Budgets in bits per second: the share of the receivers that a trigger may reach, adapted to what has left.

use evenkeel_core::{SessionTime, Span};
use evenkeel_session::Traffic;

/// Bits of the headers around a datagram: IPv4, UDP, QUIC with its tag, and QUIC's frame.
const OVERHEAD_BITS: f64 = 8.0 * (20.0 + 8.0 + 27.0 + 3.0);
/// How often the share is adapted.
const PERIOD: Span = Span::from_millis(250);
/// The exponent by which the share follows the ratio of limit and rate. Less than 1, because a rate is measured over a short
/// time and part of it does not depend on the share.
const GAIN: f64 = 0.4;
/// The weight of the last period in the rate that is reported.
const RATE_GAIN: f64 = 0.1;
/// The largest changes of the share in one period. A crowd that arrives at once is slowed down sooner than it is let go.
const STEP_MIN: f64 = 0.5;
const STEP_MAX: f64 = 1.2;
/// The least share: if even that does not fit, the limit is below what a connection costs without any vector.
const SHARE_MIN: f64 = 1e-3;

/// Measures the rate that leaves for the average receiver, and adapts the share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bandwidth {
    share: f64,
    /// A moving average.
    rate: f64,
    sampled: Option<(SessionTime, Traffic)>,
}

impl Default for Bandwidth {
    fn default() -> Self {
        Self { share: 1.0, rate: 0.0, sampled: None }
    }
}

impl Bandwidth {
    /// The share of the receivers that a trigger may reach, on average.
    pub(super) const fn share(&self) -> f64 {
        self.share
    }

    /// Bits per second that leave for the average receiver.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// Measures the rate if it is time, and moves the share towards a limit on it.
    #[inline]
    pub(super) fn measure(
        &mut self,
        limit: Option<f64>,
        traffic: Traffic,
        receivers: usize,
        now: SessionTime,
    ) {
        match self.sampled {
            Some((since, _)) if now - since < PERIOD => {}
            Some((since, before)) => self.adapt(limit, since, before, traffic, receivers, now),
            None => self.sampled = Some((now, traffic)),
        }
    }

    #[cold]
    fn adapt(
        &mut self,
        limit: Option<f64>,
        since: SessionTime,
        before: Traffic,
        traffic: Traffic,
        receivers: usize,
        now: SessionTime,
    ) {
        self.sampled = Some((now, traffic));
        let datagrams = (traffic.datagrams - before.datagrams) as f64;
        let bits = 8.0 * (traffic.bytes - before.bytes) as f64 + OVERHEAD_BITS * datagrams;
        let rate = bits / (now - since).as_secs_f64() / receivers.max(1) as f64;
        self.rate += RATE_GAIN * (rate - self.rate);
        self.share = limit.map_or(1.0, |limit| {
            let step = libm::pow(limit / rate.max(1.0), GAIN).clamp(STEP_MIN, STEP_MAX);
            (self.share * step).clamp(SHARE_MIN, 1.0)
        });
    }
}
