//! What eaters tell each other.

use evenkeel_core::{Malformed, Reader, Varint, Wire};

use super::maze::Way;
use super::stones::{Claim, EaterId, SLOTS_MAX, StoneId};
use super::walker::Pixel;

/// Limit on the claims in a message: 40 of at most 20 bytes fit into a state change.
pub const CLAIMS_MAX: usize = 40;

/// Where an eater is: a positional update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whereabouts {
    /// At this step.
    pub step: u32,
    /// The place.
    pub at: Pixel,
    /// Where it is going; `None` if it stands.
    pub way: Option<Way>,
}

impl Whereabouts {
    /// Reads one from a move; `None` if it is none.
    #[must_use]
    pub fn from_move(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let whereabouts = reader.read().ok()?;
        reader.is_empty().then_some(whereabouts)
    }

    /// Returns it as a move.
    #[must_use]
    pub fn to_move(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(9);
        self.emit(&mut bytes);
        bytes
    }
}

/// A state change, or what keeps the state together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EaterMessage {
    /// The sender ate a stone.
    Claim(Claim),
    /// Claims that the sender knows and others seem to lack.
    Claims(Vec<Claim>),
    /// Where the sender is, for those to which it does not send its moves.
    Here(Whereabouts),
    /// What the sender knows, a number for each slot.
    Digest {
        /// Counts claims before this step only.
        before: u32,
        /// The numbers.
        slots: Vec<u16>,
    },
}

impl EaterMessage {
    /// Reads one from a state change.
    ///
    /// # Errors
    /// [`Malformed`] if it is none.
    pub fn from_change(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let message = reader.read()?;
        reader.finish()?;
        Ok(message)
    }

    /// Returns it as a state change.
    #[must_use]
    pub fn to_change(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.emit(&mut bytes);
        bytes
    }
}

fn number(reader: &mut Reader<'_>) -> Result<u32, Malformed> {
    u32::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)
}

impl Wire for Whereabouts {
    fn emit(&self, bytes: &mut Vec<u8>) {
        Varint(u64::from(self.step)).emit(bytes);
        let coordinate = |value: i32| u16::try_from(value.max(0)).unwrap_or(u16::MAX);
        coordinate(self.at.x).emit(bytes);
        coordinate(self.at.y).emit(bytes);
        self.way.map_or(0, |way| 1 + way as u8).emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let step = number(reader)?;
        let at = Pixel { x: reader.read::<u16>()?.into(), y: reader.read::<u16>()?.into() };
        let way = match reader.read::<u8>()? {
            0 => None,
            way @ 1..=4 => Some(Way::ALL[usize::from(way - 1)]),
            _ => return Err(Malformed::Field),
        };
        Ok(Self { step, at, way })
    }
}

impl Wire for Claim {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.stone.slot.emit(bytes);
        self.eater.0.emit(bytes);
        [self.stone.generation, self.step].iter().for_each(|number| Varint(u64::from(*number)).emit(bytes));
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (slot, eater) = (reader.read()?, EaterId(reader.read()?));
        Ok(Self { stone: StoneId { slot, generation: number(reader)? }, eater, step: number(reader)? })
    }
}

const CLAIM: u8 = 0;
const CLAIMS: u8 = 1;
const HERE: u8 = 2;
const DIGEST: u8 = 3;

impl Wire for EaterMessage {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Claim(claim) => {
                CLAIM.emit(bytes);
                claim.emit(bytes);
            }
            Self::Claims(claims) => {
                CLAIMS.emit(bytes);
                Varint(claims.len() as u64).emit(bytes);
                claims.iter().for_each(|claim| claim.emit(bytes));
            }
            Self::Here(whereabouts) => {
                HERE.emit(bytes);
                whereabouts.emit(bytes);
            }
            Self::Digest { before, slots } => {
                DIGEST.emit(bytes);
                Varint(u64::from(*before)).emit(bytes);
                Varint(slots.len() as u64).emit(bytes);
                slots.iter().for_each(|slot| slot.emit(bytes));
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            CLAIM => Ok(Self::Claim(reader.read()?)),
            CLAIMS => Ok(Self::Claims(list(reader, CLAIMS_MAX)?)),
            HERE => Ok(Self::Here(reader.read()?)),
            DIGEST => {
                let before = number(reader)?;
                Ok(Self::Digest { before, slots: list(reader, usize::from(SLOTS_MAX))? })
            }
            tag => Err(Malformed::UnknownTag(tag)),
        }
    }
}

fn list<T: Wire>(reader: &mut Reader<'_>, len_max: usize) -> Result<Vec<T>, Malformed> {
    let len = usize::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
    if len > len_max {
        return Err(Malformed::Field);
    }
    (0..len).map(|_| reader.read()).collect()
}
