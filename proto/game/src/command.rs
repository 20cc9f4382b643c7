//! Commands to a room with a game, and its events.

use evenkeel_core::{Malformed, PeerId, Reader, Varint, Wire};
use evenkeel_dr::{DrEvent, RelayCommand};
use evenkeel_objects::ObjectRoomEvent;
use evenkeel_session::envelope::GAME;
use evenkeel_sync_ms::message::VERSION as SYNC;
use evenkeel_sync_ms::{SmsCommand, SmsEvent};

/// A command to the machine of a room with a game.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum RoomCommand {
    /// A command to the relay in it.
    Relay(RelayCommand),
    /// A command to Sync-MS in it.
    Sync(SmsCommand),
    /// The name under which a player will join.
    Named {
        /// The player.
        player: PeerId,
        /// Its name.
        name: String,
    },
}

/// An event of the machine of a room with a game.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum RoomEvent {
    /// An event of the relay in it.
    Relay(DrEvent),
    /// An event of Sync-MS in it, but for actions, which the game gets.
    Sync(SmsEvent),
    /// A player does not play this game, or has stalled. The game gets all other events of objects.
    Object(ObjectRoomEvent),
}

impl From<RelayCommand> for RoomCommand {
    fn from(command: RelayCommand) -> Self {
        Self::Relay(command)
    }
}

/// Commands to the relay keep their form. None of them begins with [`GAME`] or Sync-MS's first byte.
impl Wire for RoomCommand {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Relay(command) => command.emit(bytes),
            Self::Sync(command) => {
                bytes.push(SYNC);
                command.emit(bytes);
            }
            Self::Named { player, name } => {
                bytes.push(GAME);
                player.0.emit(bytes);
                Varint(name.len() as u64).emit(bytes);
                bytes.extend_from_slice(name.as_bytes());
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.rest().first() {
            Some(&SYNC) => {
                reader.take(1)?;
                reader.read().map(Self::Sync)
            }
            Some(&GAME) => {
                reader.take(1)?;
                let player = PeerId(reader.read()?);
                let len = usize::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
                let name = core::str::from_utf8(reader.take(len)?).map_err(|_| Malformed::Field)?;
                Ok(Self::Named { player, name: name.to_owned() })
            }
            _ => reader.read().map(Self::Relay),
        }
    }
}
