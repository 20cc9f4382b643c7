//! How far each kind of attack got into the relay: what the attackers counted, and what the room reports of them.

use std::collections::BTreeMap;

use evenkeel_serve::RoomReport;
use serde::Serialize;

use super::attack::Attack;
use super::kind::AttackKind;
use super::members;

/// A kind of attack, how often it was made, and what the relay made of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct AttackCount {
    /// The kind's label.
    pub kind: &'static str,
    /// Datagrams, messages or connections.
    pub count: u64,
    /// DR vectors put into datagrams, before some of these were mutated.
    pub vectors: u64,
    /// Vectors that the relay confirmed as recorded, or as not needed.
    pub recorded: u64,
    /// How often the relay passed one of the vectors on to an attacker.
    pub passed_on: u64,
    /// Acknowledgments sent.
    pub reports: u64,
    /// Acknowledgments that the relay confirmed.
    pub settled: u64,
    /// Messages that the room rejected.
    pub rejected: u64,
    /// Datagrams that did not reach the room: above the allowance, or because it could not keep up.
    pub dropped: u64,
    /// Acknowledgments that could not be true, and claims of delay that were cut.
    pub clamped: u64,
}

/// The room's counts for one member since it joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct MemberCounts {
    rejected: u64,
    dropped: u64,
    clamped: u64,
}

impl MemberCounts {
    /// Adds the growth from `last` to `now`. The room counts from zero for a member that came back.
    fn add_growth(&mut self, last: Self, now: Self) {
        let growth = |last: u64, now: u64| now.checked_sub(last).unwrap_or(now);
        self.rejected += growth(last.rejected, now.rejected);
        self.dropped += growth(last.dropped, now.dropped);
        self.clamped += growth(last.clamped, now.clamped);
    }
}

/// The room's counts for a member over all its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct MemberHistory {
    last: MemberCounts,
    total: MemberCounts,
}

/// What the room's reports say of the attack.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct AttackReach {
    /// By seat.
    members: BTreeMap<u16, MemberHistory>,
    /// Vectors and lives above their quotas.
    pub(super) over_quota: u64,
    estimated: u64,
    /// The most reliable messages that were sent to a member that never reads; `None` if none was ever in the room.
    pub(super) unread: Option<u64>,
}

impl AttackReach {
    /// Adds a report of the room.
    pub(super) fn add(&mut self, report: &RoomReport) {
        (self.over_quota, self.estimated) = (report.over_quota, report.estimated);
        for player in &report.players {
            let seat = player.name.strip_prefix(members::NAME).and_then(|rest| rest.strip_prefix('-'));
            let Some(seat) = seat.and_then(|seat| seat.parse().ok()) else { continue };
            let now =
                MemberCounts { rejected: player.rejected, dropped: player.dropped, clamped: player.clamped };
            let member = self.members.entry(seat).or_default();
            member.total.add_growth(member.last, now);
            member.last = now;
            if members::kind(seat) == AttackKind::NeverReads {
                self.unread = self.unread.max(Some(player.reliable_sent));
            }
        }
    }

    /// The counts of every kind, in the order of [`AttackKind::ALL`].
    pub(super) fn counts(&self, attack: &Attack) -> Vec<AttackCount> {
        let players = attack.players();
        let count = |(kind, label): &(AttackKind, &'static str)| {
            let counters = attack.counters(*kind);
            let of_kind = players.iter().filter(|(_, one)| *one == kind);
            let mut total = MemberCounts::default();
            for (_, member) in self.members.iter().filter(|(seat, _)| members::kind(**seat) == *kind) {
                total.add_growth(MemberCounts::default(), member.total);
            }
            AttackCount {
                kind: label,
                count: counters.sent.value(),
                vectors: counters.vectors.value(),
                recorded: counters.recorded.value(),
                passed_on: of_kind.map(|(player, _)| attack.passed_on[*player as usize].value()).sum(),
                reports: counters.reports.value(),
                settled: counters.settled.value(),
                rejected: total.rejected,
                dropped: total.dropped,
                clamped: total.clamped,
            }
        };
        AttackKind::ALL.iter().map(count).collect()
    }

    /// Figures that are not judged.
    pub(super) fn figures(&self) -> Vec<(String, String)> {
        vec![
            ("vectors and lives above their quotas".to_owned(), self.over_quota.to_string()),
            ("errors settled by estimate".to_owned(), self.estimated.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_serve::PlayerReport;

    use super::*;

    #[test]
    fn reports_add_up_over_connections() {
        let report = |name: &str, rejected, reliable_sent| RoomReport {
            over_quota: 7,
            players: vec![PlayerReport {
                name: name.to_owned(),
                rejected,
                reliable_sent,
                ..PlayerReport::default()
            }],
            ..RoomReport::default()
        };
        let mut reach = AttackReach::default();
        for rejected in [5, 9, 2, 3] {
            reach.add(&report("attacker-1", rejected, 0));
        }
        reach.add(&report("honest-1", 50, 0));
        reach.add(&report("attacker-24", 0, 33));
        reach.add(&report("attacker-24", 0, 4));
        assert_eq!(reach.members[&1].total.rejected, 9 + 3);
        assert_eq!((reach.members.len(), reach.over_quota, reach.unread), (2, 7, Some(33)));
    }
}
