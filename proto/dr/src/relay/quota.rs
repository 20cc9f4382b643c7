//! How much one owner may make a relay do.
//!
//! A vector costs its owner some thirty bytes, and the relay a review of every receiver. A new life costs every receiver
//! a reliable message or two. So a driver's limits on bytes are not enough: whoever stays below them could keep a relay
//! busy for nothing, or have everybody else closed for reading too slowly. What is beyond a quota is left as if it had
//! been lost on the way: vectors come again, and lives are introduced by a later vector.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, SessionTime};

use crate::intake::OWNER_ENTITIES_MAX;
use crate::limits::{Limits, PLAYERS_MAX};

/// So many seconds of vectors can be saved up.
const BURST_SECONDS: f64 = 2.0;
/// So many lives can be saved up: whoever comes back introduces all of its entities at once.
const BIRTHS_BURST: f64 = OWNER_ENTITIES_MAX as f64;

/// What is left of a quota.
#[derive(Clone, Copy, Debug)]
struct Left {
    count: f64,
    at: SessionTime,
}

impl Left {
    fn take(&mut self, now: SessionTime, per_second: f64, burst: f64) -> bool {
        let seconds = (now - self.at).as_secs_f64().max(0.0);
        self.at = self.at.max(now);
        self.count = (self.count + seconds * per_second).min(burst);
        let enough = self.count >= 1.0;
        self.count -= if enough { 1.0 } else { 0.0 };
        enough
    }
}

/// The quotas of all owners.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quotas {
    vectors: BTreeMap<PeerId, Left>,
    births: BTreeMap<PeerId, Left>,
    exceeded: u64,
}

impl Quotas {
    /// Whether a vector of this owner's is within its quota.
    pub(crate) fn vector(&mut self, owner: PeerId, limits: &Limits, now: SessionTime) -> bool {
        let per_second = limits.vectors_per_second;
        let burst = per_second * BURST_SECONDS;
        let left = self.vectors.entry(owner).or_insert(Left { count: burst, at: now });
        let within = per_second.is_infinite() || left.take(now, per_second, burst);
        self.exceeded += u64::from(!within);
        within
    }

    /// Whether a new life of this owner's is within its quota.
    pub(crate) fn birth(&mut self, owner: PeerId, limits: &Limits, now: SessionTime) -> bool {
        let per_second = limits.births_per_second;
        let left = self.births.entry(owner).or_insert(Left { count: BIRTHS_BURST, at: now });
        let within = per_second.is_infinite() || left.take(now, per_second, BIRTHS_BURST);
        self.exceeded += u64::from(!within);
        within
    }

    /// Vectors and lives beyond a quota so far.
    pub(crate) const fn exceeded(&self) -> u64 {
        self.exceeded
    }

    /// Somebody comes or goes. What it has used up is remembered, or it would only have to come back; unless there are more
    /// to remember than can be in a room.
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
    fn a_quota_is_a_burst_and_then_a_rate_and_each_owner_has_its_own() {
        let limits = Limits { vectors_per_second: 10.0, births_per_second: 1.0, ..Limits::default() };
        let (mut quotas, start) = (Quotas::default(), SessionTime::from_nanos(0));
        let within = |quotas: &mut Quotas, owner, at| {
            (0..1000).filter(|_| quotas.vector(PeerId(owner), &limits, at)).count()
        };
        assert_eq!(within(&mut quotas, 1, start), 20);
        assert_eq!(within(&mut quotas, 1, start + Span::from_secs(1)), 10);
        quotas.leave(PeerId(1));
        assert_eq!(within(&mut quotas, 1, start + Span::from_secs(1)), 0, "to come back wins nothing");
        assert_eq!(within(&mut quotas, 2, start + Span::from_secs(1)), 20);
        assert_eq!(quotas.exceeded(), 980 + 990 + 1000 + 980);
        let births = (0..1000).filter(|_| quotas.birth(PeerId(1), &limits, start)).count();
        assert_eq!(births, OWNER_ENTITIES_MAX);
    }

    #[test]
    fn without_limits_there_is_no_quota() {
        let mut quotas = Quotas::default();
        let now = SessionTime::from_nanos(0);
        assert!((0..10_000).all(|_| quotas.vector(PeerId(1), &Limits::default(), now)));
        assert!((0..10_000).all(|_| quotas.birth(PeerId(1), &Limits::default(), now)));
    }
}
