//! The messages of the arena's relay to its players, besides dead reckoning, on the reliable channel.
//!
//! They begin with the byte 0x47, where messages of dead reckoning have their version. So both share the
//! channel.

use evenkeel_core::{Malformed, PeerId, Reader, Varint, Vec3, Wire};
use evenkeel_dr::EntityId;

/// The first byte of every message of the game.
pub const TAG: u8 = 0x47;
/// Limit on the players in a table of scores.
const PLAYERS_MAX: usize = 1_024;

/// A player's score.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Score {
    /// How often it has hit others.
    pub hits: u32,
    /// How often it was hit.
    pub losses: u32,
}

/// A message of the relay to players.
#[derive(Clone, PartialEq, Debug)]
pub enum ArenaMessage {
    /// The player spawns here and now.
    Spawn {
        /// Where it spawns.
        position: Vec3,
        /// Its heading in radians from east.
        heading: f64,
    },
    /// A player was hit.
    Hit {
        /// The player that was hit.
        victim: PeerId,
        /// The player that fired.
        shooter: PeerId,
        /// The shot.
        shot: EntityId,
        /// Where the shot hit.
        at: Vec3,
    },
    /// The scores of all players.
    Scores(Vec<(PeerId, Score)>),
}

fn emit_place(place: Vec3, bytes: &mut Vec<u8>) {
    place.x.emit(bytes);
    place.y.emit(bytes);
}

fn parse_place(reader: &mut Reader<'_>) -> Result<Vec3, Malformed> {
    let place = Vec3::xy(reader.read()?, reader.read()?);
    if place.within(1e6) { Ok(place) } else { Err(Malformed::Field) }
}

fn emit_number(number: u32, bytes: &mut Vec<u8>) {
    Varint(u64::from(number)).emit(bytes);
}

fn parse_number(reader: &mut Reader<'_>) -> Result<u32, Malformed> {
    u32::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)
}

impl Wire for ArenaMessage {
    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.push(TAG);
        match self {
            Self::Spawn { position, heading } => {
                bytes.push(0);
                emit_place(*position, bytes);
                heading.emit(bytes);
            }
            Self::Hit { victim, shooter, shot, at } => {
                bytes.push(1);
                emit_number(victim.0, bytes);
                emit_number(shooter.0, bytes);
                emit_number(shot.0, bytes);
                emit_place(*at, bytes);
            }
            Self::Scores(scores) => {
                bytes.push(2);
                emit_number(scores.len() as u32, bytes);
                for (player, Score { hits, losses }) in scores {
                    emit_number(player.0, bytes);
                    emit_number(*hits, bytes);
                    emit_number(*losses, bytes);
                }
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        if reader.read::<u8>()? != TAG {
            return Err(Malformed::Field);
        }
        match reader.read::<u8>()? {
            0 => {
                let (position, heading) = (parse_place(reader)?, reader.read::<f64>()?);
                if !heading.is_finite() {
                    return Err(Malformed::Field);
                }
                Ok(Self::Spawn { position, heading })
            }
            1 => Ok(Self::Hit {
                victim: PeerId(parse_number(reader)?),
                shooter: PeerId(parse_number(reader)?),
                shot: EntityId(parse_number(reader)?),
                at: parse_place(reader)?,
            }),
            2 => {
                let count = parse_number(reader)? as usize;
                if count > PLAYERS_MAX {
                    return Err(Malformed::Field);
                }
                let mut entry = || {
                    let player = PeerId(parse_number(reader)?);
                    Ok((player, Score { hits: parse_number(reader)?, losses: parse_number(reader)? }))
                };
                (0..count).map(|_| entry()).collect::<Result<_, Malformed>>().map(Self::Scores)
            }
            _ => Err(Malformed::Field),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_round_trip_and_truncated_ones_are_rejected() {
        let score = |hits, losses| Score { hits, losses };
        for message in [
            ArenaMessage::Spawn { position: Vec3::xy(3.5, -2.0), heading: 1.25 },
            ArenaMessage::Hit {
                victim: PeerId(3),
                shooter: PeerId(900),
                shot: EntityId(5 * 1024 + 900),
                at: Vec3::xy(0.5, 9.0),
            },
            ArenaMessage::Scores(vec![(PeerId(1), score(0, 300)), (PeerId(700), score(9, 2))]),
        ] {
            let mut bytes = Vec::new();
            message.emit(&mut bytes);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.read::<ArenaMessage>(), Ok(message));
            assert!(reader.is_empty());
            for len in 0..bytes.len() {
                assert!(Reader::new(&bytes[..len]).read::<ArenaMessage>().is_err(), "{len} bytes");
            }
        }
    }
}
