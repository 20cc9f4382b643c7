//! What a player's tags can be held to.
//!
//! A player that claims a shorter reaction comes earlier in the order. The SMS sees when the action arrived, and measures
//! round trips by pings that the client answers at once, so it knows how long the action and the update before it were on
//! their way, up to the jitter of the path. The place in the order is therefore within the round trips before the arrival;
//! what is left to gain is the jitter. Sync-out trusts clients to wait: one that shows updates early and does not say so
//! gains the time until everybody else sees them. An answer can be late, never early: who delays it only looks farther away.

use std::collections::VecDeque;

use evenkeel_core::{SessionTime, Span};

use crate::quantile::RecentSpans;

/// The time between two pings,
const PING_INTERVAL: Span = Span::from_millis(100);
/// and between the first ones.
const BURST_INTERVAL: Span = Span::from_millis(20);
/// Round trips that count as the first ones.
const BURST: u32 = 32;
/// Pings without an answer that are remembered.
const PINGS_MAX: usize = 32;
/// Round trips that are remembered: a minute's.
const ROUND_TRIPS: usize = 600;
/// Round trips before anything is checked.
const ROUND_TRIPS_MIN: u32 = 4;
/// The usual error of a session clock, beside the asymmetry that nobody can measure.
const CLOCK_ERROR: Span = Span::from_millis(1);
/// Round trips after which the path has shown most of its jitter.
const TRIED: u32 = 64;
/// One in so many claims may be beyond what is possible by as much as the jitter: sooner or later a path takes longer than
/// ever before. Claims that are always there are held to the limit.
const RARE: u32 = 512;
/// Rare claims that are allowed in a row.
const RARE_MAX: u32 = 16;

/// A player's path, as far as the SMS can see it.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pings: VecDeque<(u32, SessionTime)>,
    round_trips: RecentSpans,
    samples: u32,
    least: Span,
    largest: Span,
    /// What is left for rare claims; each takes `RARE`.
    spare: u32,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            pings: VecDeque::new(),
            round_trips: RecentSpans::new(ROUND_TRIPS),
            samples: 0,
            least: Span::ZERO,
            largest: Span::ZERO,
            spare: RARE * RARE_MAX,
        }
    }
}

impl Path {
    /// Notes a ping.
    pub(crate) fn pinged(&mut self, nonce: u32, now: SessionTime) {
        if self.pings.len() == PINGS_MAX {
            self.pings.pop_front();
        }
        self.pings.push_back((nonce, now));
    }

    /// Notes the answer to a ping. Returns whether there was such a ping.
    pub(crate) fn answered(&mut self, nonce: u32, now: SessionTime) -> bool {
        let Some(index) = self.pings.iter().position(|(sent, _)| *sent == nonce) else { return false };
        let Some((_, at)) = self.pings.remove(index) else { return false };
        self.round_trips.push(now - at);
        self.samples = self.samples.saturating_add(1);
        self.least = self.round_trips.least().unwrap_or(Span::ZERO);
        self.largest = self.round_trips.largest().unwrap_or(Span::ZERO);
        true
    }

    /// The least round trip and the jitter above it, once they are known.
    pub(crate) fn round_trip(&self) -> Option<(Span, Span)> {
        (self.samples >= ROUND_TRIPS_MIN).then(|| (self.least, self.largest - self.least))
    }

    /// A round trip that few exceed, from the first one on.
    pub(crate) fn longest(&self) -> Option<Span> {
        (self.samples > 0).then(|| self.largest + (self.largest - self.least))
    }

    /// How much longer a round trip may be than the longest one seen: a tail that the window has not shown yet is no lie.
    fn unseen(&self, jitter: Span) -> Span {
        jitter.part(8) + self.untried(jitter)
    }

    /// How much more jitter the path may have than its few round trips have shown.
    fn untried(&self, jitter: Span) -> Span {
        jitter.times(i64::from(TRIED.saturating_sub(self.samples))).part(16)
    }

    /// When to ping next.
    pub(crate) fn ping_interval(&self) -> Span {
        if self.samples < BURST { BURST_INTERVAL } else { PING_INTERVAL }
    }

    /// The time between a virtual sending and the arrival of an action, claimed at arrival, within what is possible.
    pub(crate) fn checked(&mut self, claimed: Span, hold: Span) -> Span {
        let Some((least, jitter)) = self.round_trip() else { return claimed.max(Span::ZERO) };
        // A tail on either side that the window has not shown yet is no lie. Below the least there is nothing to gain:
        // whoever claims to have acted later comes later.
        let unseen = self.unseen(jitter);
        let lowest = (least - unseen - jitter.part(2)).max(Span::ZERO);
        let mut highest = least + jitter + unseen;
        if hold > Span::ZERO {
            // The update was shown in time, so the jitter is that of one way. Which part of a round trip the action takes
            // cannot be known, but the clients' clocks show the middle of what is possible, so by them it is half.
            let up = least.part(2) + jitter + self.untried(jitter) + CLOCK_ERROR;
            highest = highest.max(hold + up);
        }
        self.limited(claimed.max(lowest), highest, jitter)
    }

    /// A claim within this limit, but for rare ones, which may exceed it by the jitter.
    fn limited(&mut self, claimed: Span, limit: Span, jitter: Span) -> Span {
        if claimed <= limit {
            self.spare = (self.spare + 1).min(RARE * RARE_MAX);
            return claimed;
        }
        match self.spare.checked_sub(RARE) {
            Some(rest) if claimed <= limit + jitter => {
                self.spare = rest;
                claimed
            }
            _ => limit,
        }
    }

    /// A delay that a client claims, within the round trips seen.
    pub(crate) fn possible(&self, delay: Span) -> Span {
        let highest =
            self.round_trip().map_or(Span::MAX, |(least, jitter)| least + jitter + self.unseen(jitter));
        delay.max(Span::ZERO).min(highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: i64) -> SessionTime {
        SessionTime::from_nanos(millis * 1_000_000)
    }

    /// Round trips of 40 to 50 ms.
    fn path() -> Path {
        let mut path = Path::default();
        for ping in 0..200_u32 {
            let sent = at(100 * i64::from(ping));
            path.pinged(ping, sent);
            assert!(path.answered(ping, sent + Span::from_millis(40 + i64::from(ping % 11))));
            assert!(!path.answered(ping, sent), "each ping is answered once");
        }
        path
    }

    #[test]
    fn a_faster_reaction_than_possible_gains_at_most_the_jitter_and_an_eighth() {
        let (mut path, millis) = (path(), Span::from_millis);
        assert_eq!(path.round_trip(), Some((millis(40), millis(10))));
        // Honest: within what was seen.
        assert_eq!(path.checked(millis(44), Span::ZERO), millis(44));
        // It claims to have acted 300 ms before its action arrived, and the other way round.
        let most = path.checked(millis(300), Span::ZERO);
        assert!(most > millis(51) && most <= millis(52), "{most:?}");
        let least = path.checked(millis(3), Span::ZERO);
        assert!(least > millis(33) && least < millis(34), "{least:?}");
    }

    #[test]
    fn rare_claims_may_be_as_far_out_again() {
        let (mut path, millis) = (path(), Span::from_millis);
        let mut claims = |count: usize, claimed: i64| {
            (0..count).filter(|_| path.checked(millis(claimed), Span::ZERO) > millis(53)).count()
        };
        assert_eq!(claims(100, 61), RARE_MAX as usize);
        assert_eq!((claims(2 * RARE as usize, 44), claims(100, 61)), (0, 2));
        assert!(path.checked(millis(300), Span::ZERO) <= millis(63));
    }

    #[test]
    fn with_sync_out_an_action_takes_half_of_a_round_trip() {
        let (mut path, millis, hold) = (path(), Span::from_millis, Span::from_millis(80));
        for up in 20..30 {
            assert_eq!(path.checked(hold + millis(up), hold), hold + millis(up));
        }
        // A lie that is always there does not become the rule.
        let claims: Vec<Span> = (0..100).map(|_| path.checked(hold + millis(300), hold)).collect();
        assert!(
            claims.iter().all(|claim| *claim > hold + millis(30) && *claim <= hold + millis(35)),
            "{claims:?}"
        );
        // Whoever sees updates later than they should be shown still has the whole round trip.
        assert_eq!(path.checked(millis(48), millis(5)), millis(48));
    }

    #[test]
    fn unanswered_pings_are_forgotten() {
        let mut path = Path::default();
        (0..1_000_u32).for_each(|ping| path.pinged(ping, at(0)));
        assert_eq!(path.pings.len(), PINGS_MAX);
        assert!(!path.answered(3, at(1)) && path.round_trip().is_none());
        assert_eq!(path.possible(Span::from_millis(-4)), Span::ZERO);
    }
}
