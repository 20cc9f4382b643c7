//! The pairs of one life, in columns, by the places of their receivers. There are very many: what each has takes 53 bytes, and what few
//! have is in columns that are not there as long as nobody has it.

use core::cell::Cell;

use evenkeel_core::{SessionTime, Span};

use super::account::Rare;
use super::asked::Asked;
use super::in_flight::Chain;
use super::mail::{Mail, Renumbered};
use super::waiting::Waiting;
use crate::vector::DrSeq;

/// What tells of each pair whether its receiver lacks the newest vector, nearly always. At each tick every pair is asked this, and most
/// have nothing to gain: so it is kept apart, and several are asked at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prospects {
    /// The vector that was sent last.
    pub(crate) seqs: Vec<DrSeq>,
    /// The number of the message that it was in.
    pub(crate) numbers: Vec<u32>,
    /// Whether that tells what the receiver shows.
    pub(crate) states: Vec<u8>,
}

impl Prospects {
    /// Nothing can be told without the account.
    pub(crate) const UNCLEAR: u8 = 0x80;
    /// What was sent last is reported, or there is nobody.
    pub(crate) const REPORTED: u8 = 0x40;
    /// Of who is not there, it is clear that nothing is lacking.
    const NOBODY: DrSeq = DrSeq(u32::MAX);

    /// Something of all of them.
    pub(super) fn read_ahead(&self) -> u64 {
        /// So many bytes come from memory together.
        const LINE: usize = 64;
        let seqs = self.seqs.iter().step_by(LINE / size_of::<DrSeq>()).fold(0, |seen, seq| seen ^ seq.0);
        let numbers = self.numbers.iter().step_by(LINE / size_of::<u32>()).fold(0, |seen, n| seen ^ n);
        let states = self.states.iter().step_by(LINE).fold(0, |seen, state| seen ^ state);
        u64::from(seqs ^ numbers ^ u32::from(states))
    }

    /// What a receiver shows. What is not reported for longer than `lost_after` may be lost.
    #[inline]
    pub(crate) fn shows(
        &self,
        link: u32,
        newest: DrSeq,
        now: SessionTime,
        lost_after: Span,
        mail: &Mail,
    ) -> Shows {
        let (seq, state) = (self.seqs[link as usize], self.states[link as usize]);
        let is_awaited = || {
            let sent = mail.sent(self.numbers[link as usize]);
            now - sent <= lost_after && lost_after < Span::MAX
        };
        if state & Self::UNCLEAR != 0 || state & Self::REPORTED == 0 && !is_awaited() {
            Shows::Unclear
        } else if seq >= newest {
            Shows::Newest
        } else {
            Shows::Older(seq)
        }
    }
}

/// Which vector a receiver shows, or will show when what is on its way arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shows {
    /// The newest.
    Newest,
    /// This one.
    Older(DrSeq),
    /// The account must be asked.
    Unclear,
}

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
    const NEW: Self = Self {
        settled: Eight::number(0.0),
        at: Eight::of(0),
        error: Cell::new(Eight::number(f64::NAN)),
        base: Cell::new(Eight::number(0.0)),
        arrived: DrSeq(0),
        chain: Chain::NONE,
        exported: 0,
        flags: 0,
        sum: Cell::new(0),
    };

    /// Somebody is there.
    const OPEN: u8 = 1;
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

    pub(super) fn set_pending(&mut self, pending: Pending) {
        self.flags = self.flags << 2 >> 2 | (pending as u8) << Self::PENDING;
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

    #[inline]
    pub(super) fn settle(&mut self, error: f64, at: SessionTime, exported: DrSeq) {
        self.settled = Eight::number(error);
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

/// What few pairs have, by the places of their receivers: there is no column as long as nobody has it.
#[derive(Clone, Debug)]
pub(super) struct Column<T>(Vec<T>);

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> Column<T> {
    #[inline]
    pub(super) fn get(&self, link: u32) -> Option<&T> {
        self.0.get(link as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, link: u32) -> Option<&mut T> {
        self.0.get_mut(link as usize)
    }

    pub(super) fn entry(&mut self, link: u32) -> &mut T {
        let place = link as usize;
        if self.0.len() <= place {
            self.0.reserve_exact(place + 1 - self.0.len());
            self.0.resize_with(place + 1, T::default);
        }
        &mut self.0[place]
    }

    fn clear(&mut self, link: u32) {
        if let Some(place) = self.get_mut(link) {
            *place = T::default();
        }
    }
}

/// What few pairs have.
#[derive(Clone, Debug, Default)]
pub(super) struct Few {
    /// What the receiver is taken to have suffered before the account was opened, when receivers are compared.
    pub(super) head_starts: Column<f64>,
    /// The number of the vector that is placed where the error is settled, if it is not the newest that is reported.
    pub(super) placed: Column<Option<DrSeq>>,
    /// Reported to have arrived, and not settled.
    pub(super) arrivals: Column<Waiting>,
    pub(super) rare: Column<Option<Box<Rare>>>,
    pub(super) asked: Asked,
}

/// The pairs of one life.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    pub(crate) prospects: Prospects,
    pub(super) folios: Vec<Folio>,
    pub(super) few: Few,
    count: usize,
}

impl Pairs {
    /// How many there are.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// What is kept for each place, whether somebody is there or not.
    pub(crate) fn folios(&self) -> &[Folio] {
        &self.folios
    }

    /// The pair with the receiver at a place.
    #[inline]
    pub(crate) fn folio(&self, link: u32) -> Option<&Folio> {
        self.folios.get(link as usize).filter(|folio| folio.has(Folio::OPEN))
    }

    pub(crate) fn is_open(&self, link: u32) -> bool {
        self.folio(link).is_some()
    }

    /// The places of the receivers.
    pub(crate) fn links(&self) -> impl Iterator<Item = u32> + use<'_> {
        (0..).zip(&self.folios).filter(|(_, folio)| folio.has(Folio::OPEN)).map(|(link, _)| link)
    }

    /// Something of what is kept of a pair.
    pub(super) fn read_ahead(&self, link: u32) -> u64 {
        let (place, Prospects { seqs, numbers, states }) = (link as usize, &self.prospects);
        let Some(folio) = self.folios.get(place) else { return 0 };
        let prospect = seqs[place].0 ^ numbers[place] ^ u32::from(states[place]);
        u64::from(prospect) ^ folio.settled.bits() ^ u64::from(folio.flags)
    }

    /// How many places there are.
    pub(super) fn width(&self) -> u32 {
        self.folios.len() as u32
    }

    /// One more pair; there are places for so many receivers.
    pub(super) fn open(&mut self, link: u32, places: usize) {
        let width = places.max(link as usize + 1);
        if self.folios.len() < width {
            let Prospects { seqs, numbers, states } = &mut self.prospects;
            widen(seqs, width, Prospects::NOBODY);
            widen(numbers, width, 0);
            widen(states, width, Prospects::REPORTED);
            widen(&mut self.folios, width, Folio::NEW);
        }
        let folio = &mut self.folios[link as usize];
        *folio = Folio { flags: Folio::OPEN, ..Folio::NEW };
        self.prospects.states[link as usize] = Prospects::UNCLEAR;
        self.count += 1;
    }

    /// One pair less.
    pub(super) fn close(&mut self, link: u32) {
        self.folios[link as usize] = Folio::NEW;
        self.prospects.seqs[link as usize] = Prospects::NOBODY;
        self.prospects.states[link as usize] = Prospects::REPORTED;
        let Few { head_starts, placed, arrivals, rare, asked } = &mut self.few;
        head_starts.clear(link);
        placed.clear(link);
        arrivals.clear(link);
        rare.clear(link);
        asked.forget(link);
        self.count -= 1;
    }

    /// The messages to a receiver have new numbers.
    pub(super) fn renumber(&mut self, link: u32, numbers: &Renumbered) {
        if self.folio(link).is_some_and(|folio| folio.has(Folio::SENT)) {
            let number = &mut self.prospects.numbers[link as usize];
            *number = numbers.of(*number);
        }
    }
}

/// Makes room for as many as there are, and a few more if some come one by one.
fn widen<T: Clone>(column: &mut Vec<T>, width: usize, value: T) {
    if column.capacity() < width {
        let more = if column.is_empty() { 0 } else { width / 16 };
        column.reserve_exact(width + more - column.len());
    }
    column.resize(width, value);
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
        let mut pairs = Pairs::default();
        pairs.open(2, 3);
        assert_eq!((pairs.count(), pairs.links().collect::<Vec<_>>()), (1, vec![2]));
        assert!(pairs.folio(1).is_none() && !pairs.folios[2].is_looked_at());
        let at = SessionTime::from_nanos(-7_000_000_000_123);
        let folio = &mut pairs.folios[2];
        for (exported, newest) in [(0, 0), (65_535, 65_536), (70_000, 130_000), (u32::MAX - 1, u32::MAX)] {
            folio.settle(0.1, at, DrSeq(exported));
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
        pairs.close(2);
        assert_eq!((pairs.count(), pairs.links().count()), (0, 0));
    }

    #[test]
    fn who_is_not_there_lacks_nothing() {
        let (mut pairs, now) = (Pairs::default(), SessionTime::from_nanos(5));
        pairs.open(1, 2);
        let shows = |link| pairs.prospects.shows(link, DrSeq(9), now, Span::MAX, &Mail::default());
        assert_eq!((shows(0), shows(1)), (Shows::Newest, Shows::Unclear));
    }

    #[test]
    fn a_column_is_there_when_somebody_needs_it() {
        let mut column = Column::<f64>::default();
        column.clear(3);
        assert_eq!((column.get(3), column.0.capacity()), (None, 0));
        *column.entry(1) = 2.0;
        column.clear(3);
        assert_eq!((column.get(0), column.get(1), column.0.len()), (Some(&0.0), Some(&2.0), 2));
        column.clear(1);
        assert_eq!(column.get(1), Some(&0.0));
    }
}
