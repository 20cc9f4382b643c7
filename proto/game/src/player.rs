//! A player's machine: a [`DrPeer`] that carries the motion, an [`Smc`] that shows updates and tags actions, and the game's
//! messages beside them.
//!
//! Only dead reckoning exchanges clock readings; Sync-MS goes by its clock.
//!
//! ```
//! use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId};
//! use evenkeel_dr::{DrConfig, Topology};
//! use evenkeel_game::{GamePlayer, PlayerCommand, PlayerEvent};
//!
//! let (relay, now) = (PeerId(0), LocalTime::from_nanos(0));
//! let config = DrConfig { topology: Topology::Relay(relay), ..DrConfig::default() };
//! let mut player = GamePlayer::new(&config.into(), relay);
//! player.handle_peer(now, PeerChange::Joined { peer: relay, datagram_max: 1200 });
//!
//! player.handle_command(now, PlayerCommand::Send { channel: Channel::Reliable, bytes: b"hello".to_vec() });
//! let mut bytes = Vec::new();
//! assert_eq!(player.poll_transmit(now, &mut bytes), Some((relay, Channel::Reliable)));
//! assert_eq!(bytes, b"\x47hello");
//!
//! player.handle_message(now, relay, Channel::Reliable, b"\x47welcome").expect("a game's message");
//! let message = PlayerEvent::Message { channel: Channel::Reliable, bytes: b"welcome".to_vec() };
//! assert_eq!(player.poll_event(), Some(message));
//! ```

mod command;

pub use command::{PlayerCommand, PlayerEvent};

use std::collections::VecDeque;

use evenkeel_core::clock::MirroredClock;
use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, Synchronized, earlier,
};
use evenkeel_dr::DrPeer;
use evenkeel_session::envelope::is_same_kind;
use evenkeel_session::game::{emit_message, fits, parse_message};
use evenkeel_sync_ms::message::VERSION as SYNC;
use evenkeel_sync_ms::{Smc, SmcCommand, SmcEvent};

use crate::config::GameConfig;
use crate::follower::Follower;

/// Messages that wait to be sent, and that wait for the game. A driver drains both after every call.
const WAITING_MAX: usize = 1_024;

/// A player's machine.
#[derive(Debug)]
pub struct GamePlayer<C = Synchronized> {
    dr: DrPeer<C>,
    sync: Follower<Smc<MirroredClock>>,
    relay: PeerId,
    is_connected: bool,
    outgoing: VecDeque<(Channel, Vec<u8>)>,
    incoming: VecDeque<(Channel, Vec<u8>)>,
}

impl GamePlayer {
    /// A player of this relay whose clock shows session time.
    #[must_use]
    pub fn new(config: &GameConfig, relay: PeerId) -> Self {
        Self::with_clock(config, relay, Synchronized)
    }
}

impl<C: SessionClock> GamePlayer<C> {
    /// A player of this relay with this clock.
    #[must_use]
    pub fn with_clock(config: &GameConfig, relay: PeerId, clock: C) -> Self {
        Self {
            dr: DrPeer::with_clock(&config.dr, clock),
            sync: Follower::new(Smc::with_clock(&config.sync, relay, MirroredClock::default())),
            relay,
            is_connected: false,
            outgoing: VecDeque::new(),
            incoming: VecDeque::new(),
        }
    }

    /// The machine of its motion.
    #[must_use]
    pub const fn dr(&self) -> &DrPeer<C> {
        &self.dr
    }

    /// The module that shows updates and tags actions.
    #[must_use]
    pub const fn sync(&self) -> &Smc<MirroredClock> {
        &self.sync.machine
    }

    /// Acts. Of two players, whoever reacts faster is served first at the relay, however far away. A reliable action arrives
    /// unless the connection breaks.
    pub fn act(&mut self, now: LocalTime, reliable: bool, bytes: Vec<u8>) {
        self.handle_command(now, PlayerCommand::Act { reliable, bytes });
    }

    fn follow(&mut self, now: LocalTime) -> LocalTime {
        self.sync.follow(self.dr.clock(), now)
    }
}

impl<C: SessionClock> Endpoint for GamePlayer<C> {
    type Command = PlayerCommand;
    type Event = PlayerEvent;

    fn handle_command(&mut self, now: LocalTime, command: PlayerCommand) {
        match command {
            PlayerCommand::Motion(command) => self.dr.handle_command(now, command),
            PlayerCommand::Act { reliable, bytes } => {
                let now = self.follow(now);
                self.sync.machine.handle_command(now, SmcCommand::Act { reliable, bytes });
            }
            PlayerCommand::Send { channel, bytes } => {
                let has_room = self.outgoing.len() < WAITING_MAX;
                if self.is_connected && has_room && fits(channel, bytes.len()) {
                    self.outgoing.push_back((channel, bytes));
                }
            }
        }
        self.follow(now);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if let Some(message) = parse_message(bytes) {
            if from != self.relay || !self.is_connected {
                return Err(Rejected::UnknownPeer);
            }
            if self.incoming.len() == WAITING_MAX {
                self.incoming.pop_front();
            }
            self.incoming.push_back((channel, message.to_vec()));
            return Ok(());
        }
        if bytes.first().is_some_and(|first| is_same_kind(*first, SYNC)) {
            return self.sync.handle_message(self.dr.clock(), now, from, channel, bytes);
        }
        self.dr.handle_message(now, from, channel, bytes)?;
        self.follow(now);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        if change.peer() == self.relay {
            self.outgoing.clear();
            self.is_connected = matches!(change, PeerChange::Joined { .. });
        }
        self.dr.handle_peer(now, change);
        let now = self.follow(now);
        self.sync.machine.handle_peer(now, change);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.dr.handle_timeout(now);
        let now = self.follow(now);
        self.sync.machine.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        if let Some((channel, message)) = self.outgoing.pop_front() {
            emit_message(&message, bytes);
            return Some((self.relay, channel));
        }
        let sync = self.sync.machine.poll_transmit(now, bytes);
        sync.or_else(|| self.dr.poll_transmit(now, bytes))
    }

    fn poll_event(&mut self) -> Option<PlayerEvent> {
        let message = self.incoming.pop_front();
        message
            .map(|(channel, bytes)| PlayerEvent::Message { channel, bytes })
            .or_else(|| self.sync.machine.poll_event().and_then(shown))
            .or_else(|| self.dr.poll_event().map(PlayerEvent::Motion))
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        earlier(self.sync.machine.poll_timeout(), self.dr.poll_timeout())
    }
}

/// A mirrored clock has no events of its own: dead reckoning reports them.
fn shown(event: SmcEvent) -> Option<PlayerEvent> {
    match event {
        SmcEvent::Update { stamp, late, bytes, .. } => Some(PlayerEvent::Update { stamp, late, bytes }),
        SmcEvent::Clock(_) => None,
    }
}
