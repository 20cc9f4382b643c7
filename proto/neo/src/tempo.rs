//! Round length and depth, and when each slot begins.

use std::collections::VecDeque;

use evenkeel_core::{SessionTime, Span};

use crate::config::{Adaptation, DEPTH_MAX, Deadline, NeoConfig};
use crate::control::ToldTempo;

/// Tempos kept: the current one, one agreed for later, and the last ones, which slots that are still open began in.
const TEMPOS_MAX: usize = 8;

/// Round length and depth from one slot on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tempo {
    /// The first slot.
    pub(crate) first: u64,
    /// Its beginning.
    pub(crate) start: SessionTime,
    /// The round of that slot.
    pub(crate) round_number: u64,
    pub(crate) round: Span,
    pub(crate) depth: u32,
}

impl Tempo {
    pub(crate) fn slot_len(&self) -> Span {
        Span::from_nanos((self.round.as_nanos() / i64::from(self.depth)).max(1))
    }

    fn begin(&self, slot: u64) -> SessionTime {
        let count = i64::try_from(slot.saturating_sub(self.first)).unwrap_or(i64::MAX);
        self.start + self.slot_len().times(count)
    }

    fn slot_at(&self, at: SessionTime) -> u64 {
        let elapsed = (at - self.start).as_nanos().max(0);
        self.first.saturating_add((elapsed / self.slot_len().as_nanos()) as u64)
    }

    fn round_of(&self, slot: u64) -> u64 {
        self.round_number.saturating_add(slot.saturating_sub(self.first) / u64::from(self.depth))
    }
}

/// The tempos of a session, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    tempos: VecDeque<Tempo>,
    deadline: Deadline,
}

impl Schedule {
    pub(crate) fn new(config: &NeoConfig) -> Self {
        let (round, depth) = (config.round, config.depth);
        let first = Tempo { first: 0, start: SessionTime::default(), round_number: 0, round, depth };
        Self { tempos: VecDeque::from([first]), deadline: config.deadline }
    }

    /// The tempo of a slot.
    pub(crate) fn of(&self, slot: u64) -> &Tempo {
        self.tempos.iter().rev().find(|tempo| tempo.first <= slot).unwrap_or(&self.tempos[0])
    }

    pub(crate) fn newest(&self) -> &Tempo {
        &self.tempos[self.tempos.len() - 1]
    }

    pub(crate) fn begin(&self, slot: u64) -> SessionTime {
        self.of(slot).begin(slot)
    }

    /// By when the commitment of a slot must have arrived.
    pub(crate) fn deadline(&self, slot: u64) -> SessionTime {
        let tempo = self.of(slot);
        tempo.begin(slot) + if self.deadline == Deadline::Slot { tempo.slot_len() } else { tempo.round }
    }

    /// The slot that a time falls into.
    pub(crate) fn slot_at(&self, at: SessionTime) -> u64 {
        let tempo = self.tempos.iter().rev().find(|tempo| tempo.start <= at).unwrap_or(&self.tempos[0]);
        tempo.slot_at(at)
    }

    pub(crate) fn round_of(&self, slot: u64) -> u64 {
        self.of(slot).round_of(slot)
    }

    /// The end of the round that a slot belongs to.
    pub(crate) fn round_end(&self, slot: u64) -> SessionTime {
        let tempo = self.of(slot);
        let rounds = slot.saturating_sub(tempo.first) / u64::from(tempo.depth) + 1;
        tempo.start + tempo.round.times(i64::try_from(rounds).unwrap_or(i64::MAX))
    }

    /// The slots of the round that a slot belongs to.
    pub(crate) fn round_slots(&self, slot: u64) -> core::ops::Range<u64> {
        let tempo = self.of(slot);
        let depth = u64::from(tempo.depth);
        let first = slot - slot.saturating_sub(tempo.first) % depth;
        first..first + depth
    }

    /// Adds a tempo that begins with a later round.
    pub(crate) fn push(&mut self, told: ToldTempo) {
        let ToldTempo { first, start, round_number, round, depth, .. } = told;
        self.tempos.push_back(Tempo { first, start, round_number, round, depth: u32::from(depth.max(1)) });
        if self.tempos.len() > TEMPOS_MAX {
            self.tempos.pop_front();
        }
    }
}

/// What a peer wishes for, or votes for: a change of the round length and one of the depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Choice(pub(crate) u8);

impl Choice {
    pub(crate) const STAY: Self = Self(0);
    /// Choices are below this.
    pub(crate) const COUNT: u8 = 9;

    pub(crate) const fn new(round: u8, depth: u8) -> Self {
        Self(3 * round + depth)
    }

    /// The tempo that it leads to: rounds grow and shrink by a quarter, depth grows by one and is halved.
    pub(crate) fn apply(self, tempo: &Tempo, range: &Adaptation) -> (Span, u32) {
        let round = match self.0 / 3 {
            1 => tempo.round.times(5).part(4),
            2 => tempo.round.times(4).part(5),
            _ => tempo.round,
        };
        let depth = match self.0 % 3 {
            1 => tempo.depth + 1,
            2 => tempo.depth / 2,
            _ => tempo.depth,
        };
        let round = round.max(range.round_min).min(range.round_max);
        (round, depth.clamp(1, range.depth_max.min(DEPTH_MAX)))
    }
}

/// A longer round.
pub(crate) const LONGER: u8 = 1;
/// A shorter round.
pub(crate) const SHORTER: u8 = 2;
/// One move more per round.
pub(crate) const DEEPER: u8 = 1;
/// Half the moves per round.
pub(crate) const HALF_AS_DEEP: u8 = 2;
