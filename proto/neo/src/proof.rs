//! Signed statements, and proofs of two that contradict each other.
//!
//! An honest peer signs one commitment per slot, one state change per number, and one vote per ballot. A statement names
//! session, kind and number; its signature names the signer. So two that contradict each other prove a cheat, to anybody,
//! and nothing that an honest peer ever signed can be turned into such a pair.

use evenkeel_core::{Malformed, Reader, Varint, Wire};

use crate::config::STATE_LEN_MAX;
use crate::crypto::{Commitment, PublicKey, Session, SignatureBytes, Verifier};

/// How many slots before the newest an [earlier commitment](Statement::Commitments) may be.
pub(crate) const EARLIER_MAX: u8 = 8;

/// State changes of a stream are numbered below this: nobody makes more, and nothing that counts them overflows.
const NUMBER_MAX: u64 = 1 << 48;

const COMMITMENTS: u8 = 1;
const STATE: u8 = 2;
const TEMPO: u8 = 3;

/// What a peer signs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// The commitment of one slot, and perhaps of an earlier one.
    Commitments {
        /// The slot.
        slot: u64,
        /// Its commitment.
        newest: Commitment,
        /// How many slots before, and the commitment of that slot.
        earlier: Option<(u8, Commitment)>,
    },
    /// A state change.
    State {
        /// The slot in which its author joined. An author that comes back begins anew.
        stream: u64,
        /// Its number, from 0 on.
        number: u64,
        /// The slot in which it was made.
        slot: u64,
        /// The change.
        bytes: Vec<u8>,
    },
    /// A vote on round length and depth.
    Tempo {
        /// The ballot.
        ballot: u64,
        /// What the vote is for.
        choice: u8,
    },
}

impl Statement {
    /// The commitments that it names.
    pub(crate) fn commitments(&self) -> impl Iterator<Item = (u64, Commitment)> {
        let pair = match self {
            Self::Commitments { slot, newest, earlier } => {
                let earlier =
                    earlier.and_then(|(back, hash)| Some((slot.checked_sub(u64::from(back))?, hash)));
                [Some((*slot, *newest)), earlier]
            }
            _ => [None, None],
        };
        pair.into_iter().flatten()
    }

    /// Whether nobody honest signs both.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Commitments { .. }, Self::Commitments { .. }) => self.commitments().any(|(slot, hash)| {
                other.commitments().any(|(other_slot, other_hash)| slot == other_slot && hash != other_hash)
            }),
            (
                Self::State { stream, number, .. },
                Self::State { stream: other_stream, number: other_number, .. },
            ) => (stream, number) == (other_stream, other_number) && self != other,
            (Self::Tempo { ballot, choice }, Self::Tempo { ballot: other_ballot, choice: other_choice }) => {
                ballot == other_ballot && choice != other_choice
            }
            _ => false,
        }
    }
}

impl Wire for Statement {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Commitments { slot, newest, earlier } => {
                bytes.push(COMMITMENTS);
                Varint(*slot).emit(bytes);
                newest.emit(bytes);
                bytes.push(earlier.map_or(0, |(back, _)| back));
                if let Some((_, hash)) = earlier {
                    hash.emit(bytes);
                }
            }
            Self::State { stream, number, slot, bytes: change } => {
                bytes.push(STATE);
                [stream, number, slot].into_iter().for_each(|number| Varint(*number).emit(bytes));
                Varint(change.len() as u64).emit(bytes);
                bytes.extend_from_slice(change);
            }
            Self::Tempo { ballot, choice } => {
                bytes.push(TEMPO);
                Varint(*ballot).emit(bytes);
                bytes.push(*choice);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let number = |reader: &mut Reader<'_>| reader.read::<Varint>().map(|number| number.0);
        match reader.read::<u8>()? {
            COMMITMENTS => {
                let (slot, newest) = (number(reader)?, reader.read()?);
                let earlier = match reader.read::<u8>()? {
                    0 => None,
                    back if back <= EARLIER_MAX && u64::from(back) <= slot => Some((back, reader.read()?)),
                    _ => return Err(Malformed::Field),
                };
                Ok(Self::Commitments { slot, newest, earlier })
            }
            STATE => {
                let (stream, number, slot) = (number(reader)?, number(reader)?, number(reader)?);
                let len = reader.read::<Varint>()?.0;
                if len > STATE_LEN_MAX as u64 || number >= NUMBER_MAX {
                    return Err(Malformed::Field);
                }
                Ok(Self::State { stream, number, slot, bytes: reader.take(len as usize)?.to_vec() })
            }
            TEMPO => Ok(Self::Tempo { ballot: number(reader)?, choice: reader.read()? }),
            other => Err(Malformed::UnknownTag(other)),
        }
    }
}

/// A statement with its signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signed {
    /// The statement.
    pub statement: Statement,
    /// The signature of session and statement.
    pub signature: SignatureBytes,
}

impl Signed {
    pub(crate) fn new(identity: &crate::Identity, session: Session, statement: Statement) -> Self {
        let signature = identity.sign(session, &content(&statement));
        Self { statement, signature }
    }

    /// About how many bytes it takes to show it.
    pub(crate) fn size(&self) -> usize {
        let Statement::State { bytes, .. } = &self.statement else { return 128 };
        128 + bytes.len()
    }

    pub(crate) fn is_valid(&self, session: Session, verifier: &Verifier) -> bool {
        verifier.is_signed(session, &content(&self.statement), &self.signature)
    }
}

fn content(statement: &Statement) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(80);
    statement.emit(&mut bytes);
    bytes
}

impl Wire for Signed {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.statement.emit(bytes);
        self.signature.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { statement: reader.read()?, signature: reader.read()? })
    }
}

/// A proof that a peer cheated: two statements of the same session, both signed with its key, that contradict each other.
///
/// ```
/// use evenkeel_neo::{Identity, Proof, Session};
///
/// // Whoever has the bytes of a proof can check it, with nothing but the session's name.
/// let forged = Proof::from_bytes(&[0; 200]);
/// assert!(forged.is_err() || !forged.unwrap().is_valid(Session([7; 16])));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// Who cheated.
    pub culprit: PublicKey,
    /// One statement.
    pub first: Signed,
    /// The one that contradicts it.
    pub second: Signed,
}

impl Proof {
    /// Whether it proves that its culprit cheated in this session.
    #[must_use]
    pub fn is_valid(&self, session: Session) -> bool {
        self.first.statement.contradicts(&self.second.statement)
            && Verifier::new(&self.culprit).is_some_and(|verifier| {
                self.first.is_valid(session, &verifier) && self.second.is_valid(session, &verifier)
            })
    }

    /// The proof as bytes, for a file or another program.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.emit(&mut bytes);
        bytes
    }

    /// Reads a proof, valid or not.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let proof = reader.read()?;
        reader.finish()?;
        Ok(proof)
    }
}

impl Wire for Proof {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.culprit.emit(bytes);
        self.first.emit(bytes);
        self.second.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { culprit: reader.read()?, first: reader.read()?, second: reader.read()? })
    }
}
