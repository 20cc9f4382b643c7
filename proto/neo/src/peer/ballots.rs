//! Round length and depth by vote.
//!
//! Each update says what its sender wishes for. At every ballot, a peer votes for what most wish, with a signature: nobody
//! votes twice. Whoever sees a majority of votes for one change adopts it, from a round that is far enough ahead for all to
//! know, and tells everybody. Whoever hears from a majority that they adopted it does so, too.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, SessionClock, Span};

use super::NeoPeer;
use crate::command::NeoEvent;
use crate::config::DEPTH_MAX;
use crate::control::{Control, ToldTempo};
use crate::crypto::PublicKey;
use crate::members::{Member, OWN, Seat};
use crate::proof::{Proof, Signed, Statement};
use crate::tempo::{Choice, DEEPER, HALF_AS_DEEP, LONGER, SHORTER};

/// The weight of one more update in the estimates.
const WEIGHT: f64 = 1.0 / 64.0;
/// Updates before the estimates count.
const HEARD_MIN: u64 = 64;
/// Above this share of late updates, rounds should be longer.
const LATE_MAX: f64 = 0.03;
/// Above this share of lost updates, half as many should be sent.
const LOST_MAX: f64 = 0.05;
/// Below it, one more per round.
const LOST_MIN: f64 = 0.02;

/// What this peer knows of the ballots, and of the network.
#[derive(Clone, Debug, Default)]
pub(super) struct Ballots {
    /// The last ballot whose outcome was adopted.
    adopted: u64,
    /// The last ballot that this peer voted in.
    voted: u64,
    /// The votes of the current ballot.
    votes: BTreeMap<PublicKey, Signed>,
    ballot: u64,
    told: BTreeMap<PublicKey, ToldTempo>,
    late: f64,
    lost: f64,
    delay: f64,
    deviation: f64,
    heard: u64,
}

impl Ballots {
    /// Notes how long a commitment took, in seconds.
    pub(super) fn note_delay(&mut self, delay: Span, is_late: bool) {
        let delay = delay.as_secs_f64();
        let off = delay - self.delay;
        self.delay += WEIGHT * off;
        self.deviation += WEIGHT * (off.abs() - self.deviation);
        self.late += WEIGHT * (f64::from(u8::from(is_late)) - self.late);
        self.heard = self.heard.saturating_add(1);
    }

    /// Notes whether an update was lost.
    pub(super) fn note_lost(&mut self, is_lost: bool) {
        self.lost += WEIGHT * (f64::from(u8::from(is_lost)) - self.lost);
    }
}

impl<C: SessionClock> NeoPeer<C> {
    /// What this peer wishes for.
    pub(super) fn wish(&self, slot: u64) -> Choice {
        let (Some(range), ballots) = (&self.config.adaptation, &self.ballots) else { return Choice::STAY };
        if ballots.heard < HEARD_MIN {
            return Choice::STAY;
        }
        let tempo = self.schedule.of(slot);
        let (slot_len, round) = (tempo.slot_len().as_secs_f64(), tempo.round.as_secs_f64());
        let window = if self.config.deadline == crate::Deadline::Slot { slot_len } else { round };
        let longest = ballots.delay + 5.0 * ballots.deviation;
        let round_wish = if ballots.late > LATE_MAX && tempo.round < range.round_max {
            LONGER
        } else if longest < 0.6 * window && tempo.round > range.round_min {
            SHORTER
        } else {
            0
        };
        let depth_wish = if ballots.lost > LOST_MAX && tempo.depth > 1 {
            HALF_AS_DEEP
        } else if ballots.lost < LOST_MIN && ballots.late < LATE_MAX && tempo.depth < range.depth_max {
            DEEPER
        } else {
            0
        };
        Choice::new(round_wish, depth_wish)
    }

    /// What most peers wish for, in each respect.
    fn most_wished(&self, slot: u64) -> Choice {
        let own = self.wish(slot);
        let wishes: Vec<Choice> =
            self.members.present().map(|(_, member)| member.wish).chain([own]).collect();
        let most = |part: fn(&Choice) -> u8| {
            (1..=2)
                .find(|value| 2 * wishes.iter().filter(|wish| part(wish) == *value).count() > wishes.len())
                .unwrap_or(0)
        };
        Choice::new(most(|wish| wish.0 / 3), most(|wish| wish.0 % 3))
    }

    /// Votes if a ballot begins. Called once per slot.
    pub(super) fn review_ballots(&mut self, slot: u64) {
        let Some(range) = self.config.adaptation else { return };
        let every = u64::from(range.every_rounds);
        let ballot = self.schedule.round_of(slot) / every;
        // A peer that was restarted does not know whether it has voted in the ballot in which it began.
        let began = self.own.first.map_or(u64::MAX, |first| self.schedule.round_of(first) / every);
        if ballot <= self.ballots.voted.max(began) || self.schedule.newest().first > slot {
            return;
        }
        self.ballots.voted = ballot;
        let choice = self.most_wished(slot);
        if choice == Choice::STAY || self.schedule.round_of(slot) % every >= every / 2 {
            return;
        }
        let statement = Statement::Tempo { ballot, choice: choice.0 };
        let signed = Signed::new(&self.identity, self.config.session, statement);
        self.send_to_all(&Control::Signed { author: self.key, signed: signed.clone() });
        self.hear_ballot(self.key, signed);
    }

    /// Counts a vote whose signature is valid.
    pub(super) fn hear_ballot(&mut self, author: PublicKey, signed: Signed) {
        let Statement::Tempo { ballot, choice } = signed.statement else { return };
        if self.config.adaptation.is_none() || choice >= Choice::COUNT || ballot < self.ballots.ballot {
            return;
        }
        if ballot > self.ballots.ballot {
            let Some(at) = self.session_now() else { return };
            let every = self.config.adaptation.map_or(1, |range| u64::from(range.every_rounds));
            if ballot > self.schedule.round_of(self.schedule.slot_at(at)) / every + 1 {
                return;
            }
            self.ballots.ballot = ballot;
            self.ballots.votes.clear();
        }
        if let Some(other) = self.ballots.votes.get(&author) {
            if other.statement.contradicts(&signed.statement) {
                let proof = Proof { culprit: author, first: other.clone(), second: signed };
                self.evict(proof);
            }
            return;
        }
        self.ballots.votes.insert(author, signed);
        let is_for = |signed: &Signed| matches!(signed.statement, Statement::Tempo { choice: other, .. } if other == choice);
        let votes =
            self.ballots.votes.iter().filter(|(author, signed)| is_for(signed) && self.has_vote(author));
        let count = votes.count();
        if self.is_majority(count) {
            self.adopt_choice(ballot, Choice(choice));
        }
    }

    /// Whether a key's vote counts: those of peers that have left, or are silent, do not.
    fn has_vote(&self, key: &PublicKey) -> bool {
        let seat = self.members.seat_by_key(key);
        seat.is_some_and(|seat| seat == OWN || self.members.get(seat).is_some_and(Member::is_present))
    }

    fn is_majority(&self, count: usize) -> bool {
        2 * count > self.members.present().count() + 1
    }

    fn adopt_choice(&mut self, ballot: u64, choice: Choice) {
        let Some(range) = self.config.adaptation.filter(|_| ballot > self.ballots.adopted) else { return };
        let every = u64::from(range.every_rounds);
        let tempo = *self.schedule.newest();
        let round_number = ballot * every + every / 2;
        let (round, depth) = choice.apply(&tempo, &range);
        let Some(rounds) = round_number.checked_sub(tempo.round_number).filter(|rounds| *rounds > 0) else {
            return;
        };
        let first = tempo.first + rounds * u64::from(tempo.depth);
        let start = tempo.start + tempo.round.times(rounds as i64);
        self.adopt(ToldTempo { ballot, first, start, round_number, round, depth: depth as u8 });
        let told = self.told_tempo();
        self.send_to_all(&Control::Tempo(told));
    }

    fn adopt(&mut self, told: ToldTempo) {
        self.ballots.adopted = told.ballot;
        self.ballots.heard = 0;
        self.ballots.late = 0.0;
        self.schedule.push(told);
        let ToldTempo { first: slot, round, depth, .. } = told;
        self.push_event(NeoEvent::TempoChanged { slot, round, depth: u32::from(depth) });
    }

    fn told_tempo(&self) -> ToldTempo {
        let tempo = self.schedule.newest();
        ToldTempo {
            ballot: self.ballots.adopted,
            first: tempo.first,
            start: tempo.start,
            round_number: tempo.round_number,
            round: tempo.round,
            depth: tempo.depth as u8,
        }
    }

    /// Tells a peer that joins which tempo the session has reached.
    pub(super) fn tell_tempo(&mut self, peer: PeerId) {
        if self.ballots.adopted > 0 {
            self.send(peer, &Control::Tempo(self.told_tempo()));
        }
    }

    /// Hears which tempo another peer has adopted.
    pub(super) fn hear_tempo(&mut self, seat: Seat, told: ToldTempo) {
        let key = self.members.get(seat).and_then(Member::proved).map(|(key, _)| *key);
        let Some(key) = key.filter(|_| self.is_plausible(&told)) else { return };
        self.ballots.told.insert(key, told);
        let members = &self.members;
        self.ballots.told.retain(|key, _| members.seat_by_key(key).is_some());
        // A newcomer has no say. It hears everybody before it goes by the others.
        if told.ballot > self.ballots.adopted
            && !self.is_beginning()
            && self.is_majority(self.count_telling(&told))
        {
            self.adopt(told);
        }
    }

    /// Whether this peer has not yet made a move.
    fn is_beginning(&self) -> bool {
        self.own.first.is_none_or(|first| self.own.next == first)
    }

    fn count_telling(&self, told: &ToldTempo) -> usize {
        self.ballots.told.iter().filter(|(key, other)| *other == told && self.has_vote(key)).count()
    }

    /// Goes by the tempo that most of those who are present told, before the first own move. Returns whether there is one.
    pub(super) fn begin_with_tempo(&mut self) -> bool {
        if !self.is_beginning() {
            return false;
        }
        let others = self.members.present().count();
        let most = self.ballots.told.values().find(|told| 2 * self.count_telling(told) > others).copied();
        let Some(told) = most.filter(|told| told.ballot != self.ballots.adopted) else { return false };
        self.adopt(told);
        // What was filed under the first tempo's slots is of no use.
        self.slots.clear();
        true
    }

    /// Whether a session can have come to such a tempo: its slots and rounds have lasted since the session's time 0, and none
    /// was shorter or longer than is possible.
    fn is_plausible(&self, told: &ToldTempo) -> bool {
        let Some(range) = self.config.adaptation else { return false };
        let is_in_range = range.round_min <= told.round
            && told.round <= range.round_max
            && (1..=range.depth_max.min(DEPTH_MAX)).contains(&u32::from(told.depth));
        let (shortest, longest) =
            (range.round_min.min(self.config.round), range.round_max.max(self.config.round));
        let deepest = range.depth_max.max(self.config.depth).min(DEPTH_MAX);
        let start = told.start.as_nanos();
        let fits = |count: u64, least: i64, most: i64| {
            let (count, start) = (i128::from(count), i128::from(start));
            count * i128::from(least) <= start && start <= (count + 1) * i128::from(most)
        };
        let slot_min = (shortest.as_nanos() / i64::from(deepest)).max(1);
        is_in_range
            && start >= 0
            && fits(told.round_number, shortest.as_nanos(), longest.as_nanos())
            && fits(told.first, slot_min, longest.as_nanos())
    }
}
