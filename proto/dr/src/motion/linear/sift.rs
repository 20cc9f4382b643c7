//! Finds the receivers that may be far enough from a path to matter, several at once.
//!
//! The distance of each is bounded by one of a few lines over time; with AVX2, one instruction looks it up for eight receivers.
//! Numbers are `f32` here: callers round them so that no receiver is missed.

// Only calls of functions compiled for AVX2 need `unsafe` here.
#![allow(unsafe_code)]

use crate::ledger::LastSent;
use crate::motion::vector::DrSeq;

/// Numbers per register, receivers tested at once, and lines per table.
const WIDE: usize = 8;
/// The largest number of tables.
const TABLES_MAX: usize = 8;
/// Receivers per word of a set.
const WORD: usize = u64::BITS as usize;
const _: () = assert!(WORD.is_multiple_of(WIDE), "receivers tested at once share a word");

type Table = [f32; WIDE];

/// Columns of receivers and of what is tested about them. No column is shorter than the first.
pub(crate) struct ReceiverColumns<'a> {
    /// The last vector sent, which each shows unless it was lost.
    pub(crate) last_sents: &'a [LastSent],
    /// Seconds after which its distance is tested.
    pub(crate) to: &'a [f32],
    /// The largest distance that does not matter.
    pub(crate) most: &'a [f32],
    /// An unreported vector in a message before this may be lost.
    pub(crate) overdue: &'a [u32],
}

impl ReceiverColumns<'_> {
    /// Whether no column is shorter than the first.
    fn are_whole(&self) -> bool {
        let others = [self.to.len(), self.most.len(), self.overdue.len()];
        others.iter().all(|other| *other >= self.last_sents.len())
    }
}

/// A set of places of receivers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiverSet {
    /// A bit for each receiver.
    words: Vec<u64>,
}

impl ReceiverSet {
    /// Empties the set, with room for this many.
    fn clear(&mut self, receivers: usize) {
        self.words.clear();
        self.words.resize(receivers.div_ceil(WORD), 0);
    }

    /// Adds some of the next few places, a bit for each. They must not extend into another word.
    #[inline]
    fn add(&mut self, place: usize, left: u64) {
        debug_assert!(left.leading_zeros() as usize >= place % WORD, "{left:x} from {place} on");
        self.words[place / WORD] |= left << (place % WORD);
    }

    /// The first place in the set from a place on.
    #[inline]
    pub(crate) fn first_from(&self, place: usize) -> Option<usize> {
        let first = self.words.get(place / WORD)? >> (place % WORD);
        if first != 0 {
            return Some(place + first.trailing_zeros() as usize);
        }
        let (later, word) =
            (1 + place / WORD..).zip(self.words.get(1 + place / WORD..)?).find(|(_, word)| **word != 0)?;
        Some(WORD * later + word.trailing_zeros() as usize)
    }
}

/// Bounds on how far a receiver that shows one of the last `N` vectors can be from the newest: a distance, and its growth per
/// second. NaN: unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct DistanceBounds<const N: usize> {
    tables: Vec<[Table; 2]>,
}

impl<const N: usize> DistanceBounds<N> {
    /// Forgets all bounds.
    pub(crate) fn clear(&mut self) {
        self.tables.clear();
    }

    /// Sets the bound for the vector this many before the newest.
    pub(crate) fn set(&mut self, age: usize, first: f32, growth: f32) {
        const { assert!(N <= WIDE * TABLES_MAX, "lines in further tables would be overlooked") };
        if age >= N {
            return;
        }
        while self.tables.len() <= age / WIDE {
            self.tables.push([[f32::NAN; WIDE], [0.0; WIDE]]);
        }
        let [firsts, growths] = &mut self.tables[age / WIDE];
        (firsts[age % WIDE], growths[age % WIDE]) = (first, growth);
    }

    /// Finds the receivers from a place on that may be too far from the newest vector, have no bound, or are overdue. The
    /// set is meaningless for places before that.
    #[inline]
    pub(crate) fn sift(
        &self,
        newest: DrSeq,
        columns: &ReceiverColumns<'_>,
        from: usize,
        left: &mut ReceiverSet,
    ) {
        debug_assert!(
            columns.are_whole(),
            "a column has fewer than the {} rows of the first",
            columns.last_sents.len()
        );
        left.clear(columns.last_sents.len());
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            unsafe { avx2::sift(&self.tables, newest, columns, from, left) };
            let last = columns.last_sents.len() / WIDE * WIDE;
            return self.sift_plainly(newest, columns, from.max(last), left);
        }
        self.sift_plainly(newest, columns, from, left);
    }

    /// [`sift`](Self::sift) on any processor.
    fn sift_plainly(
        &self,
        newest: DrSeq,
        columns: &ReceiverColumns<'_>,
        from: usize,
        left: &mut ReceiverSet,
    ) {
        for place in from..columns.last_sents.len() {
            left.add(place, u64::from(self.leaves(newest, columns, place)));
        }
    }

    /// Whether the receiver at a place may matter.
    fn leaves(&self, newest: DrSeq, columns: &ReceiverColumns<'_>, place: usize) -> bool {
        let &ReceiverColumns { last_sents, to, most, overdue } = columns;
        let last_sent = last_sents[place];
        let age = newest.0.saturating_sub(last_sent.seq.0) as usize;
        let line = self.tables.get(age / WIDE).map(|table| table.map(|lines| lines[age % WIDE]));
        let is_near = line.is_some_and(|[first, growth]| first + growth * to[place] <= most[place]);
        let is_late = last_sent.mark() < overdue[place];
        !is_near || is_late || last_sent.status() & LastSent::UNCLEAR != 0
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use core::arch::x86_64::{
        __m256, __m256i, _CMP_LE_OQ, _mm256_add_ps, _mm256_blendv_ps, _mm256_castps_si256,
        _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cmpeq_epi32, _mm256_max_epu32, _mm256_movemask_ps,
        _mm256_mul_ps, _mm256_permute4x64_epi64, _mm256_permutevar8x32_ps, _mm256_set1_epi32, _mm256_set1_ps,
        _mm256_setr_epi32, _mm256_setr_ps, _mm256_setzero_ps, _mm256_shuffle_ps, _mm256_srli_epi32,
        _mm256_sub_epi32,
    };

    use super::{DrSeq, LastSent, ReceiverColumns, ReceiverSet, TABLES_MAX, Table, WIDE};

    /// [`DistanceBounds::sift_plainly`](super::DistanceBounds::sift_plainly), eight at a time. The last few are left out.
    #[target_feature(enable = "avx2")]
    pub(super) fn sift(
        tables: &[[Table; 2]],
        newest: DrSeq,
        columns: &ReceiverColumns<'_>,
        from: usize,
        left: &mut ReceiverSet,
    ) {
        // A few tables stay in registers.
        match tables {
            [one] => sift_by([one], newest, columns, from, left),
            [one, two] => sift_by([one, two], newest, columns, from, left),
            [one, two, three] => sift_by([one, two, three], newest, columns, from, left),
            many => {
                let unknown = [[f32::NAN; WIDE], [0.0; WIDE]];
                let table = |place: usize| many.get(place).unwrap_or(&unknown);
                sift_by::<TABLES_MAX>(core::array::from_fn(table), newest, columns, from, left);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    fn sift_by<const N: usize>(
        tables: [&[Table; 2]; N],
        newest: DrSeq,
        columns: &ReceiverColumns<'_>,
        from: usize,
        left: &mut ReceiverSet,
    ) {
        let tables = tables.map(|[firsts, growths]| [floats(firsts), floats(growths)]);
        let newest = _mm256_set1_epi32(newest.0.cast_signed());
        let &ReceiverColumns { last_sents, to, most, overdue } = columns;
        let (last_sents, _) = last_sents.as_chunks();
        let (to, most) = (&to.as_chunks().0[..last_sents.len()], &most.as_chunks().0[..last_sents.len()]);
        let overdue = &overdue.as_chunks().0[..last_sents.len()];
        for chunk in from / WIDE..last_sents.len() {
            let (seqs, marks) = parted(&last_sents[chunk]);
            let ages = _mm256_sub_epi32(_mm256_max_epu32(newest, seqs), seqs);
            let places = _mm256_srli_epi32::<3>(ages);
            let (mut first, mut growth) = (_mm256_set1_ps(f32::NAN), _mm256_setzero_ps());
            for (place, [firsts, growths]) in (0..).zip(tables) {
                let is_it = _mm256_castsi256_ps(_mm256_cmpeq_epi32(places, _mm256_set1_epi32(place)));
                first = _mm256_blendv_ps(first, _mm256_permutevar8x32_ps(firsts, ages), is_it);
                growth = _mm256_blendv_ps(growth, _mm256_permutevar8x32_ps(growths, ages), is_it);
            }
            let farthest = _mm256_add_ps(first, _mm256_mul_ps(growth, floats(&to[chunk])));
            let near = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(farthest, floats(&most[chunk])));
            // A reported vector is never overdue: its mark is above all message numbers.
            let is_since = _mm256_cmpeq_epi32(_mm256_max_epu32(marks, numbers_of(&overdue[chunk])), marks);
            let since = _mm256_movemask_ps(_mm256_castsi256_ps(is_since));
            let unclear = _mm256_movemask_ps(_mm256_castsi256_ps(marks));
            left.add(WIDE * chunk, u64::from((!(near & since) & 0xff | unclear).cast_unsigned()));
        }
    }

    /// The vector numbers and the marks of eight receivers.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn parted(all: &[LastSent; WIDE]) -> (__m256i, __m256i) {
        /// The shuffles that separate them, and the permutation that restores their order.
        const FIRST: i32 = 0b10_00_10_00;
        const SECOND: i32 = 0b11_01_11_01;
        const IN_ORDER: i32 = 0b11_01_10_00;
        let [a, b, c, d, e, f, g, h] = all.map(|one| [one.seq.0, one.mark()]);
        let half = |[a, b, c, d]: [[u32; 2]; 4]| {
            let all = [a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]];
            _mm256_castsi256_ps(numbers_of(&all))
        };
        let (low, high) = (half([a, b, c, d]), half([e, f, g, h]));
        let order = |some| _mm256_permute4x64_epi64::<IN_ORDER>(_mm256_castps_si256(some));
        (order(_mm256_shuffle_ps::<FIRST>(low, high)), order(_mm256_shuffle_ps::<SECOND>(low, high)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn floats(&[a, b, c, d, e, f, g, h]: &[f32; WIDE]) -> __m256 {
        _mm256_setr_ps(a, b, c, d, e, f, g, h)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn numbers_of(all: &[u32; WIDE]) -> __m256i {
        let [a, b, c, d, e, f, g, h] = all.map(u32::cast_signed);
        _mm256_setr_epi32(a, b, c, d, e, f, g, h)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Seed;

    use super::*;

    const NUMBERS_END: u32 = LastSent::REPORTED;

    #[test]
    fn avx2_selects_the_receivers_of_the_portable_path() {
        let mut draws = Seed::new(3).draws();
        let (mut lefts, mut alls) = (0, 0);
        for round in 0..5_000 {
            let newest = DrSeq(if round % 7 == 0 { 3 } else { 1_000 });
            let mut lines = DistanceBounds::<64>::default();
            lines.set(0, f32::NEG_INFINITY, 0.0);
            for _ in 0..draws.below(90) {
                let first = [f32::NEG_INFINITY, f32::INFINITY, draws.uniform(0.0, 2.0) as f32];
                let first = first[draws.below(3) as usize];
                lines.set(draws.below(30 + round % 50) as usize, first, draws.uniform(0.0, 2.0) as f32);
            }
            let len = 1 + draws.below(150) as usize;
            let mut column =
                |most: f64| (0..len).map(|_| draws.uniform(0.0, most) as f32).collect::<Vec<_>>();
            let (to, mut most) = (column(0.6), column(3.0));
            most[draws.below(len as u64) as usize] = f32::INFINITY;
            let mut seq = |_| match draws.below(12) {
                0 => DrSeq(u32::MAX),
                1 => DrSeq(0),
                age => DrSeq(newest.0.saturating_sub(3 * age as u32).saturating_add(8)),
            };
            let seqs: Vec<DrSeq> = (0..len).map(&mut seq).collect();
            let mut numbers = |first: u32, most: u64| {
                let mut number = |_| match draws.below(8) {
                    0 => first,
                    _ => draws.below(most) as u32,
                };
                (0..len).map(&mut number).collect::<Vec<_>>()
            };
            let (numbers, overdue) = (numbers(NUMBERS_END - 1, 1_000), numbers(NUMBERS_END, 400));
            let mut state = |_| match draws.below(9) {
                0 => LastSent::UNCLEAR,
                1 => LastSent::UNCLEAR | LastSent::REPORTED,
                2..6 => LastSent::REPORTED,
                _ => 0,
            };
            let last_sent = |(seq, number): (DrSeq, u32)| LastSent::new(seq, number, state(()));
            let last_sents: Vec<LastSent> = seqs.into_iter().zip(numbers).map(last_sent).collect();
            let columns =
                ReceiverColumns { last_sents: &last_sents, to: &to, most: &most, overdue: &overdue };
            let (mut wide, mut plain) = (ReceiverSet::default(), ReceiverSet::default());
            plain.clear(len);
            let from = if round % 3 == 0 { draws.below(len as u64 + 1) as usize } else { 0 };
            lines.sift_plainly(newest, &columns, from, &mut plain);
            lines.sift(newest, &columns, from, &mut wide);
            let places = |left: &ReceiverSet| {
                let next = |place: &usize| left.first_from(1 + place);
                core::iter::successors(left.first_from(from), next).collect::<Vec<usize>>()
            };
            let of_all = (from..len).filter(|place| lines.leaves(newest, &columns, *place));
            let (wide, plain) = (places(&wide), places(&plain));
            assert_eq!(plain, of_all.collect::<Vec<_>>());
            assert_eq!(wide, plain, "{lines:?} {last_sents:?}");
            (lefts, alls) = (lefts + wide.len(), alls + len - from);
        }
        assert!((alls / 5..4 * alls / 5).contains(&lefts), "{lefts} of {alls}");
    }
}
