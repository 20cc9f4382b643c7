//! What is kept of one pair: its settled error, and what is in flight.

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

/// What is kept of every pair, besides what was sent last.
// Packed: there are very many.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct PairState {
    /// The settled error, and up to when it is settled.
    error: f64,
    at: SessionTime,
    /// The newest vector that is reported to have arrived, if any is.
    pub(super) arrived: DrSeq,
    /// What is in flight, but for what was sent last.
    pub(super) chain: Chain,
    /// The last digits of the number of the vector that is exported where the error is settled.
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
    /// What was sent last is older than something that was sent before and may be in flight.
    pub(super) const DISORDERED: u8 = 16;
    /// The fate of what was sent last is unknown.
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

    /// Whether there is a pair at this place.
    #[must_use]
    #[inline]
    pub const fn is_open(&self) -> bool {
        self.has(Self::OPEN)
    }

    /// The newest vector that is reported to have arrived. Unless it is [unclear](Pending::Unclear) what is pending, the receiver
    /// shows it.
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

    /// Whether nothing is in flight to a receiver that is there.
    #[must_use]
    #[inline]
    pub const fn is_calm(&self) -> bool {
        const CALM: u8 = PairState::OPEN | (Pending::Nothing as u8) << PairState::PENDING;
        self.flags & (Self::OPEN | 3 << Self::PENDING) == CALM
    }

    /// How often it has become [unclear](Pending::Unclear) what is pending, modulo 256. What a policy has derived from a clear state
    /// is void when this changes.
    #[must_use]
    #[inline]
    pub const fn breaks(&self) -> u8 {
        self.breaks
    }

    /// Whether an arrival is reported, and what was sent last is the newest of what may be in flight.
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

    /// Prefetches it. It may begin in one line of memory and end in the next.
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

    /// The number of the vector that is exported where the error is settled, on a path with this newest one.
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
