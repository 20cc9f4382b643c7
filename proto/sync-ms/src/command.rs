//! What the application asks of the modules, and what they report.

use evenkeel_core::{ClockEvent, Malformed, PeerId, Reader, SessionTime, Span, Varint, Wire};

use crate::order::Order;

/// What the game server asks of its [`Sms`](crate::Sms).
#[derive(Clone, PartialEq, Debug)]
pub enum SmsCommand {
    /// Sends an update to one player or, without one, to all. At most [`PAYLOAD_MAX`](crate::message::PAYLOAD_MAX) bytes.
    Update {
        /// The receiver; everybody if absent.
        to: Option<PeerId>,
        /// Whether it must arrive, however late.
        reliable: bool,
        /// The game's message.
        bytes: Vec<u8>,
    },
    /// Switches the order of actions, and Sync-out.
    Switch {
        /// The order from now on.
        order: Order,
        /// Whether updates are shown to everybody at once.
        sync_out: bool,
    },
    /// States what is known about a player's path, in place of the estimates: what a network operator guarantees, or a
    /// simulator knows.
    Guarantee {
        /// The player.
        peer: PeerId,
        /// What is known.
        known: KnownPath,
    },
}

/// What is known about a player's path. `None` leaves it to the estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KnownPath {
    /// The delay of updates to it.
    pub down: Option<Span>,
    /// The delay of actions from it.
    pub up: Option<Span>,
    /// The time between its actions.
    pub gap: Option<Span>,
}

/// An action that the game server should handle now.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// The player.
    pub from: PeerId,
    /// Its number among the player's actions, from 0 on.
    pub seq: u32,
    /// When the player would have acted if updates took no time: the fair order. What the tag claims, within what the SMS
    /// can check.
    pub virtual_at: SessionTime,
    /// When it arrived at the SMS.
    pub arrived: SessionTime,
    /// How long Sync-out held back the update that it reacts to: without, it would have arrived that much sooner. By the
    /// usual delay of updates to the player.
    pub held: Span,
    /// How long it has waited for others since it arrived.
    pub waited: Span,
    /// Whether it was served in its turn. If not, nobody waits for its player, too many of its actions waited, or the player
    /// has left; actions of others that are earlier are not late because of it.
    pub is_in_turn: bool,
    /// Whether it came too late for its place in the order.
    pub is_late: bool,
    /// How many actions were served before it although they are later in fair order, as far as the tags tell.
    pub behind: u32,
    /// The game's message.
    pub bytes: Vec<u8>,
}

/// What the [`Sms`](crate::Sms) reports to the game server.
#[derive(Clone, PartialEq, Debug)]
pub enum SmsEvent {
    /// Handle this action now.
    Action(Action),
    /// A player lost the guarantee of fair order because it was silent for too long or is farther away than the cap; or it
    /// has it again.
    Guaranteed {
        /// The player.
        peer: PeerId,
        /// Whether it is waited for from now on.
        is_guaranteed: bool,
    },
    /// A player does not read its reliable channel, and nothing more is sent on it. The driver should drop the player.
    Stalled {
        /// The player.
        peer: PeerId,
    },
    /// The session time changed.
    Clock(ClockEvent),
}

/// What the game asks of its [`Smc`](crate::Smc).
#[derive(Clone, PartialEq, Debug)]
pub enum SmcCommand {
    /// Sends an action. At most [`PAYLOAD_MAX`](crate::message::PAYLOAD_MAX) bytes.
    Act {
        /// Whether it must arrive, however late. It travels in a datagram in any case.
        reliable: bool,
        /// The game's message.
        bytes: Vec<u8>,
    },
}

/// What the [`Smc`](crate::Smc) reports to the game.
#[derive(Clone, PartialEq, Debug)]
pub enum SmcEvent {
    /// Show this update now.
    Update {
        /// Its number.
        id: u32,
        /// When the SMS sent it.
        stamp: SessionTime,
        /// How much later than for everybody else; zero if it came in time.
        late: Span,
        /// The game's message.
        bytes: Vec<u8>,
    },
    /// The session time changed. Without one, updates are shown on arrival.
    Clock(ClockEvent),
}

const UPDATE: u8 = 0;
const SWITCH: u8 = 1;
const GUARANTEE: u8 = 2;

fn emit_bytes(payload: &[u8], bytes: &mut Vec<u8>) {
    Varint(payload.len() as u64).emit(bytes);
    bytes.extend_from_slice(payload);
}

fn parse_bytes(reader: &mut Reader<'_>) -> Result<Vec<u8>, Malformed> {
    let len = usize::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
    reader.take(len).map(<[u8]>::to_vec)
}

pub(crate) fn parse_flag(reader: &mut Reader<'_>) -> Result<bool, Malformed> {
    match reader.read::<u8>()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Malformed::UnknownTag(other)),
    }
}

fn emit_option(span: Option<Span>, bytes: &mut Vec<u8>) {
    bytes.push(u8::from(span.is_some()));
    if let Some(span) = span {
        Varint::signed(span.as_nanos()).emit(bytes);
    }
}

fn parse_option(reader: &mut Reader<'_>) -> Result<Option<Span>, Malformed> {
    Ok(if parse_flag(reader)? { Some(Span::from_nanos(reader.read::<Varint>()?.to_signed())) } else { None })
}

/// Commands travel in recordings only.
impl Wire for SmsCommand {
    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Update { to, reliable, bytes } => {
                out.push(UPDATE);
                // No player has the number 0 of "everybody".
                Varint(to.map_or(0, |peer| u64::from(peer.0) + 1)).emit(out);
                out.push(u8::from(*reliable));
                emit_bytes(bytes, out);
            }
            Self::Switch { order, sync_out } => {
                out.push(SWITCH);
                order.emit(out);
                out.push(u8::from(*sync_out));
            }
            Self::Guarantee { peer, known } => {
                out.push(GUARANTEE);
                peer.0.emit(out);
                [known.down, known.up, known.gap].into_iter().for_each(|span| emit_option(span, out));
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            UPDATE => {
                let to = match reader.read::<Varint>()?.0 {
                    0 => None,
                    number => Some(PeerId(u32::try_from(number - 1).map_err(|_| Malformed::Field)?)),
                };
                Ok(Self::Update { to, reliable: parse_flag(reader)?, bytes: parse_bytes(reader)? })
            }
            SWITCH => Ok(Self::Switch { order: reader.read()?, sync_out: parse_flag(reader)? }),
            GUARANTEE => {
                let peer = PeerId(reader.read()?);
                let (down, up, gap) = (parse_option(reader)?, parse_option(reader)?, parse_option(reader)?);
                Ok(Self::Guarantee { peer, known: KnownPath { down, up, gap } })
            }
            other => Err(Malformed::UnknownTag(other)),
        }
    }
}

impl Wire for SmcCommand {
    fn emit(&self, out: &mut Vec<u8>) {
        let Self::Act { reliable, bytes } = self;
        out.push(u8::from(*reliable));
        emit_bytes(bytes, out);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self::Act { reliable: parse_flag(reader)?, bytes: parse_bytes(reader)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survives<T: Wire + PartialEq + core::fmt::Debug>(command: &T) {
        let mut bytes = Vec::new();
        command.emit(&mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.read::<T>().as_ref(), Ok(command));
        assert!(reader.is_empty());
        assert!((0..bytes.len()).all(|len| Reader::new(&bytes[..len]).read::<T>().is_err()));
    }

    #[test]
    fn commands_survive_a_recording() {
        let known =
            KnownPath { down: Some(Span::from_millis(3)), up: None, gap: Some(Span::from_millis(-3)) };
        survives(&SmsCommand::Update { to: None, reliable: true, bytes: b"up".to_vec() });
        survives(&SmsCommand::Update { to: Some(PeerId(u32::MAX)), reliable: false, bytes: Vec::new() });
        survives(&SmsCommand::Switch { order: Order::MaxWait, sync_out: false });
        survives(&SmsCommand::Guarantee { peer: PeerId(9), known });
        survives(&SmcCommand::Act { reliable: true, bytes: b"fire".to_vec() });
    }
}
