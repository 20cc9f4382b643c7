//! An enum over the machines of a game, as a world has one type of node.

use evenkeel_core::{Endpoint, LocalTime, SessionTime, delegate_endpoint};
use evenkeel_games::eater::{EaterCommand, EaterEvent, EaterNode, MovePeer};
use evenkeel_neo::{NeoCommand, NeoEvent};

/// A machine that exchanges moves, whichever.
pub(crate) struct BoxedPeer(pub(crate) Box<dyn MovePeer + Send>);

impl Endpoint for BoxedPeer {
    type Command = NeoCommand;
    type Event = NeoEvent;

    delegate_endpoint!(self.0);
}

impl MovePeer for BoxedPeer {
    fn session_time(&self, now: LocalTime) -> Option<SessionTime> {
        self.0.session_time(now)
    }
}

/// A player, or the server of client-server.
pub(crate) enum MoveNode {
    Player(Box<EaterNode<BoxedPeer>>),
    Server(BoxedPeer),
}

impl MoveNode {
    /// The player, if it is one.
    pub(crate) fn player(&self) -> Option<&EaterNode<BoxedPeer>> {
        match self {
            Self::Player(player) => Some(player),
            Self::Server(_) => None,
        }
    }
}

impl Endpoint for MoveNode {
    type Command = EaterCommand;
    type Event = EaterEvent;

    fn handle_command(&mut self, now: LocalTime, command: EaterCommand) {
        if let Self::Player(player) = self {
            player.handle_command(now, command);
        }
    }

    fn poll_event(&mut self) -> Option<EaterEvent> {
        match self {
            Self::Player(player) => player.poll_event(),
            Self::Server(server) => server.poll_event().map(EaterEvent::Peer),
        }
    }

    delegate_endpoint!(match self { Player, Server }:
        handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);
}
