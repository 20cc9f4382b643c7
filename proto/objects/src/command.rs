//! Commands to a player's machine, and the events of both sides.

use evenkeel_core::{Malformed, PeerId, Reader, Varint, Wire};

use crate::delivery::{Call, Delivery, Target};
use crate::message::{Denied, Gone};
use crate::object::{FieldSet, ObjectId, Owner, Value};
use crate::schema::GameMessage;

/// What a player asks of its machine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ObjectCommand {
    /// Creates an object of its own. Ignored if its kind or its values are not of the schema.
    Create {
        /// Its name, from [`ObjectId::of`] the player. A name is used once: another object under the name of one that was
        /// destroyed could be taken for it.
        object: ObjectId,
        /// Its kind.
        kind: u16,
        /// The values of all its fields. Those that the server writes begin at their default instead.
        values: Vec<Value>,
    },
    /// Changes fields of an object of its own that owners write. Others are ignored.
    Set {
        /// The object.
        object: ObjectId,
        /// Places and values. Those that do not differ cost nothing.
        values: Vec<(u8, Value)>,
    },
    /// Destroys an object of its own.
    Destroy {
        /// The object.
        object: ObjectId,
    },
    /// Passes an object of its own on.
    Give {
        /// The object.
        object: ObjectId,
        /// Its next owner.
        to: Owner,
    },
    /// Sends a message. The party is whom it is for.
    Call(Call),
}

/// What happened to a player's objects and messages.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ObjectEvent {
    /// The server has accepted this player.
    Ready {
        /// The player's number.
        player: PeerId,
        /// Whether the session goes on where an earlier connection broke off.
        resumed: bool,
        /// Reliable messages of an earlier session of which nobody knows whether they arrived.
        lost: u64,
    },
    /// The server does not accept this player, for this reason.
    Refused(String),
    /// An object came into being here: created, or entered this player's scope.
    Created {
        /// The object.
        object: ObjectId,
        /// Its kind.
        kind: u16,
        /// Its owner.
        owner: Owner,
        /// The values of its fields.
        values: Vec<Value>,
    },
    /// Fields changed.
    Changed {
        /// The object.
        object: ObjectId,
        /// Which, and their values.
        values: Vec<(u8, Value)>,
    },
    /// An object has another owner.
    Owned {
        /// The object.
        object: ObjectId,
        /// Its owner.
        owner: Owner,
    },
    /// An object is gone: destroyed, or out of this player's scope.
    Gone {
        /// The object.
        object: ObjectId,
        /// Why.
        why: Gone,
    },
    /// The server did not accept what this player did with an object.
    Denied {
        /// The object.
        object: ObjectId,
        /// Why.
        why: Denied,
    },
    /// The server did not deliver reliable messages of this player to everybody they were for: it says too much at once, a
    /// receiver has too many that wait, or the object of that scope is not this player's.
    Unheard {
        /// How many, since this was last said.
        count: u64,
        /// The kind of the last of them.
        kind: u16,
        /// Whom that was for.
        party: Target,
    },
    /// A message arrived.
    Call {
        /// From whom.
        from: Owner,
        /// What was guaranteed of it.
        delivery: Delivery,
        /// Its kind.
        kind: u16,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// What happened to a room's objects and messages.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ObjectRoomEvent {
    /// A player's schema is the room's.
    Ready {
        /// The player.
        player: PeerId,
        /// Whether its session goes on where an earlier connection broke off.
        resumed: bool,
    },
    /// A player's schema is not the room's.
    Refused {
        /// The player.
        player: PeerId,
        /// How they differ.
        words: String,
    },
    /// A player created an object.
    Created {
        /// The object.
        object: ObjectId,
        /// Its owner.
        owner: PeerId,
    },
    /// Its owner changed fields of an object.
    Changed {
        /// The object.
        object: ObjectId,
        /// Which.
        fields: FieldSet,
    },
    /// An object has another owner.
    Owned {
        /// The object.
        object: ObjectId,
        /// Its owner.
        owner: Owner,
    },
    /// An object was destroyed.
    Destroyed {
        /// The object.
        object: ObjectId,
    },
    /// An object entered a player's scope.
    Entered {
        /// The player.
        player: PeerId,
        /// The object.
        object: ObjectId,
    },
    /// An object that exists left a player's scope.
    Exited {
        /// The player.
        player: PeerId,
        /// The object.
        object: ObjectId,
    },
    /// A message to the server arrived.
    Call {
        /// From whom.
        from: PeerId,
        /// Its kind.
        kind: u16,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A player does not read what must not be lost.
    Stalled {
        /// The player.
        player: PeerId,
    },
}

impl ObjectEvent {
    /// A typed message, and whom it is from; `None` if the event is something else.
    #[must_use]
    pub fn message<T: GameMessage>(&self) -> Option<(Owner, T)> {
        match self {
            Self::Call { from, kind, bytes, .. } if *kind == T::KIND => {
                T::from_bytes(bytes).ok().map(|message| (*from, message))
            }
            _ => None,
        }
    }
}

impl ObjectRoomEvent {
    /// A typed message to the server, and whom it is from; `None` if the event is something else.
    #[must_use]
    pub fn message<T: GameMessage>(&self) -> Option<(PeerId, T)> {
        match self {
            Self::Call { from, kind, bytes } if *kind == T::KIND => {
                T::from_bytes(bytes).ok().map(|message| (*from, message))
            }
            _ => None,
        }
    }
}

const CREATE: u8 = 0;
const SET: u8 = 1;
const DESTROY: u8 = 2;
const GIVE: u8 = 3;
const CALL: u8 = 4;

fn emit_value(value: &[u8], bytes: &mut Vec<u8>) {
    Varint(value.len() as u64).emit(bytes);
    bytes.extend_from_slice(value);
}

fn parse_value(reader: &mut Reader<'_>) -> Result<Value, Malformed> {
    let len = usize::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
    reader.take(len).map(Into::into)
}

fn parse_len(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    reader.read::<Varint>().map(|len| len.0)
}

/// Commands travel in recordings only.
impl Wire for ObjectCommand {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Create { object, kind, values } => {
                bytes.push(CREATE);
                object.0.emit(bytes);
                kind.emit(bytes);
                Varint(values.len() as u64).emit(bytes);
                values.iter().for_each(|value| emit_value(value, bytes));
            }
            Self::Set { object, values } => {
                bytes.push(SET);
                object.0.emit(bytes);
                Varint(values.len() as u64).emit(bytes);
                for (field, value) in values {
                    bytes.push(*field);
                    emit_value(value, bytes);
                }
            }
            Self::Destroy { object } => {
                bytes.push(DESTROY);
                object.0.emit(bytes);
            }
            Self::Give { object, to } => {
                bytes.push(GIVE);
                object.0.emit(bytes);
                to.emit(bytes);
            }
            Self::Call(call) => {
                bytes.push(CALL);
                call.emit(0, bytes);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let tag = reader.read::<u8>()?;
        if tag == CALL {
            return Call::parse(reader).map(|(_, call)| Self::Call(call));
        }
        let object = ObjectId(reader.read()?);
        Ok(match tag {
            CREATE => {
                let kind = reader.read()?;
                let values =
                    (0..parse_len(reader)?).map(|_| parse_value(reader)).collect::<Result<_, _>>()?;
                Self::Create { object, kind, values }
            }
            SET => {
                let one = |reader: &mut Reader<'_>| Ok((reader.read()?, parse_value(reader)?));
                let values =
                    (0..parse_len(reader)?).map(|_| one(reader)).collect::<Result<_, Malformed>>()?;
                Self::Set { object, values }
            }
            DESTROY => Self::Destroy { object },
            GIVE => Self::Give { object, to: reader.read()? },
            tag => return Err(Malformed::UnknownTag(tag)),
        })
    }
}
