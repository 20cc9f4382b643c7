//! An enum over the machines of a dead-reckoning world, as a world has one type of node.

use evenkeel_core::{
    Endpoint, LocalTime, Malformed, PeerId, Reader, ServerClock, SessionClock, SessionTime, Span, Vec3, Wire,
};
use evenkeel_dr::ledger::ErrorLedger;
use evenkeel_dr::{DrCommand, DrEvent, DrPeer, DrRelay, EntityId, RelayCommand};

use super::liar::Liar;
use crate::clock::LabClock;

/// A peer, a relay or a lying peer, each with synchronized clocks, as in the papers, or with session clocks. Separate
/// variants spare the papers' runs the cost of session clocks.
#[derive(Debug)]
pub enum DrNode {
    /// An honest player.
    Peer(Box<DrPeer>),
    /// The relay.
    Relay(Box<DrRelay>),
    /// A player that falsifies its acknowledgments.
    Liar(Box<Liar>),
    /// An honest player that follows the relay's clock.
    SessionPeer(Box<DrPeer<LabClock>>),
    /// The relay whose clock defines the session's time.
    SessionRelay(Box<DrRelay<ServerClock>>),
    /// A player that follows the relay's clock and falsifies its acknowledgments.
    SessionLiar(Box<Liar<LabClock>>),
}

/// A command for a node.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeCommand {
    /// For a peer; a relay ignores it.
    Peer(DrCommand),
    /// For the relay; a peer ignores it.
    Relay(RelayCommand),
}

impl DrNode {
    /// The ledger, if this node keeps one.
    #[must_use]
    pub fn ledger(&self) -> Option<&ErrorLedger> {
        match self {
            Self::Peer(peer) => peer.ledger(),
            Self::Relay(relay) => Some(relay.ledger()),
            Self::SessionRelay(relay) => Some(relay.ledger()),
            Self::Liar(_) | Self::SessionPeer(_) | Self::SessionLiar(_) => None,
        }
    }

    /// The clock of a player that follows the relay's.
    #[must_use]
    pub fn session_clock(&self) -> Option<&LabClock> {
        self.session_peer().map(DrPeer::clock)
    }

    /// The session time that a player's session clock shows, and its error bound.
    #[must_use]
    pub fn shown(&self, now: LocalTime) -> Option<(SessionTime, Span)> {
        let clock = self.session_clock()?;
        Some((clock.session(now)?, clock.error_max(now)?))
    }

    /// The position at which a player with a session clock exports its own entity.
    #[must_use]
    pub fn exported(&self, now: LocalTime, entity: EntityId) -> Option<Vec3> {
        self.session_peer()?.exported(now, entity)
    }

    /// The position at which a player with a session clock places another player's entity.
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
