//! Wire primitives: little-endian numbers and varints, with a bounds-checked reader.
//!
//! Reading never panics and never allocates more than the length of its input.

use crate::time::{LocalTime, SessionTime};
use crate::vec3::Vec3;

/// Why bytes are not a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// The bytes end before the message does.
    #[error("the bytes end too early")]
    Truncated,
    /// No message has this tag.
    #[error("unknown tag {0}")]
    UnknownTag(u8),
    /// The message belongs to another version of the protocol.
    #[error("version {found} is not supported, only version {supported}")]
    Version {
        /// The version of the bytes.
        found: u8,
        /// The only version that is supported.
        supported: u8,
    },
    /// A field holds a value out of its range.
    #[error("a field is out of range")]
    Field,
    /// Bytes remain after the end of the message.
    #[error("bytes remain after the end")]
    TrailingBytes,
}

/// A type with a wire form. Parsing reverses emitting, and each value has exactly one form.
pub trait Wire: Sized {
    /// Appends this value to `bytes`.
    fn emit(&self, bytes: &mut Vec<u8>);
    /// Reads a value.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes do not hold one.
    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// A cursor over untrusted bytes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Makes a reader at the beginning of `bytes`.
    #[must_use]
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns whether everything has been read.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number of bytes left.
    #[must_use]
    #[inline]
    pub const fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes left without consuming them.
    #[must_use]
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Takes the next `len` bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] if fewer are left.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.bytes.split_at_checked(len).ok_or(Malformed::Truncated)?;
        self.bytes = tail;
        Ok(head)
    }

    /// Takes the next `LEN` bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] if fewer are left.
    #[inline]
    pub fn take_array<const LEN: usize>(&mut self) -> Result<&'a [u8; LEN], Malformed> {
        let (head, tail) = self.bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.bytes = tail;
        Ok(head)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes do not hold one.
    #[inline]
    pub fn read<T: Wire>(&mut self) -> Result<T, Malformed> {
        T::parse(self)
    }

    /// Checks that everything has been read.
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

/// A variable-length integer (LEB128): seven bits per byte, lowest first, with the top bit set on all bytes
/// but the last. Only the shortest form is accepted, so each number has exactly one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Varint(pub u64);

impl Varint {
    /// Encodes a signed number by zigzag: 0, -1, 1, -2, 2, ... become 0, 1, 2, 3, 4, ...
    #[must_use]
    #[inline]
    pub const fn signed(value: i64) -> Self {
        Self(((value << 1) ^ (value >> 63)) as u64)
    }

    /// Decodes a signed number.
    #[must_use]
    #[inline]
    pub const fn to_signed(self) -> i64 {
        (self.0 >> 1) as i64 ^ -((self.0 & 1) as i64)
    }
}

/// The top bit of each of eight bytes.
const TOPS: u64 = 0x8080_8080_8080_8080;

/// Spreads 56 bits over eight bytes, seven bits each.
#[inline]
const fn spread(mut x: u64) -> u64 {
    x = (x & 0x0000_0000_0fff_ffff) | (x & 0x00ff_ffff_f000_0000) << 4;
    x = (x & 0x0000_3fff_0000_3fff) | (x & 0x0fff_c000_0fff_c000) << 2;
    (x & 0x007f_007f_007f_007f) | (x & 0x3f80_3f80_3f80_3f80) << 1
}

/// Gathers seven bits of each of eight bytes into 56 bits.
#[inline]
const fn gather(mut x: u64) -> u64 {
    x = (x & 0x007f_007f_007f_007f) | (x & 0x7f00_7f00_7f00_7f00) >> 1;
    x = (x & 0x0000_3fff_0000_3fff) | (x & 0x3fff_0000_3fff_0000) >> 2;
    (x & 0x0000_0000_0fff_ffff) | (x & 0x0fff_ffff_0000_0000) >> 4
}

impl Varint {
    /// Parses a varint; faster than [`Wire::parse`] for three bytes and more.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes end too early, the number is too large, or a shorter form exists.
    #[inline]
    pub fn parse_long(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let word = reader.bytes.first_chunk().map_or(u64::MAX, |word| u64::from_le_bytes(*word));
        let ends = !word & TOPS;
        if ends == 0 {
            return Self::parse_bytes(reader);
        }
        // The bytes up to the first one without its top bit; that last byte must not be zero.
        let digits = word & (ends ^ (ends - 1)) & !TOPS;
        let len = ends.trailing_zeros() as usize / 8 + 1;
        if len > 1 && digits >> (8 * (len - 1)) == 0 {
            return Err(Malformed::Field);
        }
        reader.bytes = &reader.bytes[len..];
        Ok(Self(gather(digits)))
    }

    /// Not inlined, because most numbers are short.
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

    /// Decodes a varint of at most eight bytes from a little-endian word of its bytes.
    #[must_use]
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        Self(gather(word & !TOPS))
    }

    /// Returns the encoding as a little-endian word and its length, if it has at most eight bytes.
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

    /// Emits the varint; faster than [`Wire::emit`] for three bytes and more.
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
