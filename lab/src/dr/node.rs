//! The machines of a dead-reckoning world under one roof, because a world has one type of node.

use evenkeel_core::{Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Reader, Rejected, Wire};
use evenkeel_dr::ledger::ErrorLedger;
use evenkeel_dr::{DrCommand, DrEvent, DrPeer, DrRelay, RelayCommand};

use super::liar::Liar;

/// A peer, a relay, or a peer that lies.
#[derive(Debug)]
pub enum DrNode {
    /// An honest player.
    Peer(Box<DrPeer>),
    /// The relay.
    Relay(Box<DrRelay>),
    /// A player whose acknowledgments are not true.
    Liar(Box<Liar>),
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
            Self::Liar(_) => None,
        }
    }
}

macro_rules! each {
    ($self:expr, $node:ident => $call:expr) => {
        match $self {
            DrNode::Peer($node) => $call,
            DrNode::Relay($node) => $call,
            DrNode::Liar($node) => $call,
        }
    };
}

impl Endpoint for DrNode {
    type Command = NodeCommand;
    type Event = DrEvent;

    fn handle_command(&mut self, now: LocalTime, command: NodeCommand) {
        match (self, command) {
            (Self::Peer(peer), NodeCommand::Peer(command)) => peer.handle_command(now, command),
            (Self::Liar(liar), NodeCommand::Peer(command)) => liar.handle_command(now, command),
            (Self::Relay(relay), NodeCommand::Relay(command)) => relay.handle_command(now, command),
            _ => {}
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        each!(self, node => node.handle_message(now, from, channel, bytes))
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        each!(self, node => node.handle_peer(now, change));
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        each!(self, node => node.handle_timeout(now));
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        each!(self, node => node.poll_transmit(now, bytes))
    }

    fn poll_event(&mut self) -> Option<DrEvent> {
        each!(self, node => node.poll_event())
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        each!(self, node => node.poll_timeout())
    }
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
