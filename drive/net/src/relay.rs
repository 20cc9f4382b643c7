//! The relay that players use: rooms, each a [`DrRelay`], behind one listener.
//!
//! A player shows its token and is let into the token's room under the token's name. That name is its identity: whoever
//! comes again under it, from whatever address, is the same player and replaces its former connection.

mod config;
mod http;
mod metrics;
mod rooms;
mod server;

pub use config::{CertificateConfig, ConfigError, PORT, RelayConfig, RoomConfig};
pub use http::HttpError;
#[doc(hidden)]
pub use http::may_change;
pub use rooms::{PlayerReport, RoomReport};
pub use server::{RECORDED, RelayServer, StartError};

use std::sync::Arc;

use evenkeel_core::clock::ServerClock;
use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed};
use evenkeel_dr::{DrConfig, DrEvent, DrRelay, RelayCommand};

/// The machine of a room: dead reckoning, and whatever the game puts around it.
pub trait Room: Endpoint<Command = RelayCommand, Event = DrEvent> + Send {
    /// The relay of its players' entities.
    fn dr(&self) -> &DrRelay<ServerClock>;

    /// What the game tells of itself to whoever asks about the room, as JSON; by whom the players are.
    fn game(&self) -> Option<serde_json::Value> {
        None
    }
}

impl Room for DrRelay<ServerClock> {
    fn dr(&self) -> &DrRelay<ServerClock> {
        self
    }
}

/// The machine of a room, whatever its game is.
pub type RoomMachine = Box<dyn Room>;

/// Makes the machine of a room, by its settings and a seed.
pub type MakeRoom = Arc<dyn Fn(&DrConfig, Seed) -> RoomMachine + Send + Sync>;

/// A room without a game of its own.
#[must_use]
pub fn plain_room(config: &DrConfig, _seed: Seed) -> RoomMachine {
    Box::new(DrRelay::with_clock(config, ServerClock::default()))
}

impl Endpoint for RoomMachine {
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
