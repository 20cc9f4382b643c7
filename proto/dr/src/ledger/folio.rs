//! What is kept of one pair, in 44 bytes: its settled error, what is in flight, and what the looks at its error see.

use core::cell::Cell;

use evenkeel_core::SessionTime;

use super::in_flight::Chain;
use crate::ahead::prefetch;
use crate::vector::DrSeq;

/// What of an account tells more than what has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pending {
    /// Only the account knows.
    Unclear,
    /// Nothing.
    Nothing,
    /// What was sent last.
    Last,
    /// Several vectors, or one that was sent before.
    Several,
}

impl Pending {
    /// The same after something newer was sent.
    pub(super) const fn and_newer(self) -> Self {
        match self {
            Self::Unclear => Self::Unclear,
            Self::Nothing => Self::Last,
            Self::Last | Self::Several => Self::Several,
        }
    }
}

/// Eight bytes that need not lie where eight bytes usually do.
#[derive(Clone, Copy, Debug)]
struct Eight([u32; 2]);

impl Eight {
    const fn of(bits: u64) -> Self {
        Self([bits as u32, (bits >> 32) as u32])
    }

    const fn number(number: f64) -> Self {
        Self::of(number.to_bits())
    }

    #[inline]
    const fn bits(self) -> u64 {
        self.0[0] as u64 | (self.0[1] as u64) << 32
    }

    #[inline]
    const fn as_number(self) -> f64 {
        f64::from_bits(self.bits())
    }
}

/// What is kept of one pair, besides its prospect.
#[derive(Clone, Debug)]
pub(crate) struct Folio {
    /// The error that is settled, and up to when.
    settled: Eight,
    at: Eight,
    /// Its error at the last look, unless that is told by a sum; not a number: there was no look.
    error: Cell<Eight>,
    /// What its error is above the sum of everybody who shows the same vector.
    base: Cell<Eight>,
    /// The newest vector that is reported to have arrived, if any is.
    pub(crate) arrived: DrSeq,
    /// What is in flight, but for what was sent last.
    pub(super) chain: Chain,
    /// The last digits of the number of the vector that is exported at the time up to which the error is settled.
    exported: u16,
    flags: u8,
    sum: Cell<u8>,
}

/// A pair as the looks at its error see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) error: f64,
    pub(crate) base: f64,
    /// The mark of the sum that the base is above; 0: it is above none.
    pub(crate) sum: u8,
    /// By which sum its error at the last look is told: that was `base` above it. 0: by none.
    pub(crate) told: u8,
}

/// Marks of sums are smaller.
pub(crate) const MARKS_END: u8 = 0x40;
/// The error at the last look is told by the sum with the mark; and the base was above it, but is not above anything any more.
const TOLD: u8 = 0x40;
const VOID: u8 = 0x80;

impl Folio {
    /// Nothing is known yet.
    pub(super) const fn new(flags: u8) -> Self {
        Self {
            settled: Eight::number(0.0),
            at: Eight::of(0),
            error: Cell::new(Eight::number(f64::NAN)),
            base: Cell::new(Eight::number(0.0)),
            arrived: DrSeq(0),
            chain: Chain::NONE,
            exported: 0,
            flags,
            sum: Cell::new(0),
        }
    }

    /// Somebody is there.
    pub(super) const OPEN: u8 = 1;
    /// A vector was sent.
    pub(super) const SENT: u8 = 2;
    /// An arrival is reported.
    pub(super) const ARRIVED: u8 = 4;
    /// The error is settled up to some time.
    pub(super) const SETTLED: u8 = 8;
    /// What was sent last is older than something that was sent before and may be on its way.
    pub(super) const DISORDERED: u8 = 16;
    /// The fate of what was sent last is unknown.
    pub(super) const FLIES: u8 = 32;
    const PENDING: u32 = 6;

    #[inline]
    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(super) fn set(&mut self, flag: u8, is_set: bool) {
        self.flags = if is_set { self.flags | flag } else { self.flags & !flag };
    }

    #[inline]
    pub(crate) const fn pending(&self) -> Pending {
        match self.flags >> Self::PENDING {
            0 => Pending::Unclear,
            1 => Pending::Nothing,
            2 => Pending::Last,
            _ => Pending::Several,
        }
    }

    /// Whether an arrival is reported, and what was sent last is the newest of what may be on its way.
    #[inline]
    pub(super) const fn is_in_order(&self) -> bool {
        const ORDERED: u8 = Folio::SENT | Folio::ARRIVED;
        self.flags & (ORDERED | Self::DISORDERED) == ORDERED
    }

    pub(super) fn set_pending(&mut self, pending: Pending) {
        self.flags = self.flags << 2 >> 2 | (pending as u8) << Self::PENDING;
    }

    /// It will be needed. It may begin in one line of memory and end in the next.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch::<1, _>(self);
        prefetch::<1, _>(&self.sum);
    }

    #[inline]
    pub(super) const fn settled_error(&self) -> f64 {
        self.settled.as_number()
    }

    #[inline]
    pub(super) const fn settled_at(&self) -> SessionTime {
        SessionTime::from_nanos(self.at.bits().cast_signed())
    }

    pub(super) fn is_settled_before(&self, at: SessionTime) -> bool {
        self.has(Self::SETTLED) && self.settled_at() < at
    }

    /// The number of the vector that is exported then, of a path with such a newest one.
    #[inline]
    pub(super) const fn exported(&self, newest: DrSeq) -> DrSeq {
        DrSeq(newest.0.wrapping_sub((newest.0 as u16).wrapping_sub(self.exported) as u32))
    }

    /// A vector is the newest that is reported to have arrived.
    #[inline]
    pub(super) fn arrive(&mut self, seq: DrSeq) {
        self.arrived = seq;
        self.flags |= Self::ARRIVED;
    }

    #[inline]
    pub(super) fn set_settled_error(&mut self, error: f64) {
        self.settled = Eight::number(error);
    }

    #[inline]
    pub(super) fn settle(&mut self, at: SessionTime, exported: DrSeq) {
        self.at = Eight::of(at.as_nanos().cast_unsigned());
        self.exported = exported.0 as u16;
        self.flags |= Self::SETTLED;
    }

    #[inline]
    pub(crate) fn look(&self) -> Look {
        let sum = self.sum.get();
        let mark = sum & (MARKS_END - 1);
        Look {
            error: self.error.get().as_number(),
            base: self.base.get().as_number(),
            sum: if sum & VOID == 0 { mark } else { 0 },
            told: if sum & TOLD == 0 { 0 } else { mark },
        }
    }

    /// Whether nothing is on its way, and the base is above the sum with a mark, by which the error at the last look is told.
    #[inline]
    pub(crate) fn is_told_by(&self, mark: u8) -> bool {
        const CALM: u8 = Folio::OPEN | (Pending::Nothing as u8) << Folio::PENDING;
        let is_calm = self.flags & (Self::OPEN | 3 << Self::PENDING) == CALM;
        is_calm & (self.sum.get() == mark | TOLD) & (mark > 0)
    }

    /// Whether nothing is on its way, and the base is above the sum with a mark.
    #[inline]
    pub(crate) fn goes_with(&self, mark: u8) -> bool {
        self.flags >> Self::PENDING == Pending::Nothing as u8 && self.sum.get() & !TOLD == mark
    }

    /// The base, and the error at the last look unless that is told by the sum with a mark, if the base is above that sum, and nothing but
    /// what was sent last is on its way.
    #[inline]
    pub(crate) fn awaits_with(&self, mark: u8) -> Option<(f64, Option<f64>)> {
        let (sum, pending) = (self.sum.get(), self.flags >> Self::PENDING);
        let error = || (sum & TOLD == 0).then(|| self.error.get().as_number());
        (pending == Pending::Last as u8 && sum & !TOLD == mark)
            .then(|| (self.base.get().as_number(), error()))
    }

    /// The error is seen, and not told by a sum.
    #[inline]
    pub(crate) fn note_error(&self, error: f64) {
        let sum = self.sum.get();
        self.error.set(Eight::number(error));
        self.sum.set(if sum & VOID == 0 { sum & !TOLD } else { 0 });
    }

    /// What is seen. If it is told by a sum, that is the one that the base is above.
    #[inline]
    pub(crate) fn note(&self, Look { error, base, sum, told }: Look) {
        debug_assert!(told == 0 || told == sum);
        self.error.set(Eight::number(error));
        self.base.set(Eight::number(base));
        self.sum.set(sum | if told == 0 { 0 } else { TOLD });
    }

    #[inline]
    pub(crate) fn is_looked_at(&self) -> bool {
        !self.error.get().as_number().is_nan()
    }

    /// What the base is above, and by which the last error may be told, is no more.
    pub(super) fn leave_sum(&self) {
        self.sum.set(if self.sum.get() & TOLD == 0 { 0 } else { self.sum.get() | VOID });
    }

    /// The sum with a mark is no more, after it was so much.
    #[inline]
    pub(crate) fn leave(&self, mark: u8, sum: f64) {
        let noted = self.sum.get();
        if noted & (MARKS_END - 1) == mark {
            if noted & TOLD != 0 {
                self.error.set(Eight::number(self.base.get().as_number() + sum));
            }
            self.sum.set(0);
        }
    }

    pub(super) fn forget_look(&self) {
        self.note(Look { error: f64::NAN, base: 0.0, sum: 0, told: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_small() {
        assert_eq!(size_of::<Folio>(), 44);
    }

    #[test]
    fn what_is_settled_and_seen_is_what_was_put_in() {
        let mut folio = Folio::new(Folio::OPEN);
        assert!(!folio.is_looked_at());
        let at = SessionTime::from_nanos(-7_000_000_000_123);
        for (exported, newest) in [(0, 0), (65_535, 65_536), (70_000, 130_000), (u32::MAX - 1, u32::MAX)] {
            folio.settle(at, DrSeq(exported));
            folio.set_settled_error(0.1);
            assert_eq!(folio.exported(DrSeq(newest)), DrSeq(exported));
        }
        assert_eq!((folio.settled_error(), folio.settled_at()), (0.1, at));
        for pending in [Pending::Several, Pending::Nothing, Pending::Last, Pending::Unclear] {
            folio.set_pending(pending);
            assert_eq!((folio.pending(), folio.has(Folio::SETTLED)), (pending, true));
        }
        folio.note(Look { error: 1.5, base: 0.3, sum: 9, told: 9 });
        let Look { error, base, sum, told } = folio.look();
        assert_eq!((error, base, sum, told), (1.5, 0.3, 9, 9));
        folio.leave_sum();
        assert_eq!((folio.look().sum, folio.look().told, folio.is_looked_at()), (0, 9, true));
        folio.forget_look();
        assert!(!folio.is_looked_at() && folio.has(Folio::OPEN));
    }
}
