//! What a player says and does: messages to the game at the relay, and actions that it serves in fair order.

use evenkeel_core::Channel;
use evenkeel_game::PlayerCommand;
use evenkeel_session::game::{GAME_DATAGRAM_MAX, GAME_MESSAGE_MAX};
use evenkeel_sync_ms::message::PAYLOAD_MAX;

use super::{Client, MessageError, NODE};

impl Client {
    /// Sends a message to the [game's logic](evenkeel_game::GameLogic) at the relay. It arrives, in order, unless the
    /// connection breaks. A relay without a game drops and counts it.
    ///
    /// # Errors
    /// [`MessageError`] if it was not sent.
    pub fn send(&self, message: &[u8]) -> Result<(), MessageError> {
        self.say(message, Channel::Reliable, GAME_MESSAGE_MAX)
    }

    /// Sends such a message in a datagram of its own, which may be lost or overtaken. For what the next one makes obsolete.
    ///
    /// # Errors
    /// [`MessageError`] if it was not sent.
    pub fn send_datagram(&self, message: &[u8]) -> Result<(), MessageError> {
        self.say(message, Channel::Datagram, GAME_DATAGRAM_MAX)
    }

    /// Acts: the [game's logic](evenkeel_game::GameLogic::action) gets what the players did in the order in which they reacted
    /// to its [updates](crate::ClientEvent::Update), not in the order of arrival. Call it when the player presses the key. An
    /// action leaves at once and arrives, unless the connection breaks.
    ///
    /// # Errors
    /// [`MessageError`] if it was not sent.
    pub fn act(&self, action: &[u8]) -> Result<(), MessageError> {
        self.command(PlayerCommand::Act { reliable: true, bytes: action.to_vec() }, action, PAYLOAD_MAX)
    }

    /// Acts like [`act`](Self::act), but in datagrams alone. Later ones repeat the action, so it is lost only if several are.
    ///
    /// # Errors
    /// [`MessageError`] if it was not sent.
    pub fn act_datagram(&self, action: &[u8]) -> Result<(), MessageError> {
        self.command(PlayerCommand::Act { reliable: false, bytes: action.to_vec() }, action, PAYLOAD_MAX)
    }

    fn say(&self, message: &[u8], channel: Channel, len_max: usize) -> Result<(), MessageError> {
        self.command(PlayerCommand::Send { channel, bytes: message.to_vec() }, message, len_max)
    }

    fn command(&self, command: PlayerCommand, bytes: &[u8], len_max: usize) -> Result<(), MessageError> {
        if bytes.len() > len_max {
            return Err(MessageError::TooLong { len: bytes.len(), len_max });
        }
        if self.player().is_none() {
            return Err(MessageError::NotConnected);
        }
        self.crank.command(NODE, command).map_err(|_| MessageError::Busy)
    }
}
