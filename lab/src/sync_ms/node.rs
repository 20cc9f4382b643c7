//! An enum over the machines of a Sync-MS world, as a world has one type of node.

use evenkeel_core::clock::Hull;
use evenkeel_core::{Endpoint, FollowerClock, LocalTime, PeerId, ServerClock, delegate_endpoint};
use evenkeel_sync_ms::{Smc, SmcCommand, SmcEvent, Sms, SmsCommand, SmsEvent, SyncConfig};

use super::frozen::FrozenSmc;
use super::lying::{LyingSmc, SmcLie};

/// A server's module, or a player's.
#[derive(Debug)]
pub(crate) enum SyncNode {
    /// The server's, whose clock shows session time.
    Server(Box<Sms>),
    /// The server's, whose clock defines session time.
    ClockServer(Box<Sms<ServerClock>>),
    /// A player's, whose clock shows session time as far as it is right.
    Player(Box<Smc>),
    /// A player's, whose clock follows the server's.
    Follower(Box<Smc<FollowerClock<Hull>>>),
    /// One that lies.
    Liar(Box<LyingSmc>),
    /// One that is suspended for a while.
    Frozen(Box<FrozenSmc>),
}

/// A command for a node.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum SyncNodeCommand {
    /// For the server's module.
    Server(SmsCommand),
    /// For a player's module.
    Player(SmcCommand),
}

/// An event of a node.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum SyncNodeEvent {
    /// Of the server's module.
    Server(SmsEvent),
    /// Of a player's module.
    Player(SmcEvent),
}

impl SyncNode {
    /// The server's module.
    pub(crate) fn server(config: &SyncConfig, follows: bool) -> Self {
        match follows {
            false => Self::Server(Box::new(Sms::new(config))),
            true => Self::ClockServer(Box::new(Sms::with_clock(config, ServerClock::default()))),
        }
    }

    /// An honest player's module.
    pub(crate) fn player(config: &SyncConfig, server: PeerId, follows: bool) -> Self {
        match follows {
            false => Self::Player(Box::new(Smc::new(config, server))),
            true => Self::Follower(Box::new(Smc::with_clock(config, server, FollowerClock::new(server)))),
        }
    }

    /// The module of a player that lies.
    pub(crate) fn liar(config: &SyncConfig, server: PeerId, lie: SmcLie) -> Self {
        Self::Liar(Box::new(LyingSmc::new(Smc::new(config, server), server, lie)))
    }

    /// The module of a player that is suspended between these times.
    pub(crate) fn frozen(config: &SyncConfig, server: PeerId, during: (LocalTime, LocalTime)) -> Self {
        Self::Frozen(Box::new(FrozenSmc::new(Smc::new(config, server), during)))
    }

    /// The server's module, if it is one with synchronized clocks.
    pub(crate) fn sms(&self) -> Option<&Sms> {
        match self {
            Self::Server(sms) => Some(sms),
            _ => None,
        }
    }
}

impl Endpoint for SyncNode {
    type Command = SyncNodeCommand;
    type Event = SyncNodeEvent;

    fn handle_command(&mut self, now: LocalTime, command: SyncNodeCommand) {
        match (self, command) {
            (Self::Server(sms), SyncNodeCommand::Server(command)) => sms.handle_command(now, command),
            (Self::ClockServer(sms), SyncNodeCommand::Server(command)) => sms.handle_command(now, command),
            (Self::Player(smc), SyncNodeCommand::Player(command)) => smc.handle_command(now, command),
            (Self::Follower(smc), SyncNodeCommand::Player(command)) => smc.handle_command(now, command),
            (Self::Liar(smc), SyncNodeCommand::Player(command)) => smc.handle_command(now, command),
            (Self::Frozen(smc), SyncNodeCommand::Player(command)) => smc.handle_command(now, command),
            (node, command) => panic!("{command:?} is not for {node:?}"),
        }
    }

    fn poll_event(&mut self) -> Option<SyncNodeEvent> {
        match self {
            Self::Server(sms) => sms.poll_event().map(SyncNodeEvent::Server),
            Self::ClockServer(sms) => sms.poll_event().map(SyncNodeEvent::Server),
            Self::Player(smc) => smc.poll_event().map(SyncNodeEvent::Player),
            Self::Follower(smc) => smc.poll_event().map(SyncNodeEvent::Player),
            Self::Liar(smc) => smc.poll_event().map(SyncNodeEvent::Player),
            Self::Frozen(smc) => smc.poll_event().map(SyncNodeEvent::Player),
        }
    }

    delegate_endpoint!(match self { Server, ClockServer, Player, Follower, Liar, Frozen }:
        handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);
}
