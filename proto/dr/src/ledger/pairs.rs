//! The pairs of one life, in columns, by the places of their receivers. There are very many: what each has takes 52 bytes, and what few
//! have is in columns that are not there as long as nobody has it.

use core::mem::offset_of;

use super::account::Rare;
use super::asked::Asked;
use super::folio::Folio;
use super::mail::Renumbered;
use super::prospect::Prospect;
use super::waiting::Queue;
use crate::ahead::{LINE, prefetch};
use crate::placement::Placement;
use crate::vector::DrSeq;

/// Columns grow by so many places.
const COLUMN_STEP: usize = 8;

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
            // Not for each place anew, nor for many who may never come.
            let len = (place + 1).next_multiple_of(COLUMN_STEP);
            self.0.reserve_exact(len - self.0.len());
            self.0.resize_with(len, T::default);
        }
        &mut self.0[place]
    }

    fn clear(&mut self, link: u32) {
        if let Some(place) = self.get_mut(link) {
            *place = T::default();
        }
    }
}

/// What is rare, by the places of the receivers.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Rares {
    /// How many have it. Mostly nobody has, and whoever asks need not look for it.
    count: u32,
    all: Column<Option<Box<Rare>>>,
}

impl Rares {
    #[inline]
    pub(super) fn get(&self, link: u32) -> Option<&Rare> {
        if self.count == 0 { None } else { self.all.get(link)?.as_deref() }
    }

    pub(super) fn get_mut(&mut self, link: u32) -> Option<&mut Rare> {
        if self.count == 0 { None } else { self.all.get_mut(link)?.as_deref_mut() }
    }

    pub(super) fn entry(&mut self, link: u32) -> &mut Rare {
        let place = self.all.entry(link);
        self.count += u32::from(place.is_none());
        place.get_or_insert_default()
    }

    /// Gives the room back if it is of no use.
    pub(super) fn clear_if(&mut self, link: u32, is_useless: impl FnOnce(&Rare) -> bool) {
        if let Some(place) = self.all.get_mut(link) {
            self.count -= u32::from(place.take_if(|rare| is_useless(rare)).is_some());
        }
    }
}

/// What few pairs have.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Few {
    pub(super) rare: Rares,
    pub(super) asked: Asked,
    /// What the receiver is taken to have suffered before the account was opened, when receivers are compared.
    pub(super) head_starts: Column<f64>,
    /// The number of the vector that is placed where the error is settled, if it is not the newest that is reported.
    pub(super) placed: Column<Option<DrSeq>>,
    /// Reported to have arrived, and not settled.
    pub(super) arrivals: Column<Queue>,
}

impl Few {
    /// Whether a receiver that places like this shows vectors as they are exported, and nothing is remembered along the way: so it is nearly
    /// always, and what others have settled is of use.
    #[inline]
    pub(super) fn is_plain(&self, link: u32, placement: Placement) -> bool {
        placement != Placement::Local && self.rare.get(link).is_none()
    }

    const NEEDED_END: usize = offset_of!(Self, asked) + Asked::NEEDED_END;
}

/// The pairs of one life.
// In this order: what every acknowledgment needs lies side by side.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Pairs {
    pub(crate) prospects: Vec<Prospect>,
    pub(super) folios: Vec<Folio>,
    pub(super) few: Few,
    count: usize,
}

impl Pairs {
    /// Where that ends which every acknowledgment needs.
    pub(super) const NEEDED_END: usize = offset_of!(Self, few) + Few::NEEDED_END;

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

    /// The pairs with the places of their receivers.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Folio)> + use<'_> {
        (0..).zip(&self.folios).filter(|(_, folio)| folio.has(Folio::OPEN))
    }

    /// The places of the receivers.
    pub(crate) fn links(&self) -> impl Iterator<Item = u32> + use<'_> {
        self.iter().map(|(link, _)| link)
    }

    /// What is kept of a pair will be needed.
    #[inline]
    pub(super) fn prefetch(&self, link: u32) {
        let place = link as usize;
        if let (Some(folio), Some(prospect)) = (self.folios.get(place), self.prospects.get(place)) {
            folio.prefetch();
            prefetch::<1, _>(prospect);
        }
    }

    /// The number of the message in which something was sent last to the receiver at a place.
    #[inline]
    pub(super) fn last_number(&self, link: u32) -> Option<u32> {
        self.prospects.get(link as usize).map(|prospect| prospect.number())
    }

    /// Something of what tells of all of them whether they lack the newest vector.
    pub(super) fn read_ahead_prospects(&self) -> u64 {
        let some = self.prospects.iter().step_by(LINE / size_of::<Prospect>());
        u64::from(some.fold(0, |seen, prospect| seen ^ prospect.seq.0))
    }

    /// Adds to what is settled of a pair.
    #[inline]
    pub(super) fn add(&mut self, link: u32, error: f64) {
        let folio = &mut self.folios[link as usize];
        folio.set_settled_error(folio.settled_error() + error);
    }

    /// How many places there are.
    pub(super) fn width(&self) -> u32 {
        self.folios.len() as u32
    }

    /// One more pair; there are places for so many receivers.
    pub(super) fn open(&mut self, link: u32, places: usize) {
        let width = places.max(link as usize + 1);
        if self.folios.len() < width {
            widen(&mut self.prospects, width, Prospect::NOBODY);
            widen(&mut self.folios, width, Folio::new(0));
        }
        self.folios[link as usize] = Folio::new(Folio::OPEN);
        self.prospects[link as usize].set_state(Prospect::UNCLEAR);
        self.count += 1;
    }

    /// One pair less.
    pub(super) fn close(&mut self, link: u32) {
        self.folios[link as usize] = Folio::new(0);
        self.prospects[link as usize] = Prospect::NOBODY;
        let Few { head_starts, placed, arrivals, rare, asked } = &mut self.few;
        head_starts.clear(link);
        placed.clear(link);
        arrivals.clear(link);
        rare.clear_if(link, |_| true);
        asked.forget(link);
        self.count -= 1;
    }

    /// The messages to a receiver have new numbers.
    pub(super) fn renumber(&mut self, link: u32, numbers: &Renumbered) {
        if self.folio(link).is_some_and(|folio| folio.has(Folio::SENT)) {
            let prospect = &mut self.prospects[link as usize];
            prospect.set_number(numbers.of(prospect.number()));
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
    use evenkeel_core::{SessionTime, Span};

    use super::*;
    use crate::ledger::mail::Mail;
    use crate::ledger::prospect::Shows;

    #[test]
    fn a_pair_is_at_the_place_of_its_receiver() {
        let mut pairs = Pairs::default();
        pairs.open(2, 3);
        assert_eq!((pairs.count(), pairs.links().collect::<Vec<_>>()), (1, vec![2]));
        assert!(pairs.folio(1).is_none() && pairs.is_open(2));
        pairs.open(5, 3);
        assert_eq!((pairs.count(), pairs.width()), (2, 6));
        pairs.close(2);
        assert_eq!((pairs.count(), pairs.links().collect::<Vec<_>>()), (1, vec![5]));
    }

    #[test]
    fn who_is_not_there_or_has_gone_lacks_nothing() {
        let (now, mail) = (SessionTime::from_nanos(5), Mail::default());
        let mut pairs = Pairs::default();
        pairs.open(1, 2);
        let shows = |pairs: &Pairs| {
            [0, 1].map(|link: usize| pairs.prospects[link].shows(DrSeq(9), now, Span::MAX, &mail))
        };
        assert_eq!(shows(&pairs), [Shows::Newest, Shows::Unclear]);
        pairs.close(1);
        assert_eq!(shows(&pairs), [Shows::Newest, Shows::Newest]);
    }

    #[test]
    fn what_is_rare_is_counted() {
        let mut rares = Rares::default();
        rares.clear_if(3, |_| true);
        assert_eq!((rares.count, rares.get(3).is_some()), (0, false));
        for link in [3, 3, 1] {
            rares.entry(link);
        }
        assert_eq!((rares.count, rares.get(0).is_some(), rares.get(3).is_some()), (2, false, true));
        rares.clear_if(3, |_| false);
        rares.clear_if(0, |_| true);
        assert_eq!((rares.count, rares.get_mut(3).is_some()), (2, true));
        rares.clear_if(3, |_| true);
        assert_eq!((rares.count, rares.get(3).is_some(), rares.get_mut(1).is_some()), (1, false, true));
        let mut pairs = Pairs { few: Few { rare: rares, ..Few::default() }, ..Pairs::default() };
        pairs.open(1, 2);
        pairs.close(1);
        assert_eq!((pairs.few.rare.count, pairs.few.rare.get_mut(1).is_some()), (0, false));
    }

    #[test]
    fn a_column_is_there_when_somebody_needs_it() {
        let mut column = Column::<f64>::default();
        column.clear(3);
        assert_eq!((column.get(3), column.0.capacity()), (None, 0));
        *column.entry(1) = 2.0;
        column.clear(3);
        assert_eq!((column.get(0), column.get(1), column.0.len()), (Some(&0.0), Some(&2.0), COLUMN_STEP));
        column.clear(1);
        assert_eq!(column.get(1), Some(&0.0));
    }
}
