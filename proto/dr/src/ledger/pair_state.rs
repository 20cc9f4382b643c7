//! The state of one pair: its settled error, and the vectors in flight.

use evenkeel_core::SessionTime;

use super::in_flight::Chain;
use crate::motion::vector::DrSeq;
use crate::prefetch::prefetch;

/// What is in flight to a receiver beyond the newest reported arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pending {
    /// Only the account knows.
    Unclear,
    /// Nothing.
    Nothing,
    /// The vector that was sent last.
    Last,
    /// Several vectors, or one that was sent before the last.
    Several,
}

/// The state of a pair, except for the vector sent last.
// Packed, because there are very many.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct PairState {
    /// The settled error, and up to when it is settled.
    error: f64,
    at: SessionTime,
    /// The newest vector reported as arrived, if any.
    pub(super) arrived: DrSeq,
    /// The vectors in flight, except the one sent last.
    pub(super) chain: Chain,
    /// The low bits of the number of the vector exported at the settled point.
    exported: u16,
    flags: u8,
    breaks: u8,
}

impl PairState {
    pub(super) const fn new(flags: u8) -> Self {
        Self {
            error: 0.0,
            at: SessionTime::from_nanos(0),
            arrived: DrSeq(0),
            chain: Chain::NONE,
            exported: 0,
            flags,
            breaks: 0,
        }
    }

    pub(super) const OPEN: u8 = 1;
    pub(super) const SENT: u8 = 2;
    pub(super) const ARRIVED: u8 = 4;
    /// The error is settled up to some time.
    pub(super) const SETTLED: u8 = 8;
    /// The vector sent last is older than one sent before that may still be in flight.
    pub(super) const DISORDERED: u8 = 16;
    /// The fate of the vector sent last is unknown.
    pub(super) const FLIES: u8 = 32;
    const PENDING: u32 = 6;

    #[inline]
    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(super) const fn set(&mut self, flag: u8, is_set: bool) {
        self.flags = if is_set { self.flags | flag } else { self.flags & !flag };
    }

    /// Whether the pair is open.
    #[must_use]
    #[inline]
    pub const fn is_open(&self) -> bool {
        self.has(Self::OPEN)
    }

    /// The newest vector reported as arrived. The receiver shows it unless [`pending`](Self::pending) is
    /// [unclear](Pending::Unclear).
    #[must_use]
    #[inline]
    pub const fn arrived(&self) -> DrSeq {
        self.arrived
    }

    /// What is in flight beyond the newest reported arrival.
    #[must_use]
    #[inline]
    pub const fn pending(&self) -> Pending {
        match self.flags >> Self::PENDING {
            0 => Pending::Unclear,
            1 => Pending::Nothing,
            2 => Pending::Last,
            _ => Pending::Several,
        }
    }

    /// Whether the pair is open and nothing is in flight.
    #[must_use]
    #[inline]
    pub const fn is_calm(&self) -> bool {
        const CALM: u8 = PairState::OPEN | (Pending::Nothing as u8) << PairState::PENDING;
        self.flags & (Self::OPEN | 3 << Self::PENDING) == CALM
    }

    /// How often [`pending`](Self::pending) has become [unclear](Pending::Unclear), modulo 256. A change invalidates whatever a
    /// policy has derived from a clear state.
    #[must_use]
    #[inline]
    pub const fn breaks(&self) -> u8 {
        self.breaks
    }

    /// Whether an arrival was reported and the vector sent last is the newest that may be in flight.
    #[inline]
    pub(super) const fn is_in_order(&self) -> bool {
        const ORDERED: u8 = PairState::SENT | PairState::ARRIVED;
        self.flags & (ORDERED | Self::DISORDERED) == ORDERED
    }

    #[inline]
    pub(super) fn set_pending(&mut self, pending: Pending) {
        let breaks = pending == Pending::Unclear && self.pending() != Pending::Unclear;
        self.breaks = self.breaks.wrapping_add(u8::from(breaks));
        self.flags = self.flags << 2 >> 2 | (pending as u8) << Self::PENDING;
    }

    /// Prefetches the state, which may straddle two cache lines.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch::<1, _>(self);
        prefetch::<1, _>(&self.breaks);
    }

    #[inline]
    pub(super) const fn settled_error(&self) -> f64 {
        self.error
    }

    #[inline]
    pub(super) const fn settled_at(&self) -> SessionTime {
        self.at
    }

    pub(super) fn is_settled_before(&self, at: SessionTime) -> bool {
        self.has(Self::SETTLED) && self.settled_at() < at
    }

    /// The number of the vector exported at the settled point, on a path with this newest vector.
    #[inline]
    pub(super) const fn exported(&self, newest: DrSeq) -> DrSeq {
        DrSeq(newest.0.wrapping_sub((newest.0 as u16).wrapping_sub(self.exported) as u32))
    }

    #[inline]
    pub(super) const fn arrive(&mut self, seq: DrSeq) {
        self.arrived = seq;
        self.flags |= Self::ARRIVED;
    }

    #[inline]
    pub(super) const fn set_settled_error(&mut self, error: f64) {
        self.error = error;
    }

    #[inline]
    pub(super) const fn settle(&mut self, at: SessionTime, exported: DrSeq) {
        self.at = at;
        self.exported = exported.0 as u16;
        self.flags |= Self::SETTLED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_takes_28_bytes_and_round_trips() {
        assert_eq!(size_of::<PairState>(), 28);
        let mut state = PairState::new(PairState::OPEN);
        let at = SessionTime::from_nanos(-7_000_000_000_123);
        for (exported, newest) in [(0, 0), (65_535, 65_536), (70_000, 130_000), (u32::MAX - 1, u32::MAX)] {
            state.settle(at, DrSeq(exported));
            state.set_settled_error(0.1);
            assert_eq!(state.exported(DrSeq(newest)), DrSeq(exported));
        }
        assert_eq!((state.settled_error(), state.settled_at()), (0.1, at));
        let all = [Pending::Several, Pending::Unclear, Pending::Unclear, Pending::Nothing, Pending::Unclear];
        for (pending, breaks) in all.into_iter().zip([0, 1, 1, 1, 2]) {
            state.set_pending(pending);
            assert_eq!(
                (state.pending(), state.breaks(), state.has(PairState::SETTLED)),
                (pending, breaks, true)
            );
        }
    }
}
