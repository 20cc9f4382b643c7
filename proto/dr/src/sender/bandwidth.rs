//! Budgets per second: the share of the receivers that a trigger may reach, by what all of them would cost.
//!
//! How many vectors could leave follows from the triggers, and what one costs from what has left lately, so a crowd is slowed down
//! within two seconds. Policies save up and catch up; the share also makes up for what has left too much or too little lately,
//! so that the limit is kept on average.

use evenkeel_core::{SessionTime, Span};
use evenkeel_session::Traffic;

use crate::config::SecondLimit;

/// Bits of the headers around a datagram: IPv4, UDP, QUIC with its tag, and QUIC's frame.
const OVERHEAD_BITS: f64 = 8.0 * (20.0 + 8.0 + 27.0 + 3.0);
/// How often the share is adapted.
const PERIOD: Span = Span::from_millis(250);
/// The weight of the last period in the rate that is reported.
const RATE_GAIN: f64 = 0.1;
/// The seconds of the past from which rates and costs are known.
const MEMORY: f64 = 2.0;
/// Bits of a vector before any has left: one in a datagram of its own.
const COST_GUESS: f64 = 900.0;
/// The seconds within which an excess is made up for, and the most that is, in seconds of the limit.
const EXCESS_TIME: f64 = 12.0;
const EXCESS_MAX: f64 = 4.0;
/// The least share: if even that does not fit, the limit is below what a connection costs without any vector.
const SHARE_MIN: f64 = 1e-3;

/// What has left for all receivers so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    pub(super) traffic: Traffic,
    pub(super) vectors: u64,
    /// The vectors that would have left if every trigger had reached everybody.
    pub(super) possible: u64,
}

/// Sums over the last seconds, the farther back the less.
#[derive(Clone, Copy, Debug, Default)]
struct Lately {
    seconds: f64,
    bits: f64,
    vectors: f64,
    possible: f64,
}

impl Lately {
    fn add(&mut self, seconds: f64, bits: f64, vectors: f64, possible: f64) {
        let kept = libm::exp(-seconds / MEMORY);
        self.seconds = kept * self.seconds + seconds;
        self.bits = kept * self.bits + bits;
        self.vectors = kept * self.vectors + vectors;
        self.possible = kept * self.possible + possible;
    }

    /// The share of the receivers at which a limit per receiver is reached.
    fn share(&self, limit: SecondLimit, factor: f64, receivers: f64) -> f64 {
        let (limit, cost) = match limit {
            SecondLimit::Vectors(limit) => (limit, 1.0),
            SecondLimit::Bits(limit) if self.vectors > 0.0 => (limit, self.bits / self.vectors),
            SecondLimit::Bits(limit) => (limit, COST_GUESS),
        };
        let all = cost * self.possible / self.seconds / receivers;
        if all > 0.0 { (limit * factor / all).clamp(SHARE_MIN, 1.0) } else { 1.0 }
    }
}

/// Measures the rate that leaves for the average receiver, and adapts the share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bandwidth {
    share: f64,
    /// A moving average, in bits per second.
    rate: f64,
    /// What has left beyond the limit, in seconds of the limit; negative if less has left.
    excess: f64,
    lately: Lately,
    sampled: Option<(SessionTime, Left)>,
}

impl Default for Bandwidth {
    fn default() -> Self {
        Self { share: 1.0, rate: 0.0, excess: 0.0, lately: Lately::default(), sampled: None }
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
        limit: Option<SecondLimit>,
        left: Left,
        receivers: usize,
        now: SessionTime,
    ) {
        match self.sampled {
            Some((since, _)) if now - since < PERIOD => {}
            Some((since, before)) => self.adapt(limit, (since, before), (now, left), receivers),
            None => self.sampled = Some((now, left)),
        }
    }

    #[cold]
    fn adapt(
        &mut self,
        limit: Option<SecondLimit>,
        (since, before): (SessionTime, Left),
        (now, left): (SessionTime, Left),
        receivers: usize,
    ) {
        self.sampled = Some((now, left));
        let (seconds, receivers) = ((now - since).as_secs_f64(), receivers.max(1) as f64);
        let datagrams = (left.traffic.datagrams - before.traffic.datagrams) as f64;
        let bits = 8.0 * (left.traffic.bytes - before.traffic.bytes) as f64 + OVERHEAD_BITS * datagrams;
        let vectors = (left.vectors - before.vectors) as f64;
        self.lately.add(seconds, bits, vectors, (left.possible - before.possible) as f64);
        self.rate += RATE_GAIN * (bits / seconds / receivers - self.rate);
        let Some(limit) = limit else { return (self.share, self.excess) = (1.0, 0.0) };
        let part = match limit {
            SecondLimit::Bits(limit) => bits / limit,
            SecondLimit::Vectors(limit) => vectors / limit,
        };
        // While everything fits, nothing is saved up for later.
        let least = if self.share < 1.0 { -EXCESS_MAX } else { 0.0 };
        self.excess = (self.excess + part / receivers - seconds).clamp(least, EXCESS_MAX);
        self.share = self.lately.share(limit, 1.0 - self.excess / EXCESS_TIME, receivers);
    }
}
