//! The messages of the baselines.

use evenkeel_core::{Malformed, Reader, Varint, Wire};

use crate::config::{MOVE_LEN_MAX, STATE_LEN_MAX};
use crate::crypto::{Commitment, Nonce};

/// The first byte of every message.
const BASELINE: u8 = 0x3f;

const MOVE: u8 = 1;
const STATE: u8 = 2;
const COMMIT: u8 = 3;
const OPEN: u8 = 4;

/// A message of a baseline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BaselineMessage<'a> {
    /// A move; a server says whose.
    Move { author: u32, slot: u64, bytes: &'a [u8] },
    /// A state change; a server says whose.
    State { author: u32, slot: u64, bytes: &'a [u8] },
    /// Lockstep's commitment.
    Commit { slot: u64, commitment: Commitment },
    /// Lockstep's opening.
    Open { slot: u64, nonce: &'a Nonce, bytes: &'a [u8] },
}

fn emit_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    Varint(bytes.len() as u64).emit(out);
    out.extend_from_slice(bytes);
}

fn parse_bytes<'a>(most: usize, reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let len = reader.read::<Varint>()?.0;
    if len > most as u64 { Err(Malformed::Field) } else { reader.take(len as usize) }
}

impl<'a> BaselineMessage<'a> {
    pub(super) fn slot(&self) -> u64 {
        match self {
            Self::Move { slot, .. } | Self::State { slot, .. } => *slot,
            Self::Commit { slot, .. } | Self::Open { slot, .. } => *slot,
        }
    }

    pub(super) fn author(&self) -> u32 {
        match self {
            Self::Move { author, .. } | Self::State { author, .. } => *author,
            _ => 0,
        }
    }

    /// The same message, as a server passes it on.
    pub(super) fn by(&self, author: u32) -> Self {
        match *self {
            Self::Move { slot, bytes, .. } => Self::Move { author, slot, bytes },
            Self::State { slot, bytes, .. } => Self::State { author, slot, bytes },
            other => other,
        }
    }

    /// Whether the message belongs to lockstep or to the others.
    pub(super) fn fits(&self, is_lockstep: bool) -> bool {
        match self {
            Self::Move { .. } => !is_lockstep,
            Self::State { .. } => true,
            Self::Commit { .. } | Self::Open { .. } => is_lockstep,
        }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut out = vec![BASELINE];
        match self {
            Self::Move { author, slot, bytes } | Self::State { author, slot, bytes } => {
                out.push(if matches!(self, Self::Move { .. }) { MOVE } else { STATE });
                Varint(u64::from(author)).emit(&mut out);
                Varint(slot).emit(&mut out);
                emit_bytes(bytes, &mut out);
            }
            Self::Commit { slot, commitment } => {
                out.push(COMMIT);
                Varint(slot).emit(&mut out);
                commitment.emit(&mut out);
            }
            Self::Open { slot, nonce, bytes } => {
                out.push(OPEN);
                Varint(slot).emit(&mut out);
                out.extend_from_slice(nonce);
                emit_bytes(bytes, &mut out);
            }
        }
        out
    }

    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let found = reader.read::<u8>()?;
        if found != BASELINE {
            return Err(Malformed::Version { found, supported: BASELINE });
        }
        let number = |reader: &mut Reader<'_>| reader.read::<Varint>().map(|number| number.0);
        let author = |reader: &mut Reader<'_>| u32::try_from(number(reader)?).map_err(|_| Malformed::Field);
        let message = match reader.read::<u8>()? {
            MOVE => {
                let (author, slot) = (author(&mut reader)?, number(&mut reader)?);
                Self::Move { author, slot, bytes: parse_bytes(MOVE_LEN_MAX, &mut reader)? }
            }
            STATE => {
                let (author, slot) = (author(&mut reader)?, number(&mut reader)?);
                Self::State { author, slot, bytes: parse_bytes(STATE_LEN_MAX, &mut reader)? }
            }
            COMMIT => Self::Commit { slot: number(&mut reader)?, commitment: reader.read()? },
            OPEN => {
                let (slot, nonce) = (number(&mut reader)?, reader.take_array()?);
                Self::Open { slot, nonce, bytes: parse_bytes(MOVE_LEN_MAX, &mut reader)? }
            }
            other => return Err(Malformed::UnknownTag(other)),
        };
        reader.finish()?;
        Ok(message)
    }
}
