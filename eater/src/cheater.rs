//! The machine of a peer: an honest one, or one that tells different peers different moves.
//!
//! The cheater runs two machines with one key. Both hear everything. From some time on they make different moves, and one of
//! them talks to half of the peers, the other one to the rest. So each half sees an eater that keeps to the rules.

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionTime, Span, delegate_endpoint,
};
use evenkeel_games::eater::{MovePeer, Whereabouts};
use evenkeel_neo::{NeoCommand, NeoEvent, NeoPeer, NeoStats};

/// How far its second story is off, in pixels.
const OFF_PIXELS: i32 = 1;

/// Peers whose side is remembered; others hear the first story.
const SIDES_MAX: usize = 256;

/// A peer's machine.
#[derive(Debug)]
pub(crate) enum Machine {
    Honest(Box<NeoPeer>),
    Cheater(Box<Cheater>),
}

/// Two machines with one key.
#[derive(Debug)]
pub(crate) struct Cheater {
    first: NeoPeer,
    second: NeoPeer,
    /// How long it plays honestly after its first peer joined.
    cheats_after: Span,
    /// The others in the order in which they joined.
    sides: Vec<PeerId>,
    /// When the two begin to differ.
    cheats_at: Option<LocalTime>,
    now: LocalTime,
}

impl Machine {
    pub(crate) fn stats(&self) -> NeoStats {
        self.neo().stats()
    }

    pub(crate) fn neo(&self) -> &NeoPeer {
        match self {
            Self::Honest(peer) => peer,
            Self::Cheater(cheater) => &cheater.first,
        }
    }
}

impl Cheater {
    pub(crate) fn new(first: NeoPeer, second: NeoPeer, cheats_after: Span) -> Self {
        Self { first, second, cheats_after, sides: Vec::new(), cheats_at: None, now: LocalTime::MIN }
    }

    /// Whether the second machine talks to this peer: to every second one that joined.
    fn is_told_otherwise(&self, peer: PeerId) -> bool {
        self.sides.iter().position(|other| *other == peer).is_some_and(|place| place % 2 == 1)
    }

    fn is_cheating(&self) -> bool {
        self.cheats_at.is_some_and(|at| at <= self.now)
    }
}

impl Endpoint for Cheater {
    type Command = NeoCommand;
    type Event = NeoEvent;

    delegate_endpoint!(self.first: poll_event);

    fn handle_command(&mut self, now: LocalTime, command: NeoCommand) {
        self.now = now;
        let other = match &command {
            NeoCommand::Submit(bytes) if self.is_cheating() => {
                let lie = Whereabouts::from_move(bytes).map(|mut whereabouts| {
                    whereabouts.at.x += OFF_PIXELS;
                    whereabouts.to_move()
                });
                NeoCommand::Submit(lie.unwrap_or_default())
            }
            same => same.clone(),
        };
        self.first.handle_command(now, command);
        self.second.handle_command(now, other);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.now = now;
        // What answers one machine, the other did not ask for.
        let second = self.second.handle_message(now, from, channel, bytes);
        let first = self.first.handle_message(now, from, channel, bytes);
        first.or(second)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.now = now;
        let peer = change.peer();
        if !self.sides.contains(&peer) && self.sides.len() < SIDES_MAX {
            self.sides.push(peer);
        }
        self.cheats_at.get_or_insert(now + self.cheats_after);
        self.first.handle_peer(now, change);
        self.second.handle_peer(now, change);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.now = now;
        self.first.handle_timeout(now);
        self.second.handle_timeout(now);
        while self.second.poll_event().is_some() {}
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        loop {
            match self.first.poll_transmit(now, bytes) {
                Some((to, _)) if self.is_told_otherwise(to) => {}
                Some(sent) => return Some(sent),
                None => break,
            }
        }
        loop {
            match self.second.poll_transmit(now, bytes) {
                Some((to, _)) if !self.is_told_otherwise(to) => {}
                sent => return sent,
            }
        }
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        [self.first.poll_timeout(), self.second.poll_timeout()].into_iter().flatten().min()
    }
}

impl MovePeer for Machine {
    fn session_time(&self, now: LocalTime) -> Option<SessionTime> {
        self.neo().session_time(now)
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
