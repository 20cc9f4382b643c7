//! The machine of a room: dead reckoning, and whatever a game puts around it.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock};

use crate::command::{DrEvent, RelayCommand};
use crate::relay::DrRelay;

/// The machine of a room. A relay without a game is one; a game's holds one, and passes on what is not its own.
pub trait Room<C>: Endpoint<Command = RelayCommand, Event = DrEvent> {
    /// The relay of the players' entities.
    fn dr(&self) -> &DrRelay<C>;

    /// What the game counts of a player, by name.
    fn tallies(&self, player: PeerId) -> Vec<(&'static str, u64)> {
        let _ = player;
        Vec::new()
    }
}

impl<C: SessionClock> Room<C> for DrRelay<C> {
    fn dr(&self) -> &Self {
        self
    }
}

impl<C> Endpoint for Box<dyn Room<C> + Send> {
    type Command = RelayCommand;
    type Event = DrEvent;

    fn handle_command(&mut self, now: LocalTime, command: RelayCommand) {
        (**self).handle_command(now, command);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        (**self).handle_message(now, from, channel, bytes)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        (**self).handle_peer(now, change);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        (**self).handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        (**self).poll_transmit(now, bytes)
    }

    fn poll_event(&mut self) -> Option<DrEvent> {
        (**self).poll_event()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        (**self).poll_timeout()
    }
}
