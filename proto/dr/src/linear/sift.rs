//! Which of many receivers can be so far from a path that it matters, several at once.
//!
//! How far each can be is a line over time, one of a few, and which one is looked up for eight receivers by one instruction, where the
//! processor has AVX2. Numbers have half of the usual digits here: whoever asks rounds them so that nobody is missed.

// To call what is compiled for AVX2 is the one thing here that the compiler can't check.
#![allow(unsafe_code)]

use crate::ledger::Prospects;
use crate::vector::DrSeq;

/// So many receivers are asked at once.
pub(crate) const LANES: usize = 16;
/// So many numbers are in a register, and so many lines in a table.
const WIDE: usize = 8;

type Table = [f32; WIDE];

/// What is known of receivers, and asked of them. There are as many of each as of the first, or more.
pub(crate) struct Columns<'a> {
    /// The vector that each shows, unless what was sent last got lost.
    pub(crate) seqs: &'a [DrSeq],
    /// The number of the message that it was in.
    pub(crate) numbers: &'a [u32],
    /// Whether it is [clear](Prospects::UNCLEAR) that it does, and whether it is [reported](Prospects::REPORTED).
    pub(crate) states: &'a [u8],
    /// After how many seconds it is asked how far it can be,
    pub(crate) to: &'a [f32],
    /// and up to what that does not matter.
    pub(crate) most: &'a [f32],
    /// What was in a message before this and is not reported may be lost.
    pub(crate) overdue: &'a [u32],
}

/// Some numbers of a column.
#[inline]
fn some<T>(column: &[T], from: usize) -> Option<&[T; LANES]> {
    column.get(from..)?.first_chunk()
}

/// How far who shows one of the last `N` vectors can be from the newest: so far at first, and so much farther in each second. Not a
/// number: it is not known.
#[derive(Clone, Debug)]
pub(crate) struct Lines<const N: usize> {
    tables: Vec<[Table; 2]>,
}

impl<const N: usize> Default for Lines<N> {
    fn default() -> Self {
        Self { tables: Vec::new() }
    }
}

impl<const N: usize> Lines<N> {
    /// Nothing is known.
    pub(crate) fn clear(&mut self) {
        self.tables.clear();
    }

    /// How far who shows the vector can be that is so many before the newest.
    pub(crate) fn set(&mut self, age: usize, first: f32, growth: f32) {
        if age >= N {
            return;
        }
        while self.tables.len() <= age / WIDE {
            self.tables.push([[f32::NAN; WIDE], [0.0; WIDE]]);
        }
        let [firsts, growths] = &mut self.tables[age / WIDE];
        (firsts[age % WIDE], growths[age % WIDE]) = (first, growth);
    }

    /// Who is left of the receivers from a place on, a bit for each of the next [`LANES`]: who may be too far from the newest vector,
    /// or it is not known how far, and whose reports are overdue.
    #[inline]
    pub(crate) fn left(&self, newest: DrSeq, columns: &Columns<'_>, from: usize) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2")
            && let Some(last) = columns.seqs.len().checked_sub(LANES)
        {
            // Of the last ones, some are asked again.
            let start = from.min(last);
            // SAFETY: the processor has AVX2.
            let left = unsafe { avx2::left(&self.tables, newest, columns, start) };
            return left >> (from - start);
        }
        self.left_plainly(newest, columns, from)
    }

    /// The same by what every processor has.
    fn left_plainly(&self, newest: DrSeq, columns: &Columns<'_>, from: usize) -> u32 {
        let &Columns { seqs, numbers, states, to, most, overdue } = columns;
        let is_left = |place: usize| {
            let age = newest.0.saturating_sub(seqs[place].0) as usize;
            let line = self.tables.get(age / WIDE).map(|table| table.map(|lines| lines[age % WIDE]));
            let is_near = line.is_some_and(|[first, growth]| first + growth * to[place] <= most[place]);
            let is_late = states[place] & Prospects::REPORTED == 0 && numbers[place] < overdue[place];
            !is_near || is_late || states[place] & Prospects::UNCLEAR != 0
        };
        let places = from..seqs.len().min(from + LANES);
        places.fold(0, |left, place| left | u32::from(is_left(place)) << (place - from))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use core::arch::x86_64::{
        __m256, __m256i, _CMP_LE_OQ, _mm_movemask_epi8, _mm_setr_epi8, _mm_slli_epi16, _mm256_add_ps,
        _mm256_blendv_ps, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cmpeq_epi32, _mm256_max_epu32,
        _mm256_movemask_ps, _mm256_mul_ps, _mm256_permutevar8x32_ps, _mm256_set1_epi32, _mm256_set1_ps,
        _mm256_setr_epi32, _mm256_setr_ps, _mm256_setzero_ps, _mm256_srli_epi32, _mm256_sub_epi32,
    };

    use super::{Columns, DrSeq, LANES, Table, WIDE, some};

    /// [`Lines::left_plainly`](super::Lines::left_plainly), eight at a time.
    #[target_feature(enable = "avx2")]
    pub(super) fn left(tables: &[[Table; 2]], newest: DrSeq, columns: &Columns<'_>, start: usize) -> u32 {
        let &Columns { seqs, numbers, states, to, most, overdue } = columns;
        let (Some(seqs), Some(sent), Some(overdue)) =
            (some(seqs, start), some(numbers, start), some(overdue, start))
        else {
            return u32::MAX;
        };
        let (Some(to), Some(most), Some(states)) = (some(to, start), some(most, start), some(states, start))
        else {
            return u32::MAX;
        };
        let (mut left, mut late) = (0, 0);
        for at in (0..LANES).step_by(WIDE) {
            let seqs = numbers_of(&seqs.map(|seq| seq.0), at);
            let newest = _mm256_set1_epi32(newest.0.cast_signed());
            let ages = _mm256_sub_epi32(_mm256_max_epu32(newest, seqs), seqs);
            let places = _mm256_srli_epi32::<3>(ages);
            let (mut first, mut growth) = (_mm256_set1_ps(f32::NAN), _mm256_setzero_ps());
            for (place, [firsts, growths]) in (0..).zip(tables) {
                let is_it = _mm256_castsi256_ps(_mm256_cmpeq_epi32(places, _mm256_set1_epi32(place)));
                let found = |table| _mm256_permutevar8x32_ps(floats(table, 0), ages);
                first = _mm256_blendv_ps(first, found(firsts), is_it);
                growth = _mm256_blendv_ps(growth, found(growths), is_it);
            }
            let farthest = _mm256_add_ps(first, _mm256_mul_ps(growth, floats(to, at)));
            let near = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(farthest, floats(most, at)));
            left |= (!near & 0xff).cast_unsigned() << at;
            let (sent, overdue) = (numbers_of(sent, at), numbers_of(overdue, at));
            let is_since = _mm256_cmpeq_epi32(_mm256_max_epu32(sent, overdue), sent);
            let since = _mm256_movemask_ps(_mm256_castsi256_ps(is_since));
            late |= (!since & 0xff).cast_unsigned() << at;
        }
        let [unclear, reported] = highest_bits(states);
        left | late & !reported | unclear
    }

    /// The highest bit of each of sixteen bytes, and the one below it.
    #[target_feature(enable = "avx2")]
    fn highest_bits(all: &[u8; LANES]) -> [u32; 2] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = all.map(u8::cast_signed);
        let bytes = _mm_setr_epi8(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
        let below = _mm_slli_epi16::<1>(bytes);
        [_mm_movemask_epi8(bytes).cast_unsigned(), _mm_movemask_epi8(below).cast_unsigned()]
    }

    #[target_feature(enable = "avx2")]
    fn floats<const N: usize>(all: &[f32; N], at: usize) -> __m256 {
        let [a, b, c, d, e, f, g, h] = core::array::from_fn(|place| all[at + place]);
        _mm256_setr_ps(a, b, c, d, e, f, g, h)
    }

    #[target_feature(enable = "avx2")]
    fn numbers_of(all: &[u32; LANES], at: usize) -> __m256i {
        let [a, b, c, d, e, f, g, h] = core::array::from_fn(|place| all[at + place].cast_signed());
        _mm256_setr_epi32(a, b, c, d, e, f, g, h)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Seed;

    use super::*;

    #[test]
    fn eight_at_a_time_leave_whom_one_at_a_time_does() {
        let mut draws = Seed::new(3).draws();
        let (mut lefts, mut alls) = (0, 0);
        for round in 0..5_000 {
            let newest = DrSeq(if round % 7 == 0 { 3 } else { 1_000 });
            let mut lines = Lines::<64>::default();
            lines.set(0, f32::NEG_INFINITY, 0.0);
            for _ in 0..draws.below(90) {
                let first = [f32::NEG_INFINITY, f32::INFINITY, draws.uniform(0.0, 2.0) as f32];
                let first = first[draws.below(3) as usize];
                lines.set(draws.below(30 + round % 50) as usize, first, draws.uniform(0.0, 2.0) as f32);
            }
            let len = 1 + draws.below(50) as usize;
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
            let (numbers, overdue) = (numbers(u32::MAX, 1_000), numbers(0, 400));
            let mut state = |_| match draws.below(9) {
                0 => Prospects::UNCLEAR,
                1 => Prospects::UNCLEAR | Prospects::REPORTED,
                2..6 => Prospects::REPORTED,
                _ => 0,
            };
            let states: Vec<u8> = (0..len).map(&mut state).collect();
            let columns = Columns {
                seqs: &seqs,
                numbers: &numbers,
                states: &states,
                to: &to,
                most: &most,
                overdue: &overdue,
            };
            for from in (0..len).step_by(LANES) {
                let left = lines.left_plainly(newest, &columns, from);
                assert_eq!(lines.left(newest, &columns, from), left, "{lines:?} {seqs:?}");
                (lefts, alls) = (lefts + left.count_ones(), alls + LANES.min(len - from) as u32);
            }
        }
        assert!((alls / 5..4 * alls / 5).contains(&lefts), "{lefts} of {alls}");
    }
}
