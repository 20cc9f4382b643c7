//! What a client's proxy says first on a tunnel, and what the server's answers.

use evenkeel_core::{Malformed, Reader, Wire};

const VERSION: u8 = 1;
const CHECK: u8 = 0;
const PLAYER: u8 = 1;
const STREAM: u8 = 2;

/// Identifies a player across tunnels: a random number.
pub(crate) type PlayerId = [u8; 16];

/// What a tunnel is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hello {
    /// Nothing: the client checks that it is let in.
    Check,
    /// A player's datagrams.
    Player {
        /// Who it is, also when it comes back.
        id: PlayerId,
        /// The port at which the game knows the player, if it was here before. It gets the same, if it is free.
        port: u16,
    },
    /// A connection to a TCP port of the game server's machine.
    Stream {
        /// The port.
        port: u16,
    },
}

impl Wire for Hello {
    fn emit(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        match self {
            Self::Check => out.push(CHECK),
            Self::Player { id, port } => {
                out.push(PLAYER);
                out.extend_from_slice(id);
                port.emit(out);
            }
            Self::Stream { port } => {
                out.push(STREAM);
                port.emit(out);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let found = reader.read::<u8>()?;
        if found != VERSION {
            return Err(Malformed::Version { found, supported: VERSION });
        }
        Ok(match reader.read::<u8>()? {
            CHECK => Self::Check,
            PLAYER => {
                let id = reader.take(16)?.try_into().map_err(|_| Malformed::Field)?;
                Self::Player { id, port: reader.read()? }
            }
            STREAM => Self::Stream { port: reader.read()? },
            other => return Err(Malformed::UnknownTag(other)),
        })
    }
}

/// The bytes of a message.
pub(crate) fn bytes(message: &impl Wire) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.emit(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos_survive_the_wire() {
        for hello in [Hello::Check, Hello::Player { id: [7; 16], port: 40_000 }, Hello::Stream { port: 80 }] {
            let sent = bytes(&hello);
            assert_eq!(Reader::new(&sent).read::<Hello>(), Ok(hello));
            for cut in 0..sent.len() {
                assert!(Reader::new(&sent[..cut]).read::<Hello>().is_err());
            }
        }
        assert!(matches!(Reader::new(&[9, 0]).read::<Hello>(), Err(Malformed::Version { found: 9, .. })));
    }
}
