//! The machines of a dead-reckoning game.

use evenkeel_core::{Channel, Draws, Endpoint, LocalTime, SessionClock, SessionTime, Span};
use evenkeel_dr::ledger::ErrorLedger;
use evenkeel_dr::message::{Arrival, Frame, VERSION, emit_feedback, frames};
use evenkeel_dr::{DrCommand, DrEvent, DrPeer, DrRelay, RelayCommand};

use crate::actor::ClockedEndpoint;
use crate::clock::AnyClock;

/// A player or the relay.
pub(super) enum DrNode {
    Peer(Box<DrPeer<AnyClock>>),
    Relay(Box<DrRelay<AnyClock>>),
}

/// A command for one of them.
pub(super) enum NodeCommand {
    Peer(DrCommand),
    Relay(RelayCommand),
}

impl DrNode {
    pub(super) fn ledger(&self) -> Option<&ErrorLedger> {
        match self {
            Self::Peer(peer) => peer.ledger(),
            Self::Relay(relay) => Some(relay.ledger()),
        }
    }

    pub(super) fn peer(&self) -> Option<&DrPeer<AnyClock>> {
        match self {
            Self::Peer(peer) => Some(peer),
            Self::Relay(_) => None,
        }
    }
}

impl ClockedEndpoint for DrNode {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        match self {
            Self::Peer(peer) => peer.clock().session(now),
            Self::Relay(relay) => relay.clock().session(now),
        }
    }
}

impl Endpoint for DrNode {
    type Command = NodeCommand;
    type Event = DrEvent;

    fn handle_command(&mut self, now: LocalTime, command: NodeCommand) {
        match (self, command) {
            (Self::Peer(peer), NodeCommand::Peer(command)) => peer.handle_command(now, command),
            (Self::Relay(relay), NodeCommand::Relay(command)) => relay.handle_command(now, command),
            _ => unreachable!("commands are made for the node that handles them"),
        }
    }

    evenkeel_core::delegate_endpoint!(match self { Peer, Relay });
}

/// Claims that vectors arrived later than they did, to be compensated for.
pub(super) fn claim_late(bytes: &mut Vec<u8>, channel: Channel, draws: &mut Draws) {
    let late = Span::from_millis(draws.below(800) as i64);
    if channel == Channel::Reliable {
        return;
    }
    let Ok((header, frames)) = frames(bytes) else { return };
    let Some(stamp) = header.stamp else { return };
    let mut forged = Vec::new();
    header.emit(VERSION, &mut forged);
    for frame in frames {
        let Frame::Feedback(feedback) = frame else {
            frame.emit(stamp, &mut forged);
            continue;
        };
        let arrivals: Vec<_> =
            feedback.arrivals().map(|(_, arrival)| Arrival { at: arrival.at + late, ..arrival }).collect();
        emit_feedback(feedback.oldest, feedback.first, stamp, arrivals.iter(), &mut forged);
    }
    *bytes = forged;
}
