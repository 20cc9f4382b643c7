//! Messages on the reliable channel. `docs/WIRE-NEO.md` describes every byte.

use evenkeel_core::{Malformed, Reader, SessionTime, Span, Varint, Wire};

use crate::config::{PEERS_MAX, STATE_LEN_MAX};
use crate::crypto::{Chain, PublicKey, Session, SignatureBytes};
use crate::message::VERSION;
use crate::proof::{Proof, Signed};

const HELLO: u8 = 1;
const ANSWER: u8 = 2;
const ROSTER: u8 = 3;
const SIGNED: u8 = 4;
const HAVE: u8 = 5;
const ASK: u8 = 6;
const PROOF: u8 = 7;
const REACH: u8 = 8;
const BYE: u8 = 9;
const TEMPO: u8 = 10;
const TELL: u8 = 11;

/// The most streams of state changes that a peer knows: those of its peers, and of some that left.
pub(crate) const STREAMS_MAX: usize = 2 * PEERS_MAX;

/// How far a peer knows a stream of state changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) author: PublicKey,
    pub(crate) stream: u64,
    pub(crate) next: u64,
    /// What the changes before that were.
    pub(crate) chain: Chain,
}

/// A message on the reliable channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Control {
    /// Who I am, and a number that you have to sign.
    Hello { session: Session, key: PublicKey, challenge: u64 },
    /// The signature of your number, which proves that I hold my key.
    Answer { signature: SignatureBytes },
    /// The peers that my votes are about, in their order, from this version on.
    Roster { version: u8, keys: Vec<PublicKey> },
    /// Statements that their author signed: state changes, commitments that someone doubts, votes.
    Signed { author: PublicKey, signed: Signed },
    /// The state changes that I know. Send me those that you have beyond.
    Have { known: Vec<Known> },
    /// Send me what you received for a slot, because I cannot check your votes.
    Ask { slot: u64 },
    /// Somebody cheated.
    Proof(Box<Proof>),
    /// Whether I send you updates from now on: you are in my area of interest.
    Reach { is_in: bool },
    /// The tempo that the session has reached, for a peer that joins.
    Tempo(ToldTempo),
    /// A message of the application, for you alone.
    Tell { bytes: Vec<u8> },
    /// I leave.
    Bye,
}

/// A tempo as told to a peer that joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ToldTempo {
    pub(crate) ballot: u64,
    pub(crate) first: u64,
    pub(crate) start: SessionTime,
    pub(crate) round_number: u64,
    pub(crate) round: Span,
    pub(crate) depth: u8,
}

impl Wire for ToldTempo {
    fn emit(&self, bytes: &mut Vec<u8>) {
        Varint(self.ballot).emit(bytes);
        Varint(self.first).emit(bytes);
        self.start.emit(bytes);
        Varint(self.round_number).emit(bytes);
        self.round.as_nanos().emit(bytes);
        bytes.push(self.depth);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let number = |reader: &mut Reader<'_>| reader.read::<Varint>().map(|number| number.0);
        Ok(Self {
            ballot: number(reader)?,
            first: number(reader)?,
            start: reader.read()?,
            round_number: number(reader)?,
            round: Span::from_nanos(reader.read()?),
            depth: reader.read()?,
        })
    }
}

impl Wire for Known {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.author.emit(bytes);
        Varint(self.stream).emit(bytes);
        Varint(self.next).emit(bytes);
        self.chain.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let author = reader.read()?;
        let (stream, next) = (reader.read::<Varint>()?.0, reader.read::<Varint>()?.0);
        Ok(Self { author, stream, next, chain: reader.read()? })
    }
}

fn emit_list<T: Wire>(list: &[T], bytes: &mut Vec<u8>) {
    bytes.push(list.len() as u8);
    list.iter().for_each(|item| item.emit(bytes));
}

fn parse_list<T: Wire>(most: usize, reader: &mut Reader<'_>) -> Result<Vec<T>, Malformed> {
    let count = usize::from(reader.read::<u8>()?);
    if count > most {
        return Err(Malformed::Field);
    }
    (0..count).map(|_| reader.read()).collect()
}

impl Control {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        let out = &mut bytes;
        match self {
            Self::Hello { session, key, challenge } => {
                out.push(HELLO);
                session.emit(out);
                key.emit(out);
                challenge.emit(out);
            }
            Self::Answer { signature } => {
                out.push(ANSWER);
                signature.emit(out);
            }
            Self::Roster { version, keys } => {
                out.extend_from_slice(&[ROSTER, *version]);
                emit_list(keys, out);
            }
            Self::Signed { author, signed } => {
                out.push(SIGNED);
                author.emit(out);
                signed.emit(out);
            }
            Self::Have { known } => {
                out.push(HAVE);
                emit_list(known, out);
            }
            Self::Ask { slot } => {
                out.push(ASK);
                Varint(*slot).emit(out);
            }
            Self::Proof(proof) => {
                out.push(PROOF);
                proof.emit(out);
            }
            Self::Reach { is_in } => out.extend_from_slice(&[REACH, u8::from(*is_in)]),
            Self::Tempo(told) => {
                out.push(TEMPO);
                told.emit(out);
            }
            Self::Tell { bytes } => {
                out.push(TELL);
                out.extend_from_slice(bytes);
            }
            Self::Bye => out.push(BYE),
        }
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let found = reader.read::<u8>()?;
        if found != VERSION {
            return Err(Malformed::Version { found, supported: VERSION });
        }
        let message = Self::parse_tagged(&mut reader)?;
        reader.finish()?;
        Ok(message)
    }

    fn parse_tagged(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match reader.read::<u8>()? {
            HELLO => Self::Hello { session: reader.read()?, key: reader.read()?, challenge: reader.read()? },
            ANSWER => Self::Answer { signature: reader.read()? },
            ROSTER => Self::Roster { version: reader.read()?, keys: parse_list(PEERS_MAX, reader)? },
            SIGNED => Self::Signed { author: reader.read()?, signed: reader.read()? },
            HAVE => Self::Have { known: parse_list(STREAMS_MAX, reader)? },
            ASK => Self::Ask { slot: reader.read::<Varint>()?.0 },
            PROOF => Self::Proof(Box::new(reader.read()?)),
            REACH => match reader.read::<u8>()? {
                0 => Self::Reach { is_in: false },
                1 => Self::Reach { is_in: true },
                _ => return Err(Malformed::Field),
            },
            TEMPO => Self::Tempo(reader.read()?),
            TELL if reader.remaining() <= STATE_LEN_MAX => {
                Self::Tell { bytes: reader.take(reader.remaining())?.to_vec() }
            }
            TELL => return Err(Malformed::Field),
            BYE => Self::Bye,
            other => return Err(Malformed::UnknownTag(other)),
        })
    }
}
