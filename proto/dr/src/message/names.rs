//! Which vectors arrivals are of, on the wire: the numbers of an entity and of a vector, one after the other. Nearly always each takes at
//! most two bytes. Each acknowledgment repeats many of them, so they are checked by the word, and read the same way
//! nearly always.

use evenkeel_core::{Malformed, Reader};
use evenkeel_session::envelope::parse_u32;

use crate::vector::{DrSeq, EntityId};

/// The top bits of eight bytes: where they are set, the number goes on.
const TOPS: u64 = 0x8080_8080_8080_8080;
/// Multiplied by this, the highest byte is the sum of all.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Some names, and what comes behind them.
#[derive(Clone, Debug)]
pub(crate) struct Names<'a> {
    reader: Reader<'a>,
    left: u8,
}

impl<'a> Names<'a> {
    /// So many names that have been checked.
    #[inline]
    pub(super) const fn new(count: u8, reader: Reader<'a>) -> Self {
        Self { reader, left: count }
    }

    /// Reads so many names away.
    ///
    /// # Errors
    /// [`Malformed`] if they are none.
    #[inline]
    pub(super) fn pass_over(count: u8, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        if count == 0 {
            return Ok(());
        }
        match short_len(2 * u64::from(count), reader.rest()) {
            Some(len) if len <= reader.remaining() => reader.take(len).map(|_| ()),
            _ => (0..count).try_for_each(|_| parse_name(reader).map(|_| ())),
        }
    }
}

impl Iterator for Names<'_> {
    type Item = (EntityId, DrSeq);

    #[inline]
    fn next(&mut self) -> Option<(EntityId, DrSeq)> {
        self.left = self.left.checked_sub(1)?;
        let Some(word) = self.reader.rest().first_chunk().map(|word| u32::from_le_bytes(*word)) else {
            return parse_name(&mut self.reader).ok();
        };
        let (entity, rest, bits) = short(word);
        let (seq, _, more) = short(rest);
        if is_long(word) || is_long(rest) {
            return parse_name(&mut self.reader).ok();
        }
        self.reader.take((bits + more) as usize / 8).ok()?;
        Some((EntityId(entity), DrSeq(seq)))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left.into(), Some(self.left.into()))
    }
}

impl ExactSizeIterator for Names<'_> {}

#[inline(never)]
fn parse_name(reader: &mut Reader<'_>) -> Result<(EntityId, DrSeq), Malformed> {
    Ok((EntityId(parse_u32(reader)?), DrSeq(parse_u32(reader)?)))
}

/// The number that a word begins with, if it is not [long](is_long), what comes behind it, and how many bits it takes.
#[inline]
const fn short(word: u32) -> (u32, u32, u32) {
    let goes_on = word >> 7 & 1;
    let high = (word >> 1 & 0x3f80) & goes_on.wrapping_neg();
    let bits = 8 << goes_on;
    (word & 0x7f | high, word >> bits, bits)
}

/// Whether the number that a word begins with takes more than two bytes.
#[inline]
const fn is_long(word: u32) -> bool {
    word & 0x8080 == 0x8080
}

/// How many bytes so many numbers take, which may be more than there are; `None` if one takes more than two, or more than it needs.
#[inline]
fn short_len(mut count: u64, bytes: &[u8]) -> Option<usize> {
    let (mut place, mut before) = (0, 0);
    loop {
        let word = bytes.get(place..).and_then(<[u8]>::first_chunk).map(|word| u64::from_le_bytes(*word));
        let word = word.unwrap_or_else(|| padded(bytes, place) as u64);
        let goes_on = word & TOPS;
        let follows = goes_on << 8 | before;
        let ends = goes_on ^ TOPS;
        // What follows must end the number, and say something.
        let says_nothing = !((word & !TOPS) + !TOPS);
        let wrong = follows & (goes_on | says_nothing);
        // Each byte of this is how many numbers have ended with it: the last, how many end here.
        let sums = (ends >> 7).wrapping_mul(ONES);
        let ended = sums >> 56;
        if ended >= count {
            // Where these are all of them.
            let last = ((sums | TOPS) - count * ONES) & TOPS;
            let is_right = wrong & (last ^ last.wrapping_sub(1)) == 0;
            return is_right.then_some(place + last.trailing_zeros() as usize / 8 + 1);
        }
        if wrong != 0 {
            return None;
        }
        (count, place, before) = (count - ended, place + size_of::<u64>(), goes_on >> 56);
    }
}

/// What is left of bytes from a place on, which is less than a word, and noughts behind it.
#[inline]
pub(super) fn padded(bytes: &[u8], at: usize) -> u128 {
    match bytes.last_chunk() {
        Some(word) => {
            let beyond = at + size_of::<u128>() - bytes.len();
            u128::from_le_bytes(*word).checked_shr(8 * beyond as u32).unwrap_or(0)
        }
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            rest.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte))
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::{Varint, Wire};
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![8 => 0..0x80u32, 8 => 0x80..0x4000u32, 1 => any::<u32>()]
    }

    proptest! {
        #[test]
        fn names_are_passed_over_and_read_as_numbers_one_after_the_other(
            names in prop::collection::vec((number(), number()), 0..40),
            behind in prop::collection::vec(any::<u8>(), 0..10),
        ) {
            let mut bytes = Vec::new();
            for (entity, seq) in &names {
                Varint(u64::from(*entity)).emit(&mut bytes);
                Varint(u64::from(*seq)).emit(&mut bytes);
            }
            bytes.extend(&behind);
            let mut reader = Reader::new(&bytes);
            let read = Names::new(names.len() as u8, reader.clone());
            prop_assert!(read.eq(names.iter().map(|(entity, seq)| (EntityId(*entity), DrSeq(*seq)))));
            prop_assert_eq!(Names::pass_over(names.len() as u8, &mut reader), Ok(()));
            prop_assert_eq!(reader.rest(), &behind[..]);
        }

        #[test]
        fn what_are_no_names_is_refused_as_numbers_one_after_the_other_are(
            bytes in prop::collection::vec(prop_oneof![3 => any::<u8>(), 2 => 0..3u8, 2 => 0x80..0x83u8], 0..40),
            count in 0..20u8,
        ) {
            let (mut all, mut each) = (Reader::new(&bytes), Reader::new(&bytes));
            let passed = Names::pass_over(count, &mut all);
            let read = (0..count).try_for_each(|_| parse_name(&mut each).map(|_| ()));
            prop_assert_eq!(passed, read);
            if passed.is_ok() {
                prop_assert_eq!(all.rest(), each.rest());
            }
        }
    }
}
