//! What a player's tags can be held to.
//!
//! A player that claims a shorter reaction comes earlier in the order. The SMS sees when the action arrived, and measures
//! round trips by pings that the client answers at once, so it knows how long the action and the update before it were on
//! their way, up to the jitter of the path. Two limits follow. No action was on its way for much longer than the longest round
//! trips, but for rare ones; and on average, actions and updates take as long as pings do: who claims long ways all the time
//! is held to the mean. What is left to gain is the jitter, once in a while.
//!
//! An answer can be late, never early. Who delays few answers gains nothing: the longest hundredth does not count as it is, and
//! the mean hardly moves. Who delays all of them looks like a player that is farther away, and nobody can tell it from one;
//! it gains what it delays, up to the cap. Who has never answered comes in the order of arrival; who does not answer any more
//! is not waited for.
//!
//! Sync-out trusts clients to wait: one that shows updates early and does not say so gains the time until everybody else sees
//! them.

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
/// Pings in a row without an answer,
const MUTE_PINGS: u32 = 16;
/// and the time since the first of them, after which a client counts as one that does not answer.
const MUTE_AFTER: Span = Span::from_secs(2);
/// Round trips that are remembered: a minute's.
const ROUND_TRIPS: usize = 600;
/// Round trips before a delay is held to them, or reported.
const ROUND_TRIPS_MIN: u32 = 4;
/// The usual error of a session clock, beside the asymmetry that nobody can measure.
const CLOCK_ERROR: Span = Span::from_millis(1);
/// Round trips after which the path has shown most of its jitter.
const TRIED: u32 = 64;
/// The part of the round trips that are too rare to tell how long one may take,
const RARE_PART: f64 = 0.01;
/// and that of those whose distance from them tells how much longer the rare ones are.
const LONG_PART: f64 = 0.1;
/// One in so many claims may be beyond what is possible by as much as the jitter: sooner or later a path takes longer than
/// ever before. Claims that are always there are held to the limit.
const RARE: u32 = 512;
/// Rare claims that are allowed in a row.
const RARE_MAX: u32 = 16;
/// The last round trips, whose mean is how long the way takes now.
const NOW: usize = 32;
/// How much longer than pings an update and an action may take on average: they are larger.
const LARGER: Span = Span::from_nanos(500_000);
/// For how many actions in a row the way may be longer than on average, by as much as it usually varies.
const LONG_RUN: i64 = 192;
/// No delay is longer, as long as nothing is measured.
const DELAY_MAX: Span = Span::from_secs(2);

/// A player's path, as far as the SMS can see it.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pings: VecDeque<(u32, SessionTime)>,
    /// Pings since the last answer, and the first of them.
    unanswered: (u32, SessionTime),
    round_trips: RecentSpans,
    samples: u32,
    least: Span,
    /// A round trip that hardly any exceeds.
    longest: Span,
    /// The mean of the last round trips,
    usual: Span,
    /// the mean deviation from it,
    deviation: Span,
    /// and the median one, which few late answers do not change.
    slack: Span,
    /// What is left for rare claims; each takes `RARE`.
    spare: u32,
    /// By how much claims have been shorter than on average: later ones may be as much longer.
    saved: Span,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            pings: VecDeque::new(),
            unanswered: (0, SessionTime::MIN),
            round_trips: RecentSpans::new(ROUND_TRIPS),
            samples: 0,
            least: Span::ZERO,
            longest: Span::ZERO,
            usual: Span::ZERO,
            deviation: Span::ZERO,
            slack: Span::ZERO,
            spare: RARE * RARE_MAX,
            saved: Span::MAX,
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
        match &mut self.unanswered {
            (0, _) => self.unanswered = (1, now),
            (count, _) => *count = count.saturating_add(1),
        }
    }

    /// Notes the answer to a ping. Returns whether there was such a ping.
    pub(crate) fn answered(&mut self, nonce: u32, now: SessionTime) -> bool {
        let Some(index) = self.pings.iter().position(|(sent, _)| *sent == nonce) else { return false };
        let Some((_, at)) = self.pings.remove(index) else { return false };
        self.unanswered.0 = 0;
        self.round_trips.push(now - at);
        self.samples = self.samples.saturating_add(1);
        self.least = self.round_trips.least().unwrap_or(Span::ZERO);
        let rank = |part| self.round_trips.high(part).unwrap_or(Span::ZERO);
        let (rare, long) = (rank(RARE_PART), rank(LONG_PART));
        self.longest = (rare + (rare - long)).min(self.round_trips.largest().unwrap_or(Span::ZERO));
        [self.usual, ..] = self.round_trips.spread_of_last(NOW);
        [_, self.deviation, self.slack] = self.round_trips.spread_of_last(TRIED as usize);
        true
    }

    /// Forgets pings that were not answered: they were sent before a pause.
    pub(crate) const fn resume(&mut self) {
        self.unanswered.0 = 0;
    }

    /// Whether the client does not answer.
    pub(crate) fn is_mute(&self, now: SessionTime) -> bool {
        let (count, since) = self.unanswered;
        count >= MUTE_PINGS && now - since > MUTE_AFTER
    }

    /// Whether it has never been pinged, because nothing is served in order: what it claims only tells how fair that is.
    const fn is_unasked(&self) -> bool {
        self.samples == 0 && self.unanswered.0 == 0
    }

    /// The least round trip and the jitter above it, once they are known.
    pub(crate) fn round_trip(&self) -> Option<(Span, Span)> {
        (self.samples >= ROUND_TRIPS_MIN).then(|| (self.least, self.longest - self.least))
    }

    /// A round trip that few exceed, from the first one on.
    pub(crate) fn longest(&self) -> Option<Span> {
        (self.samples > 0).then(|| self.longest + (self.longest - self.least))
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
    /// Nothing is believed before the path is measured.
    pub(crate) fn checked(&mut self, claimed: Span, hold: Span) -> Span {
        // There is no lower limit: whoever claims to have acted later comes later.
        let claimed = claimed.max(Span::ZERO);
        if self.samples == 0 {
            return if self.is_unasked() { claimed } else { Span::ZERO };
        }
        let (least, jitter) = (self.least, self.longest - self.least);
        let mut highest = least + jitter + self.unseen(jitter);
        let mut usual = self.usual;
        if hold > Span::ZERO {
            // The update was shown in time, so the jitter is that of one way. Which part of a round trip the action takes
            // cannot be known, but the clients' clocks show the middle of what is possible, so by them it is half.
            let up = least.part(2) + jitter + self.untried(jitter) + CLOCK_ERROR;
            highest = highest.max(hold + up);
            usual = usual.max(hold + usual.part(2) + CLOCK_ERROR);
        }
        let possible = self.limited(claimed, highest, jitter);
        self.averaged(possible, usual)
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

    /// A claim that is longer than usual, as far as earlier ones were shorter.
    fn averaged(&mut self, claimed: Span, usual: Span) -> Span {
        if self.samples < TRIED {
            return claimed;
        }
        let slack = self.slack.part(2) + LARGER;
        let most = (self.deviation.part(2) + LARGER).times(LONG_RUN);
        let saved = self.saved.min(most);
        let excess = claimed - usual - slack;
        let granted = excess.min(saved);
        self.saved = (saved - granted).min(most);
        claimed - (excess - granted)
    }

    /// A delay that a client claims, within the round trips seen.
    pub(crate) fn possible(&self, delay: Span) -> Span {
        let highest =
            self.round_trip().map_or(DELAY_MAX, |(least, jitter)| least + jitter + self.unseen(jitter));
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
        assert_eq!(path.checked(millis(3), Span::ZERO), millis(3), "whoever comes later harms nobody");
        assert_eq!(path.checked(millis(-3), Span::ZERO), Span::ZERO);
    }

    #[test]
    fn who_claims_long_ways_all_the_time_is_held_to_the_mean() {
        let (mut path, millis) = (path(), Span::from_millis);
        let claims: Vec<Span> = (0..300).map(|_| path.checked(millis(300), Span::ZERO)).collect();
        assert!(claims[..10].iter().all(|claim| *claim > millis(51)), "{claims:?}");
        assert!(claims[100..].iter().all(|claim| *claim < millis(48)), "{claims:?}");
        // Ways that vary as pings do are all believed.
        let varied = (0..3_000).map(|n| millis(40 + (7 * n) % 11));
        assert!(varied.clone().skip(100).all(|way| path.checked(way, Span::ZERO) == way));
    }

    #[test]
    fn who_delays_few_answers_gains_nothing() {
        let (mut path, millis) = (path(), Span::from_millis);
        for ping in 200..800_u32 {
            let sent = at(100 * i64::from(ping));
            path.pinged(ping, sent);
            let delayed = if ping % 200 == 0 { 300 } else { 0 };
            assert!(path.answered(ping, sent + millis(40 + i64::from(ping % 11) + delayed)));
        }
        assert_eq!(path.round_trip(), Some((millis(40), millis(11))));
        let most = (0..10).map(|_| path.checked(millis(300), Span::ZERO)).max();
        assert!(most <= Some(millis(53)), "{most:?}");
    }

    #[test]
    fn rare_claims_may_be_as_far_out_again() {
        let (mut path, millis) = (path(), Span::from_millis);
        let mut claims = |count: usize, claimed: i64| {
            let limited = |_: &usize| path.limited(millis(claimed), millis(51), millis(10)) > millis(53);
            (0..count).filter(limited).count()
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
        // Whoever sees updates later than they should be shown still has the whole round trip.
        assert_eq!(path.checked(millis(48), millis(5)), millis(48));
        // A lie that is always there does not become the rule.
        let claims: Vec<Span> =
            (0..300).map(|_| path.checked(hold + millis(300), hold)).map(|claim| claim - hold).collect();
        assert!(claims.iter().all(|claim| *claim <= millis(35)), "{claims:?}");
        assert!(claims[100..].iter().all(|claim| *claim <= millis(26)), "{claims:?}");
    }

    #[test]
    fn unanswered_pings_are_forgotten() {
        let mut path = Path::default();
        (0..1_000_u32).for_each(|ping| path.pinged(ping, at(0)));
        assert_eq!(path.pings.len(), PINGS_MAX);
        assert!(!path.answered(3, at(1)) && path.round_trip().is_none());
        assert_eq!(path.possible(Span::from_millis(-4)), Span::ZERO);
    }

    #[test]
    fn nothing_is_believed_of_who_has_never_answered() {
        let (mut fresh, claimed) = (Path::default(), Span::from_millis(44));
        assert_eq!(fresh.checked(claimed, Span::ZERO), claimed, "nothing is served in order");
        fresh.pinged(0, at(19_999));
        assert_eq!(fresh.checked(claimed, Span::ZERO), Span::ZERO, "it comes in the order of arrival");
    }

    #[test]
    fn who_stops_answering_is_mute() {
        let mut path = path();
        (0..100_u32).for_each(|ping| path.pinged(1_000 + ping, at(20_000 + 100 * i64::from(ping))));
        assert!(!path.is_mute(at(21_900)) && path.is_mute(at(22_100)));
        assert!(path.answered(1_099, at(30_000)) && !path.is_mute(at(30_000)));
    }
}
