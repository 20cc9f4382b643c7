//! Vector ids on the wire: an entity's number and a vector's number, as two varints.
//!
//! Nearly always both numbers take at most two bytes, so ids of that form are checked and read as words.

use evenkeel_core::{Malformed, Reader};
use evenkeel_session::envelope::parse_u32;

use crate::motion::{DrSeq, EntityId};

/// The top bit of each byte of a word. In a varint it is set if another byte follows.
const TOP_BITS: u64 = 0x8080_8080_8080_8080;
/// Multiplied by this, the highest byte of a word is the sum of its bytes.
const ONES: u64 = 0x0101_0101_0101_0101;

#[derive(Clone, Debug)]
pub(crate) struct VectorIds<'a> {
    reader: Reader<'a>,
    remaining: u8,
}

impl<'a> VectorIds<'a> {
    /// The next `count` ids, which have been checked.
    #[inline]
    pub(super) const fn new(count: u8, reader: Reader<'a>) -> Self {
        Self { reader, remaining: count }
    }

    /// Checks and skips `count` ids.
    #[inline]
    pub(super) fn skip(count: u8, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        if count == 0 {
            return Ok(());
        }
        match short_varints_len(2 * u64::from(count), reader.rest()) {
            Some(len) if len <= reader.remaining() => reader.take(len).map(|_| ()),
            _ => (0..count).try_for_each(|_| parse_id(reader).map(|_| ())),
        }
    }
}

impl Iterator for VectorIds<'_> {
    type Item = (EntityId, DrSeq);

    #[inline]
    fn next(&mut self) -> Option<(EntityId, DrSeq)> {
        self.remaining = self.remaining.checked_sub(1)?;
        let Some(word) = self.reader.rest().first_chunk().map(|word| u32::from_le_bytes(*word)) else {
            return parse_id(&mut self.reader).ok();
        };
        let (entity, rest, bits) = short_varint(word);
        let (seq, _, more) = short_varint(rest);
        if is_long(word) || is_long(rest) {
            return parse_id(&mut self.reader).ok();
        }
        self.reader.take((bits + more) as usize / 8).ok()?;
        Some((EntityId(entity), DrSeq(seq)))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining.into(), Some(self.remaining.into()))
    }
}

impl ExactSizeIterator for VectorIds<'_> {}

#[inline(never)]
fn parse_id(reader: &mut Reader<'_>) -> Result<(EntityId, DrSeq), Malformed> {
    Ok((EntityId(parse_u32(reader)?), DrSeq(parse_u32(reader)?)))
}

/// The value of the varint that a word begins with, unless it is [long](is_long); the rest of the word; and the length in bits.
#[inline]
const fn short_varint(word: u32) -> (u32, u32, u32) {
    let has_more = word >> 7 & 1;
    let high = (word >> 1 & 0x3f80) & has_more.wrapping_neg();
    let bits = 8 << has_more;
    (word & 0x7f | high, word >> bits, bits)
}

/// Whether the varint that a word begins with takes more than two bytes.
#[inline]
const fn is_long(word: u32) -> bool {
    word & 0x8080 == 0x8080
}

/// The length in bytes of `count` varints, which may exceed the bytes that there are; `None` if one takes more than
/// two bytes or is not in its shortest form.
#[inline]
fn short_varints_len(mut count: u64, bytes: &[u8]) -> Option<usize> {
    // `carry` is the top bit of the last byte of the word before, moved to the lowest byte.
    let (mut offset, mut carry) = (0, 0);
    loop {
        let word = bytes.get(offset..).and_then(<[u8]>::first_chunk).map(|word| u64::from_le_bytes(*word));
        let word = word.unwrap_or_else(|| zero_padded(bytes, offset) as u64);
        let has_more = word & TOP_BITS;
        let is_second = has_more << 8 | carry;
        let is_last = has_more ^ TOP_BITS;
        // A second byte must be the last of its varint and must not be zero.
        let is_zero = !((word & !TOP_BITS) + !TOP_BITS);
        let wrong = is_second & (has_more | is_zero);
        // Byte i counts the varints that end in bytes 0 to i.
        let sums = (is_last >> 7).wrapping_mul(ONES);
        let ended = sums >> 56;
        if ended >= count {
            // The lowest bit that is set marks the byte in which the last varint ends.
            let last = ((sums | TOP_BITS) - count * ONES) & TOP_BITS;
            let is_right = wrong & (last ^ last.wrapping_sub(1)) == 0;
            return is_right.then_some(offset + last.trailing_zeros() as usize / 8 + 1);
        }
        if wrong != 0 {
            return None;
        }
        (count, offset, carry) = (count - ended, offset + size_of::<u64>(), has_more >> 56);
    }
}

/// The bytes from an offset on, fewer than a word, padded with zeros.
#[inline]
pub(super) fn zero_padded(bytes: &[u8], at: usize) -> u128 {
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
        fn valid_ids_are_read_and_skipped_like_single_varints(
            ids in prop::collection::vec((number(), number()), 0..40),
            behind in prop::collection::vec(any::<u8>(), 0..10),
        ) {
            let mut bytes = Vec::new();
            for (entity, seq) in &ids {
                Varint(u64::from(*entity)).emit(&mut bytes);
                Varint(u64::from(*seq)).emit(&mut bytes);
            }
            bytes.extend(&behind);
            let mut reader = Reader::new(&bytes);
            let read = VectorIds::new(ids.len() as u8, reader.clone());
            prop_assert!(read.eq(ids.iter().map(|(entity, seq)| (EntityId(*entity), DrSeq(*seq)))));
            prop_assert_eq!(VectorIds::skip(ids.len() as u8, &mut reader), Ok(()));
            prop_assert_eq!(reader.rest(), &behind[..]);
        }

        #[test]
        fn invalid_ids_are_rejected_like_single_varints(
            bytes in prop::collection::vec(prop_oneof![3 => any::<u8>(), 2 => 0..3u8, 2 => 0x80..0x83u8], 0..40),
            count in 0..20u8,
        ) {
            let (mut all, mut each) = (Reader::new(&bytes), Reader::new(&bytes));
            let skipped = VectorIds::skip(count, &mut all);
            let read = (0..count).try_for_each(|_| parse_id(&mut each).map(|_| ()));
            prop_assert_eq!(skipped, read);
            if skipped.is_ok() {
                prop_assert_eq!(all.rest(), each.rest());
            }
        }
    }
}
