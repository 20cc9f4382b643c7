//! How far the attacks got: an attack that the relay does not even look at proves nothing.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_serve::RoomReport;
use serde::Serialize;

use super::{Attack, Kind, members};
use crate::Check;

/// No more reliable messages may wait for one who never reads: as many as are queued, and as many of the shortest, of 20
/// bytes, as fit the windows of the stream, 384 KiB. The connection is closed at the latest then; since it is looked at
/// from time to time only, it is never found with more.
const OWED_MAX: u64 = 8_192 + 384 * 1_024 / 20;

/// By then every attack has begun and come as far as it does, but for those who never read, also on a busy machine.
const REACHED_WITHIN: Duration = Duration::from_secs(20);
/// By then so much waits for who never reads that it is closed: a member's lives are few, so that takes minutes.
const TOO_SLOW_WITHIN: Duration = Duration::from_secs(300);

/// How long the attack lasted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Lasted(pub(super) Duration);

impl Lasted {
    /// Whether something came about that must within a time. A shorter attack does not fail for lack of it, and says so.
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

/// What attackers of one kind sent, and what came back.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) sent: AtomicU64,
    pub(super) vectors: AtomicU64,
    pub(super) reports: AtomicU64,
    pub(super) recorded: AtomicU64,
    pub(super) settled: AtomicU64,
}

/// How connections ended that did nothing, or should not have been made.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Those that did not read: closed for that, or for something else.
    pub(super) too_slow: AtomicU64,
    pub(super) not_too_slow: AtomicU64,
    /// Those that did not get as far as that: closed in time, or not.
    pub(super) closed: AtomicU64,
    pub(super) held: AtomicU64,
    /// Those that were let in with a bad token, or without any.
    pub(super) let_in: AtomicU64,
}

/// A kind of attack, how often it was made, and what the relay made of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Count {
    /// What it is.
    pub kind: &'static str,
    /// How often.
    pub count: u64,
    /// DR vectors in datagrams that were sent, before these were mutated,
    pub vectors: u64,
    /// those that the relay said it has recorded, or need not be told again,
    pub recorded: u64,
    /// and how often it passed some on to one of the attackers.
    pub passed_on: u64,
    /// Acknowledgments that were sent,
    pub reports: u64,
    /// and those that the relay said are in its books.
    pub settled: u64,
    /// Messages that the room rejected,
    pub rejected: u64,
    /// and datagrams that did not reach it: beyond their senders' allowance, or because it could not keep up.
    pub dropped: u64,
    /// Acknowledgments that could not be true, and claims of delay that were cut.
    pub clamped: u64,
}

/// What the room's reports say of one member since it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Figures {
    rejected: u64,
    dropped: u64,
    clamped: u64,
}

impl Figures {
    /// Adds what is new since the last report; a member that came back is counted anew.
    fn add(&mut self, last: Self, now: Self) {
        let grown = |last: u64, now: u64| now.checked_sub(last).unwrap_or(now);
        self.rejected += grown(last.rejected, now.rejected);
        self.dropped += grown(last.dropped, now.dropped);
        self.clamped += grown(last.clamped, now.clamped);
    }
}

/// What the room's reports say of the attack.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Reached {
    /// By seat: the last report, and all of them together.
    members: BTreeMap<u16, (Figures, Figures)>,
    over_quota: u64,
    estimated: u64,
    /// The most reliable messages that were found waiting for a member that does not read.
    owed: Option<u64>,
}

impl Reached {
    pub(super) fn note(&mut self, report: &RoomReport) {
        (self.over_quota, self.estimated) = (report.over_quota, report.estimated);
        for player in &report.players {
            let seat = player.name.strip_prefix(members::NAME).and_then(|rest| rest.strip_prefix('-'));
            let Some(seat) = seat.and_then(|seat| seat.parse().ok()) else { continue };
            let now = Figures { rejected: player.rejected, dropped: player.dropped, clamped: player.clamped };
            let (last, all) = self.members.entry(seat).or_default();
            all.add(*last, now);
            *last = now;
            if members::kind(seat) == Kind::NeverReads {
                self.owed = self.owed.max(Some(player.reliable_sent));
            }
        }
    }

    /// All of it by kind.
    pub(super) fn counts(&self, attack: &Attack) -> Vec<Count> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let players = attack.players.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |(kind, words): &(Kind, &'static str)| {
            let tally = &attack.tallies[*kind as usize];
            let of_kind = players.iter().filter(|(_, one)| *one == kind);
            let mut all = Figures::default();
            for (_, (_, one)) in self.members.iter().filter(|(seat, _)| members::kind(**seat) == *kind) {
                all.add(Figures::default(), *one);
            }
            Count {
                kind: words,
                count: read(&tally.sent),
                vectors: read(&tally.vectors),
                recorded: read(&tally.recorded),
                passed_on: of_kind.map(|(player, _)| read(&attack.passed_on[*player as usize])).sum(),
                reports: read(&tally.reports),
                settled: read(&tally.settled),
                rejected: all.rejected,
                dropped: all.dropped,
                clamped: all.clamped,
            }
        };
        Kind::ALL.iter().map(count).collect()
    }

    /// All that is asked of the attack. `turned` says by how much a metric of the relay has grown.
    pub(super) fn checks(
        &self,
        counts: &[Count],
        ends: &Ends,
        turned: impl Fn(&str) -> f64,
        lasted: Lasted,
    ) -> Vec<Check> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        vec![
            made(counts, lasted),
            self.vectors(counts, lasted),
            self.reports(counts, lasted),
            self.rejected(counts, lasted),
            refused(turned("players_refused_total"), read(&ends.let_in), lasted),
            flooding(turned("flooding_total"), lasted),
            never_reads(self.owed, read(&ends.too_slow), read(&ends.not_too_slow), lasted),
            idle(read(&ends.closed), read(&ends.held), lasted),
        ]
    }

    pub(super) fn figures(&self) -> Vec<(String, String)> {
        vec![
            ("vectors and lives beyond their quotas".to_owned(), self.over_quota.to_string()),
            ("errors settled by estimate".to_owned(), self.estimated.to_string()),
        ]
    }

    /// The vectors of everybody who has entities were taken and passed on, and some were too many.
    fn vectors(&self, counts: &[Count], lasted: Lasted) -> Check {
        let mut senders = with_entities(counts);
        let all = senders.clone().fold((0, 0, 0), |(sent, recorded, passed_on), count| {
            (sent + count.vectors, recorded + count.recorded, passed_on + count.passed_on)
        });
        let reached = senders.all(|count| count.recorded > 0 && count.passed_on > 0) && all.1 > 0;
        let measured = format!(
            "of {} sent {} were recorded; {} passed on to attackers; {} vectors and lives over quota",
            all.0, all.1, all.2, self.over_quota
        );
        let what = "the attackers' vectors of every kind reach the ledger and all others, and their quota";
        lasted.check(what, reached && self.over_quota > 0, REACHED_WITHIN, measured)
    }

    /// The acknowledgments got into the books, and the untrue ones were found out.
    fn reports(&self, counts: &[Count], lasted: Lasted) -> Check {
        let empty = Count::default();
        let count = counts.get(Kind::Reports as usize).unwrap_or(&empty);
        let measured =
            format!("{} of {} settled, {} found untrue or cut", count.settled, count.reports, count.clamped);
        let what = "the attackers' acknowledgments reach the ledger";
        lasted.check(what, count.settled > 0 && count.clamped > 0, REACHED_WITHIN, measured)
    }

    /// What is malformed or beyond the limits was looked at and rejected.
    fn rejected(&self, counts: &[Count], lasted: Lasted) -> Check {
        let kinds = [Kind::RandomDatagram, Kind::MutatedDatagram, Kind::Beyond, Kind::RandomReliable];
        let rejected = kinds.map(|kind| counts.get(kind as usize).map_or(0, |count| count.rejected));
        let measured = format!(
            "{} random, {} mutated, {} beyond the limits, {} reliable",
            rejected[0], rejected[1], rejected[2], rejected[3]
        );
        let what = "what is malformed or beyond the limits reaches the room and is rejected";
        lasted.check(what, rejected.iter().all(|count| *count > 0), REACHED_WITHIN, measured)
    }
}

fn with_entities(counts: &[Count]) -> impl Iterator<Item = &Count> + Clone {
    Kind::ALL.iter().zip(counts).filter(|((kind, _), _)| kind.has_entities()).map(|(_, count)| count)
}

/// Every kind of attack was made: one that could not be, for whatever reason, proves nothing.
fn made(counts: &[Count], lasted: Lasted) -> Check {
    let of = |place: usize| counts.get(place).map_or(0, |count| count.count);
    let missing = Kind::ALL.iter().enumerate().filter(|(place, _)| of(*place) == 0);
    let missing: Vec<&str> = missing.map(|(_, (_, words))| *words).collect();
    let measured = if missing.is_empty() {
        format!("all {} kinds", Kind::ALL.len())
    } else {
        format!("{} of {} kinds missing: {}", missing.len(), Kind::ALL.len(), missing.join("; "))
    };
    lasted.check("every kind of attack is made", missing.is_empty(), REACHED_WITHIN, measured)
}

/// Whoever comes without a token, or with a bad one, is refused every time.
fn refused(refused: f64, let_in: u64, lasted: Lasted) -> Check {
    let what = "who has no token, or a bad one, is not let in";
    let check = lasted.check(
        what,
        refused > 0.0,
        REACHED_WITHIN,
        format!("{refused:.0} times refused, {let_in} times let in"),
    );
    Check { passed: check.passed && let_in == 0, ..check }
}

/// Whoever floods is closed for it.
fn flooding(flooding: f64, lasted: Lasted) -> Check {
    let measured = format!("closed {flooding:.0} times");
    lasted.check("who sends far more than it may is closed for it", flooding > 0.0, REACHED_WITHIN, measured)
}

/// Whoever never reads is closed for that, and for nothing else, before more waits for it than may.
fn never_reads(owed: Option<u64>, too_slow: u64, otherwise: u64, lasted: Lasted) -> Check {
    let most = owed.map_or("never found in the room".to_owned(), |owed| format!("at most {owed} waited"));
    let measured = format!("{most}; closed {too_slow} times as too slow, {otherwise} times otherwise");
    let what = format!("who never reads is closed as too slow before {OWED_MAX} reliable messages wait");
    let check = lasted.check(what, owed.is_some() && too_slow > 0, TOO_SLOW_WITHIN, measured);
    let was_there = owed.is_some() || lasted.0 < REACHED_WITHIN;
    Check { passed: check.passed && was_there && owed <= Some(OWED_MAX) && otherwise == 0, ..check }
}

/// Whoever does nothing after the handshake is closed in time.
fn idle(closed: u64, held: u64, lasted: Lasted) -> Check {
    let measured = format!("{closed} closed in time, {held} not");
    let what = "who has no token, or opens no stream, is closed within 12 s";
    let check = lasted.check(what, closed > 0, REACHED_WITHIN, measured);
    Check { passed: check.passed && held == 0, ..check }
}

#[cfg(test)]
mod tests {
    use evenkeel_serve::PlayerReport;

    use super::*;

    const WHOLE: Lasted = Lasted(Duration::from_secs(600));
    const STOPPED: Lasted = Lasted(Duration::from_secs(3));

    fn good() -> (Reached, Vec<Count>) {
        let one = Count {
            count: 6,
            vectors: 5,
            recorded: 4,
            passed_on: 9,
            reports: 3,
            settled: 2,
            rejected: 1,
            clamped: 1,
            ..Count::default()
        };
        (Reached { over_quota: 1, owed: Some(5), ..Reached::default() }, vec![one; Kind::ALL.len()])
    }

    #[test]
    fn an_attack_that_does_not_reach_the_room_fails() {
        let (reached, counts) = good();
        let passes = |reached: &Reached, counts: &[Count]| {
            let checks = [Reached::vectors, Reached::reports, Reached::rejected];
            checks.map(|check| check(reached, counts, WHOLE).passed)
        };
        assert_eq!(passes(&reached, &counts), [true; 3]);
        assert_eq!(passes(&reached, &[]), [false; 3]);
        assert!(!passes(&Reached { over_quota: 0, ..reached.clone() }, &counts)[0]);
        let spoiled = |kind: Kind, spoil: fn(&mut Count)| {
            let mut counts = counts.clone();
            spoil(&mut counts[kind as usize]);
            passes(&reached, &counts)
        };
        for (kind, _) in Kind::ALL.iter().filter(|(kind, _)| kind.has_entities()) {
            assert_eq!(spoiled(*kind, |count| count.recorded = 0), [false, true, true], "{kind:?}");
            assert_eq!(spoiled(*kind, |count| count.passed_on = 0), [false, true, true], "{kind:?}");
        }
        assert_eq!(spoiled(Kind::Reports, |count| count.settled = 0), [true, false, true]);
        assert_eq!(spoiled(Kind::Reports, |count| count.clamped = 0), [true, false, true]);
        assert_eq!(spoiled(Kind::Beyond, |count| count.rejected = 0), [true, true, false]);
        assert_eq!(spoiled(Kind::RandomReliable, |count| count.rejected = 0), [true, true, false]);
    }

    #[test]
    fn who_is_not_closed_when_it_should_be_fails() {
        let never_reads = |owed, too_slow, otherwise| never_reads(owed, too_slow, otherwise, WHOLE).passed;
        assert!(never_reads(Some(0), 1, 0) && never_reads(Some(OWED_MAX), 2, 0));
        assert!(!never_reads(Some(0), 0, 0), "it was never closed");
        assert!(!never_reads(None, 1, 0), "it was never there");
        assert!(!never_reads(Some(OWED_MAX + 1), 1, 0));
        assert!(!never_reads(Some(5), 1, 1));
        let idle = |closed, held| idle(closed, held, WHOLE).passed;
        assert!(idle(3, 0));
        assert!(!idle(3, 1) && !idle(0, 0));
        assert!(flooding(1.0, WHOLE).passed);
        assert!(!flooding(0.0, WHOLE).passed && !flooding(f64::NAN, WHOLE).passed);
        assert!(refused(1.0, 0, WHOLE).passed);
        assert!(!refused(0.0, 0, WHOLE).passed && !refused(9.0, 1, WHOLE).passed);
    }

    #[test]
    fn an_attack_that_lacks_a_kind_fails() {
        let (_, counts) = good();
        assert!(made(&counts, WHOLE).passed && !made(&[], WHOLE).passed);
        for (place, (kind, words)) in Kind::ALL.iter().enumerate() {
            let mut counts = counts.clone();
            counts[place].count = 0;
            let check = made(&counts, WHOLE);
            assert!(!check.passed && check.measured.ends_with(words), "{kind:?}: {}", check.measured);
        }
    }

    #[test]
    fn what_there_was_no_time_for_is_said_and_does_not_fail() {
        let (reached, ends) = (Reached::default(), Ends::default());
        let nothing = |lasted| reached.checks(&[], &ends, |_| 0.0, lasted);
        for check in nothing(STOPPED) {
            assert!(check.passed && check.measured.ends_with("; not reached in this time"), "{check:?}");
        }
        assert!(nothing(WHOLE).iter().all(|check| !check.passed));
        let minute = Lasted(Duration::from_secs(60));
        let check = never_reads(Some(5), 0, 0, minute);
        assert!(check.passed && check.measured.ends_with("; not reached in this time"), "{check:?}");
        assert!(!never_reads(None, 0, 0, minute).passed, "it was never there");
        // What must never happen fails however short it was.
        assert!(
            !never_reads(Some(5), 0, 1, STOPPED).passed
                && !never_reads(Some(OWED_MAX + 1), 0, 0, STOPPED).passed
        );
        assert!(!refused(0.0, 1, STOPPED).passed && !idle(0, 1, STOPPED).passed);
    }

    #[test]
    fn reports_add_up_over_connections() {
        let report = |seat: &str, rejected, reliable_sent| RoomReport {
            over_quota: 7,
            players: vec![PlayerReport {
                name: seat.to_owned(),
                rejected,
                reliable_sent,
                ..PlayerReport::default()
            }],
            policy: "base".to_owned(),
            budget: "1".to_owned(),
            mean_aee: 0.0,
            std_aee: 0.0,
            mean_aee_per_s: 0.0,
            std_aee_per_s: 0.0,
            sent_per_s: 0.0,
            sent: 0,
            crowded_out: 0,
            estimated: 0,
        };
        let mut reached = Reached::default();
        for rejected in [5, 9, 2, 3] {
            reached.note(&report("attacker-1", rejected, 0));
        }
        reached.note(&report("honest-1", 50, 0));
        reached.note(&report("attacker-24", 0, 33));
        reached.note(&report("attacker-24", 0, 4));
        assert_eq!(reached.members[&1].1.rejected, 9 + 3);
        assert_eq!((reached.members.len(), reached.over_quota, reached.owed), (2, 7, Some(33)));
    }
}
