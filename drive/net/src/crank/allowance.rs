//! The allowance of one peer: a token bucket for messages and one for bytes.
//!
//! Datagrams beyond the allowance are dropped before they reach the crank's queue, so that one peer cannot crowd out the
//! others. Reliable messages are delayed, which the peer sees as backpressure. A peer that sends many times its allowance
//! is closed.

use evenkeel_core::{LocalTime, Span};

/// Seconds of allowance that a peer may save up.
const BURST_SECONDS: f64 = 1.0;
/// A peer that sends this many times its allowance within a second is flooding.
const FLOOD_FACTOR: f64 = 8.0;

/// How much one peer may send.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Allowance {
    /// Messages per second; datagrams and reliable messages are counted separately.
    pub messages_per_second: u32,
    /// Bytes per second.
    pub bytes_per_second: u32,
}

impl Default for Allowance {
    /// Enough for a player at 120 ticks per second, with headroom.
    fn default() -> Self {
        Self { messages_per_second: 500, bytes_per_second: 256 * 1_024 }
    }
}

/// Whether a message is within the allowance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is.
    Pass,
    /// It exceeds the allowance, which will suffice after this time.
    Over(Span),
    /// The peer is flooding.
    Flood,
}

/// The token buckets of one peer.
#[derive(Debug)]
pub struct Bucket {
    allowance: Allowance,
    messages: f64,
    bytes: f64,
    /// Dropped messages or bytes, as a share of a second's allowance; decays by one per second.
    excess: f64,
    at: LocalTime,
}

impl Bucket {
    /// Full buckets.
    #[must_use]
    pub fn new(allowance: Allowance, now: LocalTime) -> Self {
        Self {
            messages: f64::from(allowance.messages_per_second) * BURST_SECONDS,
            bytes: f64::from(allowance.bytes_per_second) * BURST_SECONDS,
            excess: 0.0,
            at: now,
            allowance,
        }
    }

    /// Takes a message of this size out of the buckets if they hold enough.
    pub fn offer(&mut self, now: LocalTime, bytes: usize) -> Verdict {
        let (messages_rate, bytes_rate) =
            (f64::from(self.allowance.messages_per_second), f64::from(self.allowance.bytes_per_second));
        let seconds = (now - self.at).as_secs_f64().max(0.0);
        self.at = self.at.max(now);
        self.messages = (self.messages + seconds * messages_rate).min(messages_rate * BURST_SECONDS);
        self.bytes = (self.bytes + seconds * bytes_rate).min(bytes_rate * BURST_SECONDS);
        self.excess = (self.excess - seconds).max(0.0);
        // A message larger than a full bucket passes when the bucket is full; otherwise it would wait for ever.
        let bytes = (bytes as f64).min(bytes_rate * BURST_SECONDS);
        if self.messages >= 1.0 && self.bytes >= bytes {
            self.messages -= 1.0;
            self.bytes -= bytes;
            return Verdict::Pass;
        }
        let share = (1.0 / messages_rate).max(bytes / bytes_rate);
        if self.excess + share > FLOOD_FACTOR {
            return Verdict::Flood;
        }
        let wait = ((1.0 - self.messages) / messages_rate).max((bytes - self.bytes) / bytes_rate);
        Verdict::Over(Span::from_secs_f64(wait.max(0.001)))
    }

    /// Counts a dropped message as excess.
    pub fn drop_message(&mut self, bytes: usize) {
        let messages = 1.0 / f64::from(self.allowance.messages_per_second);
        self.excess += messages.max(bytes as f64 / f64::from(self.allowance.bytes_per_second));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWANCE: Allowance = Allowance { messages_per_second: 100, bytes_per_second: 10_000 };

    fn at(millis: i64) -> LocalTime {
        LocalTime::default() + Span::from_millis(millis)
    }

    fn passed(count: i64, every_millis: f64, bytes: usize) -> (usize, bool) {
        let mut bucket = Bucket::new(ALLOWANCE, at(0));
        let mut passed = 0;
        for number in 0..count {
            let now = LocalTime::default() + Span::from_millis_f64(number as f64 * every_millis);
            match bucket.offer(now, bytes) {
                Verdict::Pass => passed += 1,
                Verdict::Over(_) => bucket.drop_message(bytes),
                Verdict::Flood => return (passed, true),
            }
        }
        (passed, false)
    }

    #[test]
    fn messages_within_the_allowance_pass() {
        assert_eq!(passed(1_000, 10.0, 100), (1_000, false));
    }

    #[test]
    fn messages_beyond_the_allowance_are_dropped() {
        let (messages, is_flood) = passed(2_000, 5.0, 10);
        assert!((1_090..=1_110).contains(&messages) && !is_flood, "{messages}");
        let (messages, is_flood) = passed(1_000, 10.0, 200);
        assert!((540..=560).contains(&messages) && !is_flood, "{messages}");
    }

    #[test]
    fn a_flood_is_distinguished_from_a_burst() {
        assert_eq!(passed(800, 0.0, 10), (100, false));
        assert!(passed(10_000, 0.01, 10).1);
    }

    #[test]
    fn a_message_longer_than_the_bucket_passes_once_it_is_full() {
        let mut bucket = Bucket::new(ALLOWANCE, at(0));
        assert_eq!(bucket.offer(at(0), 50_000), Verdict::Pass);
        assert!(matches!(bucket.offer(at(500), 50_000), Verdict::Over(_)));
        assert_eq!(bucket.offer(at(1_000), 50_000), Verdict::Pass);
    }

    #[test]
    fn a_message_passes_after_the_wait_it_was_given() {
        let mut bucket = Bucket::new(ALLOWANCE, at(0));
        while bucket.offer(at(0), 100) == Verdict::Pass {}
        let Verdict::Over(wait) = bucket.offer(at(0), 100) else { panic!("it is empty") };
        assert_eq!(bucket.offer(at(0) + wait, 100), Verdict::Pass);
    }
}
