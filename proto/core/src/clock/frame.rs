//! The frames that two nodes exchange about their clocks.

use crate::time::{LocalTime, SessionTime, Span};
use crate::wire::{Malformed, Reader, Varint, Wire};

/// One half of an exchange. Symbols: `t0` is `Probe::sent`, `t1` is `Echo::arrived`, `t2` is `arrived +
/// held`, and `t3` is when the echo arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockFrame {
    /// A probe, named by its sending time on the asker's clock, which means nothing to anybody else.
    Probe {
        /// t0.
        sent: LocalTime,
    },
    /// The answer to a probe.
    Echo {
        /// t0, returned unchanged.
        probe: LocalTime,
        /// t1, by the answerer's clock.
        arrived: SessionTime,
        /// How long the answerer held the probe: t2 - t1. Never negative.
        held: Span,
    },
}

const PROBE: u8 = 0;
const ECHO: u8 = 1;

impl Wire for ClockFrame {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Probe { sent } => {
                bytes.push(PROBE);
                sent.emit(bytes);
            }
            Self::Echo { probe, arrived, held } => {
                bytes.push(ECHO);
                probe.emit(bytes);
                arrived.emit(bytes);
                Varint(held.as_nanos().max(0) as u64).emit(bytes);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            PROBE => Ok(Self::Probe { sent: reader.read()? }),
            ECHO => {
                let (probe, arrived) = (reader.read()?, reader.read()?);
                let held = i64::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
                Ok(Self::Echo { probe, arrived, held: Span::from_nanos(held) })
            }
            other => Err(Malformed::UnknownTag(other)),
        }
    }
}
