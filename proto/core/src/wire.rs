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
                let (head, tail) = reader.bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
                reader.bytes = tail;
                Ok(Self::from_le_bytes(*head))
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

impl Wire for Varint {
    #[inline]
    fn emit(&self, bytes: &mut Vec<u8>) {
        let mut rest = self.0;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }

    #[inline]
    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        if let Some((&byte, tail)) = reader.bytes.split_first()
            && byte < 0x80
        {
            reader.bytes = tail;
            return Ok(Self(u64::from(byte)));
        }
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
