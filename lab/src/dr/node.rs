//! The machines of a dead-reckoning world under one roof, because a world has one type of node.

use evenkeel_core::{
    Endpoint, LocalTime, Malformed, PeerId, Reader, ServerClock, SessionClock, SessionTime, Span, Vec3, Wire,
};
use evenkeel_dr::ledger::ErrorLedger;
use evenkeel_dr::{DrCommand, DrEvent, DrPeer, DrRelay, EntityId, RelayCommand};

use super::liar::Liar;
use crate::clock::LabClock;

/// A peer, a relay, or a peer that lies; each with synchronized clocks, as in the papers, or with the session's. They
/// are variants and not one clock of two kinds, so that the papers' runs pay for nothing that they do not use.
#[derive(Debug)]
pub enum DrNode {
    /// An honest player.
    Peer(Box<DrPeer>),
    /// The relay.
    Relay(Box<DrRelay>),
    /// A player whose acknowledgments are not true.
    Liar(Box<Liar>),
    /// An honest player that follows the relay's clock.
    SessionPeer(Box<DrPeer<LabClock>>),
    /// The relay whose clock is followed.
    SessionRelay(Box<DrRelay<ServerClock>>),
    /// A player who follows the relay's clock, and whose acknowledgments are not true.
    SessionLiar(Box<Liar<LabClock>>),
}

/// A command to one of them.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeCommand {
    /// To a peer; a relay does not hear it.
    Peer(DrCommand),
    /// To the relay; a peer does not hear it.
    Relay(RelayCommand),
}

impl DrNode {
    /// The books that this node keeps, if it keeps any.
    #[must_use]
    pub fn ledger(&self) -> Option<&ErrorLedger> {
        match self {
            Self::Peer(peer) => peer.ledger(),
            Self::Relay(relay) => Some(relay.ledger()),
            Self::SessionRelay(relay) => Some(relay.ledger()),
            Self::Liar(_) | Self::SessionPeer(_) | Self::SessionLiar(_) => None,
        }
    }

    /// The clock of a player who follows the relay's.
    #[must_use]
    pub fn session_clock(&self) -> Option<&LabClock> {
        self.session_peer().map(DrPeer::clock)
    }

    /// The session's time as a player who follows the relay's clock shows it, and how far that may be off.
    #[must_use]
    pub fn shown(&self, now: LocalTime) -> Option<(SessionTime, Span)> {
        let clock = self.session_clock()?;
        Some((clock.session(now)?, clock.error_max(now)?))
    }

    /// Where a player who follows the relay's clock exports an entity of its own.
    #[must_use]
    pub fn exported(&self, now: LocalTime, entity: EntityId) -> Option<Vec3> {
        self.session_peer()?.exported(now, entity)
    }

    /// Where a player who follows the relay's clock places somebody else's entity.
    #[must_use]
    pub fn placed(&self, now: LocalTime, from: PeerId, entity: EntityId) -> Option<Vec3> {
        self.session_peer()?.position(now, from, entity)
    }

    const fn session_peer(&self) -> Option<&DrPeer<LabClock>> {
        match self {
            Self::SessionPeer(peer) => Some(peer),
            Self::SessionLiar(liar) => Some(liar.peer()),
            Self::Peer(_) | Self::Relay(_) | Self::Liar(_) | Self::SessionRelay(_) => None,
        }
    }
}

impl Endpoint for DrNode {
    type Command = NodeCommand;
    type Event = DrEvent;

    fn handle_command(&mut self, now: LocalTime, command: NodeCommand) {
        match (self, command) {
            (Self::Peer(peer), NodeCommand::Peer(command)) => peer.handle_command(now, command),
            (Self::Liar(liar), NodeCommand::Peer(command)) => liar.handle_command(now, command),
            (Self::Relay(relay), NodeCommand::Relay(command)) => relay.handle_command(now, command),
            (Self::SessionPeer(peer), NodeCommand::Peer(command)) => peer.handle_command(now, command),
            (Self::SessionLiar(liar), NodeCommand::Peer(command)) => liar.handle_command(now, command),
            (Self::SessionRelay(relay), NodeCommand::Relay(command)) => relay.handle_command(now, command),
            _ => {}
        }
    }

    evenkeel_core::delegate_endpoint!(match self { Peer, Relay, Liar, SessionPeer, SessionRelay, SessionLiar });
}

impl Wire for NodeCommand {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Peer(command) => {
                bytes.push(0);
                command.emit(bytes);
            }
            Self::Relay(command) => {
                bytes.push(1);
                command.emit(bytes);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            0 => Ok(Self::Peer(reader.read()?)),
            1 => Ok(Self::Relay(reader.read()?)),
            other => Err(Malformed::UnknownTag(other)),
        }
    }
}
