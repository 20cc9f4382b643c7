//! How messages are delivered, and to whom.

use evenkeel_core::{Malformed, PeerId, Reader, Varint, Wire};

use crate::object::ObjectId;

/// The longest message that is sent reliably.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// The longest message of the other guarantees, which fits a datagram.
pub const SHORT_BYTES_MAX: usize = 900;

/// What is guaranteed of a message. Guarantees outlast a lost connection for as long as the relay remembers the player.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Delivery {
    /// Arrives once, in the order in which such messages were sent: chat.
    ReliableOrdered,
    /// Arrives once, as soon as it can, whatever else is missing: a goal.
    ReliableUnordered,
    /// Arrives or is lost: a footstep.
    Unreliable,
    /// Only the newest of its kind, receivers and sender counts: a gesture. An older one is never sent again, and never shown
    /// after a newer one.
    MostRecent,
    /// Arrives once, and is in every datagram until it is acknowledged: a shot.
    Quickest,
}

impl Delivery {
    /// Every guarantee, in the order of their tags on the wire.
    pub const ALL: [Self; 5] =
        [Self::ReliableOrdered, Self::ReliableUnordered, Self::Unreliable, Self::MostRecent, Self::Quickest];

    /// Whether every message arrives, once.
    #[must_use]
    pub const fn is_reliable(self) -> bool {
        matches!(self, Self::ReliableOrdered | Self::ReliableUnordered | Self::Quickest)
    }

    /// The longest message.
    #[must_use]
    pub const fn bytes_max(self) -> usize {
        match self {
            Self::ReliableOrdered | Self::ReliableUnordered => MESSAGE_BYTES_MAX,
            _ => SHORT_BYTES_MAX,
        }
    }

    pub(crate) fn tag(self) -> u8 {
        Self::ALL.iter().position(|one| *one == self).unwrap_or_default() as u8
    }

    pub(crate) fn of_tag(tag: u8) -> Result<Self, Malformed> {
        Self::ALL.get(usize::from(tag)).copied().ok_or(Malformed::UnknownTag(tag))
    }
}

/// Who gets a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Target {
    /// The game at the server.
    Server,
    /// Everybody else in the room.
    Room,
    /// One player.
    Player(PeerId),
    /// Everybody else who has this object in scope. Only its owner and the server may do that.
    Scope(ObjectId),
}

impl Wire for Target {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Server => bytes.push(0),
            Self::Room => bytes.push(1),
            Self::Player(peer) => {
                bytes.push(2);
                Varint(u64::from(peer.0)).emit(bytes);
            }
            Self::Scope(object) => {
                bytes.push(3);
                object.0.emit(bytes);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            0 => Ok(Self::Server),
            1 => Ok(Self::Room),
            2 => {
                let peer = u32::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
                Ok(Self::Player(PeerId(peer)))
            }
            3 => reader.read().map(|id| Self::Scope(ObjectId(id))),
            tag => Err(Malformed::UnknownTag(tag)),
        }
    }
}

/// A message on one side of a link: what it is, and where it comes from or goes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// What is guaranteed.
    pub delivery: Delivery,
    /// Up: to whom. Down: [`Target::Player`] of the sender, or [`Target::Server`].
    pub party: Target,
    /// Its kind.
    pub kind: u16,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Call {
    /// What newer calls of [`Delivery::MostRecent`] replace.
    pub(crate) const fn key(&self) -> (u16, Target) {
        (self.kind, self.party)
    }

    pub(crate) fn emit(&self, number: u64, bytes: &mut Vec<u8>) {
        bytes.push(self.delivery.tag());
        Varint(number).emit(bytes);
        self.party.emit(bytes);
        Varint(u64::from(self.kind)).emit(bytes);
        Varint(self.bytes.len() as u64).emit(bytes);
        bytes.extend_from_slice(&self.bytes);
    }

    pub(crate) fn parse(reader: &mut Reader<'_>) -> Result<(u64, Self), Malformed> {
        let delivery = Delivery::of_tag(reader.read()?)?;
        let number = reader.read::<Varint>()?.0;
        let party = reader.read()?;
        let kind = u16::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
        let len = usize::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
        if len > delivery.bytes_max() || number >= u64::MAX / 2 {
            return Err(Malformed::Field);
        }
        Ok((number, Self { delivery, party, kind, bytes: reader.take(len)?.to_vec() }))
    }
}
