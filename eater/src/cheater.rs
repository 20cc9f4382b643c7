//! The machine of a peer: an honest one, or one that tells different peers different moves.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionTime, Span};
use evenkeel_games::eater::MovePeer;
use evenkeel_neo::cheat::CheatingPeer;
use evenkeel_neo::{NeoCommand, NeoEvent, NeoPeer, NeoStats};

/// A peer's machine.
#[derive(Debug)]
pub(crate) enum Machine {
    Honest(Box<NeoPeer>),
    Cheater(Box<CheatingPeer>),
}

impl Machine {
    pub(crate) fn stats(&self) -> NeoStats {
        match self {
            Self::Honest(peer) => peer.stats(),
            Self::Cheater(cheater) => cheater.peer().stats(),
        }
    }

    pub(crate) fn tempo(&self) -> (Span, u32) {
        match self {
            Self::Honest(peer) => peer.tempo(),
            Self::Cheater(cheater) => cheater.peer().tempo(),
        }
    }
}

impl MovePeer for Machine {
    fn session_time(&self, now: LocalTime) -> Option<SessionTime> {
        match self {
            Self::Honest(peer) => peer.session_time(now),
            Self::Cheater(cheater) => cheater.peer().session_time(now),
        }
    }
}

impl Endpoint for Machine {
    type Command = NeoCommand;
    type Event = NeoEvent;

    fn handle_command(&mut self, now: LocalTime, command: NeoCommand) {
        match self {
            Self::Honest(peer) => peer.handle_command(now, command),
            Self::Cheater(cheater) => cheater.handle_command(now, command),
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        match self {
            Self::Honest(peer) => peer.handle_message(now, from, channel, bytes),
            Self::Cheater(cheater) => cheater.handle_message(now, from, channel, bytes),
        }
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        match self {
            Self::Honest(peer) => peer.handle_peer(now, change),
            Self::Cheater(cheater) => cheater.handle_peer(now, change),
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        match self {
            Self::Honest(peer) => peer.handle_timeout(now),
            Self::Cheater(cheater) => cheater.handle_timeout(now),
        }
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        match self {
            Self::Honest(peer) => peer.poll_transmit(now, bytes),
            Self::Cheater(cheater) => cheater.poll_transmit(now, bytes),
        }
    }

    fn poll_event(&mut self) -> Option<NeoEvent> {
        match self {
            Self::Honest(peer) => peer.poll_event(),
            Self::Cheater(cheater) => cheater.poll_event(),
        }
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        match self {
            Self::Honest(peer) => peer.poll_timeout(),
            Self::Cheater(cheater) => cheater.poll_timeout(),
        }
    }
}
