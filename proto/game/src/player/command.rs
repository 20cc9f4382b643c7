//! Commands to a player's machine, and its events.

use evenkeel_core::{Channel, Malformed, Reader, SessionTime, Span, Varint, Wire};
use evenkeel_dr::{DrCommand, DrEvent};
use evenkeel_objects::message::VERSION as OBJECTS;
use evenkeel_objects::{ObjectCommand, ObjectEvent};
use evenkeel_session::envelope::GAME;
use evenkeel_sync_ms::SmcCommand;
use evenkeel_sync_ms::message::VERSION as SYNC;

/// A command to a player's machine.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum PlayerCommand {
    /// A command about the motion of its entities.
    Motion(DrCommand),
    /// Sends a message to the game at the relay. It is lost if there is no connection, or if it does not
    /// [fit](evenkeel_session::game::fits).
    Send {
        /// How it travels.
        channel: Channel,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Acts, in fair order with the other players. It is lost if there is no connection, or if it is longer than
    /// [`PAYLOAD_MAX`](evenkeel_sync_ms::message::PAYLOAD_MAX).
    Act {
        /// Whether it must arrive, however late.
        reliable: bool,
        /// The game's action.
        bytes: Vec<u8>,
    },
    /// A command about its objects and typed messages.
    Object(ObjectCommand),
}

/// An event of a player's machine.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum PlayerEvent {
    /// In its motion and that of others, or a change of the session time.
    Motion(DrEvent),
    /// A message of the game arrived from the relay.
    Message {
        /// How it travelled.
        channel: Channel,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Show this update of the game now: everybody else shows it at the same time.
    Update {
        /// When the relay sent it.
        stamp: SessionTime,
        /// How much later than for everybody else; zero if it came in time.
        late: Span,
        /// The update.
        bytes: Vec<u8>,
    },
    /// Something happened to an object, or a typed message arrived.
    Object(ObjectEvent),
    /// By how much session time is ahead of local time, whenever that has changed. Only for players with objects.
    Clock {
        /// Session time minus local time.
        offset: Span,
    },
}

impl From<DrCommand> for PlayerCommand {
    fn from(command: DrCommand) -> Self {
        Self::Motion(command)
    }
}

/// Commands about motion keep their form. None of them begins with [`GAME`] or Sync-MS's first byte.
impl Wire for PlayerCommand {
    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Motion(command) => command.emit(out),
            Self::Send { channel, bytes } => {
                out.extend([GAME, u8::from(*channel == Channel::Reliable)]);
                Varint(bytes.len() as u64).emit(out);
                out.extend_from_slice(bytes);
            }
            Self::Act { reliable, bytes } => {
                out.push(SYNC);
                SmcCommand::Act { reliable: *reliable, bytes: bytes.clone() }.emit(out);
            }
            Self::Object(command) => {
                out.push(OBJECTS);
                command.emit(out);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.rest().first() {
            Some(&SYNC) => {
                reader.take(1)?;
                let SmcCommand::Act { reliable, bytes } = reader.read()?;
                Ok(Self::Act { reliable, bytes })
            }
            Some(&OBJECTS) => {
                reader.take(1)?;
                reader.read().map(Self::Object)
            }
            Some(&GAME) => {
                reader.take(1)?;
                let channel = match reader.read::<u8>()? {
                    0 => Channel::Datagram,
                    1 => Channel::Reliable,
                    other => return Err(Malformed::UnknownTag(other)),
                };
                let len = usize::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
                Ok(Self::Send { channel, bytes: reader.take(len)?.to_vec() })
            }
            _ => reader.read().map(Self::Motion),
        }
    }
}
