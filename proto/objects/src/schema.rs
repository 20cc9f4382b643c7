//! A game's schema: the kinds of its objects and messages. Both sides state theirs at connect, and a mismatch is refused with
//! words.

use core::fmt::Write;

use evenkeel_core::{Malformed, Reader};

use crate::field::VALUE_BYTES_MAX;
use crate::object::{FieldSet, Value};

/// Fields of one kind of object, as many as Open TNL has dirty states.
pub const FIELDS_MAX: usize = 32;
/// The longest description of a schema that is read.
pub const DESCRIPTION_MAX: usize = 16 * 1024;

/// Who writes a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writer {
    /// The object's owner.
    Owner,
    /// The server, whoever owns the object: health, score.
    Server,
}

/// How objects of a kind move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum ObjectMotion {
    /// Not at all. They are everywhere, unless the game says otherwise.
    #[default]
    Still,
    /// In the plane z = 0: dead reckoning turns their velocity about the vertical axis.
    Planar,
    /// In space, without a turn rate: a turn about any axis is acceleration, and the orientation is a field
    /// ([`Spin`](crate::orientation::Spin)).
    Spatial,
}

/// A field of a kind of object.
#[derive(Debug)]
pub struct FieldKind {
    /// Its name.
    pub name: &'static str,
    /// Who writes it.
    pub writer: Writer,
    /// Appends its type's name.
    pub describe: fn(&mut String),
    /// Checks that a value is next, and skips it.
    pub check: fn(&mut Reader<'_>) -> Result<(), Malformed>,
    /// Appends the value that it begins with if the server writes it.
    pub initial: fn(&mut Vec<u8>),
}

/// A kind of object.
#[derive(Debug)]
pub struct ObjectKind {
    /// Its name.
    pub name: &'static str,
    /// How it moves.
    pub motion: ObjectMotion,
    /// Its fields.
    pub fields: &'static [FieldKind],
}

impl ObjectKind {
    /// The fields that this side writes.
    #[must_use]
    pub fn written_by(&self, writer: Writer) -> FieldSet {
        let bit = |(place, field): (usize, &FieldKind)| u32::from(field.writer == writer) << place;
        FieldSet(self.fields.iter().take(FIELDS_MAX).enumerate().map(bit).sum())
    }

    /// Whether a value is one of a field's type, not too long, and nothing more.
    #[must_use]
    pub fn accepts(&self, field: usize, value: &[u8]) -> bool {
        let mut reader = Reader::new(value);
        let is_of_type =
            self.fields.get(field).is_some_and(|kind| (kind.check)(&mut reader).is_ok() && reader.is_empty());
        is_of_type && value.len() <= VALUE_BYTES_MAX
    }

    /// Splits the values of some fields, one behind the other.
    ///
    /// # Errors
    /// [`Malformed`] if they are not of these fields' types, or one is longer than a packet may be.
    pub fn split<'a>(&self, fields: FieldSet, bytes: &'a [u8]) -> Result<Vec<(usize, &'a [u8])>, Malformed> {
        let mut reader = Reader::new(bytes);
        let mut values = Vec::new();
        for field in fields.iter() {
            let before = reader.rest();
            let kind = self.fields.get(field).ok_or(Malformed::Field)?;
            (kind.check)(&mut reader)?;
            let value = &before[..before.len() - reader.remaining()];
            if value.len() > VALUE_BYTES_MAX {
                return Err(Malformed::Field);
            }
            values.push((field, value));
        }
        reader.finish()?;
        Ok(values)
    }
}

/// A kind of message.
#[derive(Debug)]
pub struct MessageKind {
    /// Its name.
    pub name: &'static str,
    /// Appends the names and types of its parts.
    pub describe: fn(&mut String),
    /// Checks that a message is next, and skips it.
    pub check: fn(&mut Reader<'_>) -> Result<(), Malformed>,
}

/// The kinds of a game's objects and messages. Made by [`schema!`](crate::schema!).
#[derive(Debug)]
pub struct Schema {
    /// The game's name.
    pub name: &'static str,
    /// Its kinds of objects.
    pub objects: &'static [ObjectKind],
    /// Its kinds of messages.
    pub messages: &'static [MessageKind],
}

/// The schema of games without objects and typed messages.
pub static EMPTY: Schema = Schema { name: "", objects: &[], messages: &[] };

impl Schema {
    /// Whether the game has neither objects nor messages.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.messages.is_empty()
    }

    /// The kind of object with this number.
    #[must_use]
    pub fn object(&self, kind: u16) -> Option<&'static ObjectKind> {
        self.objects.get(usize::from(kind))
    }

    /// Whether bytes are a message of this kind.
    #[must_use]
    pub fn accepts_message(&self, kind: u16, bytes: &[u8]) -> bool {
        let mut reader = Reader::new(bytes);
        let message = self.messages.get(usize::from(kind));
        message.is_some_and(|message| (message.check)(&mut reader).is_ok() && reader.is_empty())
    }

    /// Describes it, a line per kind.
    #[must_use]
    pub fn description(&self) -> String {
        let mut text = format!("game {}\n", self.name);
        for object in self.objects {
            let motion = match object.motion {
                ObjectMotion::Still => "still",
                ObjectMotion::Planar => "planar",
                ObjectMotion::Spatial => "spatial",
            };
            let _ = write!(text, "{motion} object {}:", object.name);
            for field in object.fields {
                let writer = if field.writer == Writer::Owner { "owner" } else { "server" };
                let _ = write!(text, " {writer} {}: ", field.name);
                (field.describe)(&mut text);
                text.push(',');
            }
            text.push('\n');
        }
        for message in self.messages {
            let _ = write!(text, "message {}:", message.name);
            (message.describe)(&mut text);
            text.push('\n');
        }
        text
    }

    /// How another side's description differs from this one, in words; `None` if it does not.
    #[must_use]
    pub fn mismatch(&self, theirs: &str) -> Option<String> {
        let ours = self.description();
        if ours == theirs {
            return None;
        }
        let differs = ours.lines().zip(theirs.lines()).find(|(our, their)| our != their);
        let what = match differs {
            Some((our, their)) => format!("the relay has \"{our}\", this player \"{}\"", shortened(their)),
            None if ours.len() > theirs.len() => {
                let missing = ours.lines().nth(theirs.lines().count()).unwrap_or_default();
                format!("this player lacks \"{missing}\"")
            }
            None => {
                let more = theirs.lines().nth(ours.lines().count()).unwrap_or_default();
                format!("the relay lacks \"{}\"", shortened(more))
            }
        };
        Some(format!("the player's game differs from the relay's: {what}; update the older of the two"))
    }
}

/// Text from outside, short enough to be shown.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(200)]
}

/// A game's type of object, made by [`schema!`](crate::schema!).
pub trait Object: Sized {
    /// Its number among the schema's objects.
    const KIND: u16;
    /// Its kind.
    fn kind() -> &'static ObjectKind;
    /// The values of its fields.
    fn values(&self) -> Vec<Value>;
    /// Reads it from the values of its fields.
    ///
    /// # Errors
    /// [`Malformed`] if they are not of this type.
    fn from_values(values: &[Value]) -> Result<Self, Malformed>;
}

/// A game's type of message, made by [`schema!`](crate::schema!).
pub trait GameMessage: Sized {
    /// Its number among the schema's messages.
    const KIND: u16;
    /// Its bytes.
    fn to_bytes(&self) -> Vec<u8>;
    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not of this type.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed>;
}
