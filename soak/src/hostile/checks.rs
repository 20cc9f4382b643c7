//! Checks that each attack was made and got as far as it can. An attack that the relay never looks at proves nothing.

use std::time::Duration;

use super::attack::ConnectionEnds;
use super::kind::AttackKind;
use super::reach::{AttackCount, AttackReach};
use crate::Check;

/// The most reliable messages that may wait for a connection that never reads: the queue's length, and as many of the
/// shortest messages, of 20 bytes, as fit the stream's window of 384 KiB. The relay closes the connection at this limit at
/// the latest, so no report can show more.
const UNREAD_MAX: u64 = 8_192 + 384 * 1_024 / 20;

/// Every attack has begun and got as far as it can by then, on a busy machine, too; except [`AttackKind::NeverReads`].
const REACHED_WITHIN: Duration = Duration::from_secs(20);
/// A connection that never reads is closed by then: a member's lives are few, so filling its queue takes minutes.
const TOO_SLOW_WITHIN: Duration = Duration::from_secs(300);

/// How long the attack lasted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Lasted(pub(super) Duration);

impl Lasted {
    /// A check of something that must come about `within` a time. A shorter attack passes without it, and says so.
    pub(super) fn check(
        self,
        what: impl Into<String>,
        came: bool,
        within: Duration,
        measured: impl Into<String>,
    ) -> Check {
        if came || self.0 >= within {
            return Check::new(what, came, measured);
        }
        Check::new(what, true, format!("{}; not reached in this time", measured.into()))
    }
}

/// All checks of the attack. `growth` is the growth of a counter of the relay; `counts` has the order of
/// [`AttackKind::ALL`].
pub(super) fn checks(
    reach: &AttackReach,
    counts: &[AttackCount],
    ends: &ConnectionEnds,
    growth: impl Fn(&str) -> f64,
    lasted: Lasted,
) -> Vec<Check> {
    vec![
        every_kind(counts, lasted),
        vectors(reach.over_quota, counts, lasted),
        reports(counts, lasted),
        rejected(counts, lasted),
        bad_tokens(growth("players_refused_total"), ends.admitted.value(), lasted),
        flooding(growth("flooding_total"), lasted),
        never_reads(reach.unread, ends.too_slow.value(), ends.not_too_slow.value(), lasted),
        stalled(ends.closed.value(), ends.held.value(), lasted),
    ]
}

fn with_entities(counts: &[AttackCount]) -> impl Iterator<Item = &AttackCount> + Clone {
    AttackKind::ALL.iter().zip(counts).filter(|((kind, _), _)| kind.has_entities()).map(|(_, count)| count)
}

/// Every kind of attack was made.
fn every_kind(counts: &[AttackCount], lasted: Lasted) -> Check {
    let of = |index: usize| counts.get(index).map_or(0, |count| count.count);
    let missing = AttackKind::ALL.iter().enumerate().filter(|(index, _)| of(*index) == 0);
    let missing: Vec<&str> = missing.map(|(_, (_, label))| *label).collect();
    let measured = if missing.is_empty() {
        format!("all {} kinds", AttackKind::ALL.len())
    } else {
        format!("{} of {} kinds missing: {}", missing.len(), AttackKind::ALL.len(), missing.join("; "))
    };
    lasted.check("every kind of attack is made", missing.is_empty(), REACHED_WITHIN, measured)
}

/// The vectors of each kind of attacker were recorded and passed on, and some were above the quota.
fn vectors(over_quota: u64, counts: &[AttackCount], lasted: Lasted) -> Check {
    let mut senders = with_entities(counts);
    let sum = |count: fn(&AttackCount) -> u64| senders.clone().map(count).sum::<u64>();
    let (sent, recorded) = (sum(|count| count.vectors), sum(|count| count.recorded));
    let passed_on = sum(|count| count.passed_on);
    let reached = senders.all(|count| count.recorded > 0 && count.passed_on > 0) && recorded > 0;
    let measured = format!(
        "of {sent} sent {recorded} were recorded; {passed_on} passed on to attackers; \
         {over_quota} vectors and lives above the quota"
    );
    let what = "the attackers' vectors of every kind reach the ledger, the other players and the quota";
    lasted.check(what, reached && over_quota > 0, REACHED_WITHIN, measured)
}

/// Acknowledgments were settled, and untrue ones detected.
fn reports(counts: &[AttackCount], lasted: Lasted) -> Check {
    let empty = AttackCount::default();
    let count = counts.get(AttackKind::FalseReports as usize).unwrap_or(&empty);
    let measured =
        format!("{} of {} settled, {} found untrue or cut", count.settled, count.reports, count.clamped);
    let what = "the attackers' acknowledgments reach the ledger";
    lasted.check(what, count.settled > 0 && count.clamped > 0, REACHED_WITHIN, measured)
}

/// Malformed messages and those out of limits reached the room, and were rejected there.
fn rejected(counts: &[AttackCount], lasted: Lasted) -> Check {
    let kinds = [
        AttackKind::RandomDatagram,
        AttackKind::MutatedDatagram,
        AttackKind::OutOfLimits,
        AttackKind::RandomReliable,
    ];
    let rejected = kinds.map(|kind| counts.get(kind as usize).map_or(0, |count| count.rejected));
    let [random, mutated, out_of_limits, reliable] = rejected;
    let measured =
        format!("{random} random, {mutated} mutated, {out_of_limits} out of limits, {reliable} reliable");
    let what = "malformed messages and messages out of limits reach the room and are rejected";
    lasted.check(what, rejected.iter().all(|count| *count > 0), REACHED_WITHIN, measured)
}

/// Connections without a token, or with a bad one, were refused every time.
fn bad_tokens(refused: f64, admitted: u64, lasted: Lasted) -> Check {
    let what = "no connection without a token, or with a bad one, is admitted";
    let measured = format!("{refused:.0} times refused, {admitted} times admitted");
    let check = lasted.check(what, refused > 0.0, REACHED_WITHIN, measured);
    Check { passed: check.passed && admitted == 0, ..check }
}

/// Connections that flood were closed.
fn flooding(closed: f64, lasted: Lasted) -> Check {
    let what = "a connection that floods is closed";
    lasted.check(what, closed > 0.0, REACHED_WITHIN, format!("closed {closed:.0} times"))
}

/// Connections that never read were closed for that and nothing else, and before too much waited for them.
fn never_reads(unread: Option<u64>, too_slow: u64, otherwise: u64, lasted: Lasted) -> Check {
    let most =
        unread.map_or("never found in the room".to_owned(), |unread| format!("at most {unread} waited"));
    let measured = format!("{most}; closed {too_slow} times as too slow, {otherwise} times otherwise");
    let what =
        format!("a connection that never reads is closed before {UNREAD_MAX} reliable messages wait for it");
    let check = lasted.check(what, unread.is_some() && too_slow > 0, TOO_SLOW_WITHIN, measured);
    let was_there = unread.is_some() || lasted.0 < REACHED_WITHIN;
    Check { passed: check.passed && was_there && unread <= Some(UNREAD_MAX) && otherwise == 0, ..check }
}

/// Connections that do nothing after the handshake were closed in time.
fn stalled(closed: u64, held: u64, lasted: Lasted) -> Check {
    let measured = format!("{closed} closed in time, {held} not");
    let what = "a connection that has no token or opens no stream is closed within 12 s";
    let check = lasted.check(what, closed > 0, REACHED_WITHIN, measured);
    Check { passed: check.passed && held == 0, ..check }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Lasted = Lasted(Duration::from_secs(600));
    const SHORT: Lasted = Lasted(Duration::from_secs(3));

    fn good() -> Vec<AttackCount> {
        let one = AttackCount {
            count: 6,
            vectors: 5,
            recorded: 4,
            passed_on: 9,
            reports: 3,
            settled: 2,
            rejected: 1,
            clamped: 1,
            ..AttackCount::default()
        };
        vec![one; AttackKind::ALL.len()]
    }

    #[test]
    fn an_attack_that_does_not_reach_the_room_fails() {
        let counts = good();
        let passes = |over_quota, counts: &[AttackCount]| {
            let checks = [vectors(over_quota, counts, LONG), reports(counts, LONG), rejected(counts, LONG)];
            checks.map(|check| check.passed)
        };
        assert_eq!(passes(1, &counts), [true; 3]);
        assert_eq!(passes(1, &[]), [false; 3]);
        assert!(!passes(0, &counts)[0]);
        let spoiled = |kind: AttackKind, spoil: fn(&mut AttackCount)| {
            let mut counts = counts.clone();
            spoil(&mut counts[kind as usize]);
            passes(1, &counts)
        };
        for (kind, _) in AttackKind::ALL.iter().filter(|(kind, _)| kind.has_entities()) {
            assert_eq!(spoiled(*kind, |count| count.recorded = 0), [false, true, true], "{kind:?}");
            assert_eq!(spoiled(*kind, |count| count.passed_on = 0), [false, true, true], "{kind:?}");
        }
        assert_eq!(spoiled(AttackKind::FalseReports, |count| count.settled = 0), [true, false, true]);
        assert_eq!(spoiled(AttackKind::FalseReports, |count| count.clamped = 0), [true, false, true]);
        assert_eq!(spoiled(AttackKind::OutOfLimits, |count| count.rejected = 0), [true, true, false]);
        assert_eq!(spoiled(AttackKind::RandomReliable, |count| count.rejected = 0), [true, true, false]);
    }

    #[test]
    fn a_connection_that_is_not_closed_in_time_fails() {
        let never_reads = |unread, too_slow, otherwise| never_reads(unread, too_slow, otherwise, LONG).passed;
        assert!(never_reads(Some(0), 1, 0) && never_reads(Some(UNREAD_MAX), 2, 0));
        assert!(!never_reads(Some(0), 0, 0), "never closed");
        assert!(!never_reads(None, 1, 0), "never in the room");
        assert!(!never_reads(Some(UNREAD_MAX + 1), 1, 0), "closed too late");
        assert!(!never_reads(Some(5), 1, 1), "closed for another reason");
        let stalled = |closed, held| stalled(closed, held, LONG).passed;
        assert!(stalled(3, 0));
        assert!(!stalled(3, 1) && !stalled(0, 0));
        assert!(flooding(1.0, LONG).passed);
        assert!(!flooding(0.0, LONG).passed && !flooding(f64::NAN, LONG).passed);
        assert!(bad_tokens(1.0, 0, LONG).passed);
        assert!(!bad_tokens(0.0, 0, LONG).passed && !bad_tokens(9.0, 1, LONG).passed);
    }

    #[test]
    fn an_attack_that_lacks_a_kind_fails() {
        let counts = good();
        assert!(every_kind(&counts, LONG).passed && !every_kind(&[], LONG).passed);
        for (index, (kind, label)) in AttackKind::ALL.iter().enumerate() {
            let mut counts = counts.clone();
            counts[index].count = 0;
            let check = every_kind(&counts, LONG);
            assert!(!check.passed && check.measured.ends_with(label), "{kind:?}: {}", check.measured);
        }
    }

    #[test]
    fn a_short_attack_passes_without_what_takes_longer() {
        let (reach, ends) = (AttackReach::default(), ConnectionEnds::default());
        let nothing = |lasted| checks(&reach, &[], &ends, |_| 0.0, lasted);
        for check in nothing(SHORT) {
            assert!(check.passed && check.measured.ends_with("; not reached in this time"), "{check:?}");
        }
        assert!(nothing(LONG).iter().all(|check| !check.passed));
        let minute = Lasted(Duration::from_secs(60));
        let check = never_reads(Some(5), 0, 0, minute);
        assert!(check.passed && check.measured.ends_with("; not reached in this time"), "{check:?}");
        assert!(!never_reads(None, 0, 0, minute).passed, "never in the room");
    }

    #[test]
    fn what_must_never_happen_fails_a_short_attack_too() {
        assert!(!never_reads(Some(5), 0, 1, SHORT).passed);
        assert!(!never_reads(Some(UNREAD_MAX + 1), 0, 0, SHORT).passed);
        assert!(!bad_tokens(0.0, 1, SHORT).passed && !stalled(0, 1, SHORT).passed);
    }
}
