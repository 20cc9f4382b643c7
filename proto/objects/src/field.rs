//! Values of fields and messages: how a game's types travel and how they are described.

use evenkeel_core::{Malformed, PeerId, Reader, SessionTime, Varint, Vec3, Wire};

use crate::object::ObjectId;

/// The longest value of a field, and of a text or a list in a message, in bytes.
pub const FIELD_BYTES_MAX: usize = 512;
/// The most bytes of a whole value of an object, so that it fits a packet: the longest text, with its length.
pub const VALUE_BYTES_MAX: usize = FIELD_BYTES_MAX + 2;

/// A type that fields and messages can have. Fields that the server writes begin at the default, whatever a player says.
///
/// Implemented for numbers, `bool`, texts, options, short lists and pairs, and by hand for a game's own types:
///
/// ```
/// use evenkeel_core::{Malformed, Reader};
/// use evenkeel_objects::Field;
///
/// #[derive(Clone, Copy, PartialEq, Debug, Default)]
/// enum Team { #[default] Red, Blue }
///
/// impl Field for Team {
///     fn describe(text: &mut String) { text.push_str("red or blue") }
///     fn emit(&self, bytes: &mut Vec<u8>) { bytes.push(*self as u8) }
///     fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
///         match reader.read::<u8>()? {
///             0 => Ok(Self::Red),
///             1 => Ok(Self::Blue),
///             _ => Err(Malformed::Field),
///         }
///     }
/// }
/// ```
pub trait Field: Default {
    /// Appends the type's name. Two programs whose names differ do not play together.
    fn describe(text: &mut String);

    /// Appends the value.
    fn emit(&self, bytes: &mut Vec<u8>);

    /// Reads a value.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes do not hold one.
    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
}

macro_rules! fixed {
    ($($type:ty: $name:literal),* $(,)?) => {$(
        impl Field for $type {
            fn describe(text: &mut String) {
                text.push_str($name);
            }

            fn emit(&self, bytes: &mut Vec<u8>) {
                Wire::emit(self, bytes);
            }

            fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                reader.read()
            }
        }
    )*};
}

fixed!(u8: "u8", f64: "f64", Vec3: "vector", SessionTime: "time");

macro_rules! unsigned {
    ($($type:ty: $name:literal),* $(,)?) => {$(
        impl Field for $type {
            fn describe(text: &mut String) {
                text.push_str($name);
            }

            fn emit(&self, bytes: &mut Vec<u8>) {
                Varint(u64::from(*self)).emit(bytes);
            }

            fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                Self::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)
            }
        }
    )*};
}

unsigned!(u16: "u16", u32: "u32", u64: "u64");

macro_rules! signed {
    ($($type:ty: $name:literal),* $(,)?) => {$(
        impl Field for $type {
            fn describe(text: &mut String) {
                text.push_str($name);
            }

            fn emit(&self, bytes: &mut Vec<u8>) {
                Varint::signed(i64::from(*self)).emit(bytes);
            }

            fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                Self::try_from(reader.read::<Varint>()?.to_signed()).map_err(|_| Malformed::Field)
            }
        }
    )*};
}

signed!(i8: "i8", i16: "i16", i32: "i32", i64: "i64");

impl Field for f32 {
    fn describe(text: &mut String) {
        text.push_str("f32");
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.take_array().map(|bytes| Self::from_le_bytes(*bytes))
    }
}

impl Field for bool {
    fn describe(text: &mut String) {
        text.push_str("bool");
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Field),
        }
    }
}

impl Field for ObjectId {
    fn describe(text: &mut String) {
        text.push_str("object");
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        Wire::emit(&self.0, bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.read().map(Self)
    }
}

impl Field for PeerId {
    fn describe(text: &mut String) {
        text.push_str("player");
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        Field::emit(&self.0, bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        <u32 as Field>::parse(reader).map(Self)
    }
}

/// Reads a length up to [`FIELD_BYTES_MAX`].
fn parse_len(reader: &mut Reader<'_>) -> Result<usize, Malformed> {
    let len = usize::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
    if len > FIELD_BYTES_MAX { Err(Malformed::Field) } else { Ok(len) }
}

impl Field for String {
    fn describe(text: &mut String) {
        text.push_str("text");
    }

    /// A longer text than [`FIELD_BYTES_MAX`] is cut.
    fn emit(&self, bytes: &mut Vec<u8>) {
        let text = &self[..self.floor_char_boundary(FIELD_BYTES_MAX)];
        Varint(text.len() as u64).emit(bytes);
        bytes.extend_from_slice(text.as_bytes());
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let len = parse_len(reader)?;
        core::str::from_utf8(reader.take(len)?).map(str::to_owned).map_err(|_| Malformed::Field)
    }
}

impl<T: Field> Field for Option<T> {
    fn describe(text: &mut String) {
        text.push_str("optional ");
        T::describe(text);
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        self.is_some().emit(bytes);
        if let Some(value) = self {
            value.emit(bytes);
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        if <bool as Field>::parse(reader)? { T::parse(reader).map(Some) } else { Ok(None) }
    }
}

impl<T: Field> Field for Vec<T> {
    fn describe(text: &mut String) {
        text.push_str("list of ");
        T::describe(text);
    }

    /// Elements beyond [`FIELD_BYTES_MAX`] are left out.
    fn emit(&self, bytes: &mut Vec<u8>) {
        let kept = &self[..self.len().min(FIELD_BYTES_MAX)];
        Varint(kept.len() as u64).emit(bytes);
        kept.iter().for_each(|element| element.emit(bytes));
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        (0..parse_len(reader)?).map(|_| T::parse(reader)).collect()
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn describe(text: &mut String) {
        text.push('(');
        A::describe(text);
        text.push_str(" and ");
        B::describe(text);
        text.push(')');
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        self.0.emit(bytes);
        self.1.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok((A::parse(reader)?, B::parse(reader)?))
    }
}

/// Checks that a value is one of this type.
///
/// # Errors
/// [`Malformed`] if it is not.
pub fn check<T: Field>(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    T::parse(reader).map(drop)
}

/// Appends the value that a server's field begins with.
pub fn initial<T: Field>(bytes: &mut Vec<u8>) {
    T::default().emit(bytes);
}
