//! Wire primitives: little-endian numbers, read with bounds and written by appending.
//!
//! Reading never panics and never allocates more than what the bytes it was given hold.

use crate::time::{LocalTime, SessionTime};
use crate::vec3::Vec3;

/// Why bytes are not a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// The bytes end before the message does.
    #[error("it ends too early")]
    Truncated,
    /// There is no message with that tag.
    #[error("unknown tag {0}")]
    UnknownTag(u8),
    /// Another version of the protocol.
    #[error("version {came} came, and version {spoken} is spoken here")]
    Version {
        /// That of the bytes.
        came: u8,
        /// The only one that is read.
        spoken: u8,
    },
    /// A number outside of what the field can hold.
    #[error("a field is out of its range")]
    Field,
    /// Bytes are left when the message is over.
    #[error("bytes are left over")]
    TrailingBytes,
}

/// What can be written to bytes and read back: `parse(emit(x)) = x`, and `emit(parse(b)) = b`.
pub trait Wire: Sized {
    /// Appends this value.
    fn emit(&self, bytes: &mut Vec<u8>);
    /// Reads a value.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are no such value.
    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// A cursor over bytes from outside.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads from the beginning of `bytes`.
    #[must_use]
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether nothing is left.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many bytes are left.
    #[must_use]
    #[inline]
    pub const fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Everything that is left, which stays to be read.
    #[must_use]
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] if fewer are left.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.bytes.split_at_checked(len).ok_or(Malformed::Truncated)?;
        self.bytes = tail;
        Ok(head)
    }

    /// The next `LEN` bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] if fewer are left.
    #[inline]
    pub fn take_array<const LEN: usize>(&mut self) -> Result<&'a [u8; LEN], Malformed> {
        let (head, tail) = self.bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.bytes = tail;
        Ok(head)
    }

    /// A value of a wire type.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are no such value.
    #[inline]
    pub fn read<T: Wire>(&mut self) -> Result<T, Malformed> {
        T::parse(self)
    }

    /// Fails unless everything has been read.
    ///
    /// # Errors
    /// [`Malformed::TrailingBytes`] if bytes are left.
    #[inline]
    pub const fn finish(&self) -> Result<(), Malformed> {
        if self.is_empty() { Ok(()) } else { Err(Malformed::TrailingBytes) }
    }
}

macro_rules! wire_number {
    ($($number:ty),*) => {$(
        impl Wire for $number {
            #[inline]
            fn emit(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                reader.take_array().map(|bytes| Self::from_le_bytes(*bytes))
            }
        }
    )*};
}

wire_number!(u8, u16, u32, u64, i16, i32, i64, f64);

/// A number in as few bytes as it needs: seven bits in each, the lowest first, the top bit set if more follow. Only the
/// shortest form is read, so that there is one form for each number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Varint(pub u64);

impl Varint {
    /// A signed number: 0, -1, 1, -2, 2, ... become 0, 1, 2, 3, 4, ...
    #[must_use]
    #[inline]
    pub const fn signed(value: i64) -> Self {
        Self(((value << 1) ^ (value >> 63)) as u64)
    }

    /// The signed number that it stands for.
    #[must_use]
    #[inline]
    pub const fn to_signed(self) -> i64 {
        (self.0 >> 1) as i64 ^ -((self.0 & 1) as i64)
    }
}

/// The top bits of eight bytes.
const TOPS: u64 = 0x8080_8080_8080_8080;

/// 56 bits as eight bytes of seven.
#[inline]
const fn spread(mut x: u64) -> u64 {
    x = (x & 0x0000_0000_0fff_ffff) | (x & 0x00ff_ffff_f000_0000) << 4;
    x = (x & 0x0000_3fff_0000_3fff) | (x & 0x0fff_c000_0fff_c000) << 2;
    (x & 0x007f_007f_007f_007f) | (x & 0x3f80_3f80_3f80_3f80) << 1
}

/// Eight bytes of seven bits as 56 bits.
#[inline]
const fn gather(mut x: u64) -> u64 {
    x = (x & 0x007f_007f_007f_007f) | (x & 0x7f00_7f00_7f00_7f00) >> 1;
    x = (x & 0x0000_3fff_0000_3fff) | (x & 0x3fff_0000_3fff_0000) >> 2;
    (x & 0x0000_0000_0fff_ffff) | (x & 0x0fff_ffff_0000_0000) >> 4
}

impl Varint {
    /// The same as to read it as any other, but fast if it has three bytes or more.
    ///
    /// # Errors
    /// [`Malformed`] if it ends too early, is too large, or could be shorter.
    #[inline]
    pub fn parse_long(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let word = reader.bytes.first_chunk().map_or(u64::MAX, |word| u64::from_le_bytes(*word));
        let ends = !word & TOPS;
        if ends == 0 {
            return Self::parse_bytes(reader);
        }
        // The bytes up to the first whose top bit is not set; that one must say something.
        let digits = word & (ends ^ (ends - 1)) & !TOPS;
        let len = ends.trailing_zeros() as usize / 8 + 1;
        if len > 1 && digits >> (8 * (len - 1)) == 0 {
            return Err(Malformed::Field);
        }
        reader.bytes = &reader.bytes[len..];
        Ok(Self(gather(digits)))
    }

    /// Not in line: most numbers are short.
    #[inline(never)]
    fn parse_rest(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Self::parse_long(reader)
    }

    #[cold]
    fn parse_bytes(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = reader.read::<u8>()?;
            let bits = u64::from(byte & 0x7f);
            if (shift == 63 && bits > 1) || (shift > 0 && byte == 0) {
                return Err(Malformed::Field);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(Self(value));
            }
        }
        Err(Malformed::Field)
    }

    /// The number that a little-endian word of its bytes stands for, if they are at most eight.
    #[must_use]
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        Self(gather(word & !TOPS))
    }

    /// Its bytes as a little-endian word, and how many they are, if that is at most eight.
    #[must_use]
    #[inline]
    pub const fn word(self) -> Option<(u64, usize)> {
        if self.0 >= 1 << 56 {
            return None;
        }
        let len = (self.0 | 1).ilog2() as usize / 7 + 1;
        let more = TOPS & ((1 << (8 * (len - 1))) - 1);
        Some((spread(self.0) | more, len))
    }

    /// The same as to write it as any other, but fast if it has three bytes or more.
    #[inline]
    pub fn emit_long(self, bytes: &mut Vec<u8>) {
        let Some((word, len)) = self.word() else { return self.emit_bytes(bytes) };
        let end = bytes.len() + len;
        bytes.extend_from_slice(&word.to_le_bytes());
        bytes.truncate(end);
    }

    #[inline(never)]
    fn emit_rest(self, bytes: &mut Vec<u8>) {
        self.emit_long(bytes);
    }

    #[cold]
    fn emit_bytes(self, bytes: &mut Vec<u8>) {
        let mut rest = self.0;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
}

impl Wire for Varint {
    #[inline]
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self.0 {
            0..0x80 => bytes.push(self.0 as u8),
            0x80..0x4000 => bytes.extend_from_slice(&[self.0 as u8 | 0x80, (self.0 >> 7) as u8]),
            _ => self.emit_rest(bytes),
        }
    }

    #[inline]
    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (value, tail) = match reader.bytes {
            [byte @ ..0x80, tail @ ..] => (u64::from(*byte), tail),
            [low, high @ 1..0x80, tail @ ..] => (u64::from(low & 0x7f) | u64::from(*high) << 7, tail),
            _ => return Self::parse_rest(reader),
        };
        reader.bytes = tail;
        Ok(Self(value))
    }
}

macro_rules! wire_time {
    ($($time:ty),*) => {$(
        impl Wire for $time {
            #[inline]
            fn emit(&self, bytes: &mut Vec<u8>) {
                self.as_nanos().emit(bytes);
            }
            #[inline]
            fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                Ok(Self::from_nanos(reader.read()?))
            }
        }
    )*};
}

wire_time!(LocalTime, SessionTime);

impl Wire for Vec3 {
    #[inline]
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.x.emit(bytes);
        self.y.emit(bytes);
        self.z.emit(bytes);
    }

    #[inline]
    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self::new(reader.read()?, reader.read()?, reader.read()?))
    }
}
