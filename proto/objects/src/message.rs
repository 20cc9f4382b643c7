//! Every byte of the protocol. [`docs/WIRE.md`](https://github.com/evenkeel/evenkeel/blob/main/docs/WIRE.md) has the table.
//!
//! On the reliable channel a message is one `Frame`. In a datagram it is a `Packet`: numbers and acknowledgments, then calls,
//! then the changed fields of objects.

use evenkeel_core::{Malformed, PeerId, Reader, Varint, Wire};

use crate::delivery::{Call, Target};
use crate::object::{ObjectId, Owner};
use crate::schema::DESCRIPTION_MAX;

/// The first byte of every message: the protocol and the version of its format.
pub const VERSION: u8 = 0x51;
/// Slots of one direction of a link; each names an object.
pub const SLOTS_MAX: u32 = 8_192;
/// Begins the fields of objects, which fill the rest of a packet. Smaller tags are those of calls.
const STATES: u8 = 8;

const PACKET: u8 = 0;
const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const REFUSED: u8 = 3;
const CREATE: u8 = 4;
const GONE: u8 = 5;
const OWNED: u8 = 6;
const ADOPT: u8 = 7;
const GIVE: u8 = 8;
const DENIED: u8 = 9;
const CALL: u8 = 10;
const DROP: u8 = 11;
const UNHEARD: u8 = 12;

/// Why an object is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Gone {
    /// It was destroyed.
    Destroyed,
    /// Down: it left this player's scope. Up: this player no longer owns it.
    OutOfScope,
}

/// Why the server did not accept an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Denied {
    /// Its name is another object's, or not this player's to give.
    #[error("the name is taken: create the object again, under a new name")]
    Name,
    /// The player, or the room, has too many objects, or the player creates them or passes them on too fast.
    #[error("there are too many objects, or too many are new or passed on: destroy some, or wait")]
    TooMany,
    /// It is not this player's.
    #[error("the object is not this player's")]
    NotOwner,
    /// It does not move so: one that is still has no motion, one that is planar stays at z = 0, and one that is spatial does not
    /// turn, but accelerates. Said by the player's own machine.
    #[error(
        "the object does not move so: planar ones stay at z = 0, spatial ones have no turn rate, still ones no motion"
    )]
    Motion,
}

/// A message on the reliable channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Frame<'a> {
    /// Where datagrams are too small: what would have been one.
    Packet(Packet<'a>),
    Hello {
        instance: u64,
        received: u64,
        description: &'a str,
    },
    Welcome {
        player: PeerId,
        resumed: bool,
        received: u64,
    },
    Refused(&'a str),
    Create {
        slot: u32,
        id: ObjectId,
        kind: u16,
        owner: Owner,
        values: &'a [u8],
    },
    /// Down: an object is gone.
    Gone {
        slot: u32,
        why: Gone,
    },
    /// Up: an owner destroys its object, or no longer tells of it.
    Drop {
        slot: u32,
        id: ObjectId,
        why: Gone,
    },
    Owned {
        slot: u32,
        owner: Owner,
    },
    Adopt {
        slot: u32,
        id: ObjectId,
    },
    Give {
        id: ObjectId,
        to: Owner,
    },
    Denied {
        id: ObjectId,
        why: Denied,
    },
    Call(u64, Call),
    /// Down: this many reliable messages of the player were not delivered; the last was of this kind, for this party.
    Unheard {
        count: u64,
        kind: u16,
        party: Target,
    },
}

fn parse_slot(reader: &mut Reader<'_>) -> Result<u32, Malformed> {
    match reader.read::<Varint>()?.0 {
        slot if slot < u64::from(SLOTS_MAX) => Ok(slot as u32),
        _ => Err(Malformed::Field),
    }
}

fn parse_gone(reader: &mut Reader<'_>) -> Result<Gone, Malformed> {
    match reader.read::<u8>()? {
        0 => Ok(Gone::Destroyed),
        1 => Ok(Gone::OutOfScope),
        tag => Err(Malformed::UnknownTag(tag)),
    }
}

fn parse_text<'a>(reader: &mut Reader<'a>) -> Result<&'a str, Malformed> {
    let len = reader.read::<Varint>()?.0;
    if len > DESCRIPTION_MAX as u64 {
        return Err(Malformed::Field);
    }
    core::str::from_utf8(reader.take(len as usize)?).map_err(|_| Malformed::Field)
}

fn emit_text(text: &str, bytes: &mut Vec<u8>) {
    let text = &text[..text.floor_char_boundary(DESCRIPTION_MAX)];
    Varint(text.len() as u64).emit(bytes);
    bytes.extend_from_slice(text.as_bytes());
}

impl<'a> Frame<'a> {
    /// Reads a whole message of the reliable channel.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        expect_version(&mut reader)?;
        let frame = Self::parse_body(&mut reader)?;
        reader.finish()?;
        Ok(frame)
    }

    fn parse_body(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match reader.read::<u8>()? {
            PACKET => Self::Packet(Packet::parse_body(reader)?),
            HELLO => Self::Hello {
                instance: reader.read()?,
                received: reader.read::<Varint>()?.0,
                description: parse_text(reader)?,
            },
            WELCOME => Self::Welcome {
                player: PeerId(reader.read()?),
                resumed: <bool as crate::Field>::parse(reader)?,
                received: reader.read::<Varint>()?.0,
            },
            REFUSED => Self::Refused(parse_text(reader)?),
            CREATE => Self::Create {
                slot: parse_slot(reader)?,
                id: ObjectId(reader.read()?),
                kind: u16::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?,
                owner: reader.read()?,
                values: reader.take(reader.remaining())?,
            },
            GONE => Self::Gone { slot: parse_slot(reader)?, why: parse_gone(reader)? },
            DROP => Self::Drop {
                slot: parse_slot(reader)?,
                id: ObjectId(reader.read()?),
                why: parse_gone(reader)?,
            },
            OWNED => Self::Owned { slot: parse_slot(reader)?, owner: reader.read()? },
            ADOPT => Self::Adopt { slot: parse_slot(reader)?, id: ObjectId(reader.read()?) },
            GIVE => Self::Give { id: ObjectId(reader.read()?), to: reader.read()? },
            DENIED => Self::Denied {
                id: ObjectId(reader.read()?),
                why: match reader.read::<u8>()? {
                    0 => Denied::Name,
                    1 => Denied::TooMany,
                    2 => Denied::NotOwner,
                    tag => return Err(Malformed::UnknownTag(tag)),
                },
            },
            CALL => {
                let (number, call) = Call::parse(reader)?;
                Self::Call(number, call)
            }
            UNHEARD => Self::Unheard {
                count: reader.read::<Varint>()?.0,
                kind: u16::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?,
                party: reader.read()?,
            },
            tag => return Err(Malformed::UnknownTag(tag)),
        })
    }

    /// Replaces the contents of `bytes` with the message.
    pub(crate) fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.push(VERSION);
        match self {
            // Emitted piece by piece, by `begin_packet`.
            Self::Packet(_) => bytes.push(PACKET),
            Self::Hello { instance, received, description } => {
                bytes.push(HELLO);
                instance.emit(bytes);
                Varint(*received).emit(bytes);
                emit_text(description, bytes);
            }
            Self::Welcome { player, resumed, received } => {
                bytes.push(WELCOME);
                player.0.emit(bytes);
                bytes.push(u8::from(*resumed));
                Varint(*received).emit(bytes);
            }
            Self::Refused(words) => {
                bytes.push(REFUSED);
                emit_text(words, bytes);
            }
            Self::Create { slot, id, kind, owner, values } => {
                bytes.push(CREATE);
                Varint(u64::from(*slot)).emit(bytes);
                id.0.emit(bytes);
                Varint(u64::from(*kind)).emit(bytes);
                owner.emit(bytes);
                bytes.extend_from_slice(values);
            }
            Self::Gone { slot, why } => {
                bytes.push(GONE);
                Varint(u64::from(*slot)).emit(bytes);
                bytes.push(*why as u8);
            }
            Self::Drop { slot, id, why } => {
                bytes.push(DROP);
                Varint(u64::from(*slot)).emit(bytes);
                id.0.emit(bytes);
                bytes.push(*why as u8);
            }
            Self::Owned { slot, owner } => {
                bytes.push(OWNED);
                Varint(u64::from(*slot)).emit(bytes);
                owner.emit(bytes);
            }
            Self::Adopt { slot, id } => {
                bytes.push(ADOPT);
                Varint(u64::from(*slot)).emit(bytes);
                id.0.emit(bytes);
            }
            Self::Give { id, to } => {
                bytes.push(GIVE);
                id.0.emit(bytes);
                to.emit(bytes);
            }
            Self::Denied { id, why } => {
                bytes.push(DENIED);
                id.0.emit(bytes);
                bytes.push(*why as u8);
            }
            Self::Call(number, call) => {
                bytes.push(CALL);
                call.emit(*number, bytes);
            }
            Self::Unheard { count, kind, party } => {
                bytes.push(UNHEARD);
                Varint(*count).emit(bytes);
                Varint(u64::from(*kind)).emit(bytes);
                party.emit(bytes);
            }
        }
    }
}

fn expect_version(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    match reader.read::<u8>()? {
        VERSION => Ok(()),
        found => Err(Malformed::Version { found, supported: VERSION }),
    }
}

/// What a packet says of the other direction, and its own number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PacketHead {
    /// Its number, from 1; 0 if nothing in it needs an acknowledgment.
    pub(crate) number: u64,
    /// The newest packet that arrived.
    pub(crate) newest: u64,
    /// Which of the 63 before it are missing; bit 0 is the one before.
    pub(crate) missing: u64,
    /// Reliable messages that arrived on this connection.
    pub(crate) received: u64,
    /// Reliable messages sent on this connection.
    pub(crate) sent: u64,
}

impl PacketHead {
    /// The most bytes that a packet takes before its first frame.
    pub(crate) const LEN_MAX: usize = 2 + 5 * 10;

    pub(crate) fn emit(&self, bytes: &mut Vec<u8>) {
        for number in [self.number, self.newest, self.missing, self.received, self.sent] {
            Varint(number).emit(bytes);
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut next = || reader.read::<Varint>().map(|number| number.0);
        let head =
            Self { number: next()?, newest: next()?, missing: next()?, received: next()?, sent: next()? };
        let sane = [head.number, head.newest, head.received, head.sent].iter().all(|n| *n < u64::MAX / 2);
        if sane { Ok(head) } else { Err(Malformed::Field) }
    }
}

/// The changed fields of one object: which slot, which fields, and their values one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StateFrame<'a> {
    pub(crate) slot: u32,
    pub(crate) fields: u32,
    pub(crate) values: &'a [u8],
}

/// A datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) head: PacketHead,
    pub(crate) calls: Vec<(u64, Call)>,
    pub(crate) states: Vec<StateFrame<'a>>,
}

impl<'a> Packet<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        expect_version(&mut reader)?;
        Self::parse_body(&mut reader)
    }

    fn parse_body(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut packet = Self { head: PacketHead::parse(reader)?, calls: Vec::new(), states: Vec::new() };
        while let Some(tag) = reader.rest().first() {
            if *tag != STATES {
                packet.calls.push(Call::parse(reader)?);
                continue;
            }
            reader.take(1)?;
            while !reader.is_empty() {
                let slot = parse_slot(reader)?;
                let len = usize::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
                let mut body = Reader::new(reader.take(len)?);
                let fields = u32::try_from(body.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
                packet.states.push(StateFrame { slot, fields, values: body.rest() });
            }
        }
        Ok(packet)
    }
}

/// Begins a packet: as a datagram, or in a reliable message where datagrams are too small.
pub(crate) fn begin_packet(is_datagram: bool, head: &PacketHead, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.push(VERSION);
    if !is_datagram {
        bytes.push(PACKET);
    }
    head.emit(bytes);
}

/// Begins the fields of objects, which fill the rest of a packet.
pub(crate) fn begin_states(bytes: &mut Vec<u8>) {
    bytes.push(STATES);
}
