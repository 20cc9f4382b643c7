//! What an object is: its name in the room, its owner and the values of its fields.

use core::fmt;

use evenkeel_core::{Malformed, PeerId, Reader, Varint, Wire};

/// Players of a room; their numbers are below. An object's name holds the number of who created it.
pub const CREATORS_MAX: u32 = 1024;
/// The first local number of objects: below are the numbers that games give entities of dead reckoning by themselves.
pub const LOCAL_MIN: u32 = LOCAL_MAX / 2 + 1;
/// The largest local number.
pub const LOCAL_MAX: u32 = u32::MAX / CREATORS_MAX;

/// An object's name, unique in its room. Its motion, if it has any, is that of the dead-reckoned entity with the same number.
///
/// Local numbers are drawn at random, so that no name tells how many other objects there are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// The name of a creator's object; the server's creator number is that of the relay, usually 0.
    #[must_use]
    pub const fn of(creator: PeerId, local: u32) -> Self {
        Self(local.wrapping_mul(CREATORS_MAX) + creator.0 % CREATORS_MAX)
    }

    /// Who created it.
    #[must_use]
    pub const fn creator(self) -> PeerId {
        PeerId(self.0 % CREATORS_MAX)
    }

    /// Its creator's number for it.
    #[must_use]
    pub const fn local(self) -> u32 {
        self.0 / CREATORS_MAX
    }

    /// Whether it is in the range of objects' names.
    #[must_use]
    pub const fn is_object(self) -> bool {
        self.local() >= LOCAL_MIN
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.creator().0, self.local())
    }
}

/// Who decides about an object: moves it, writes its owner's fields, passes it on and destroys it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Owner {
    /// The server.
    #[default]
    Server,
    /// A player.
    Player(PeerId),
}

impl Owner {
    /// The player; `None` if it is the server.
    #[must_use]
    pub const fn player(self) -> Option<PeerId> {
        match self {
            Self::Server => None,
            Self::Player(peer) => Some(peer),
        }
    }
}

impl Wire for Owner {
    fn emit(&self, bytes: &mut Vec<u8>) {
        Varint(self.player().map_or(0, |peer| 1 + u64::from(peer.0))).emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<Varint>()?.0 {
            0 => Ok(Self::Server),
            number => {
                let peer = u32::try_from(number - 1).map_err(|_| Malformed::Field)?;
                Ok(Self::Player(PeerId(peer)))
            }
        }
    }
}

/// A field's value as it travels.
pub type Value = Box<[u8]>;

/// Which of an object's fields, by the bits of their places.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FieldSet(pub u32);

impl FieldSet {
    /// No field.
    pub const NONE: Self = Self(0);

    /// The first fields of an object.
    #[must_use]
    pub const fn first(count: usize) -> Self {
        Self(if count >= 32 { u32::MAX } else { (1 << count) - 1 })
    }

    /// Whether the field is in it.
    #[must_use]
    pub const fn has(self, field: usize) -> bool {
        field < 32 && self.0 >> field & 1 == 1
    }

    /// The places of its fields, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..32).filter(move |field| self.has(*field))
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}
