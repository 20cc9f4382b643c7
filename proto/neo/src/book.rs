//! What is known of one slot: commitments, openings, votes. One type for each phase of a slot.
//!
//! A slot is [`Collecting`] until its deadline: commitments that arrive count as in time. Then it is [`Deciding`]: openings
//! and votes decide what is played. Once every move of it is played or given up it is [`Settled`], and kept for a while
//! because a contradiction may still turn up.

use evenkeel_core::SessionTime;

use crate::config::PEERS_MAX;
use crate::crypto::{Commitment, echo};
use crate::members::Seat;
use crate::message::{ECHO_GROUP_MAX, echo_group};
use crate::proof::Signed;

/// What became of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Outcome {
    #[default]
    Open,
    Played,
    Unused,
}

/// A move's opening, which fits its commitment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Opened {
    pub(crate) bytes: Vec<u8>,
    pub(crate) arrived: SessionTime,
    /// Whether the update that opened it came after that update's own deadline.
    pub(crate) is_late: bool,
}

/// What is known of one peer's move.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) commitment: Option<Commitment>,
    /// Whether the commitment came from its sender, before the deadline.
    pub(crate) is_in_time: bool,
    /// Whether the commitment came as such, and not only as the hash of what was opened.
    pub(crate) was_committed: bool,
    /// The statement in which its sender signed that commitment.
    pub(crate) signed: Option<Signed>,
    pub(crate) opened: Option<Opened>,
    /// Whether something was opened that is not what was committed to.
    pub(crate) is_bad: bool,
    /// Who received the same commitment in time, a bit for each seat.
    pub(crate) votes: u64,
    pub(crate) outcome: Outcome,
}

/// Votes whose echo cannot be checked before more commitments are known.
#[derive(Clone, Debug)]
struct PendingVotes {
    voter: Seat,
    /// The commitment of the update that brought them.
    key: Commitment,
    seats: Vec<Seat>,
    echo: u16,
}

/// Votes that one voter may have pending per slot: two blocks of a full roster.
const PENDING_MAX: usize = 2 * PEERS_MAX / 8;

/// What a vote turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counted {
    /// The voter received the same commitments.
    Same,
    /// It received another one.
    Different,
    /// Some of the commitments are not known here.
    Unknown,
}

/// What is known of one slot.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    pub(crate) slot: u64,
    entries: Vec<Entry>,
    pending: Vec<PendingVotes>,
    /// Voters that received other commitments, a bit for each seat.
    pub(crate) disputes: u64,
    /// Whether its round was processed, or a voter was asked for what it received.
    pub(crate) is_reviewed: bool,
}

impl Book {
    pub(crate) fn new(slot: u64) -> Self {
        let entries = vec![Entry::default(); PEERS_MAX];
        Self { slot, entries, pending: Vec::new(), disputes: 0, is_reviewed: false }
    }

    pub(crate) fn entry(&self, seat: Seat) -> &Entry {
        &self.entries[seat]
    }

    pub(crate) fn entry_mut(&mut self, seat: Seat) -> &mut Entry {
        &mut self.entries[seat]
    }

    /// Forgets a peer whose seat may go to another.
    pub(crate) fn forget(&mut self, seat: Seat) {
        self.entries[seat] = Entry::default();
        self.entries.iter_mut().for_each(|entry| entry.votes &= !(1 << seat));
        self.pending.retain(|votes| votes.voter != seat && !votes.seats.contains(&seat));
        self.disputes &= !(1 << seat);
    }

    /// Counts votes that say nothing about which commitment.
    pub(crate) fn count_plain(&mut self, voter: Seat, seats: impl Iterator<Item = Seat>) {
        for seat in seats {
            if let Some(entry) = self.entries.get_mut(seat) {
                entry.votes |= 1 << voter;
            }
        }
    }

    /// Counts the votes of one group, if its echo is that of the commitments known here. Otherwise they wait.
    pub(crate) fn count(&mut self, voter: Seat, key: Commitment, seats: Vec<Seat>, echo: u16) -> Counted {
        let votes = PendingVotes { voter, key, seats, echo };
        let counted = self.check(&votes);
        if counted == Counted::Unknown
            && self.pending.iter().filter(|other| other.voter == voter).count() < PENDING_MAX
        {
            self.pending.push(votes);
        }
        counted
    }

    fn check(&mut self, votes: &PendingVotes) -> Counted {
        let known = |seat: &Seat| self.entries.get(*seat).and_then(|entry| entry.commitment.as_ref());
        if !votes.seats.iter().all(|seat| known(seat).is_some()) {
            return Counted::Unknown;
        }
        if echo(&votes.key, self.slot, votes.seats.iter().filter_map(known)) != votes.echo {
            return Counted::Different;
        }
        self.count_plain(votes.voter, votes.seats.iter().copied());
        Counted::Same
    }

    /// Checks the votes that waited for a commitment of this seat. Returns the voters that received others.
    pub(crate) fn recheck(&mut self, seat: Seat) -> Vec<Seat> {
        if self.pending.is_empty() {
            return Vec::new();
        }
        let mut different = Vec::new();
        let mut waiting = std::mem::take(&mut self.pending);
        waiting.retain(|votes| {
            if !votes.seats.contains(&seat) {
                return true;
            }
            match self.check(votes) {
                Counted::Same => false,
                Counted::Different => {
                    different.push(votes.voter);
                    false
                }
                Counted::Unknown => true,
            }
        });
        self.pending = waiting;
        different
    }

    /// A voter whose votes still cannot be checked.
    pub(crate) fn pending_voter(&self) -> Option<Seat> {
        self.pending.first().map(|votes| votes.voter)
    }

    /// This peer's votes for a roster: the bitmap, and the echo of each group under the commitment of the update that
    /// carries them.
    pub(crate) fn vote(
        &self,
        roster: &[Option<Seat>],
        key: &Commitment,
        has_echoes: bool,
    ) -> (Vec<u8>, Vec<u8>) {
        let mut bitmap = vec![0; roster.len().div_ceil(8)];
        let mut echoes = Vec::new();
        for (group, seats) in roster.chunks(echo_group(roster.len())).enumerate() {
            let base = group * echo_group(roster.len());
            let mut received = [const { None::<&Commitment> }; ECHO_GROUP_MAX];
            for (place, seat) in seats.iter().enumerate() {
                let Some(entry) = seat.and_then(|seat| self.entries.get(seat)) else { continue };
                if entry.is_in_time && !entry.is_bad {
                    bitmap[(base + place) / 8] |= 1 << ((base + place) % 8);
                    received[place] = entry.commitment.as_ref();
                }
            }
            if has_echoes {
                let echo = echo(key, self.slot, received.iter().copied().flatten());
                echoes.extend_from_slice(&echo.to_le_bytes());
            }
        }
        (bitmap, echoes)
    }
}

/// Before the deadline: commitments that arrive are in time.
#[derive(Clone, Debug)]
pub(crate) struct Collecting(pub(crate) Book);

/// After the deadline: openings and votes decide.
#[derive(Clone, Debug)]
pub(crate) struct Deciding(pub(crate) Book);

/// Everything is decided.
#[derive(Clone, Debug)]
pub(crate) struct Settled(pub(crate) Book);

impl Collecting {
    pub(crate) fn close(self) -> Deciding {
        Deciding(self.0)
    }
}

impl Deciding {
    pub(crate) fn settle(mut self) -> Settled {
        // What was opened is played or never will be.
        self.0.entries.iter_mut().for_each(|entry| entry.opened = None);
        self.0.pending = Vec::new();
        Settled(self.0)
    }
}

/// A slot in one of its phases.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Collecting(Collecting),
    Deciding(Deciding),
    Settled(Settled),
}

impl Phase {
    pub(crate) fn new(slot: u64) -> Self {
        Self::Collecting(Collecting(Book::new(slot)))
    }

    pub(crate) fn book(&self) -> &Book {
        let (Self::Collecting(Collecting(book))
        | Self::Deciding(Deciding(book))
        | Self::Settled(Settled(book))) = self;
        book
    }

    pub(crate) fn book_mut(&mut self) -> &mut Book {
        let (Self::Collecting(Collecting(book))
        | Self::Deciding(Deciding(book))
        | Self::Settled(Settled(book))) = self;
        book
    }

    pub(crate) fn is_settled(&self) -> bool {
        matches!(self, Self::Settled(_))
    }
}
