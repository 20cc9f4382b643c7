//! The messages of the arena's referee to the players, which everybody is shown at once, and the players' action.

use evenkeel_core::{Malformed, PeerId, Reader, Varint, Vec3, Wire};
use evenkeel_dr::EntityId;

use super::SHOTS_MAX;

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
    /// The beacon of the quick draw changed.
    Beacon {
        /// The number of the duel.
        duel: u32,
        /// What it shows now.
        light: Light,
    },
    /// A player won a duel. The beacon goes out.
    Won {
        /// The number of the duel.
        duel: u32,
        /// The player.
        winner: PeerId,
    },
}

impl ArenaMessage {
    /// The message in an update; `None` if it is none of the referee's.
    #[must_use]
    pub fn from_update(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let message = reader.read().ok()?;
        reader.is_empty().then_some(message)
    }
}

/// What the beacon of the quick draw shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Light {
    /// Nothing.
    #[default]
    Off,
    /// It will be lit soon. Whoever fires now is out of this duel.
    Ready,
    /// The first to fire wins.
    Fire,
}

impl Light {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ready => "ready",
            Self::Fire => "fire",
        }
    }
}

const LIGHTS: [Light; 3] = [Light::Off, Light::Ready, Light::Fire];

/// A player pulled the trigger: its action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// Which of the player's shots left the gun; 0 if it was not loaded.
    pub shot: u32,
    /// Whether the trigger was pulled just now. One that is held fires again when the gun is loaded, but wins no duel.
    pub is_pulled: bool,
}

impl Wire for Trigger {
    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self.is_pulled));
        emit_number(self.shot, bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let is_pulled = match reader.read::<u8>()? {
            0 => false,
            1 => true,
            other => return Err(Malformed::UnknownTag(other)),
        };
        let shot = parse_number(reader)?;
        if shot > SHOTS_MAX { Err(Malformed::Field) } else { Ok(Self { shot, is_pulled }) }
    }
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
            Self::Beacon { duel, light } => {
                bytes.push(3);
                emit_number(*duel, bytes);
                bytes.push(LIGHTS.iter().position(|each| each == light).unwrap_or_default() as u8);
            }
            Self::Won { duel, winner } => {
                bytes.push(4);
                emit_number(*duel, bytes);
                emit_number(winner.0, bytes);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
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
            3 => {
                let (duel, light) = (parse_number(reader)?, usize::from(reader.read::<u8>()?));
                Ok(Self::Beacon { duel, light: *LIGHTS.get(light).ok_or(Malformed::Field)? })
            }
            4 => Ok(Self::Won { duel: parse_number(reader)?, winner: PeerId(parse_number(reader)?) }),
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
            ArenaMessage::Beacon { duel: 300, light: Light::Fire },
            ArenaMessage::Won { duel: 2, winner: PeerId(900) },
        ] {
            check_round_trip(&message);
        }
        for shot in 0..=SHOTS_MAX {
            check_round_trip(&Trigger { shot, is_pulled: shot > 0 });
        }
        assert!(Reader::new(&[1, 3]).read::<Trigger>().is_err(), "there is no third shot");
    }

    fn check_round_trip<T: Wire + PartialEq + core::fmt::Debug>(message: &T) {
        let mut bytes = Vec::new();
        message.emit(&mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.read::<T>().as_ref(), Ok(message));
        assert!(reader.is_empty());
        for len in 0..bytes.len() {
            assert!(Reader::new(&bytes[..len]).read::<T>().is_err(), "{len} bytes");
        }
    }
}
