//! Quotas: the work that one owner may cause at a relay.
//!
//! A vector costs the relay a review of every receiver, and a life costs every receiver a reliable message, so a driver's byte
//! limits don't stop a hostile owner. Whatever exceeds a quota counts as lost: a vector is repeated, and introduces its life.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, SessionTime};

use super::limits::{Limits, PLAYERS_MAX};
use super::renumbering::OWNER_ENTITIES_MAX;

/// Seconds of vectors that can be saved up.
const BURST_SECONDS: f64 = 2.0;
/// Lives that can be saved up: a player that returns introduces all of its entities at once.
const BIRTHS_BURST: f64 = OWNER_ENTITIES_MAX as f64;

/// A token bucket: what remains of a quota.
#[derive(Clone, Copy, Debug)]
struct TokenBucket {
    tokens: f64,
    at: SessionTime,
}

impl TokenBucket {
    fn take(&mut self, now: SessionTime, per_second: f64, burst: f64) -> bool {
        let seconds = (now - self.at).as_secs_f64().max(0.0);
        self.at = self.at.max(now);
        self.tokens = (self.tokens + seconds * per_second).min(burst);
        let enough = self.tokens >= 1.0;
        self.tokens -= if enough { 1.0 } else { 0.0 };
        enough
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Quotas {
    vectors: BTreeMap<PeerId, TokenBucket>,
    births: BTreeMap<PeerId, TokenBucket>,
    exceeded: u64,
}

impl Quotas {
    /// Whether another vector from this owner is within its quota.
    pub(crate) fn vector(&mut self, owner: PeerId, limits: &Limits, now: SessionTime) -> bool {
        let per_second = limits.vectors_per_second;
        let burst = per_second * BURST_SECONDS;
        let bucket = self.vectors.entry(owner).or_insert(TokenBucket { tokens: burst, at: now });
        let within = per_second.is_infinite() || bucket.take(now, per_second, burst);
        self.exceeded += u64::from(!within);
        within
    }

    /// Whether another life from this owner is within its quota.
    pub(crate) fn birth(&mut self, owner: PeerId, limits: &Limits, now: SessionTime) -> bool {
        let per_second = limits.births_per_second;
        let bucket = self.births.entry(owner).or_insert(TokenBucket { tokens: BIRTHS_BURST, at: now });
        let within = per_second.is_infinite() || bucket.take(now, per_second, BIRTHS_BURST);
        self.exceeded += u64::from(!within);
        within
    }

    pub(crate) const fn exceeded(&self) -> u64 {
        self.exceeded
    }

    /// An owner joins or leaves. Its buckets are kept, or leaving and returning would refill them, unless there are
    /// more than a room has players.
    pub(crate) fn leave(&mut self, owner: PeerId) {
        for quota in [&mut self.vectors, &mut self.births] {
            if quota.len() > PLAYERS_MAX as usize {
                quota.remove(&owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Span;

    use super::*;

    #[test]
    fn each_owner_has_a_burst_and_then_a_rate() {
        let limits = Limits { vectors_per_second: 10.0, births_per_second: 1.0, ..Limits::default() };
        let (mut quotas, start) = (Quotas::default(), SessionTime::from_nanos(0));
        let within = |quotas: &mut Quotas, owner, at| {
            (0..1000).filter(|_| quotas.vector(PeerId(owner), &limits, at)).count()
        };
        assert_eq!(within(&mut quotas, 1, start), 20);
        assert_eq!(within(&mut quotas, 1, start + Span::from_secs(1)), 10);
        quotas.leave(PeerId(1));
        assert_eq!(
            within(&mut quotas, 1, start + Span::from_secs(1)),
            0,
            "returning does not refill the quota"
        );
        assert_eq!(within(&mut quotas, 2, start + Span::from_secs(1)), 20);
        assert_eq!(quotas.exceeded(), 980 + 990 + 1000 + 980);
        let births = (0..1000).filter(|_| quotas.birth(PeerId(1), &limits, start)).count();
        assert_eq!(births, OWNER_ENTITIES_MAX);
    }

    #[test]
    fn the_default_limits_have_no_quota() {
        let mut quotas = Quotas::default();
        let now = SessionTime::from_nanos(0);
        assert!((0..10_000).all(|_| quotas.vector(PeerId(1), &Limits::default(), now)));
        assert!((0..10_000).all(|_| quotas.birth(PeerId(1), &Limits::default(), now)));
    }
}
